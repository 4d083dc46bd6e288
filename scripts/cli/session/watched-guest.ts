// SPDX-License-Identifier: Apache-2.0
/**
 * A guest of an adapter process, started and watched: its kernel's complaints are kept, and its
 * silence is reported. Sessions have one, a cluster has one for each node.
 */
import type { DeviceChild } from '../../../qemu/device-child.ts';
import type { Guest } from '../../../qemu/guest.ts';
import type { GuestOptions } from '../../../qemu/guest-options.ts';
import { launchGuest } from '../../../qemu/launch.ts';
import { GuestLiveness } from './liveness.ts';

export interface WatchedOptions {
  /** Without its devices. */
  readonly guest: GuestOptions;
  /** The adapter process that serves it. */
  readonly device: Pick<DeviceChild, 'controlPath' | 'devices'>;
  /** The sockets of its functions; all of the process when absent. */
  readonly sockets?: readonly string[];
  /** Called when the guest has been silent for long. */
  readonly say: (text: string) => void;
  /** Hint for the user how to see its output. */
  readonly advice?: string;
  /** A silence that ends the guest, in seconds. */
  readonly silenceSeconds?: number | undefined;
  /** Called with each line of its console and of its kernel's log. */
  readonly onLine?: (line: string) => void;
}

export interface WatchedGuest {
  readonly guest: Guest;
  readonly life: GuestLiveness;
}

/** Starts a guest. Throws SetupError when QEMU does not start. */
export async function startWatched(options: WatchedOptions): Promise<WatchedGuest> {
  const { guest: plan, device, sockets, say, advice, silenceSeconds, onLine } = options;
  const life = new GuestLiveness();
  const take = (line: string): void => {
    life.take(line);
    onLine?.(line);
  };
  const guest = await launchGuest({
    ...plan,
    devices: device.devices(sockets),
    onConsoleLine: take,
    onKernelLine: take,
  });
  const { controlPath } = device;
  life.follow({ guest, controlPath, interactive: plan.interactive ?? false, say, advice, silenceSeconds });
  return { guest, life };
}
