// SPDX-License-Identifier: Apache-2.0
/**
 * Liveness of a guest of a session: follows its console, its kernel's log and its report. Keeps the
 * complaints of the kernel, and reports a long silence with the known facts: the kind of emulation,
 * the last line of the guest, whether it has touched the adapter, and what to try. Called by
 * session.ts.
 */
import { ControlClient } from '../../../device/process/control/control-client.ts';
import type { Guest } from '../../../qemu/guest.ts';
import { type KernelComplaint, KernelLogWatch } from '../../../qemu/kernel-log.ts';
import { SilenceWatch } from '../../../qemu/silence.ts';

/** A boot without KVM takes a few seconds on an idle machine. */
const WARN_MS = 20_000;

/** The guest to follow. */
export interface Followed {
  readonly guest: Guest;
  /** Of the adapter that it uses. */
  readonly controlPath: string;
  /** A user types at its console, and may pause for long. */
  readonly interactive: boolean;
  /** Called when it has been silent for long. */
  readonly say: (text: string) => void;
  /** Hint for the user how to see its output. */
  readonly advice?: string | undefined;
  /** A silence that ends it, in seconds. */
  readonly silenceSeconds?: number | undefined;
}

export class GuestLiveness {
  /** The seconds of silence that ended the guest. */
  silence: number | undefined;
  readonly #watch = new KernelLogWatch();
  #lastLine: string | undefined;
  #silenceWatch: SilenceWatch | undefined;
  #mayBeSilent = false;

  get complaints(): readonly KernelComplaint[] {
    return this.#watch.complaints;
  }

  /** Takes a line of the guest. */
  take(line: string): void {
    this.#watch.push(line);
    if (line.trim() !== '') this.#lastLine = line.trimEnd();
    this.#silenceWatch?.news();
    // A user at a shell may pause for long.
    if (this.#mayBeSilent) this.end();
  }

  /** Begins to notice silence; with a user at the console only until the first sign of life. */
  follow(followed: Followed): void {
    const { guest, interactive, say, silenceSeconds = Number.POSITIVE_INFINITY } = followed;
    this.#mayBeSilent = interactive;
    this.#silenceWatch = new SilenceWatch({
      warnMs: WARN_MS,
      onWarn: (seconds) => void this.#describe(followed, seconds).then(say),
      endMs: silenceSeconds * 1000,
      onEnd: (seconds) => {
        this.silence = seconds;
        void guest.kill();
      },
    });
    guest.port().onLine((line) => this.take(line));
  }

  end(): void {
    this.#silenceWatch?.stop();
  }

  async #describe({ guest, controlPath, advice: way }: Followed, seconds: number): Promise<string> {
    const accelerator = guest.accelerator.toUpperCase();
    const last = this.#lastLine === undefined ? 'it has said nothing yet' : `its last line is "${this.#lastLine}"`;
    const advice =
      guest.accelerator === 'kvm'
        ? 'if its KVM does not work, try VUHCA_ACCEL=tcg'
        : `on a busy machine it may need a minute; ${way ?? '--console-log keeps its console'}`;
    return `the guest (${accelerator}) has been silent for ${seconds} s: ${last}, ${await describeTouch(controlPath)}; ${advice}`;
  }
}

/** True if the guest has used the adapter. */
async function describeTouch(controlPath: string): Promise<string> {
  try {
    const client = await ControlClient.connect(controlPath);
    const { adapters, personalities } = await client.request('status');
    client.close();
    const sockets = [...adapters, ...personalities].flatMap(({ sockets }) => sockets);
    const accesses = sockets.reduce((sum, one) => sum + one.registerReads + one.registerWrites, 0);
    if (accesses > 0) return `it has made ${accesses} accesses to registers of the adapter`;
    return sockets.some(({ attached }) => attached) ? 'it has not touched the adapter' : 'QEMU is not attached';
  } catch {
    return 'the adapter does not answer';
  }
}
