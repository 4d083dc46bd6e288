// SPDX-License-Identifier: Apache-2.0
/**
 * Traps of a node (IBTA 13.4.9, 14.2.5.1, 14.3): one for each cause and port. A trap goes to the
 * subnet manager of the port, at most once a second, and is repeated until the manager represses
 * it. Without a manager, or while the port is not active, nothing is sent. Agents and the node
 * raise traps; `MadInterface.run` sends them.
 */

import { setLinkStateNoticeLid } from '../../../protocol/infiniband/mad/gen/link-state-notice.gen.ts';
import {
  setLocalChangeNoticeCapabilityMask,
  setLocalChangeNoticeHasOtherChanges,
  setLocalChangeNoticeLid,
  setLocalChangeNoticeNodeDescriptionChanged,
} from '../../../protocol/infiniband/mad/gen/local-change-notice.gen.ts';
import {
  getMadHeaderTransactionIdHigh,
  getMadHeaderTransactionIdLow,
} from '../../../protocol/infiniband/mad/gen/mad-header.gen.ts';
import {
  getNoticeTrapNumber,
  setNoticeIsGeneric,
  setNoticeIssuerLid,
  setNoticeProducerType,
  setNoticeTrapNumber,
  setNoticeType,
} from '../../../protocol/infiniband/mad/gen/notice.gen.ts';
import {
  setPortErrorNoticeLid,
  setPortErrorNoticePortNumber,
} from '../../../protocol/infiniband/mad/gen/port-error-notice.gen.ts';
import {
  MadClass,
  MadMethod,
  NoticeType,
  SubnetAttribute,
  TrapNumber,
} from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { beginMad } from '../../../protocol/infiniband/mad/mad-head.ts';
import { ATTRIBUTE_OFFSET, MAD_BYTES } from '../../../protocol/infiniband/mad/mad-headers.ts';
import { PortState } from '../../../protocol/layout/gen/values.gen.ts';
import type { KeyViolation } from '../port/key-violation.ts';
import type { LinkErrorTrap } from '../port/link.ts';
import { type MadAddress, subnetAddress } from './mad-packet.ts';
import { endPortOf, isSwitch, type ManagedNode } from './managed-node.ts';
import { type NoticeQueue, NoticeQueues } from './notice-queue.ts';
import { describeBadKey, describeBadPartition, describeKeyViolation } from './trap-details.ts';

/** Shortest time between two traps of one cause. */
const REPEAT_NS = 1e9;

type KeyTrap = typeof TrapNumber.BAD_P_KEY | typeof TrapNumber.BAD_Q_KEY;

/** Sends a datagram by a port; false: there is no room now. */
type SendDatagram = (portNumber: number, address: Readonly<MadAddress>, mad: Uint8Array) => boolean;

/** A trap of one cause at one port. */
interface Trap {
  readonly number: number;
  readonly portNumber: number;
  readonly mad: Uint8Array;
  readonly view: DataView;
  /** It has not been repressed yet. */
  isPending: boolean;
  nextNs: number;
}

export class Traps {
  /** Traps sent, repeats included. */
  sent = 0;
  repressed = 0;
  /** Earliest time at which a trap can be sent. */
  nextNs = Number.POSITIVE_INFINITY;
  /** Notices of the traps, for managers that poll. */
  readonly notices = new NoticeQueues();
  readonly #node: ManagedNode;
  readonly #send: SendDatagram;
  readonly #traps = new Map<number, Trap>();
  #transaction = 0;

  constructor(node: ManagedNode, send: SendDatagram) {
    this.#node = node;
    this.#send = send;
  }

