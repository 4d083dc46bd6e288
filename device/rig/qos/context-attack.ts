// SPDX-License-Identifier: Apache-2.0
/**
 * Hostile use of send contexts that the function owns (US 2015/0378953; docs/DOCUMENTS.md decision
 * 14): packets to a QP of its own, valid, from a foreign QP or port, or with bytes changed, whole
 * or with a store left out. Used by `Attacker`.
 */
import { SendContextState } from '../../../protocol/layout/gen/values.gen.ts';
import type { Random } from '../../random.ts';
import type { DriverSendContext } from '../driver/send-context.ts';
import { composeDatagram } from '../fixtures/send-context-fixture.ts';
import type { Tenant } from './tenant.ts';

export class ContextAttack {
  readonly #tenant: Tenant;
  readonly #random: Random;
  readonly #foreign: readonly number[];
  readonly #ownQpn: number;
  readonly #contexts: readonly DriverSendContext[];

  /** Creates the contexts. `foreign`: numbers of other functions' objects. */
  constructor(tenant: Tenant, random: Random, foreign: readonly number[], ownQpn: number) {
    this.#tenant = tenant;
    this.#random = random;
    this.#foreign = foreign;
    this.#ownQpn = ownQpn;
    this.#contexts = [1, 1, 2].map((port) => tenant.driver.createSendContext({ port, blocks: 64, threshold: 2 }));
    for (const context of this.#contexts) context.enable();
  }

  /** Writes a packet. A context that has halted starts again. */
  act(): void {
    const random = this.#random;
    const context = random.pick(this.#contexts);
    context.refresh();
    if (context.state !== SendContextState.ENABLED) {
      context.disable();
      if (context.state === SendContextState.DISABLED) context.enable();
      return;
    }
    const packet = this.#compose();
    if (random.oneIn(8)) packet[random.below(packet.length)] ^= 1 << random.below(8);
    const stores = context.allocate(packet, { creditReturn: random.below(2), interrupt: random.below(2) }) ?? [];
    for (const store of stores) if (!random.oneIn(500)) context.write(store);
  }

  #compose(): Uint8Array {
    const random = this.#random;
    return composeDatagram(random.bytes(random.below(64) * 4), {
      slid: this.#tenant.lidOf(random.oneIn(8) ? 2 : 1),
      dlid: this.#tenant.lidOf(random.pick([1, 2])),
      destQpn: this.#ownQpn,
      srcQpn: random.oneIn(8) ? random.pick(this.#foreign) : this.#ownQpn,
      qKey: 1,
    });
  }
}
