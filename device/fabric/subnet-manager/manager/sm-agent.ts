// SPDX-License-Identifier: Apache-2.0
/**
 * Datagrams of subnet management that come to a manager unasked: SMInfo of other managers, and
 * traps (IBTA 14.2.5.13, 14.4.1, 13.4.9). It builds the answers; the decisions are those of its
 * `owner`.
 */

import {
  DIRECTED_ROUTE_SMP_DATA_OFFSET,
  DIRECTED_ROUTE_SMP_M_KEY_OFFSET,
  setDirectedRouteSmpIsReturning,
} from '../../../../protocol/infiniband/mad/gen/directed-route-smp.gen.ts';
import {
  getMadHeaderAttributeId,
  getMadHeaderAttributeModifier,
  getMadHeaderManagementClass,
  getMadHeaderMethod,
  setMadHeaderMethod,
  setMadHeaderStatus,
} from '../../../../protocol/infiniband/mad/gen/mad-header.gen.ts';
import { SM_INFO_GUID_OFFSET } from '../../../../protocol/infiniband/mad/gen/sm-info.gen.ts';
import { MadClass, MadMethod, MadStatus, SubnetAttribute } from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import { viewOf } from '../../../../protocol/layout/view.ts';
import { answerAddress, type MadAddress } from '../../agents/mad-packet.ts';
import type { MadPort } from '../../agents/mad-port.ts';
import { type Guid, readGuid, writeGuid } from '../guid.ts';

/** Whom an agent asks. */
interface SmAgentOwner {
  /** The management key of the ports. */
  readonly mKey: Guid;
  /** SMInfo as of now. */
  ownInfo(): Uint8Array;
  /** Another manager asked for SMInfo. */
  noteAsked(): void;
  /** Another manager with `guid` wrote SMInfo. Returns a status. */
  control(modifier: number, guid: Guid): number;
  isMaster(): boolean;
  noteTrap(issuerLid: number, notice: Uint8Array): void;
}

const NOTICE_BYTES = 64;

export class SmAgent {
  /** Datagrams that are neither of the manager's business nor a response. */
  unexpected = 0;
  readonly #port: MadPort;
  readonly #owner: SmAgentOwner;

  constructor(port: MadPort, owner: SmAgentOwner) {
    this.#port = port;
    this.#owner = owner;
  }

  /** Takes a datagram of subnet management that is not a response. */
  take(address: Readonly<MadAddress>, mad: Uint8Array): void {
    const view = viewOf(mad);
    const method = getMadHeaderMethod(view, 0);
    const attribute = getMadHeaderAttributeId(view, 0);
    if (attribute === SubnetAttribute.SM_INFO && method === MadMethod.GET) {
      this.#owner.noteAsked();
      this.#answer(address, mad, view, MadStatus.SUCCESS);
    } else if (attribute === SubnetAttribute.SM_INFO && method === MadMethod.SET) {
      const guid = readGuid(view, DIRECTED_ROUTE_SMP_DATA_OFFSET + SM_INFO_GUID_OFFSET);
      const status = this.#owner.control(getMadHeaderAttributeModifier(view, 0), guid);
      this.#answer(address, mad, view, status);
    } else if (attribute === SubnetAttribute.NOTICE && method === MadMethod.TRAP) this.#repress(address, mad, view);
    else this.unexpected++;
  }

  #answer(address: Readonly<MadAddress>, mad: Uint8Array, view: DataView, status: number): void {
    setMadHeaderMethod(view, 0, MadMethod.GET_RESPONSE);
    setMadHeaderStatus(view, 0, status);
    if (getMadHeaderManagementClass(view, 0) === MadClass.SUBNET_DIRECTED_ROUTE)
      setDirectedRouteSmpIsReturning(view, 0, 1);
    mad.set(this.#owner.ownInfo(), DIRECTED_ROUTE_SMP_DATA_OFFSET);
    this.#port.send(answerAddress(address), mad);
  }

  /** Only the master ends the repetition of a trap; others leave it for the master. */
  #repress(address: Readonly<MadAddress>, mad: Uint8Array, view: DataView): void {
    if (!this.#owner.isMaster()) return;
    const start = DIRECTED_ROUTE_SMP_DATA_OFFSET;
    const notice = mad.slice(start, start + NOTICE_BYTES);
    setMadHeaderMethod(view, 0, MadMethod.TRAP_REPRESS);
    // Without the key of the port it would be a violation itself (IBTA 14.2.4.1).
    writeGuid(view, DIRECTED_ROUTE_SMP_M_KEY_OFFSET, this.#owner.mKey);
    this.#port.send(answerAddress(address), mad);
    this.#owner.noteTrap(address.slid, notice);
  }
}
