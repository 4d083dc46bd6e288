// SPDX-License-Identifier: Apache-2.0
/**
 * A port of a node that a test plays: it keeps datagrams that software sends, and the test delivers
 * those that arrive.
 */
import type { MadAddress } from '../../fabric/agents/mad-packet.ts';
import type { MadPort } from '../../fabric/agents/mad-port.ts';

export interface SentMad {
  readonly address: MadAddress;
  readonly mad: Uint8Array;
}

export class ScriptedMadPort implements MadPort {
  readonly portGuid = Uint8Array.of(0, 0x56, 0x55, 0, 0, 0, 0, 1);
  readonly portNumber = 1;
  lid = 7;
  /** False when the port has no room. */
  hasRoom = true;
  readonly sent: SentMad[] = [];
  /** Called for each datagram that was taken. */
  onSent: ((sent: SentMad) => void) | undefined = undefined;
  onMad: ((address: Readonly<MadAddress>, mad: Uint8Array) => void) | undefined = undefined;

  send(address: Readonly<MadAddress>, mad: Uint8Array): boolean {
    if (!this.hasRoom) return false;
    const sent = { address: { ...address }, mad: mad.slice() };
    this.sent.push(sent);
    this.onSent?.(sent);
    return true;
  }
}
