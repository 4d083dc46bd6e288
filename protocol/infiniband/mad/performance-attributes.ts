// SPDX-License-Identifier: Apache-2.0
/**
 * Attributes of performance management as tables (IBTA 13.4.8.1 and 16.1), in the 192 bytes from
 * offset 64 of a datagram. Counters stop at their largest value.
 */
import type { FieldRow, StructTable } from '../../layout/table.ts';
import { attribute } from './attribute.ts';

const GID_BYTES = 16;

/** Redirection of datagrams of one direction: an address and a QP. */
function target(prefix: string, what: string): readonly FieldRow[] {
  return [
    { name: `${prefix}Gid`, bytes: GID_BYTES, doc: `GID of ${what}.` },
    { name: `${prefix}TrafficClass`, bits: 8, doc: 'Traffic class of its path.' },
    { name: `${prefix}ServiceLevel`, bits: 4, doc: 'Service level of its path.' },
    { name: `${prefix}FlowLabel`, bits: 20, doc: 'Flow label of its path.' },
    { name: `${prefix}Lid`, bits: 16, doc: `LID of ${what}.` },
    { name: `${prefix}PKey`, bits: 16, doc: 'Partition key of its path.' },
    { name: `${prefix}HopLimit`, bits: 8, doc: 'Hop limit of its path; reserved for a redirection.' },
    { name: `${prefix}Qpn`, bits: 24, doc: `Queue pair of ${what}.` },
    { name: `${prefix}QKey`, bits: 32, doc: `Queue key of ${what}.` },
  ];
}

const classPortInfoRows: readonly FieldRow[] = [
  { name: 'infoBaseVersion', bits: 8, doc: 'Supported base version.' },
  { name: 'infoClassVersion', bits: 8, doc: 'Supported version of the class.' },
  { name: 'capabilityMask', bits: 16, doc: 'Capabilities; bits 8 to 15 belong to the class.' },
  { name: 'capabilityMask2', bits: 27, doc: 'Further capabilities, of the class.' },
  { name: 'responseTime', bits: 5, doc: 'Time until a response, 4.096 us * 2^n.' },
  ...target('redirect', 'the agent that answers instead'),
  ...target('trap', 'the receiver of traps'),
];

const SELECTED: readonly FieldRow[] = [
  { bits: 8 },
  { name: 'portSelect', bits: 8, doc: 'The port; 255: all ports of a switch.' },
  { name: 'counterSelect', bits: 16, doc: 'Counters that a Set changes, as a mask.' },
];

const counters = (...rows: readonly (readonly [name: string, bits: number, doc: string])[]): readonly FieldRow[] =>
  rows.map(([name, bits, doc]) => ({ name, bits, doc }));

