// SPDX-License-Identifier: Apache-2.0
/**
 * Named values of the mthca command interface: opcodes, statuses, events, states. The numbers are
 * those on which the Linux driver ib_mthca and the user-space provider libmthca rely; the wording
 * is ours.
 */
import type { ValueTable } from '../layout/table.ts';
import { values } from '../layout/table-rows.ts';

const commandOpcode = values(
  'command-opcode',
  'Commands of the host command register.',
  ['query-dev-lim', 0x03, 'Reads the limits of the device.'],
  ['query-fw', 0x04, 'Reads the firmware version and the places of registers.'],
  ['query-adapter', 0x06, 'Reads interrupt pin and board identity.'],
  ['init-hca', 0x07, 'Names the context tables and starts the HCA.'],
  ['close-hca', 0x08, 'Stops the HCA.'],
  ['init-ib', 0x09, 'Enables a port.'],
  ['close-ib', 0x0a, 'Disables a port.'],
  ['set-ib', 0x0c, 'Changes capability mask, system image GUID and Q_Key violation counter of a port.'],
  ['sw2hw-mpt', 0x0d, 'Gives a memory protection table entry to the HCA.'],
  ['query-mpt', 0x0e, 'Reads a memory protection table entry.'],
  ['hw2sw-mpt', 0x0f, 'Takes a memory protection table entry back.'],
  ['write-mtt', 0x11, 'Writes memory translation table entries.'],
  ['map-eq', 0x12, 'Maps kinds of events to an EQ, or removes the mapping.'],
  ['sw2hw-eq', 0x13, 'Gives an EQ to the HCA.'],
  ['hw2sw-eq', 0x14, 'Takes an EQ back.'],
  ['query-eq', 0x15, 'Reads the context of an EQ.'],
  ['sw2hw-cq', 0x16, 'Gives a CQ to the HCA.'],
  ['hw2sw-cq', 0x17, 'Takes a CQ back.'],
  ['query-cq', 0x18, 'Reads the context of a CQ.'],
  ['rst2init-qp', 0x19, 'Moves a QP from RESET to INIT.'],
  ['init2rtr-qp', 0x1a, 'Moves a QP from INIT to RTR.'],
  ['rtr2rts-qp', 0x1b, 'Moves a QP from RTR to RTS.'],
  ['rts2rts-qp', 0x1c, 'Changes attributes of a QP in RTS.'],
  ['sqerr2rts-qp', 0x1d, 'Moves a QP from SQE to RTS.'],
  ['any2err-qp', 0x1e, 'Moves a QP to ERR.'],
  ['rts2sqd-qp', 0x1f, 'Drains the send queue of a QP.'],
  ['sqd2rts-qp', 0x20, 'Moves a QP from SQD to RTS.'],
  ['any2rst-qp', 0x21, 'Moves a QP to RESET.'],
  ['query-qp', 0x22, 'Reads the context of a QP.'],
  ['conf-special-qp', 0x23, 'Names the QPs that act as QP0 or QP1 of the ports.'],
  ['mad-ifc', 0x24, 'Gives a management datagram to the agents of the HCA.'],
  ['read-mgm', 0x25, 'Reads an entry of the multicast table.'],
  ['write-mgm', 0x26, 'Writes an entry of the multicast table.'],
  ['mgid-hash', 0x27, 'Computes the index of a multicast GID.'],
  ['resize-cq', 0x2c, 'Gives a CQ another buffer.'],
  ['init2init-qp', 0x2d, 'Changes attributes of a QP in INIT.'],
  ['sync-tpt', 0x2f, 'Makes table entries that software wrote visible.'],
  ['nop', 0x31, 'Does nothing; its completion tests the interrupt.'],
  ['sw2hw-srq', 0x35, 'Gives an SRQ to the HCA.'],
  ['hw2sw-srq', 0x36, 'Takes an SRQ back.'],
  ['query-srq', 0x37, 'Reads the context of an SRQ.'],
  ['sqd2sqd-qp', 0x38, 'Changes attributes of a QP in SQD.'],
  ['arm-srq', 0x40, 'Arms the limit event of an SRQ.'],
  ['run-fw', 0xff6, 'Starts the firmware.'],
  ['disable-lam', 0xff7, 'Turns off memory attached to the HCA.'],
  ['enable-lam', 0xff8, 'Turns on memory attached to the HCA.'],
  ['unmap-icm', 0xff9, 'Removes pages from context memory.'],
  ['map-icm', 0xffa, 'Puts guest pages into context memory.'],
  ['unmap-icm-aux', 0xffb, 'Removes the auxiliary pages.'],
  ['map-icm-aux', 0xffc, 'Gives the auxiliary pages.'],
  ['set-icm-size', 0xffd, 'Sets the size of context memory; returns the number of auxiliary pages that it needs.'],
  ['unmap-fa', 0xffe, 'Removes the pages of the firmware.'],
  ['map-fa', 0xfff, 'Gives pages to the firmware.'],
);

