// SPDX-License-Identifier: Apache-2.0
/** A guest has the processors that it was given, and its clock goes as that of the host. */
import t from 'tap';
import type { GuestPort } from './guest-port.ts';
import { buildInitramfs } from './initramfs.ts';
import { launchGuest } from './launch.ts';

const CLOCK_INTERVAL_MS = 2000;
/** The closest of so many counts, at both ends of the interval. */
const CLOCK_READINGS = 20;
const CLOCK_TOLERANCE = 0.001;

/** The lines of a port, one by one. */
class LineQueue {
  readonly #lines: string[] = [];
  #waiting: ((line: string) => void) | undefined;

  constructor(port: GuestPort) {
    port.onLine((line) => {
      if (this.#waiting === undefined) this.#lines.push(line);
      else this.#waiting(line);
      this.#waiting = undefined;
    });
  }

  next(): Promise<string> {
    const line = this.#lines.shift();
    if (line !== undefined) return Promise.resolve(line);
    return new Promise((resolve) => {
      this.#waiting = resolve;
    });
  }
}

t.test('a guest has all its processors and a clock that goes as ours', async (t) => {
  const caseScript = `#!/bin/sh
echo "processors $(nproc)"
while read -r _; do
  sed -n 's/^now at \\([0-9]*\\).*/\\1/p' /proc/timer_list
done </dev/virtio-ports/clock
`;
  const guest = await launchGuest({ initramfs: await buildInitramfs({ caseScript }), cpus: 3, ports: ['clock'] });
  const lines = new LineQueue(guest.port());
  t.match(await lines.next(), /^@vuhca init /);
  t.equal(await lines.next(), 'processors 3');
  // The guest reads its clock between `before` and `after`, however busy the machine is.
  const read = async (): Promise<{ before: number; guestMs: number; after: number }> => {
    const before = performance.now();
    await guest.port('clock').write('\n');
    const guestMs = Number(await lines.next()) / 1e6;
    return { before, guestMs, after: performance.now() };
  };
  const readClosely = async (): Promise<Awaited<ReturnType<typeof read>>> => {
    const readings = [];
    for (let i = 0; i < CLOCK_READINGS; i++) readings.push(await read());
    return readings.sort((a, b) => a.after - a.before - (b.after - b.before))[0] as (typeof readings)[0];
  };
  const first = await readClosely();
  await new Promise((resolve) => setTimeout(resolve, CLOCK_INTERVAL_MS));
  const last = await readClosely();
  await guest.kill();
  const passedMs = last.guestMs - first.guestMs;
  const [leastMs, mostMs] = [last.before - first.after, last.after - first.before];
  const message = `${passedMs} ms in the guest, ${leastMs} to ${mostMs} ms here`;
  t.ok(passedMs >= leastMs * (1 - CLOCK_TOLERANCE) && passedMs <= mostMs * (1 + CLOCK_TOLERANCE), message);
});
