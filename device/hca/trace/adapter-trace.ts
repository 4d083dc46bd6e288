// SPDX-License-Identifier: Apache-2.0
/**
 * The traces of an adapter at one moment, and the search for the other end of a message over all
 * adapters that were read (IPCOM000010133D par. 1: time stamps relate both ends). An end is known
 * by the LID of its port, its QPN and its PSN. Used by `vuhca trace`, exports and tests.
 */
import { isLidOfPort, MULTICAST_LID_BASE } from '../../../protocol/infiniband/addresses.ts';
import { ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import type { TimelineStep } from '../function/timeline.ts';
import type { TracedMessage } from './traced-message.ts';

/** A queue pair that the adapter has, or had while it was traced. */
export interface QueuePairOfTrace {
  readonly qp: number;
  readonly functionNumber: number;
  readonly traced: boolean;
  /** Command blocks overwritten. */
  readonly overwritten: number;
}

export interface AdapterTrace {
  readonly name: string;
  /** Its name in its process, when another adapter that was read has the same one. */
  readonly ownName?: string;
  /** The control socket of its process, when that was asked besides the first one. */
  readonly control?: string;
  readonly ports: readonly { readonly number: number; readonly lid: number; readonly lmc: number }[];
  /** Time since 1970 when the adapter's clock stood at 0, in ns. */
  readonly wallTimeNs: number;
  readonly queuePairs: readonly QueuePairOfTrace[];
  readonly messages: readonly TracedMessage[];
  readonly steps: readonly TimelineStep[];
  /** Adapter time from which on no step is missing; undefined while the timeline is off. */
  readonly stepsSinceNs: number | undefined;
}

/** One end of a message. */
export interface MessageEnd {
  readonly adapter: AdapterTrace;
  readonly message: TracedMessage;
}

/** The other end of a message, or why it is not known. */
export type OtherSide =
  | { readonly end: MessageEnd; readonly missing?: undefined; readonly adapter?: undefined }
  | {
      readonly end?: undefined;
      /** The adapter of the other end, unless no adapter that was read has the LID. */
      readonly adapter?: AdapterTrace;
      readonly missing: 'packet' | 'unicast' | 'adapter' | 'queue pair' | 'trace' | 'block';
    };

/**
 * The adapters with names of their own: one whose name another one has, in another process, gets
 * the LID of its first port behind it.
 */
export function distinguishAdapters(all: readonly AdapterTrace[]): AdapterTrace[] {
  return all.map((adapter) => {
    const { name, ports } = adapter;
    if (all.every((other) => other === adapter || other.name !== name)) return adapter;
    return { ...adapter, name: `${name}@LID${ports[0]?.lid ?? 0}`, ownName: name };
  });
}

/** What to add to times of `adapter` to compare them with those of `base`, in ns. */
export function clockOffsetNs(adapter: AdapterTrace, base: AdapterTrace): number {
  return adapter.wallTimeNs - base.wallTimeNs;
}

export function findOtherSide({ adapter, message }: MessageEnd, all: readonly AdapterTrace[]): OtherSide {
  const { packets, receive, remoteLid, remoteQpn } = message.block;
  // A refused packet does not count as one of the message.
  if (receive === 0 && packets === 0) return { missing: 'packet' };
  if (remoteLid >= MULTICAST_LID_BASE) return { missing: 'unicast' };
  const peers = all.filter(({ ports }) => ports.some(({ lid, lmc }) => isLidOfPort(remoteLid, lid, lmc)));
  const ends = peers.flatMap((peer) => {
    const end = findMatch({ adapter, message }, peer);
    return end === undefined ? [] : [{ adapter: peer, message: end }];
  });
  const end = nearest({ adapter, message }, ends);
  if (end !== undefined) return { end };
  const [peer] = peers;
  if (peer === undefined) return { missing: 'adapter' };
  const qp = peer.queuePairs.find((one) => one.qp === remoteQpn);
  if (qp === undefined) return { missing: 'queue pair', adapter: peer };
  return { missing: qp.traced ? 'block' : 'trace', adapter: peer };
}

/** The nearest in time of the peer's blocks that are the other end. PSNs come again after 2^24. */
function findMatch({ adapter, message }: MessageEnd, peer: AdapterTrace): TracedMessage | undefined {
  const { block } = message;
  const isPort = (of: AdapterTrace, number: number, lid: number): boolean =>
    of.ports.some((port) => port.number === number && isLidOfPort(lid, port.lid, port.lmc));
  const ends = peer.messages
    .filter(
      ({ block: other }) =>
        other.receive !== block.receive &&
        (other.receive === 1 || other.packets > 0) &&
        other.qpn === block.remoteQpn &&
        other.remoteQpn === block.qpn &&
        other.firstPsn === block.firstPsn &&
        connectionOf(other.serviceType) === connectionOf(block.serviceType) &&
        isPort(peer, other.port, block.remoteLid) &&
        isPort(adapter, block.port, other.remoteLid),
    )
    .map((one) => ({ adapter: peer, message: one }));
  return nearest({ adapter, message }, ends)?.message;
}

/** The two ends of a connection have the same service; of an XRC connection, its two halves. */
function connectionOf(serviceType: number): number {
  return serviceType === ServiceType.XRC_TARGET ? ServiceType.XRC_INITIATOR : serviceType;
}

function nearest(from: MessageEnd, ends: readonly MessageEnd[]): MessageEnd | undefined {
  const distance = ({ adapter, message }: MessageEnd): number =>
    Math.abs(message.block.beginTime - from.message.block.beginTime + clockOffsetNs(adapter, from.adapter));
  return ends.reduce<MessageEnd | undefined>(
    (best, one) => (best === undefined || distance(one) < distance(best) ? one : best),
    undefined,
  );
}
