// SPDX-License-Identifier: Apache-2.0
/**
 * `vuhca trace read --follow`: prints ended messages, and steps, as they arrive, as JSON lines. It
 * continues when traces begin or end, and ends with the adapter. trace-action.ts calls it.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { TimelineStep } from '../../../device/hca/function/timeline.ts';
import type { TracedMessage } from '../../../device/hca/trace/traced-message.ts';
import type { ControlClient } from '../../../device/process/control/control-client.ts';
import { decodeBlocks, readSteps } from '../../../device/process/control/trace-reader.ts';
import { toJsonLines } from '../../../device/process/trace/trace-export.ts';
import type { TraceArguments } from './trace-command.ts';

const LOOK_MS = 200;

/** Ends when the process closes the connection, unless it refuses to begin. */
export async function followTraces(
  client: ControlClient,
  { adapter, qp }: TraceArguments,
  print: (text: string) => void,
): Promise<void> {
  let ended = false;
  void client.whenClosed.then(() => {
    ended = true;
  });
  const follower = new TraceFollower(client, adapter, qp);
  print(await follower.next());
  while (!ended) {
    await Promise.race([client.whenClosed, wait(LOOK_MS)]);
    const text = await follower.next().catch((error: unknown) => {
      if (ended) return '';
      throw error;
    });
    if (text !== '') print(text);
  }
}

/** Positions up to which traces were read. */
class TraceFollower {
  readonly #client: ControlClient;
  readonly #adapter: string | undefined;
  readonly #qps: readonly number[] | undefined;
  /** By trace: the first block that was not printed. */
  readonly #positions = new Map<string, number>();
  #nextStep = 0;

  constructor(client: ControlClient, adapter: string | undefined, qps: readonly number[] | undefined) {
    this.#client = client;
    this.#adapter = adapter;
    this.#qps = qps;
  }

  /** The lines since the last call. */
  async next(): Promise<string> {
    const adapter = this.#adapter;
    const { traces, timeline, wallTimeNs } = await this.#client.request('trace-status', { adapter });
    const messages: TracedMessage[] = [];
    for (const { id, qp, head } of traces)
      if (this.#qps === undefined || this.#qps.includes(qp)) messages.push(...(await this.#read(id, qp, head)));
    const steps = timeline === undefined ? [] : await this.#readSteps(timeline.head);
    const name = adapter ?? '';
    const rest = { ports: [], queuePairs: [], stepsSinceNs: undefined };
    return toJsonLines([{ name, wallTimeNs, messages, steps, ...rest }]);
  }

  /** Blocks that have ended, up to the first that has not. */
  async #read(id: number, qp: number, head: number): Promise<TracedMessage[]> {
    const key = `${id} ${qp}`;
    const messages: TracedMessage[] = [];
    let position = this.#positions.get(key) ?? 0;
    if (position > head) position = 0;
    while (position < head) {
      const request = { adapter: this.#adapter, trace: id, qp, position };
      const part = await this.#client.request('trace-read', request);
      const read = decodeBlocks(this.#client, 'trace-read', part);
      messages.push(...read.filter(({ block }) => block.index < part.next));
      if (part.next <= position) break;
      position = part.next;
    }
    this.#positions.set(key, position);
    return messages;
  }

  async #readSteps(head: number): Promise<TimelineStep[]> {
    // A new timeline begins at 0.
    if (head < this.#nextStep) this.#nextStep = 0;
    const steps = await readSteps(this.#client, this.#adapter, this.#nextStep);
    this.#nextStep = (steps.at(-1)?.index ?? this.#nextStep - 1) + 1;
    return steps;
  }
}
