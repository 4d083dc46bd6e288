// SPDX-License-Identifier: Apache-2.0
/**
 * State of the function behind the command queue: what has been started, pages that the firmware
 * holds, UAR pages, event queues. Commands read and change it; a reset returns it to power-on.
 */
import { BAR_BYTES, FIRST_UAR, UAR_PAGE_BYTES } from '../../../../protocol/mlx5/gen/constants.gen.ts';
import type { UnderlyingFunction } from '../../../hca/function/underlying-function.ts';
import { LOG_DOMAINS, LOG_TRANSPORT_DOMAINS, LOG_XRC_DOMAINS, makeCapabilities } from './capabilities.ts';
import { Events } from './events.ts';
import { Numbers } from './numbers.ts';

/** What has been started; each includes those before it. */
export const HcaState = { DISABLED: 0, ENABLED: 1, RUNNING: 2 } as const;
export type HcaState = (typeof HcaState)[keyof typeof HcaState];

/** Versions of the interface that the adapter knows, a bit for each. */
export const SUPPORTED_ISSI = 0b11;

/** Pages that the firmware asks for before it can boot, and before it starts. */
export const BOOT_PAGES = 16;
export const START_PAGES = 64;

/** Zeros in a context name no domain. */
const FIRST_DOMAIN = 1;

export class Hca {
  readonly underlying: UnderlyingFunction;
  state: HcaState = HcaState.DISABLED;
  /** Version of the interface in use. */
  issi = 0;
  /** Bus addresses of pages that software has given; the newest last. */
  readonly pages: number[] = [];
  /** Pages of capabilities by kind: what the function can do, and what software wants of it. */
  readonly capabilities = makeCapabilities();
  readonly current = new Map(this.capabilities);
  readonly events = new Events();
  /** UAR pages; a number is that of the page in BAR 0. */
  readonly uars = new Numbers(FIRST_UAR, BAR_BYTES / UAR_PAGE_BYTES - FIRST_UAR);
  readonly domains = new Numbers(FIRST_DOMAIN, 2 ** LOG_DOMAINS);
  readonly transportDomains = new Numbers(FIRST_DOMAIN, 2 ** LOG_TRANSPORT_DOMAINS);
  readonly xrcDomains = new Numbers(FIRST_DOMAIN, 2 ** LOG_XRC_DOMAINS);

  constructor(underlying: UnderlyingFunction) {
    this.underlying = underlying;
  }

  /** The function stops: all objects are gone; pages stay until software takes them back. */
  close(): void {
    this.events.reset();
    for (const numbers of [this.uars, this.domains, this.transportDomains, this.xrcDomains]) numbers.reset();
    if (this.state === HcaState.RUNNING) this.state = HcaState.ENABLED;
  }

  reset(): void {
    this.close();
    this.pages.length = 0;
    for (const [kind, page] of this.capabilities) this.current.set(kind, page);
    this.issi = 0;
    this.state = HcaState.DISABLED;
  }
}
