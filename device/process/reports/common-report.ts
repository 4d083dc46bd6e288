// SPDX-License-Identifier: Apache-2.0
/**
 * Parts of the status report that adapters of all kinds have: guest, ports, dropped packets,
 * interrupts, DMA, and faults. `status-report.ts` and `personality-report.ts` call it.
 */
import { countBits, joinDwords } from '../../../protocol/layout/dwords.ts';
import { FaultKind, faultKindName, faultObjectName, portStateName } from '../../../protocol/layout/gen/values.gen.ts';
import type { PacketRing } from '../../fabric/port/packet-ring.ts';
import type { Port } from '../../fabric/port/port.ts';
import type { LateStore } from '../../hca/function/announced-memory.ts';
import type { SoftwareAccess } from '../../hca/function/fault-log.ts';
import type { UnderlyingFunction } from '../../hca/function/underlying-function.ts';
import type { TransportEngine } from '../../hca/transport/engine/engine.ts';
import type { VfioUserHost } from '../host/vfio-user-host.ts';

/** Units of the transport that drop packets. */
type Droppers = Pick<TransportEngine, 'receiver' | 'responder'>;

/** The guest attached to a function, and its accesses. */
export function reportHost(host: VfioUserHost) {
  return {
    path: host.context.socketPath,
    attached: host.attached,
    inD0: host.context.config.inD0,
    ...host.context.counters,
    ...host.counters,
    blockedTooLong: host.blockedTooLong,
    sharedMemoryBytes: host.context.memory.regions
      .filter((region) => region.hostAddress !== 0)
      .reduce((sum, region) => sum + region.sizeBytes, 0),
  };
}

export function reportPort(port: Port) {
  return {
    number: port.number,
    ...(port.owner < 0 ? {} : { functionNumber: port.owner }),
    state: portStateName(port.state),
    lid: port.lid,
    mtuBytes: port.mtuBytes,
    transmitPackets: port.transmitPackets,
    receivePackets: port.receivePackets,
    receiveDrops: port.receiveDrops,
    badPkeys: port.badPkeys,
    badQkeys: port.badQkeys,
    creditStalls: port.transmitQueues.creditStalls,
    virtualLanes: [...port.transmitQueues.rings, port.transmitQueues.vl15].map(reportVirtualLane),
  };
}

/** A virtual lane of the link: its packets that wait, and those that have left (IBTA 7.6). */
function reportVirtualLane({ virtualLane, count, capacity, blocks, leftPackets }: PacketRing) {
  return { number: virtualLane, waiting: count, capacity, blocks, sent: leftPackets };
}

/** Interrupts and bytes of DMA. */
export function reportTraffic({ dma, msix }: UnderlyingFunction) {
  return {
    vectorsSent: msix.sent.reduce((sum, count) => sum + count, 0),
    vectorsPending: msix.pending.reduce((sum, word) => sum + countBits(word), 0),
    dmaBytesRead: dma.bytesRead,
    dmaBytesWritten: dma.bytesWritten,
  };
}

/** Packets that the adapter received and dropped, by cause. */
export function reportDrops({ receiver, responder }: Droppers) {
  const { malformed, wrongLid, tooLong, unknownQueuePair, unsupportedTransport, multicast, mads } = receiver;
  const damaged = malformed.reduce((sum, count) => sum + count, 0);
  return {
    malformed: damaged,
    wrongLid,
    tooLong,
    unknownQueuePair,
    unsupportedTransport,
    unknownGroup: multicast.unknownGroup,
    badMulticast: multicast.malformed,
    unclaimedManagement: mads.unclaimed,
    ...responder.drops,
  };
}

interface FaultReport {
  readonly counts: Readonly<Record<string, number>>;
  readonly first:
    | {
        readonly kind: string;
        readonly objectKind: string;
        readonly object: number;
        readonly address: number;
        /** The access that caused it, if one did. */
        readonly access: AccessReport | undefined;
        readonly timeNs: number;
      }
    | undefined;
  readonly late: { readonly count: number; readonly reports: readonly LateStore[] } | undefined;
}

/** The value of a write is text, because it may have 64 bits. */
interface AccessReport {
  readonly sizeBytes: number;
  readonly written?: string;
}

/**
 * Faults that occurred by kind, and the first one since its record was cleared; what the option
 * `orderCheck` has found, if it is on.
 */
export function reportFaults({ faults, announced }: UnderlyingFunction): FaultReport {
  const late = announced && { count: announced.count, reports: announced.reports };
  const counts: Record<string, number> = {};
  faults.counts.forEach((count, kind) => {
    if (count > 0) counts[faultKindName(kind)] = count;
  });
  if (faults.firstKind === FaultKind.NONE) return { counts, first: undefined, late };
  const first = {
    kind: faultKindName(faults.firstKind),
    objectKind: faultObjectName(faults.firstObjectKind),
    object: faults.firstObject,
    address: joinDwords(faults.firstAddressLow, faults.firstAddressHigh),
    access: reportAccess(faults.firstAccess),
    timeNs: joinDwords(faults.firstTimeLow, faults.firstTimeHigh),
  };
  return { counts, first, late };
}

function reportAccess({ sizeBytes, isWrite, low, high }: SoftwareAccess): AccessReport | undefined {
  if (sizeBytes === 0) return undefined;
  const value = (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0);
  return { sizeBytes, ...(isWrite ? { written: `0x${value.toString(16)}` } : {}) };
}