const commandStatus = values(
  'command-status',
  'Statuses of commands.',
  ['ok', 0x00, 'Done.'],
  ['internal-error', 0x01, 'The mailbox or a table could not be read or written.'],
  ['bad-op', 0x02, 'The opcode or its modifier is not supported.'],
  ['bad-param', 0x03, 'A parameter is out of range.'],
  ['bad-sys-state', 0x04, 'The command is not allowed in this state of firmware, HCA or port.'],
  ['bad-resource', 0x05, 'The object is reserved, or context memory is not mapped for it.'],
  ['resource-busy', 0x06, 'The object is in use.'],
  ['exceed-limit', 0x08, 'The request exceeds the resources of the device.'],
  ['bad-resource-state', 0x09, 'The object is owned by the other side.'],
  ['bad-index', 0x0a, 'The number of the object is out of range.'],
  ['bad-qp-state', 0x10, 'The QP is not in the state from which the command moves it.'],
  ['bad-segment', 0x20, 'Address or size of a segment is not valid.'],
  ['region-bound', 0x21, 'Memory windows are bound to the region.'],
  ['no-attached-memory', 0x22, 'The HCA has no memory of its own.'],
  ['bad-packet', 0x30, 'The management datagram is discarded.'],
  ['bad-size', 0x40, 'The CQ holds more entries than the new size.'],
);

const eventKind = values(
  'event-kind',
  'Kinds of events, also as bits of the mask of MAP_EQ.',
  ['completion', 0x00, 'A CQ that was armed has an entry; its EQ is that of its context.'],
  ['path-migrated', 0x01, 'A QP uses its alternate path.'],
  ['communication-established', 0x02, 'A QP in RTR has received a packet.'],
  ['send-queue-drained', 0x03, 'The send queue of a QP is drained.'],
  ['cq-error', 0x04, 'A CQ has failed.'],
  ['qp-fatal', 0x05, 'A QP has failed: its work queue or a CQ could not be used.'],
  ['path-migration-failed', 0x07, 'The alternate path of a QP cannot be used.'],
  ['local-fatal', 0x08, 'The HCA has failed.'],
  ['port-change', 0x09, 'A port became ACTIVE, or is no longer.'],
  ['command', 0x0a, 'A command has completed.'],
  ['ecc-detect', 0x0e, 'A memory error was found.'],
  ['eq-overflow', 0x0f, 'An EQ was full.'],
  ['qp-invalid-request', 0x10, 'The responder of a QP got a request that it may not execute.'],
  ['qp-access-error', 0x11, 'The responder of a QP got a request for memory that is not accessible.'],
  ['srq-fatal', 0x12, 'An SRQ has failed.'],
  ['last-wqe-reached', 0x13, 'A QP in ERR takes no more entries from its SRQ.'],
  ['srq-limit', 0x14, 'An SRQ has fewer entries than its limit.'],
);

const portEvent = values(
  'port-event',
  'Subtypes of a port event.',
  ['down', 0x01, 'The port is no longer ACTIVE.'],
  ['active', 0x04, 'The port is ACTIVE.'],
);

const contextStatus = values(
  'context-status',
  'Status of an EQ or CQ in its context.',
  ['ok', 0, 'The queue works.'],
  ['overflow', 9, 'The queue was full.'],
  ['write-failure', 10, 'An entry could not be written.'],
);

const contextOwner = values(
  'context-owner',
  'Owner of an EQ in its context.',
  ['software', 0, 'Software.'],
  ['hardware', 1, 'The HCA.'],
);

