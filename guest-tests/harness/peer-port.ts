// SPDX-License-Identifier: Apache-2.0
/**
 * The port by which the host carries words between guests that run together. The guest may not have
 * started yet when the first words for it come, and may have ended when the last do. Called by
 * peer-run.ts and by scripts/foreign.
 */
import type { Guest } from '../../qemu/guest.ts';

/** The name of the port, at which a tenant takes its orders, too. */
export const PEER_PORT = 'vuhca.peer';

export class PeerPort {
  #start: (guest: Guest) => void = () => {};
  readonly #guest = new Promise<Guest>((resolve) => {
    this.#start = resolve;
  });

  /** The guest has started. */
  open(guest: Guest): void {
    this.#start(guest);
  }

  /** Sends a line, now or when the guest starts. */
  tell(line: string): void {
    // A guest that waits for one that has ended times out.
    void this.#guest.then((guest) => guest.port(PEER_PORT).write(`${line}\n`)).catch(() => {});
  }

  async kill(): Promise<void> {
    await (await this.#guest).kill();
  }
}
