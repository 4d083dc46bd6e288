// SPDX-License-Identifier: Apache-2.0
/**
 * State of the adapter when a test fails: the faults of each function, the last steps of its units,
 * queue pairs that failed, and failed messages of traced QPs. Called by `vuhca test` and `vuhca run
 * --case` over the control socket.
 */
import type { TimelineStep } from '../../../device/hca/function/timeline.ts';
import { nameStepNumbers, stepName } from '../../../device/hca/function/timeline-names.ts';
import { ControlClient } from '../../../device/process/control/control-client.ts';
import { readSteps, readTraces } from '../../../device/process/control/trace-reader.ts';
import { describeLateStore } from '../../../device/process/host/late-stores.ts';
import { CompletionStatus } from '../../../protocol/layout/gen/values.gen.ts';
import { readWithFailures } from '../commands/explain-action.ts';
import { explainQueuePair, isKept } from '../commands/explain-queue-pair.ts';
import { namesOf } from '../commands/status-sample.ts';
import { describeFaults } from '../screens/status-lines.ts';
import { renderMessage } from '../trace/trace-screen.ts';

const STEPS_SHOWN = 8;
const STORIES_SHOWN = 2;
const FAILURES_SHOWN = 2;
const LATE_STORES_SHOWN = 3;
const NS_PER_US = 1000;

/** Reads the state of the adapters of one process. Nothing here changes what a guest sees. */
export class AdapterState {
  readonly #client: ControlClient;
  readonly #names: readonly string[];
  /** The next step of each timeline that was not read before. */
  readonly #positions = new Map<string, number>();
  readonly #lastSteps = new Map<string, TimelineStep[]>();
  /** Messages and failures that were reported. */
  readonly #told = new Set<string>();

  /** Connects, and switches the timelines on when `describe` is to tell the last steps. */
  static async connect(controlPath: string, { hasTimeline }: { hasTimeline: boolean }): Promise<AdapterState> {
    const client = await ControlClient.connect(controlPath);
    const names = namesOf(await client.request('status'));
    if (hasTimeline) for (const adapter of names) await client.request('timeline-on', { adapter });
    return new AdapterState(client, names);
  }

  private constructor(client: ControlClient, names: readonly string[]) {
    this.#client = client;
    this.#names = names;
  }

  /** Lines of text; empty when the process no longer answers. */
  async describe(): Promise<string[]> {
    try {
      const { adapters, personalities } = await this.#client.request('status');
      const units = [
        ...adapters.flatMap(({ name, functions }) => functions.map(({ number, faults }) => ({ name, number, faults }))),
        ...personalities.map(({ name, functionOf, faults }) => ({
          name,
          number: functionOf === undefined ? 0 : 1,
          faults,
        })),
      ];
      const faults = units.flatMap(({ name, number, faults }) => {
        const who = `${this.#names.length > 1 ? `${name}, ` : ''}function ${number}`;
        return describeFaults(faults).map((line) => `${who}: ${line.replaceAll(/ +/g, ' ')}`);
      });
      const steps = await Promise.all(this.#names.map((name) => this.#describeSteps(name)));
      return [...faults, ...steps.flat(), ...(await this.#describeFailures()), ...(await this.#describeMessages())];
    } catch {
      // The process ends with its guest.
      return [];
    }
  }

  /**
   * Sentences about stores that software made after the access that announced them. Empty without
   * the option `--order-check`, and when the process no longer answers.
   */
  async describeLateStores(): Promise<string[]> {
    try {
      const { adapters, personalities } = await this.#client.request('status');
      const late = [...adapters.flatMap(({ functions }) => functions), ...personalities].flatMap(
        ({ faults }) => faults.late ?? [],
      );
      const count = late.reduce((sum, one) => sum + one.count, 0);
      const shown = late.flatMap(({ reports }) => reports).slice(0, LATE_STORES_SHOWN);
      const further =
        count > shown.length ? [`${count - shown.length} further stores came after their announcement`] : [];
      return [...shown.map(describeLateStore), ...further];
    } catch {
      return [];
    }
  }

  close(): void {
    this.#client.close();
  }

  async #describeSteps(adapter: string): Promise<string[]> {
    const position = this.#positions.get(adapter) ?? 0;
    const read = await readSteps(this.#client, adapter, position);
    const last = [...(this.#lastSteps.get(adapter) ?? []), ...read].slice(-STEPS_SHOWN);
    this.#positions.set(adapter, (read.at(-1)?.index ?? position - 1) + 1);
    this.#lastSteps.set(adapter, last);
    return last.map((step) => {
      const numbers = Object.entries(nameStepNumbers(step)).map(([name, value]) => `${name} ${value}`);
      return `${(step.timeNs / NS_PER_US).toFixed(1)} us  ${stepName(step.step)} (${numbers.join(', ')})`;
    });
  }

  /** The newest queue pairs that failed, unless software moved them to ERR. */
  async #describeFailures(): Promise<string[]> {
    const all = await readWithFailures(this.#client);
    const failed = all.filter(({ qp }) => isKept(qp) && qp.failure.cause !== 'software');
    const news = failed.filter(({ adapter, qp }) => this.#isNew(`${adapter} ${qp.number} at ${qp.failure?.timeNs}`));
    return news.slice(0, FAILURES_SHOWN).flatMap((one) => explainQueuePair(one, all).trimEnd().split('\n'));
  }

  /** True when it was not reported before. */
  #isNew(key: string): boolean {
    if (this.#told.has(key)) return false;
    this.#told.add(key);
    return true;
  }

  /** The stories of the newest messages that failed or have not ended, of QPs that are traced. */
  async #describeMessages(): Promise<string[]> {
    const adapters = await Promise.all(this.#names.map((adapter) => this.#client.request('trace-status', { adapter })));
    if (adapters.every(({ traces }) => traces.length === 0)) return [];
    const all = await readTraces(this.#client);
    const ends = all.flatMap((adapter) => adapter.messages.map((message) => ({ adapter, message })));
    const notable = ends.filter(({ adapter, message: { block } }) => {
      const { qpn, index, beginTime, complete, status } = block;
      const isBad = complete === 0 || (status !== CompletionStatus.SUCCESS && status !== CompletionStatus.FLUSHED);
      return isBad && this.#isNew(`${adapter.name} ${qpn} ${index} ${beginTime}`);
    });
    const newest = notable.sort((one, other) => other.message.block.beginTime - one.message.block.beginTime);
    return newest.slice(0, STORIES_SHOWN).flatMap((end) => renderMessage(end, all).trimEnd().split('\n'));
  }
}