  /**
   * Raises a trap at a port; `describe` writes its details into the notice that begins at the
   * offset. A trap that is still pending stays as it is. Its notice is queued, also while there is
   * no manager to send it to.
   */
  raise(
    number: number,
    type: NoticeType,
    portNumber: number,
    describe: (view: DataView, notice: number) => void,
  ): void {
    const canSend = this.#canSend(portNumber);
    const trap = this.#trapOf(number, portNumber);
    const queue = this.#queueOf(trap);
    if (trap.isPending || (!canSend && queue.has(trap.mad))) return;
    const { view, mad } = trap;
    this.#transaction++;
    beginMad(mad, {
      managementClass: MadClass.SUBNET,
      method: MadMethod.TRAP,
      transactionLow: this.#transaction,
      attributeId: SubnetAttribute.NOTICE,
    });
    setNoticeIsGeneric(view, ATTRIBUTE_OFFSET, 1);
    setNoticeType(view, ATTRIBUTE_OFFSET, type);
    setNoticeProducerType(view, ATTRIBUTE_OFFSET, this.#node.nodeType);
    setNoticeTrapNumber(view, ATTRIBUTE_OFFSET, number);
    setNoticeIssuerLid(view, ATTRIBUTE_OFFSET, endPortOf(this.#node, portNumber).lid);
    describe(view, ATTRIBUTE_OFFSET);
    queue.add(mad);
    if (!canSend) return;
    // Traps go out in the order in which they could first be sent.
    if (trap.nextNs === 0) this.#traps.delete(keyOf(number, portNumber));
    this.#traps.set(keyOf(number, portNumber), trap);
    trap.isPending = true;
    this.nextNs = Math.min(this.nextNs, trap.nextNs);
  }

  /** No trap waits for its next time. */
  get isIdle(): boolean {
    return this.nextNs === Number.POSITIVE_INFINITY;
  }

  /** Trap 256, for a request without the management key of a port. */
  raiseBadKey(portNumber: number, address: Readonly<MadAddress>, request: DataView): void {
    this.raise(TrapNumber.BAD_M_KEY, NoticeType.SECURITY, portNumber, (view, notice) =>
      describeBadKey(view, notice, address, request),
    );
  }

  /** Trap 128: a port of a switch has changed its state. */
  raiseLinkState(): void {
    const { lid } = this.#node.endPorts[0];
    this.raise(TrapNumber.LINK_STATE_CHANGE, NoticeType.URGENT, 0, (view, notice) =>
      setLinkStateNoticeLid(view, notice, lid),
    );
  }

  /** Traps 129 to 131: a threshold of a port was reached. */
  raisePortError(number: LinkErrorTrap, portNumber: number): void {
    const { lid } = endPortOf(this.#node, portNumber);
    this.raise(number, NoticeType.URGENT, portNumber, (view, notice) => {
      setPortErrorNoticeLid(view, notice, lid);
      setPortErrorNoticePortNumber(view, notice, portNumber);
    });
  }

  /** Trap 144: the capabilities of a port, or the description of the node, have changed. */
  raiseLocalChange(portNumber: number, hasNewDescription = false): void {
    const { lid, subnet } = endPortOf(this.#node, portNumber);
    this.raise(TrapNumber.LOCAL_CHANGE, NoticeType.INFORMATIONAL, portNumber, (view, notice) => {
      setLocalChangeNoticeLid(view, notice, lid);
      setLocalChangeNoticeCapabilityMask(view, notice, subnet.capabilityMask);
      setLocalChangeNoticeHasOtherChanges(view, notice, hasNewDescription ? 1 : 0);
      setLocalChangeNoticeNodeDescriptionChanged(view, notice, hasNewDescription ? 1 : 0);
    });
  }

  /** Traps 257 and 258: a packet with a wrong partition or queue key arrived at a port. */
  raiseKeyViolation(number: KeyTrap, portNumber: number, violation: Readonly<KeyViolation>): void {
    this.raise(number, NoticeType.SECURITY, portNumber, (view, notice) =>
      describeKeyViolation(view, notice, violation),
    );
  }

  /** Trap 259: a switch dropped a packet because of its partition key. */
  raiseBadPartition(portNumber: number, violation: Readonly<KeyViolation>): void {
    const { lid } = this.#node.endPorts[0];
    this.raise(TrapNumber.BAD_P_KEY_AT_SWITCH, NoticeType.SECURITY, portNumber, (view, notice) =>
      describeBadPartition(view, notice, violation, lid, portNumber),
    );
  }

  /** Ends the repetition of the trap that a TrapRepress names. Returns false if it names none. */
  repress(view: DataView): boolean {
    let isOwn = false;
    const number = getNoticeTrapNumber(view, ATTRIBUTE_OFFSET);
    for (const trap of this.#traps.values()) {
      if (trap.number !== number || !isSameTransaction(trap.view, view)) continue;
      isOwn = true;
      this.#queueOf(trap).remove(trap.mad);
      if (!trap.isPending) continue;
      trap.isPending = false;
      this.repressed++;
    }
    this.#schedule();
    return isOwn;
  }

  /** Sends the traps that are due. */
  run(nowNs: number): void {
    if (nowNs < this.nextNs) return;
    for (const trap of this.#traps.values()) {
      if (!trap.isPending) continue;
      if (!this.#canSend(trap.portNumber)) trap.isPending = false;
      else if (trap.nextNs <= nowNs) this.#transmit(trap, nowNs);
    }
    this.#schedule();
  }

  #schedule(): void {
    this.nextNs = Number.POSITIVE_INFINITY;
    for (const { isPending, nextNs } of this.#traps.values())
      if (isPending && nextNs < this.nextNs) this.nextNs = nextNs;
  }

  #transmit(trap: Trap, nowNs: number): void {
    const port = endPortOf(this.#node, trap.portNumber);
    const address = subnetAddress(port.lid, port.smLid, port.subnet.masterSmSl);
    if (this.#send(isSwitch(this.#node) ? 0 : trap.portNumber, address, trap.mad)) this.sent++;
    trap.nextNs = nowNs + REPEAT_NS;
  }

  /** True when the port has a manager, and a way to it. */
  #canSend(portNumber: number): boolean {
    const port = endPortOf(this.#node, portNumber);
    if (port.smLid === 0 || port.lid === 0) return false;
    return isSwitch(this.#node) || this.#node.ports[portNumber - 1].state === PortState.ACTIVE;
  }

  #queueOf({ portNumber }: Trap): NoticeQueue {
    return this.notices.of(isSwitch(this.#node) ? 0 : portNumber);
  }

  #trapOf(number: number, portNumber: number): Trap {
    const key = keyOf(number, portNumber);
    const known = this.#traps.get(key);
    if (known !== undefined) return known;
    const mad = new Uint8Array(MAD_BYTES);
    const made: Trap = { number, portNumber, mad, view: new DataView(mad.buffer), isPending: false, nextNs: 0 };
    this.#traps.set(key, made);
    return made;
  }
}

function keyOf(number: number, portNumber: number): number {
  return number * 256 + portNumber;
}

function isSameTransaction(a: DataView, b: DataView): boolean {
  return (
    getMadHeaderTransactionIdHigh(a, 0) === getMadHeaderTransactionIdHigh(b, 0) &&
    getMadHeaderTransactionIdLow(a, 0) === getMadHeaderTransactionIdLow(b, 0)
  );
}
