// SPDX-License-Identifier: Apache-2.0
/**
 * What messages cost the device core in process, by their size and by the number of queue pairs, in
 * turns with their limits: a copy of the same bytes, and their CRC. All take turns of some
 * milliseconds on one processor, so that its changes affect all alike; a ratio is the median of
 * those of the turns. Called by scripts/performance.
 */
import { join } from 'node:path';
import { SendOpcode, ServiceType } from '../../protocol/layout/gen/values.gen.ts';
import { withPrograms } from './side-by-side.ts';
import { median } from './statistics.ts';
import type { Traffic } from './transport-traffic.ts';
import { TurnWorker } from './turn-worker.ts';

const ROOT = join(import.meta.dirname, '../..');
const MESSAGE_WORKER = join(import.meta.dirname, 'side-by-side-worker.ts');
const LIMIT_WORKER = join(import.meta.dirname, 'limit-worker.ts');
const SIZES = [64, 512, 4096, 16_384, 65_536, 262_144, 1 << 20];
const QUEUE_PAIRS = [1, 4, 16, 64, 256, 1024];
const TURNS = 25;
const BATCH = 16;
/** Pieces of a turn; fewer when they are long, more when they take no time. */
const TURN_PIECES = 8_000;
const TURN_BYTES = 1 << 23;
/** Pieces until all code is compiled: a long message runs many functions only once. */
const WARM_UP_PIECES = 128_000;
const WARM_UP_BYTES = 2 ** 30;
const LIMIT_TIMES = 8;
const WRITE = { serviceType: ServiceType.RC, opcode: SendOpcode.RDMA_WRITE };

/** RDMA WRITEs of one size in the device core, in process. */
export interface SizeCost {
  readonly bytes: number;
  readonly copyNs: number;
  readonly crcNs: number;
  /** With one message in flight, and with sixteen of one doorbell. */
  readonly loneNs: number;
  readonly streamNs: number;
  readonly loneToCopy: number;
  readonly streamToCopy: number;
}

/** RDMA WRITEs of 64 bytes over so many queue pairs in turn. */
export interface QueuePairCost {
  readonly count: number;
  readonly ns: number;
  readonly toOne: number;
}

/** Measures all of it; `say` tells how far it is. */
export function measureCore(say: (text: string) => void): Promise<{ sizes: SizeCost[]; queuePairs: QueuePairCost[] }> {
  return withPrograms([ROOT], async ([program]) => {
    const message = (traffic: Traffic): TurnWorker =>
      new TurnWorker(MESSAGE_WORKER, [JSON.stringify({ program, traced: false }), JSON.stringify(traffic)], 0);
    const sizes: SizeCost[] = [];
    for (const size of SIZES) {
      say(`messages of ${size} bytes`);
      sizes.push(await measureSize(size, message));
    }
    say('numbers of queue pairs');
    return { sizes, queuePairs: await measureQueuePairs(message) };
  });
}

async function measureSize(size: number, message: (traffic: Traffic) => TurnWorker): Promise<SizeCost> {
  const count = Math.max(1, Math.min(TURN_PIECES, Math.floor(TURN_BYTES / size)));
  const limit = (what: string): TurnWorker => new TurnWorker(LIMIT_WORKER, [what, `${size}`], 0);
  const warmUp = Math.min(WARM_UP_PIECES, Math.ceil(WARM_UP_BYTES / size));
  const [copy, crc, lone, stream] = await takeTurns(warmUp, [
    [limit('copy'), LIMIT_TIMES * count],
    [limit('crc'), count],
    [message({ ...WRITE, size, queuePairs: 1, batch: 1, inFlight: 1 }), count],
    [message({ ...WRITE, size, queuePairs: 1, batch: BATCH, inFlight: BATCH }), count],
  ]);
  const ratio = (one: readonly number[], other: readonly number[]): number =>
    median(one.map((ns, turn) => ns / other[turn]));
  return {
    bytes: size,
    copyNs: median(copy),
    crcNs: median(crc),
    loneNs: median(lone),
    streamNs: median(stream),
    loneToCopy: ratio(lone, copy),
    streamToCopy: ratio(stream, copy),
  };
}

async function measureQueuePairs(message: (traffic: Traffic) => TurnWorker): Promise<QueuePairCost[]> {
  const times = await takeTurns(
    WARM_UP_PIECES,
    QUEUE_PAIRS.map((queuePairs) => [
      message({ ...WRITE, size: 64, queuePairs, batch: BATCH, inFlight: BATCH }),
      TURN_PIECES,
    ]),
  );
  return QUEUE_PAIRS.map((count, index) => ({
    count,
    ns: median(times[index]),
    toOne: median(times[index].map((ns, turn) => ns / times[0][turn])),
  }));
}

/** ns of a piece in each turn of each worker, which has done `warmUp` pieces before. */
async function takeTurns(
  warmUp: number,
  workers: readonly (readonly [TurnWorker, count: number])[],
): Promise<number[][]> {
  const times: number[][] = workers.map(() => []);
  try {
    for (const [worker] of workers) {
      await worker.ready;
      await worker.send(warmUp);
    }
    for (let turn = 0; turn < TURNS; turn++)
      for (const [index, [worker, count]] of workers.entries()) times[index].push(await worker.send(count));
  } finally {
    for (const [worker] of workers) worker.end();
  }
  return times;
}
