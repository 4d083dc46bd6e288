// SPDX-License-Identifier: Apache-2.0
/**
 * A session: an adapter process and the guest attached to it, started and ended together. The end
 * of either, or a signal, ends both, and leaves nothing of either. Called by `vuhca run`, `npm
 * start` and tests.
 */
import { join } from 'node:path';
import type { CaptureOptions, CaptureProgress } from '../../../device/process/control/capture-file.ts';
import { ControlClient } from '../../../device/process/control/control-client.ts';
import { printable } from '../../../protocol/system/printable.mjs';
import { DeviceChild, type DeviceChildOptions, type DeviceExit } from '../../../qemu/device-child.ts';
import type { Guest, GuestExit } from '../../../qemu/guest.ts';
import type { GuestOptions } from '../../../qemu/guest-options.ts';
import type { KernelComplaint } from '../../../qemu/kernel-log.ts';
import type { GuestLiveness } from './liveness.ts';
import { type RemoteCapture, startCapture } from './remote-capture.ts';
import { startWatched } from './watched-guest.ts';

export interface SessionOptions {
  readonly device?: DeviceChildOptions;
  /** The guest, without its devices; may be prepared while the adapter starts. */
  readonly guest: GuestOptions | Promise<GuestOptions>;
  /** Captures the whole session into a file with an absolute path. */
  readonly capture?: CaptureOptions;
  /** Called with the adapter process before the guest starts. */
  readonly onDevice?: (device: DeviceChild) => Promise<void>;
  /** Called when the guest has ended; the adapter process ends after it. */
  readonly onGuestEnd?: (seen: Pick<SessionEnd, 'silence' | 'complaints'>) => Promise<void>;
  /** Called when the guest has been silent for long; a line on standard error when absent. */
  readonly onSilence?: (text: string) => void;
  /** A silence that ends the guest, in seconds. */
  readonly silenceSeconds?: number;
}

/** The end of a session. */
export interface SessionEnd {
  readonly guest: GuestExit;
  /** The end of the adapter, if it came before that of the guest. */
  readonly deviceFailure: DeviceExit | undefined;
  readonly capture: CaptureProgress | undefined;
  /** The seconds of silence that ended the guest. */
  readonly silence: number | undefined;
  /** The complaints of the guest's kernel, whatever its console shows. */
  readonly complaints: readonly KernelComplaint[];
}

export class Session {
  readonly device: DeviceChild;
  readonly guest: Guest;
  /** Resolves when both have ended. */
  readonly whenEnded: Promise<SessionEnd>;

  /** Starts both. Throws SetupError when either does not start; nothing is left then. */
  static async start(options: SessionOptions): Promise<Session> {
    const prepared = Promise.resolve(options.guest);
    // Awaited below, after the adapter has started or failed.
    prepared.catch(() => {});
    const device = await DeviceChild.start(options.device);
    try {
      await options.onDevice?.(device);
      const capture = options.capture && (await beginCapture(device, options.capture));
      const { guest, life } = await startWatched({
        guest: { consoleLog: join(device.directory, 'console.log'), ...(await prepared) },
        device,
        say: options.onSilence ?? ((text) => void process.stderr.write(`vuhca: ${printable(text)}\n`)),
        silenceSeconds: options.silenceSeconds,
      });
      return new Session(device, guest, capture, life, options.onGuestEnd);
    } catch (error) {
      await device.stop();
      throw error;
    }
  }

  private constructor(
    device: DeviceChild,
    guest: Guest,
    capture: SessionCapture | undefined,
    life: GuestLiveness,
    onGuestEnd: SessionOptions['onGuestEnd'],
  ) {
    this.device = device;
    this.guest = guest;
    this.whenEnded = this.#follow(capture, life, onGuestEnd);
  }

  /** Ends both. Safe to call again. */
  async stop(): Promise<SessionEnd> {
    await this.guest.quit();
    return this.whenEnded;
  }

  async #follow(
    capture: SessionCapture | undefined,
    life: GuestLiveness,
    onGuestEnd: SessionOptions['onGuestEnd'],
  ): Promise<SessionEnd> {
    const { guest: running, device } = this;
    // QEMU may crash when it loses its adapter, and its end may be seen first.
    const first = await Promise.race([
      running.whenExited.then(() => (device.hasEnded ? device.whenExited : undefined)),
      device.whenExited,
    ]);
    // A guest without its adapter reads all ones forever.
    const guest = await running.quit();
    life.end();
    try {
      const captured = first === undefined ? await capture?.end() : undefined;
      const { silence, complaints } = life;
      await onGuestEnd?.({ silence, complaints });
      return { guest, deviceFailure: first, capture: captured, silence, complaints };
    } finally {
      await device.stop();
    }
  }
}

interface SessionCapture {
  end(): Promise<CaptureProgress>;
}

async function beginCapture(device: DeviceChild, options: CaptureOptions): Promise<SessionCapture> {
  const client = await ControlClient.connect(device.controlPath);
  const capture: RemoteCapture = await startCapture(client, options);
  const end = async (): Promise<CaptureProgress> => {
    try {
      return await capture.stop();
    } finally {
      client.close();
    }
  };
  return { end };
}
