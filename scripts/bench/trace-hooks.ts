// SPDX-License-Identifier: Apache-2.0
/**
 * What traces cost: while nothing is traced, against a copy of the adapter without the hooks (and the adapter against itself, which shows how far equal code differs); and while everything is, against nothing
 * traced. Called by transport.ts.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SendOpcode, ServiceType } from '../../protocol/layout/gen/values.gen.ts';
import { observeSideBySide, type Variant } from './side-by-side.ts';
import { type Comparison, median, summarize } from './statistics.ts';
import { copySources, stripHooks } from './strip-hooks.ts';
import type { Traffic } from './transport-traffic.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const OBSERVATIONS_OFF = 24;
const OBSERVATIONS_ON = 6;
const KINDS = [
  ['rc-write', ServiceType.RC, SendOpcode.RDMA_WRITE],
  ['rc-send', ServiceType.RC, SendOpcode.SEND],
  ['uc-write', ServiceType.UC, SendOpcode.RDMA_WRITE],
  ['ud-send', ServiceType.UD, SendOpcode.SEND],
] as const;
const present: Variant = { root: ROOT, traced: false };

/** Prints a line for each kind of message of 64 bytes. */
export async function compareAbsentHooks(json: boolean): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'vuhca-hooks-'));
  try {
    copySources(ROOT, directory);
    if (stripHooks(directory) === 0) throw new Error('no hook was found in the sources');
    const variants = [{ root: directory, traced: false }, present, present];
    for (const [kind, serviceType, opcode] of KINDS) {
      const observed = await observe(variants, makeTraffic(serviceType, opcode, 64), OBSERVATIONS_OFF);
      const off = summarize(observed.flatMap(([, one, other]) => [(one.ratio + other.ratio) / 2]));
      const control = summarize(observed.map(([, one, other]) => other.ratio / one.ratio));
      const name = `trace-off ${kind}-64`;
      print(json, { name, off, control, observations: OBSERVATIONS_OFF }, () => {
        return `${name}: hooks that trace nothing cost ${describe(off)} of none at all; equal code against itself ${describe(control)}`;
      });
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Prints a line for each kind and size of message: all QPs traced, 4 KiB of each message in 64 blocks, as `vuhca trace on` does. */
export async function compareTraced(json: boolean): Promise<void> {
  for (const [kind, serviceType, opcode] of KINDS)
    for (const size of [64, 4096]) {
      const variants = [present, { ...present, traced: true }];
      const observed = await observe(variants, makeTraffic(serviceType, opcode, size), OBSERVATIONS_ON);
      const [offNs, onNs] = variants.map((_, index) => median(observed.map((costs) => costs[index].ns)));
      const on = summarize(observed.map(([, traced]) => traced.ratio));
      const name = `trace ${kind}-${size}`;
      print(json, { name, offNs, onNs, on, observations: OBSERVATIONS_ON }, () => {
        return `${name}: ${offNs.toFixed(0)} ns of processor time with trace off, ${onNs.toFixed(0)} ns with trace on; ratio ${describe(on)}`;
      });
    }
}

async function observe(
  variants: readonly Variant[],
  traffic: Traffic,
  count: number,
): Promise<Awaited<ReturnType<typeof observeSideBySide>>[]> {
  const observed = [];
  for (let number = 0; number < count; number++) observed.push(await observeSideBySide(variants, traffic, number));
  return observed;
}

function makeTraffic(serviceType: ServiceType, opcode: SendOpcode, size: number): Traffic {
  return { serviceType, opcode, size, queuePairs: 1, batch: 64, inFlight: 64 };
}

function print(json: boolean, values: object, makeLine: () => string): void {
  process.stdout.write(`${json ? JSON.stringify(values) : makeLine()}\n`);
}

function describe({ ratio, low, high }: Comparison): string {
  return `${ratio.toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)})`;
}
