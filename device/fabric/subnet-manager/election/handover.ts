// SPDX-License-Identifier: Apache-2.0
/**
 * Handover among the subnet managers of a subnet (IBTA 14.4.1): the higher priority wins, and among
 * equals the lower GUID. `Sweeper` reads the other managers after each sweep, and asks what
 * follows.
 */
import {
  getSmInfoPriority,
  getSmInfoSmState,
  SM_INFO_GUID_OFFSET,
} from '../../../../protocol/infiniband/mad/gen/sm-info.gen.ts';
import {
  MadStatus,
  PortCapability,
  SmState,
  SubnetAttribute,
} from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import { type Guid, readGuid } from '../guid.ts';
import { get, type SmpJob } from '../smp-client.ts';
import type { Subnet, SubnetPort } from '../subnet.ts';

/** Attribute modifiers of Set(SMInfo). */
export const SmControl = { HANDOVER: 1, ACKNOWLEDGE: 2, DISABLE: 3, STANDBY: 4, DISCOVER: 5 } as const;

/** Priority and GUID of a subnet manager. */
export interface Rank {
  readonly priority: number;
  readonly guid: Guid;
}

/** Another subnet manager. */
export interface Peer extends Rank {
  readonly port: SubnetPort;
  readonly state: number;
  /** The SMInfo as it was answered. */
  readonly info: Uint8Array;
}

/** True if `one` is to be master rather than `other`. */
export function isBetter(one: Rank, other: Rank): boolean {
  return one.priority === other.priority ? one.guid < other.guid : one.priority > other.priority;
}

/** Asks all ports with a subnet manager, besides the own one. */
export function* readPeers(subnet: Subnet): SmpJob<Peer[]> {
  const ports = subnet.endPorts.filter((port) => port.has(PortCapability.IS_SM) && port !== subnet.ownPort);
  const answers = yield ports.map(({ path }) => get(path, SubnetAttribute.SM_INFO));
  return answers.flatMap(({ status, view, data }, index): Peer[] => {
    if (status !== MadStatus.SUCCESS) return [];
    const rank = { priority: getSmInfoPriority(view, 0), guid: readGuid(view, SM_INFO_GUID_OFFSET) };
    return [{ ...rank, port: ports[index], state: getSmInfoSmState(view, 0), info: data }];
  });
}

/**
 * The next step of a manager after a sweep. `master`: it is master. `yield`: it stands by and
 * watches `peer`. `hand-over`: it gives the subnet to `peer`. `wait`: `peer`, a lesser master, is
 * to give its part of the subnet up.
 */
type HandoverDecision =
  | { readonly kind: 'master' }
  | { readonly kind: 'yield' | 'hand-over' | 'wait'; readonly peer: Peer };

/** `own`: the manager itself; `isMaster`: it is master now. */
export function decideHandover(own: Rank, isMaster: boolean, peers: readonly Peer[]): HandoverDecision {
  const alive = peers.filter(({ state }) => state !== SmState.NOT_ACTIVE);
  const masters = alive.filter(({ state }) => state === SmState.MASTER);
  const best = alive.filter((peer) => isBetter(peer, own)).reduce<Peer | undefined>(better, undefined);
  const master = masters.reduce<Peer | undefined>(better, undefined);
  if (!isMaster) {
    const peer = master ?? best;
    return peer === undefined ? { kind: 'master' } : { kind: 'yield', peer };
  }
  if (best !== undefined) return { kind: 'hand-over', peer: best };
  return master === undefined ? { kind: 'master' } : { kind: 'wait', peer: master };
}

function better(best: Peer | undefined, peer: Peer): Peer {
  return best === undefined || isBetter(peer, best) ? peer : best;
}
