// SPDX-License-Identifier: Apache-2.0
/**
 * One sentence about how QEMU or the adapter process ended, for the commands that started them.
 * Warnings that QEMU gave at its start do not explain its end, and a signal from outside has
 * nothing to do with what it said.
 */
import type { DeviceExit } from './device-child.ts';
import type { GuestExit } from './guest.ts';

/** Signals by which a program ends itself, after a word about why. */
const OWN_SIGNALS: readonly string[] = ['SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGILL', 'SIGSEGV', 'SIGTRAP'];

/** Describes an early end of QEMU. */
export function describeGuestExit({ status, signal, errors }: GuestExit): string {
  const lines = errors.split('\n').filter((line) => !line.includes(': warning: '));
  const said = `it said: ${lines.join('\n').trim() || 'nothing'}`;
  if (signal === null) return `QEMU ended with status ${status}; ${said}`;
  if (OWN_SIGNALS.includes(signal)) return `QEMU crashed with ${signal}; ${said}`;
  return `QEMU was ended by ${signal}, which another process sent`;
}

/** Describes an end of the adapter process before that of its guest. */
export function describeDeviceExit({ status, signal, lastLine }: DeviceExit): string {
  if (signal !== null) return `the adapter process ended (${signal}), so the guest was ended`;
  const said = `it said last: ${lastLine ?? 'nothing'}`;
  return `the adapter process ended with status ${status}, so the guest was ended; ${said}`;
}
