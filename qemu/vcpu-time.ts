// SPDX-License-Identifier: Apache-2.0
/**
 * The processor time that a guest's processors cost the host: that of their threads (QMP
 * query-cpus-fast; Linux /proc/PID/task/TID/schedstat). Unlike the guest's own idle time it is not
 * affected by other processes of a busy host. Called by the demonstration of interrupts.
 */
import { readFileSync } from 'node:fs';
import type { Guest } from './guest.ts';

export class VcpuTime {
  readonly #files: readonly string[];

  /** Rejects when the guest has ended. */
  static async of(guest: Guest): Promise<VcpuTime> {
    const cpus = (await guest.qmp.execute('query-cpus-fast')) as { 'thread-id': number }[];
    return new VcpuTime(cpus.map((cpu) => `/proc/${guest.pid}/task/${cpu['thread-id']}/schedstat`));
  }

  private constructor(files: readonly string[]) {
    this.#files = files;
  }

  /** Processor time used so far, all processors together. Throws when the guest has ended. */
  readNs(): number {
    return this.#files.reduce((sum, file) => sum + Number(readFileSync(file, 'utf8').split(' ', 1)[0]), 0);
  }
}