export const performanceAttributes: readonly StructTable[] = [
  attribute(
    'class-port-info',
    'IBTA 13.4.8.1',
    'Capabilities and address of the agent of a class.',
    72,
    classPortInfoRows,
  ),
  attribute('port-samples-control', 'IBTA 16.1.3.2', 'Control of the sampling of counters.', 64, [
    { name: 'operationCode', bits: 8, doc: 'Reserved for switches with several samplers.' },
    { name: 'portSelect', bits: 8, doc: 'Port to sample.' },
    { name: 'tick', bits: 8, doc: 'Unit of time of the sampler.' },
    { bits: 5 },
    { name: 'counterWidth', bits: 3, doc: 'Width of the counters: 0 is 16 bits, 4 is 32 bits.' },
    { name: 'counterMasks0To9', bits: 32, at: 4, doc: 'Kinds of counters 0 to 9, 3 bits each.' },
    { name: 'counterMasks10To14', bits: 16, doc: 'Kinds of counters 10 to 14, 3 bits each.' },
    { name: 'sampleMechanisms', bits: 8, doc: 'Samplers of the port, as a mask.' },
    { bits: 6 },
    { name: 'sampleStatus', bits: 2, doc: 'State of the sampler.', values: 'sample-status' },
    { name: 'optionMask', bits: 64, at: 12, opaque: true, doc: 'Optional counters that can be sampled.' },
    { name: 'vendorMask', bits: 64, opaque: true, doc: "The vendor's counters that can be sampled." },
    { name: 'sampleStart', bits: 32, at: 28, doc: 'Ticks until the sampling begins.' },
    { name: 'sampleInterval', bits: 32, doc: 'Ticks of the sampling.' },
    { name: 'tag', bits: 16, at: 36, doc: 'Chosen by the requester; the result repeats it.' },
    { count: 13, element: [{ name: 'counterSelect', bits: 16, doc: 'Quantity that counter n counts.' }] },
  ]),
  attribute('port-samples-result', 'IBTA 16.1.3.4', 'Result of the sampling of counters.', 64, [
    { name: 'tag', bits: 16, doc: 'Tag of the control.' },
    { bits: 14 },
    { name: 'sampleStatus', bits: 2, doc: 'State of the sampler.' },
    { count: 15, element: [{ name: 'counter', bits: 32, doc: 'Value of counter n.' }] },
  ]),
  attribute('port-counters', 'IBTA 16.1.3.5', 'Basic counters of a port.', 44, [
    ...SELECTED,
    ...counters(
      ['symbolErrors', 16, 'Errors of symbols on the lanes of the link.'],
      ['linkRecoveries', 8, 'Times the link recovered from an error.'],
      ['linkDowned', 8, 'Times the link could not recover and went down.'],
      ['receiveErrors', 16, 'Received packets with an error: CRC, format, overrun.'],
      ['receiveRemotePhysicalErrors', 16, 'Received packets that an earlier node marked as bad.'],
      ['receiveSwitchRelayErrors', 16, 'Received packets that the switch could not forward.'],
      ['transmitDiscards', 16, 'Packets not sent: the port was down or congested.'],
      ['transmitConstraintErrors', 8, 'Packets not sent because of partition or raw filters.'],
      ['receiveConstraintErrors', 8, 'Received packets dropped because of partition or raw filters.'],
      ['counterSelect2', 8, 'Further counters that a Set changes: bit 0 is transmitWait.'],
      ['linkIntegrityErrors', 4, 'Times the local physical errors passed their threshold.'],
      ['bufferOverrunErrors', 4, 'Times buffer overruns in a row passed their threshold.'],
      ['qp1Dropped', 16, 'Datagrams to QP1 that were dropped for lack of room.'],
      ['vl15Dropped', 16, 'Datagrams on VL15 that were dropped for lack of room.'],
      ['transmitData', 32, 'Dwords sent, without link packets and CRCs.'],
      ['receiveData', 32, 'Dwords received, without link packets and CRCs.'],
      ['transmitPackets', 32, 'Packets sent.'],
      ['receivePackets', 32, 'Packets received.'],
      ['transmitWait', 32, 'Ticks in which data waited for credits or for arbitration.'],
    ),
  ]),
  attribute('port-receive-error-details', 'IBTA 16.1.4.1', 'Receive errors of a port by cause.', 16, [
    ...SELECTED,
    ...counters(
      ['localPhysicalErrors', 16, 'Packets with a physical error.'],
      ['malformedPacketErrors', 16, 'Packets that are malformed.'],
      ['bufferOverrunErrors', 16, 'Packets that found no buffer.'],
      ['dlidMappingErrors', 16, 'Packets to a LID that the switch cannot map.'],
      ['vlMappingErrors', 16, 'Packets of an SL that is mapped to VL15.'],
      ['loopingErrors', 16, 'Packets that would leave by the port of their arrival.'],
    ),
  ]),
  attribute('port-transmit-discard-details', 'IBTA 16.1.4.2', 'Discarded packets of a port by cause.', 12, [
    ...SELECTED,
    ...counters(
      ['inactiveDiscards', 16, 'The port was not active.'],
      ['neighborMtuDiscards', 16, 'The packet was longer than the MTU of the neighbour.'],
      ['lifeTimeDiscards', 16, 'The packet was in the switch for too long.'],
      ['headOfQueueDiscards', 16, 'The packet was at the head of its lane for too long.'],
    ),
  ]),
  attribute('port-counters-extended', 'IBTA 16.1.4.11', 'Counters of a port with 64 bits.', 72, [
    ...SELECTED,
    { name: 'counterSelect2', bits: 32, doc: 'Further counters that a Set changes.' },
    ...counters(
      ['transmitData', 64, 'Dwords sent.'],
      ['receiveData', 64, 'Dwords received.'],
      ['transmitPackets', 64, 'Packets sent.'],
      ['receivePackets', 64, 'Packets received.'],
      ['unicastTransmitPackets', 64, 'Unicast packets sent.'],
      ['unicastReceivePackets', 64, 'Unicast packets received.'],
      ['multicastTransmitPackets', 64, 'Multicast packets sent.'],
      ['multicastReceivePackets', 64, 'Multicast packets received.'],
    ),
  ]),
];
