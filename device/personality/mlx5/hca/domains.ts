// SPDX-License-Identifier: Apache-2.0
/**
 * Protection domains and XRC domains as the transport knows them: software has numbers of them
 * (numbers.ts), and queue pairs and shared queues with the same number share an object.
 */
import type { UnderlyingFunction } from '../../../hca/function/underlying-function.ts';
import { ProtectionDomain } from '../../../hca/protection/protection-domain.ts';
import { XrcDomain, type XrcQueueLookup } from '../../../hca/queues/xrc-domain.ts';

export class Domains {
  readonly #owner: UnderlyingFunction;
  readonly #queues: XrcQueueLookup;
  readonly #protection = new Map<number, ProtectionDomain>();
  readonly #xrc = new Map<number, XrcDomain>();

  constructor(owner: UnderlyingFunction, queues: XrcQueueLookup) {
    this.#owner = owner;
    this.#queues = queues;
  }

  /** The protection domain with a number; 0 stands for none and has no memory. */
  protectionDomain(number: number): ProtectionDomain {
    const found = this.#protection.get(number) ?? new ProtectionDomain(number, this.#owner);
    this.#protection.set(number, found);
    return found;
  }

  xrcDomain(number: number): XrcDomain {
    const found = this.#xrc.get(number) ?? new XrcDomain(number, this.#owner, this.#queues);
    this.#xrc.set(number, found);
    return found;
  }

  reset(): void {
    this.#protection.clear();
    this.#xrc.clear();
  }
}
