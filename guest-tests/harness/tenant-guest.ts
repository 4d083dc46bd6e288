// SPDX-License-Identifier: Apache-2.0
/**
 * A guest on one of several functions that runs cases/tenant.sh and takes its orders from the host,
 * a line at a time. Called by tenant-run.ts and by `npm run demo -- qos`.
 */
import type { Guest } from '../../qemu/guest.ts';
import { type GuestRun, makeRun } from './guest-run.ts';
import { GuestSession, type GuestSessionOptions } from './guest-session.ts';
import { PEER_PORT } from './peer-port.ts';

const READY = '# host: ready';
const DONE = '# host: done';
/** Small, because several guests share the machine. */
const MEMORY_MIB = 256;

/** The error of a guest that ended, or was ended because it fell silent, during an order. */
export class GuestEndedError extends Error {}

/** One guest that takes orders. */
export class Tenant {
  readonly session: GuestSession;
  /**
   * Resolves when the guest takes orders. Rejects, as each order does, when the guest ends first.
   */
  readonly ready: Promise<void>;
  readonly #ended: Promise<void>;
  #guest: Guest | undefined;
  #heard: (() => void) | undefined;
  #lines: string[] = [];

  constructor(image: string, socketPath: string, options: GuestSessionOptions = {}) {
    const onReport = (line: string): void => {
      if (line === READY || line === DONE) this.#heard?.();
      else this.#lines.push(line);
      options.onReport?.(line);
    };
    this.session = new GuestSession({
      ...options,
      onReport,
      guest: { ports: [PEER_PORT], cpus: 1, memoryMiB: MEMORY_MIB },
    });
    this.#ended = this.session.run(image, [{ socketPath }], (guest) => {
      this.#guest = guest;
    });
    this.ready = this.#hears();
    this.ready.catch(() => {});
  }

  /** Gives an order; resolves when it is done, with the lines that the guest reported meanwhile. */
  async do(line: string): Promise<readonly string[]> {
    const done = this.#hears();
    this.#lines = [];
    await this.#tell(line);
    await done;
    return this.#lines;
  }

  async end(): Promise<void> {
    await this.#tell('end');
    await this.#ended;
  }

  /** Ends the guest as a power failure would. */
  async kill(): Promise<void> {
    await this.#guest?.kill();
    await this.#ended;
  }

  report(): GuestRun {
    return makeRun(this.session);
  }

  async #tell(line: string): Promise<void> {
    await this.#guest?.port(PEER_PORT).write(`${line}\n`);
  }

  #hears(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#heard = resolve;
      void this.#ended.then(() =>
        reject(new GuestEndedError(`a guest ended: ${this.session.faults.map(({ text }) => text).join('; ')}`)),
      );
    });
  }
}
