// SPDX-License-Identifier: Apache-2.0
/**
 * Runs a job in a guest with an adapter: the adapter process, the guest attached to it, and the
 * reports of both. Called by `vuhca test` and, for the in-kernel tests of this project, by
 * kernel-cases.ts. Each fault is an entry in `faults`.
 */
import type { Guest } from '../../qemu/guest.ts';
import { DeviceProcess, type DeviceStart } from './device-process.ts';
import { type GuestJob, packJob } from './guest-image.ts';
import { type GuestFault, GuestSession, type GuestSessionOptions, type TestResult } from './guest-session.ts';
import { answerRequests, REQUEST_PORT, type RequestAnswerer } from './host-requests.ts';

/** The adapter and the guest of a run. */
export interface GuestRunOptions extends GuestSessionOptions {
  readonly device?: DeviceStart;
  /** Indexes of the functions that the guest gets; all when absent. */
  readonly functions?: readonly number[];
  /** Called with the adapter process before the guest starts. */
  readonly onDevice?: (device: DeviceProcess) => void | Promise<void>;
  /** Called with the guest when it has started. */
  readonly onGuest?: (guest: Guest) => void;
  /**
   * Called when the guest has ended; the adapter process ends after it. Returns sentences about
   * stores that came after the access that announced them.
   */
  readonly onGuestEnd?: () => Promise<readonly string[]>;
  /** Answers requests of the guest to its host; the job packs `requestProgram`. */
  readonly answer?: RequestAnswerer;
}

export interface GuestRun {
  readonly results: readonly TestResult[];
  readonly faults: readonly GuestFault[];
  readonly seconds: number;
  /** The guest's kernel log while `suite/case` ran, or all of it that is kept. */
  kernelLog(suite?: string, name?: string): readonly string[];
  /** Lines of the kernel's log by number. */
  logBetween(from: number, to: number): readonly string[];
}

/** Runs the job to its end. Throws SetupError only when adapter or guest cannot be started. */
export async function runGuest(job: GuestJob, options: GuestRunOptions = {}): Promise<GuestRun> {
  const initramfs = await packJob(job);
  const device = await DeviceProcess.start(options.device ?? {});
  const { functions: only, answer, guest } = options;
  const ports = [...(guest?.ports ?? []), ...(answer === undefined ? [] : [REQUEST_PORT])];
  const session = new GuestSession({ ...options, guest: { ...guest, ports } });
  try {
    await options.onDevice?.(device);
    const sockets = device.child.sockets.filter((_, number) => only === undefined || only.includes(number));
    await session.run(initramfs, device.child.devices(sockets), (running) => {
      options.onGuest?.(running);
      if (answer !== undefined) answerRequests(running, answer);
    });
    session.addFaults('order', (await options.onGuestEnd?.()) ?? []);
  } finally {
    session.addFaults('adapter', await device.stop());
  }
  return makeRun(session);
}

/** The results of a guest that has ended. */
export function makeRun(session: GuestSession): GuestRun {
  return {
    results: session.results,
    faults: session.faults,
    seconds: session.seconds,
    kernelLog: (suite, name) => session.kernelLog(suite, name),
    logBetween: (from, to) => session.logBetween(from, to),
  };
}
