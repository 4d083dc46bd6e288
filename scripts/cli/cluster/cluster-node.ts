// SPDX-License-Identifier: Apache-2.0
/**
 * A node of a running cluster: its guest, from the start of QEMU to its end, as often as it is
 * started again, and the way to its shell. cluster.ts has one for each.
 */
import { printable } from '../../../protocol/system/printable.mjs';
import { describeGuestExit } from '../../../qemu/describe-exit.ts';
import type { DeviceChild } from '../../../qemu/device-child.ts';
import type { Guest, GuestExit } from '../../../qemu/guest.ts';
import type { GuestOptions } from '../../../qemu/guest-options.ts';
import { SetupError } from '../../../qemu/setup/tools/errors.ts';
import type { GuestLiveness } from '../session/liveness.ts';
import { startWatched } from '../session/watched-guest.ts';
import { readWaitedMs } from './answer-watch.ts';
import type { NodeSpec } from './cluster-spec.ts';
import { DISK_NEEDS } from './disk-node.ts';
import { NodeShell } from './node-shell.ts';

/**
 * `answers`: commands can run in it; `up`: also its port is active, and others reach it by its
 * address; `taken`: a guest of `vuhca run` has its place.
 */
export type NodeState = 'stopped' | 'boots' | 'answers' | 'up' | 'stops' | 'failed' | 'taken';

export interface NodeOptions {
  readonly device: DeviceChild;
  /** Its guest, without what is the node's own. */
  prepare(node: NodeSpec): Promise<GuestOptions>;
  /** The words that node.sh takes. */
  words(node: NodeSpec): string;
  readonly privateKey: string;
  readonly silenceSeconds: number;
  /** Takes a line of its log. */
  readonly log: (line: string) => void;
  /** Called with a word for users about its state. */
  readonly say: (text: string) => void;
}

const WORDS_PORT = 'vuhca.node';
const SHELL_PORT = 'vuhca.ssh';
/** A guest that was asked to power off may be busy. */
const STOP_BOUND_MS = 60_000;
/** Handshakes that fail in a row, before the node is given up. */
const TRIES = 5;

export class ClusterNode {
  readonly spec: NodeSpec;
  /** The sockets of its adapter. */
  readonly sockets: readonly string[];
  state: NodeState = 'stopped';
  /** Why it has failed, or what it waits for. */
  why: string | undefined;
  readonly #options: NodeOptions;
  readonly #watchers = new Set<() => void>();
  /** Ends, never rejects, when QEMU runs or has failed. */
  #launching: Promise<void> = Promise.resolve();
  #guest: Guest | undefined;
  #life: GuestLiveness | undefined;
  #shell: NodeShell | undefined;
  /** Its scripts have begun. */
  #isGreeted = false;
  /** Why it was given up. */
  #fault: string | undefined;

  constructor(spec: NodeSpec, sockets: readonly string[], options: NodeOptions) {
    this.spec = spec;
    this.sockets = sockets;
    this.#options = options;
  }

  /** The process id of QEMU. */
  get pid(): number | undefined {
    return this.#guest?.pid;
  }

  /** The first complaint of its kernel. */
  get complaint(): string | undefined {
    return this.#life?.complaints[0]?.line;
  }

