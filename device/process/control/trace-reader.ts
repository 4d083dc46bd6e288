// SPDX-License-Identifier: Apache-2.0
/**
 * Reads traces and timelines of a live process over its control socket. `vuhca trace` and
 * `vuhca test` call it; `TraceControl` answers.
 */
import type { TimelineStep } from '../../hca/function/timeline.ts';
import type { AdapterTrace } from '../../hca/trace/adapter-trace.ts';
import { decodeMessages, type TracedMessage } from '../../hca/trace/traced-message.ts';
import { type ControlClient, controlBounds } from './control-client.ts';

/** Reads all traces of a process at one moment; only what is at most `lastNs` old. */
export async function readTraces(client: ControlClient, lastNs = Number.POSITIVE_INFINITY): Promise<AdapterTrace[]> {
  const { parts, adapters, nowNs } = await client.request('trace-snapshot');
  if (parts > controlBounds.parts) throw client.misunderstood('trace-snapshot', `it has ${parts} parts`);
  const traces = adapters.map((one) => ({ ...one, messages: [] as TracedMessage[], steps: [] as TimelineStep[] }));
  for (let number = 0; number < parts; number++) {
    const { adapter, count, blocks, steps = [] } = await client.request('trace-part', { part: number });
    const trace = traces[adapter];
    if (trace === undefined) throw client.misunderstood('trace-part', `there is no adapter ${adapter}`);
    if (blocks !== undefined) trace.messages.push(...decodeBlocks(client, 'trace-part', { count, blocks }));
    trace.steps.push(...steps);
  }
  if (lastNs === Number.POSITIVE_INFINITY) return traces;
  return traces.map((trace) => ({
    ...trace,
    messages: trace.messages.filter(({ block }) => block.complete === 0 || block.endTime >= nowNs - lastNs),
    steps: trace.steps.filter(({ timeNs }) => timeNs >= nowNs - lastNs),
    stepsSinceNs: trace.stepsSinceNs && Math.max(trace.stepsSinceNs, nowNs - lastNs),
  }));
}

/** The messages of an answer. Throws ControlError when its blocks are none. */
export function decodeBlocks(
  client: ControlClient,
  command: string,
  { count, blocks }: { readonly count: number; readonly blocks: string },
): TracedMessage[] {
  try {
    return decodeMessages(Buffer.from(blocks, 'base64'), count);
  } catch (error) {
    if (error instanceof RangeError) throw client.misunderstood(command, `it has no ${count} command blocks`);
    throw error;
  }
}

/** Reads the steps of a timeline from `position` on. */
export async function readSteps(
  client: ControlClient,
  adapter: string | undefined,
  position = 0,
): Promise<TimelineStep[]> {
  const steps: TimelineStep[] = [];
  for (let next = position; ; ) {
    const read = await client.request('timeline-read', { adapter, position: next });
    const last = read.at(-1);
    if (last === undefined) return steps;
    if (last.index < next) throw client.misunderstood('timeline-read', `step ${last.index} is before ${next}`);
    steps.push(...read);
    next = last.index + 1;
  }
}
