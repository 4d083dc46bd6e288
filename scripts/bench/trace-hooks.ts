// SPDX-License-Identifier: Apache-2.0
/**
 * The cost of traces. While nothing is traced: copies of the adapter without hooks and with eleven
 * for each hook, because the cost of one is less than the difference between processes of equal
 * code. While everything is traced: against no traces. Called by transport.ts.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SendOpcode, ServiceType } from '../../protocol/layout/gen/values.gen.ts';
import { copySources, multiplyHooks, stripHooks } from './hook-copies.ts';
import { type Cost, observeSideBySide, type Variant, withPrograms } from './side-by-side.ts';
import { describeComparison, median, summarize } from './statistics.ts';
import type { Traffic } from './transport-traffic.ts';

const ROOT = join(import.meta.dirname, '..', '..');
/**
 * V8's limit of inlined bytes makes a difference of several percent, and a hook may tip it either
 * way, so each observation has another limit.
 */
const INLINED_BYTES = [
  2000, 2500, 3000, 3500, 4000, 4500, 5000, 6000, 7000, 8000, 9000, 10_000, 12_000, 14_000, 17_000, 20_000,
];
/** Hooks added for each one, so that their cost stands out. */
const MORE_HOOKS = 10;
/** Observations with the limit of a live process. */
const OBSERVATIONS_ON = new Array<undefined>(8).fill(undefined);
const KINDS = [
  ['rc-write', ServiceType.RC, SendOpcode.RDMA_WRITE],
  ['uc-write', ServiceType.UC, SendOpcode.RDMA_WRITE],
  ['ud-send', ServiceType.UD, SendOpcode.SEND],
] as const;

/** Prints a line for each kind of message of 64 bytes. */
export async function compareAbsentHooks(json: boolean): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'vuhca-hooks-'));
  try {
    const [none, many] = ['none', 'many'].map((name) => join(directory, name));
    for (const root of [none, many]) copySources(ROOT, root);
    if (stripHooks(none) === 0) throw new Error('no hook was found in the sources');
    multiplyHooks(many, MORE_HOOKS);
    await withPrograms([none, ROOT, many], (programs) => compareHooks(programs.map(untraced), json));
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** `variants`: without hooks, as they are, and with eleven for each. */
async function compareHooks(variants: readonly Variant[], json: boolean): Promise<void> {
  for (const [kind, serviceType, opcode] of KINDS) {
    const observed = await observe(variants, makeTraffic(serviceType, opcode), INLINED_BYTES);
    const one = summarize(observed.map(([, present]) => present.ratio));
    const eleven = summarize(observed.map((costs) => costs[2].ratio));
    const hooks = { ratio: share(eleven.ratio), low: share(eleven.low), high: share(eleven.high) };
    const name = `trace-off ${kind}-64`;
    print(json, { name, hooks, one, eleven, observations: observed.length }, () => {
      const percent = [hooks.ratio, hooks.low, hooks.high].map((part) => (100 * part).toFixed(2));
      const what = `hooks that trace nothing cost ${percent[0]} % (${percent[1]} to ${percent[2]}) of a message`;
      return `${name}: ${what}; with one for each, against none, ${describeComparison(one)}, with eleven ${describeComparison(eleven)}`;
    });
  }
}

function untraced(program: string): Variant {
  return { program, traced: false };
}

/** The cost of one set of hooks, from that of eleven. */
function share(ratio: number): number {
  return (ratio - 1) / (1 + MORE_HOOKS);
}

/**
 * Prints a line for each kind and size of message: all QPs traced, 4 KiB of each message in 64
 * blocks, as `vuhca trace on` does.
 */
export function compareTraced(json: boolean): Promise<void> {
  return withPrograms([ROOT], ([program]) => compareTracedOf(program, json));
}

async function compareTracedOf(program: string, json: boolean): Promise<void> {
  for (const [kind, serviceType, opcode] of KINDS)
    for (const size of [64, 4096]) {
      const variants = [untraced(program), { program, traced: true }];
      const observed = await observe(variants, makeTraffic(serviceType, opcode, size), OBSERVATIONS_ON);
      const [offNs, onNs] = variants.map((_, index) => median(observed.map((costs) => costs[index].ns)));
      const on = summarize(observed.map(([, traced]) => traced.ratio));
      const name = `trace ${kind}-${size}`;
      print(json, { name, offNs, onNs, on, observations: OBSERVATIONS_ON }, () => {
        return `${name}: ${offNs.toFixed(0)} ns of processor time with trace off, ${onNs.toFixed(0)} ns with trace on; ratio ${describeComparison(on)}`;
      });
    }
}

/** As many observations as `inlined` has entries. */
async function observe(
  variants: readonly Variant[],
  traffic: Traffic,
  inlined: readonly (number | undefined)[],
): Promise<Cost[][]> {
  const observed = [];
  for (const [number, inlinedBytes] of inlined.entries())
    observed.push(
      await observeSideBySide(
        variants.map((variant) => ({ ...variant, inlinedBytes })),
        traffic,
        number,
      ),
    );
  return observed;
}

function makeTraffic(serviceType: ServiceType, opcode: SendOpcode, size = 64): Traffic {
  return { serviceType, opcode, size, queuePairs: 1, batch: 64, inFlight: 64 };
}

function print(json: boolean, values: object, makeLine: () => string): void {
  process.stdout.write(`${json ? JSON.stringify(values) : makeLine()}\n`);
}
