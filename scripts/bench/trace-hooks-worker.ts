// SPDX-License-Identifier: Apache-2.0
/**
 * One process of the comparison in trace-hooks.ts: `ABSENT PRESENT AGAIN SERVICE`, three copies of the sources and what to send. They run in turns of short blocks whose
 * order changes; printed is the median of the ratios of processor time, present to absent, and present to the same once more.
 */
import { pathToFileURL } from 'node:url';
import { SendOpcode, ServiceType } from '../../protocol/layout/gen/values.gen.ts';
import { median } from './statistics.ts';
import type { TransportTraffic } from './transport-traffic.ts';

const MEMORY_BYTES = 1 << 26;
const BLOCK = 3200;
const WARM_UP_TURNS = 40;
const TURNS = 90;
const SIZE = 64;

const services: Readonly<Record<string, readonly [ServiceType, SendOpcode]>> = {
  rc: [ServiceType.RC, SendOpcode.RDMA_WRITE],
  uc: [ServiceType.UC, SendOpcode.RDMA_WRITE],
  ud: [ServiceType.UD, SendOpcode.SEND],
};

/** The benchmark's traffic over the adapter of another copy. */
async function makeTraffic(root: string, service: string): Promise<TransportTraffic> {
  const url = pathToFileURL(`${root}/scripts/bench/transport-traffic.ts`).href;
  const { TransportTraffic: Traffic } = (await import(url)) as typeof import('./transport-traffic.ts');
  const [serviceType, opcode] = services[service];
  const traffic = { serviceType, opcode, size: SIZE, queuePairs: 1, batch: 64, inFlight: 64 };
  return new Traffic(traffic, {}, MEMORY_BYTES);
}

function timeBlock(traffic: TransportTraffic): number {
  const before = traffic.messages;
  const start = process.cpuUsage();
  while (traffic.messages - before < BLOCK) traffic.round();
  const { user, system } = process.cpuUsage(start);
  return user + system;
}

const [absent, present, again, service] = process.argv.slice(2) as [string, string, string, string];
// What is loaded first is not always the same one.
const order = [absent, present, again].sort();
const traffics = new Map<string, TransportTraffic>();
for (const root of order) traffics.set(root, await makeTraffic(root, service));
const ratios: number[] = [];
const controls: number[] = [];
for (let turn = -WARM_UP_TURNS; turn < TURNS; turn++) {
  const times = new Map<string, number>();
  for (let place = 0; place < order.length; place++) {
    const root = order[(place + turn + WARM_UP_TURNS) % order.length];
    times.set(root, timeBlock(traffics.get(root) as TransportTraffic));
  }
  const time = (root: string): number => times.get(root) as number;
  if (turn < 0) continue;
  ratios.push(time(present) / time(absent));
  controls.push(time(again) / time(present));
}
for (const traffic of traffics.values()) traffic.verify();
process.stdout.write(`${JSON.stringify({ ratio: median(ratios), control: median(controls) })}\n`);
