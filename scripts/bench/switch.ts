// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run bench -- switch [--rounds N] [--size BYTES]`: processor time of an RC WRITE without a
 * switch, and over 1 and 3 switches between the ports. The machines take turns in short pieces, so
 * changes of the machine's speed touch all alike; the median counts.
 */
import { SendOpcode, ServiceType } from '../../protocol/layout/gen/values.gen.ts';
import { runEntry } from '../../qemu/setup/tools/errors.ts';
import { defineScript, readOptions, wholeNumber } from '../../qemu/setup/tools/script-options.ts';
import { median } from './statistics.ts';
import { TransportTraffic } from './transport-traffic.ts';

const HOPS = [0, 1, 3];
const TRAFFIC = {
  serviceType: ServiceType.RC,
  opcode: SendOpcode.RDMA_WRITE,
  queuePairs: 1,
  batch: 16,
  inFlight: 16,
};

interface Options {
  readonly rounds: number;
  readonly size: number;
}

/** Most messages and bytes of one machine in a turn, and turns until all code is compiled. */
const PIECE = 20_000;
const PIECE_BYTES = 1 << 26;
const WARM_UP_TURNS = 10;

await runEntry(async () => {
  const script = defineScript('npm run bench -- switch', 'Measures what a switch between two ports costs.')
    .option('--rounds <N>', 'Turns of each machine.', wholeNumber(1), 40)
    .option('--size <BYTES>', 'Bytes of a message.', wholeNumber(1), 64);
  compareHops(readOptions<Options>(script));
});

function compareHops({ rounds, size }: Options): void {
  const machines = HOPS.map((hops) => new TransportTraffic({ ...TRAFFIC, size, hops }));
  const piece = Math.min(PIECE, Math.ceil(PIECE_BYTES / size));
  const times: number[][] = HOPS.map(() => []);
  for (let round = -WARM_UP_TURNS; round < rounds; round++) {
    for (const [index, machine] of machines.entries()) {
      const ns = measure(machine, piece);
      if (round >= 0) times[index].push(ns);
    }
  }
  for (const machine of machines) machine.verify();
  const [base] = times;
  for (const [index, hops] of HOPS.entries()) {
    const ns = median(times[index]);
    const added = hops === 0 ? 0 : median(times[index].map((time, round) => (time / base[round] - 1) / hops));
    const share = hops === 0 ? '' : `, one hop adds ${(100 * added).toFixed(0)} %`;
    const rate = `${(size / ns).toFixed(2)} GB/s`;
    process.stdout.write(`${hops} switches: ${ns.toFixed(0)} ns of processor time for a WRITE, ${rate}${share}\n`);
  }
}

function measure(machine: TransportTraffic, piece: number): number {
  const before = machine.messages;
  const start = process.cpuUsage();
  while (machine.messages - before < piece) machine.round();
  const { user, system } = process.cpuUsage(start);
  return ((user + system) * 1e3) / (machine.messages - before);
}
