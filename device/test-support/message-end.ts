// SPDX-License-Identifier: Apache-2.0
/**
 * A traced message whose timeline a test writes down, for tests of the steps that belong to it.
 */
import { newTraceBlock, type TraceBlock } from '../../protocol/layout/gen/trace-block.gen.ts';
import type { Step, TimelineStep } from '../function/timeline.ts';
import type { AdapterTrace, MessageEnd } from '../trace/adapter-trace.ts';

export const QP = 5;
export const OTHER_QP = 6;
export const SEQUENCE = 100;
export const STEP_NS = 10;

/** Step, object and `a` to `e`. */
export type Noted = readonly [Step, number, ...number[]];

/** A message of QP 5 of function 1, whose timeline has these steps, 10 ns apart. */
export function makeEnd(
  block: Partial<TraceBlock>,
  noted: readonly Noted[],
  functions: readonly number[] = [],
): MessageEnd {
  const steps = noted.map(([step, object, a = 0, b = 0, c = 0, d = 0, e = 0], index): TimelineStep => {
    const functionNumber = functions[index] ?? 1;
    return { index, timeNs: index * STEP_NS, step, functionNumber, object, a, b, c, d, e };
  });
  const adapter: AdapterTrace = {
    name: 'a',
    ports: [],
    wallTimeNs: 0,
    queuePairs: [OTHER_QP, QP].map((qp) => ({ qp, functionNumber: qp === QP ? 1 : 2, traced: true, overwritten: 0 })),
    messages: [],
    steps,
    stepsSinceNs: 0,
  };
  const common = { qpn: QP, sequence: SEQUENCE, complete: 1, packets: 1, beginTime: 1e6, endTime: 1e9 };
  return {
    adapter,
    message: { block: { ...newTraceBlock(), ...common, ...block }, packets: [], payload: new Uint8Array(0) },
  };
}

export const indexes = (steps: readonly TimelineStep[]): number[] => steps.map(({ index }) => index);
