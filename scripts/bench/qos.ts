// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run bench -- qos`: the cost of a command (RC WRITE of 64 bytes) with 1 to 32 functions and
 * with 1 to 128 lanes. All adapters take turns, so that other load of the machine affects all
 * alike. Processor time; the median of the ratios to the first counts.
 */
import type { AdapterOptions } from '../../device/hca/adapter/options.ts';
import { SendOpcode, ServiceType } from '../../protocol/layout/gen/values.gen.ts';
import { runEntry } from '../../qemu/setup/tools/errors.ts';
import { defineScript, readOptions } from '../../qemu/setup/tools/script-options.ts';
import { HeapWatch } from './heap-watch.ts';
import { median } from './statistics.ts';
import { TransportTraffic } from './transport-traffic.ts';

const ROUNDS = 40;
const WARM_UP_ROUNDS = 12;
const PIECE = 20_000;
const MEMORY_BYTES = 1 << 24;
const TRAFFIC = {
  serviceType: ServiceType.RC,
  opcode: SendOpcode.RDMA_WRITE,
  size: 64,
  queuePairs: 16,
  batch: 4,
  inFlight: 64,
};

/** Nanoseconds of processor time per command. */
function timePiece(traffic: TransportTraffic): number {
  const before = traffic.messages;
  const start = process.cpuUsage();
  while (traffic.messages - before < PIECE) traffic.round();
  const { user, system } = process.cpuUsage(start);
  return ((user + system) * 1000) / (traffic.messages - before);
}

function compare(what: string, variants: readonly (readonly [number, Partial<AdapterOptions>])[]): void {
  const all = variants.map(([, options]) => new TransportTraffic(TRAFFIC, options, MEMORY_BYTES));
  const times = all.map((): number[] => []);
  // Compilation allocates, too: only later allocations count.
  let heap = new HeapWatch();
  let counted = 0;
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
    for (const [at, traffic] of all.entries()) {
      const ns = timePiece(traffic);
      if (round >= 0) times[at].push(ns);
    }
    if (round < 0) continue;
    if (round === 0) {
      heap = new HeapWatch();
      continue;
    }
    counted += PIECE * all.length;
    heap.sample(counted);
  }
  for (const traffic of all) traffic.verify();
  for (const [at, [count]] of variants.entries()) {
    const ratio = median(times[at].map((ns, round) => ns / times[0][round]));
    process.stdout.write(
      `${`${count}`.padStart(4)} ${what.padEnd(10)} ${median(times[at]).toFixed(0).padStart(6)} ns ${ratio.toFixed(2)}\n`,
    );
  }
  process.stdout.write(`     allocated ${(heap.allocatedBytes / counted).toFixed(3)} bytes per command\n`);
}

await runEntry(async () => {
  readOptions(defineScript('npm run bench -- qos', 'Measures the cost of a command by functions and by lanes.'));
  compare(
    'functions',
    [1, 2, 8, 32].map((functionCount) => [functionCount, { functionCount }]),
  );
  compare(
    'lanes',
    [1, 8, 32, 128].map((laneCount) => [laneCount, { laneCount }]),
  );
});
