// SPDX-License-Identifier: Apache-2.0
/**
 * The adapter process that guest tests attach to: a child whose log is kept, and whose end is
 * judged, expected or not. Called by guest-run.ts, peer-run.ts, tenant-run.ts and `npm run demo --
 * qos`.
 */
import { DeviceChild, type DeviceChildOptions, type DeviceExit } from '../../qemu/device-child.ts';

const LOG_LINES = 200;

/** The adapters to serve; their log is kept here. */
export type DeviceStart = Omit<DeviceChildOptions, 'onLogLine'>;

/** A running adapter process. */
export class DeviceProcess {
  readonly child: DeviceChild;
  /** The last lines it logged. */
  readonly #log: readonly string[];
  #early: DeviceExit | undefined;
  #killed = false;

  /**
   * Starts it and waits until guests may attach. Throws SetupError with its log when it does not
   * start.
   */
  static async start(options: DeviceStart): Promise<DeviceProcess> {
    const log: string[] = [];
    const onLogLine = (line: string): void => {
      log.push(line);
      if (log.length > LOG_LINES) log.shift();
    };
    return new DeviceProcess(await DeviceChild.start({ ...options, onLogLine }), log);
  }

  private constructor(child: DeviceChild, log: readonly string[]) {
    this.child = child;
    this.#log = log;
    void child.whenExited.then((exit) => {
      this.#early = exit;
    });
  }

  /** Kills it on purpose, as a crash would. */
  async kill(): Promise<void> {
    this.#killed = true;
    await this.child.kill();
  }

  /** Ends it; returns a sentence for each fault of the process, including a bad exit status. */
  async stop(): Promise<string[]> {
    const died = this.#early;
    const { status, signal, left } = await this.child.stop();
    const words = `it said: ${this.#log.join('\n')}`;
    if (this.#killed) return [];
    if (died !== undefined) return [`the device process died (${status ?? signal}); ${words}`];
    if (signal !== null) return ['the device process did not end when asked to'];
    if (status !== 0) return [`the device process ended with status ${status}; ${words}`];
    return left.length === 0 ? [] : [`the device process left ${left.join(', ')}`];
  }
}