  /** Its shell. Throws SetupError when it has none now. */
  get shell(): NodeShell {
    if (this.#shell !== undefined) return this.#shell;
    const { name } = this.spec;
    if (this.state === 'taken') throw new SetupError(`node ${name} ${describeState(this)}, which has no shell of ours`);
    const advice = this.#guest === undefined ? `\`vuhca cluster start ${name}\` starts it` : 'wait until it answers';
    throw new SetupError(`node ${name} ${describeState(this)}: ${advice}`);
  }

  /** Starts its guest; what becomes of that is in the state. Throws SetupError when it runs. */
  async start(): Promise<void> {
    this.#refuseTaken();
    if (this.state !== 'stopped' && this.state !== 'failed')
      throw new SetupError(`node ${this.spec.name} ${describeState(this)}: it cannot be started twice`);
    this.#isGreeted = false;
    this.#fault = undefined;
    this.#change('boots');
    this.#launching = this.#launch().catch((error: unknown) => {
      this.#change(this.state === 'stops' ? 'stopped' : 'failed', (error as Error).message);
    });
    await this.#launching;
  }

  /** Leaves its place to a guest of that process. Throws SetupError when it is not free. */
  take(pid: number): void {
    this.#refuseTaken();
    const { name } = this.spec;
    if (this.state !== 'stopped' && this.state !== 'failed')
      throw new SetupError(`node ${name} ${describeState(this)}: \`vuhca cluster stop ${name}\` makes its place free`);
    this.#change('taken', describeTaker(pid));
  }

  /** That guest has ended. */
  leave(): void {
    this.#change('stopped');
  }

  /** Waits until it is in one of the states, or has failed or stopped. */
  async reach(...states: readonly NodeState[]): Promise<void> {
    while (!states.includes(this.state) && this.state !== 'failed' && this.state !== 'stopped')
      await new Promise<void>((resolve) => this.#watchers.add(resolve));
  }

  /** Has the guest power off; ends it at once when `isUrgent`, or when it does not. */
  async stop(isUrgent = false): Promise<void> {
    if (this.state === 'stopped' || this.state === 'failed') return;
    if (!isUrgent) this.#refuseTaken();
    if (this.state === 'taken') return;
    this.#change('stops');
    await this.#launching;
    const guest = this.#guest;
    if (guest === undefined) return;
    if (!isUrgent) {
      guest
        .port(WORDS_PORT)
        .write('stop\n')
        .catch(() => {});
      const bound = setTimeout(() => void guest.quit(), STOP_BOUND_MS);
      await guest.whenExited;
      clearTimeout(bound);
    }
    await guest.quit();
    await this.reach();
  }

  #refuseTaken(): void {
    if (this.state === 'taken') throw new SetupError(`node ${this.spec.name} ${describeState(this)}: end that first`);
  }

  async #launch(): Promise<void> {
    const { device, prepare, silenceSeconds, log, say } = this.#options;
    const { name, number } = this.spec;
    const prepared = await prepare(this.spec);
    const { guest, life } = await startWatched({
      guest: { ...prepared, ports: [WORDS_PORT, SHELL_PORT], append: `NODE=${number}` },
      device,
      sockets: this.sockets,
      say: (text) => say(`${name}: ${text}`),
      advice: `\`vuhca cluster log ${name}\` shows its log`,
      silenceSeconds,
      onLine: log,
    });
    this.#guest = guest;
    this.#life = life;
    guest.port().onLine((line) => this.#take(guest, line));
    void guest.whenExited.then((exit) => this.#ended(exit));
  }

  /** Takes a line of the report: of node.sh, of init.sh, or what else the guest says there. */
  #take(guest: Guest, line: string): void {
    this.#options.log(line);
    const [, word, rest = ''] = /^@node (\w+) ?(.*)$/.exec(line) ?? [];
    this.#isGreeted ||= word !== undefined;
    if (word === 'hello') this.#tellWords(guest);
    else if (word === 'serves') void this.#connect(guest);
    else if (word === 'up') void this.reach('answers').then(() => this.#arrive(guest));
    else if (word === 'lacks') this.#giveUp(guest, `it lacks ${rest}`);
    else if (this.state === 'boots' && /^@vuhca (module .* failed|exit )/.test(line))
      this.#giveUp(guest, line.slice(7));
  }

  #tellWords(guest: Guest): void {
    const words = this.#options.words(this.spec);
    guest
      .port(WORDS_PORT)
      .write(`${Buffer.byteLength(words)}\n${words}`)
      .catch(() => {});
  }

  /** Connects to the ssh server, again when the connection ends while the guest runs. */
  async #connect(guest: Guest): Promise<void> {
    const socket = await guest.port(SHELL_PORT).connected;
    for (let failed = 0; this.#guest === guest && !socket.destroyed; ) {
      try {
        const shell = await NodeShell.connect(socket, this.#options.privateKey, {
          readWaitedMs: () => readWaitedMs([process.pid, this.#options.device.pid, guest.pid]),
          tell: (isSilent) => this.#tellSilence(guest, isSilent),
        });
        failed = 0;
        this.#shell = shell;
        if (this.state === 'up') this.why = undefined;
        if (this.state === 'boots') this.#change('answers', 'its port is not active yet');
        await shell.whenClosed;
      } catch (error) {
        this.#options.log(`ssh: ${(error as Error).message}`);
        if (++failed === TRIES)
          return this.#giveUp(guest, `its ssh server does not answer: ${(error as Error).message}`);
      } finally {
        this.#shell = undefined;
        if (this.state === 'up') this.why = 'it hangs, or its ssh server was ended';
      }
    }
  }

  #tellSilence(guest: Guest, isSilent: boolean): void {
    if (this.#guest !== guest || this.state !== 'up') return;
    this.#change('up', isSilent ? 'it does not answer, so it hangs or is very busy' : undefined);
  }

  #arrive(guest: Guest): void {
    if (this.#guest !== guest || this.state !== 'answers') return;
    // From now on an idle node is silent.
    this.#life?.end();
    this.#change('up');
  }

  #giveUp(guest: Guest, why: string): void {
    if (this.#guest !== guest || this.state === 'stops') return;
    this.#fault = why;
    void guest.quit();
  }

  #ended(exit: GuestExit): void {
    const { complaints = [], silence } = this.#life ?? {};
    this.#life?.end();
    this.#guest = undefined;
    this.#shell = undefined;
    if (this.state === 'stops') return this.#change('stopped');
    const complaint = complaints.length > 0 ? `its kernel complained: ${complaints[0].line}` : undefined;
    const wasSilent = silence === undefined ? undefined : `it was silent for ${silence} s and was ended`;
    const powered = exit.status === 0 ? 'it powered off' : describeGuestExit(exit);
    const what = complaint ?? wasSilent ?? this.#fault ?? powered;
    this.#change('failed', this.#isGreeted || this.spec.disk === undefined ? what : `${what}; ${DISK_NEEDS}`);
  }

  #change(state: NodeState, why?: string): void {
    this.state = state;
    this.why = why === undefined ? undefined : printable(why);
    this.#options.say(`${this.spec.name.padEnd(8)} ${describeState(this)}`);
    for (const watcher of [...this.#watchers]) {
      this.#watchers.delete(watcher);
      watcher();
    }
  }
}

/** Who has a place that is taken. */
export function describeTaker(pid: number): string {
  return `by a guest of process ${pid}`;
}

/** A word about the state of a node, for a sentence. */
export function describeState({ state, why }: Pick<ClusterNode, 'state' | 'why'>): string {
  const words = { stopped: 'is stopped', failed: 'has failed', up: 'is up', boots: 'boots', answers: 'answers' };
  if (state === 'taken') return `is taken ${why}`;
  const word = state === 'stops' ? 'is about to stop' : words[state];
  return why === undefined ? word : `${word}: ${why}`;
}
