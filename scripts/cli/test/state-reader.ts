// SPDX-License-Identifier: Apache-2.0
/**
 * Reads the adapter's state after each failure while a guest runs, and keeps it with the failure.
 * Called by `vuhca test` and `vuhca run --case`.
 */
import type { AdapterState } from './adapter-state.ts';

/** Most states that are read from one guest; each read costs the guest time. */
const STATES_MAX = 10;

/** `About` is the type of the failure. */
export class StateReader<About> {
  readonly known = new Map<About, readonly string[]>();
  readonly #pending: Promise<void>[] = [];
  #adapter: AdapterState | undefined;

  attach(adapter: AdapterState): void {
    this.#adapter = adapter;
  }

  read(about: About): void {
    const adapter = this.#adapter;
    if (adapter === undefined || this.#pending.length >= STATES_MAX) return;
    this.#pending.push(adapter.describe().then((lines) => void this.known.set(about, lines)));
  }

  /** Waits for reads in progress, and starts no more. Returns the findings of the order check. */
  async end(): Promise<readonly string[]> {
    await Promise.all(this.#pending);
    const lateStores = (await this.#adapter?.describeLateStores()) ?? [];
    this.#adapter?.close();
    this.#adapter = undefined;
    return lateStores;
  }
}