const notificationState = values(
  'notification-state',
  'State of notification of an EQ or CQ in its context, without the bit of devices without attached memory.',
  ['disarmed', 0, 'Entries are written without notification.'],
  ['armed', 1, 'The next entry notifies.'],
  ['fired', 2, 'The queue has notified and was not armed again.'],
  ['armed-solicited', 4, 'The next solicited entry of a CQ notifies.'],
);

const qpContextState = values(
  'qp-context-state',
  'State of a QP in its context.',
  ['reset', 0, 'RESET.'],
  ['init', 1, 'INIT.'],
  ['rtr', 2, 'RTR.'],
  ['rts', 3, 'RTS.'],
  ['sqe', 4, 'SQE.'],
  ['sqd', 5, 'SQD, drained.'],
  ['err', 6, 'ERR.'],
  ['draining', 7, 'SQD, draining.'],
);

const qpService = values(
  'qp-service',
  'Service of a QP in its context.',
  ['rc', 0, 'Reliable connection.'],
  ['uc', 1, 'Unreliable connection.'],
  ['rd', 2, 'Reliable datagram.'],
  ['ud', 3, 'Unreliable datagram.'],
  ['mlx', 7, 'Packets with headers that software builds: QP0 and QP1.'],
);

const qpParameter = values(
  'qp-parameter-flag',
  'Bits of the mask of parameters that a transition changes.',
  ['alternate-path', 0x1, 'Alternate path.'],
  ['remote-read', 0x2, 'Remote reads are allowed.'],
  ['remote-atomic', 0x4, 'Remote atomics are allowed.'],
  ['remote-write', 0x8, 'Remote writes are allowed.'],
  ['pkey-index', 0x10, 'P_Key index.'],
  ['qkey', 0x20, 'Q_Key.'],
  ['rnr-timeout', 0x40, 'Time in RNR NAKs.'],
  ['primary-path', 0x80, 'Primary path.'],
  ['reads-out', 0x100, 'READs and atomics in flight.'],
  ['reads-in', 0x200, 'READs and atomics taken at once.'],
  ['migration-state', 0x400, 'Path migration state.'],
  ['port', 0x800, 'Port.'],
  ['retry-count', 0x1000, 'Retries.'],
  ['alternate-rnr-retry', 0x2000, 'Retries after RNR NAKs on the alternate path.'],
  ['ack-timeout', 0x4000, 'Acknowledgement timeout.'],
  ['rnr-retry', 0x8000, 'Retries after RNR NAKs.'],
  ['schedule-queue', 0x10000, 'Scheduling queue.'],
);

const deviceFlag = values(
  'device-flag',
  'Capability bits of QUERY_DEV_LIM.',
  ['rc', 0x1, 'Reliable connections.'],
  ['uc', 0x2, 'Unreliable connections.'],
  ['ud', 0x4, 'Unreliable datagrams.'],
  ['srq', 0x40, 'Shared receive queues.'],
  ['bad-pkey-counter', 0x100, 'P_Key violations are counted.'],
  ['bad-qkey-counter', 0x200, 'Q_Key violations are counted.'],
  ['atomic', 0x40000, 'Atomics.'],
  ['ud-port-check', 0x100000, 'The port of UD address vectors is checked.'],
  ['ud-multicast', 0x200000, 'Multicast of unreliable datagrams.'],
);

const specialQp = values(
  'special-qp',
  'Opcode modifiers of CONF_SPECIAL_QP.',
  ['smi', 0, 'QP0 of the ports.'],
  ['gsi', 1, 'QP1 of the ports.'],
);

const fatalKind = values(
  'fatal-kind',
  'Causes in the first byte of the error buffer.',
  ['internal', 0, 'Internal error.'],
  ['bus', 3, 'Error on the bus.'],
  ['memory', 4, 'Error of attached memory.'],
  ['parity', 5, 'Parity error.'],
);

export const commandValues: readonly ValueTable[] = [
  commandOpcode,
  commandStatus,
  eventKind,
  portEvent,
  contextStatus,
  contextOwner,
  notificationState,
  qpContextState,
  qpService,
  qpParameter,
  deviceFlag,
  specialQp,
  fatalKind,
];
