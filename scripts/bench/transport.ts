// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run bench -- transport [--list | --only NAMES] [--against FOLDER]`: messages and bytes per
 * second of the transport, in process, by service, operation, message size and number of QPs. Every
 * packet is built with all its headers, without CRCs as on any cable, and parsed at the other port;
 * acknowledgements are real. `many-qps` compares one QP with 10,000, `lone-qp` with 1,000 that have
 * a message each; `pages` compares regions without and with pages, `trace` traces off and on,
 * `trace-off` sources with and without hooks; `heap` sends 50 million messages.
 */
import { resolve } from 'node:path';
import { SendOpcode, ServiceType } from '../../protocol/layout/gen/values.gen.ts';
import { runEntry, UsageError } from '../../qemu/setup/tools/errors.ts';
import { defineScript, readOptions, wholeNumber } from '../../qemu/setup/tools/script-options.ts';
import { compareCheckouts } from './checkouts.ts';
import { HeapWatch } from './heap-watch.ts';
import { median, processorNs } from './statistics.ts';
import { compareAbsentHooks, compareTraced } from './trace-hooks.ts';
import { type Traffic, TransportTraffic } from './transport-traffic.ts';

const MESSAGES = 1_000_000;
const HEAP_MESSAGES = 50_000_000;
const WARM_UP_ROUNDS = 50;
/** Short messages count after this many, when their code is compiled. */
const WARM_UP_MESSAGES = 200_000;
/** How often a long run prints its progress. */
const PROGRESS_MS = 10_000;
/** Pairs of processes that compare two checkouts. */
const PAIRS = 31;
const COMPARED_QUEUE_PAIRS = 10_000;
/** With one message each in flight. */
const SINGLE_MESSAGE_QUEUE_PAIRS = 1000;
const COMPARISON_ROUNDS = 60;
/** Messages of one machine in a turn. */
const COMPARISON_PIECE = 20_000;
const HEADER = 'scenario              QPs   messages   M msg/s cpu ns/msg    GB/s  alloc B/msg   heap B/msg\n';

interface Scenario extends Traffic {
  readonly name: string;
  readonly messages: number;
}

const SERVICES: readonly [string, ServiceType, SendOpcode][] = [
  ['rc-write', ServiceType.RC, SendOpcode.RDMA_WRITE],
  ['rc-send', ServiceType.RC, SendOpcode.SEND],
  ['rc-read', ServiceType.RC, SendOpcode.RDMA_READ],
  ['uc-write', ServiceType.UC, SendOpcode.RDMA_WRITE],
  ['ud-send', ServiceType.UD, SendOpcode.SEND],
];
const SMALL_WRITES = { serviceType: ServiceType.RC, opcode: SendOpcode.RDMA_WRITE, size: 64, batch: 16 };

/** All scenarios, with `messages` messages, or each with its own number. */
function scenarios(messages: number | undefined): Scenario[] {
  const list: Scenario[] = [];
  for (const [service, serviceType, opcode] of SERVICES) {
    for (const size of [64, 4096, 65536, 1 << 20]) {
      if (serviceType === ServiceType.UD && size > 4096) continue;
      const count = messages ?? Math.max(128, Math.ceil(MESSAGES / (size / 64)) * 4);
      list.push({
        name: `${service}-${size}`,
        ...{ serviceType, opcode, size, queuePairs: 1, batch: 64, inFlight: 64 },
        messages: count,
      });
    }
  }
  // All QPs have work at once.
  for (const queuePairs of [1, 100, 1000, 10_000]) {
    const inFlight = queuePairs * SMALL_WRITES.batch;
    list.push({
      name: `rc-write-64-x${queuePairs}`,
      ...SMALL_WRITES,
      ...{ queuePairs, inFlight, messages: Math.max(messages ?? MESSAGES, 4 * inFlight) },
    });
  }
  list.push({ name: 'heap', ...SMALL_WRITES, queuePairs: 100, inFlight: 1600, messages: messages ?? HEAP_MESSAGES });
  return list;
}

function measure(scenario: Scenario, json: boolean): void {
  const traffic = new TransportTraffic(scenario);
  const least = Math.min(WARM_UP_MESSAGES, scenario.messages / 4);
  for (let warm = 0; warm < WARM_UP_ROUNDS || traffic.messages < least; warm++) {
    if (traffic.messages >= scenario.messages) break;
    traffic.round();
  }
  const heap = new HeapWatch();
  const before = traffic.messages;
  const startMs = performance.now();
  const startNs = processorNs();
  let nextProgressMs = startMs + PROGRESS_MS;
  while (traffic.messages - before < scenario.messages) {
    traffic.round();
    heap.sample(traffic.messages - before);
    if (performance.now() < nextProgressMs) continue;
    nextProgressMs += PROGRESS_MS;
    const share = (traffic.messages - before) / scenario.messages;
    process.stderr.write(`${scenario.name}: ${Math.floor(100 * share)} %, ${heap.describe()}\n`);
  }
  const elapsedNs = (performance.now() - startMs) * 1e6;
  const messages = traffic.messages - before;
  traffic.verify();
  report(
    {
      ...scenario,
      messages,
      nsPerMessage: elapsedNs / messages,
      processorNsPerMessage: (processorNs() - startNs) / messages,
      gigabytesPerSecond: (messages * scenario.size) / elapsedNs,
      allocatedBytesPerMessage: heap.allocatedBytes / messages,
      heapBytesPerMessage: heap.finish() / messages,
    },
    json,
  );
}

interface Result extends Scenario {
  readonly nsPerMessage: number;
  /** Less than the time on a machine with other load. */
  readonly processorNsPerMessage: number;
  readonly gigabytesPerSecond: number;
  /** All allocations, collected or not. */
  readonly allocatedBytesPerMessage: number;
  /** The growth of the heap after a collection. */
  readonly heapBytesPerMessage: number;
}

function report(result: Result, json: boolean): void {
  if (json) {
    process.stdout.write(`${JSON.stringify(result)}\n`);
    return;
  }
  const cells = [
    result.name.padEnd(18),
    `${result.queuePairs}`.padStart(6),
    `${result.messages}`.padStart(10),
    (1e3 / result.nsPerMessage).toFixed(3).padStart(9),
    result.processorNsPerMessage.toFixed(0).padStart(10),
    result.gigabytesPerSecond.toFixed(2).padStart(7),
    result.allocatedBytesPerMessage.toFixed(3).padStart(12),
    result.heapBytesPerMessage.toFixed(4).padStart(12),
  ];
  process.stdout.write(`${cells.join(' ')}\n`);
}

/**
 * Compares one QP with many. First with rounds of one doorbell and its messages, on the same QP or
 * on another one each time; then with more messages in flight, which the one QP has acknowledged at
 * once and the many share.
 */
function compareManyQueuePairs(json: boolean): void {
  for (const inFlight of [SMALL_WRITES.batch, 4 * SMALL_WRITES.batch]) {
    const one = new TransportTraffic({ ...SMALL_WRITES, queuePairs: 1, inFlight });
    const many = new TransportTraffic({ ...SMALL_WRITES, queuePairs: COMPARED_QUEUE_PAIRS, inFlight });
    compare(`many-qps, ${inFlight} in flight`, ['1 QP', one], [`${COMPARED_QUEUE_PAIRS} QPs`, many], json);
  }
}

/**
 * Compares messages of one QP with messages of 1,000, each on another one and with a doorbell of
 * its own: one in flight, and then 64, which the one QP has fetched and acknowledged together.
 */
function compareLoneQueuePair(json: boolean): void {
  const single = { ...SMALL_WRITES, batch: 1 };
  for (const inFlight of [1, 64]) {
    const one = new TransportTraffic({ ...single, queuePairs: 1, inFlight });
    const many = new TransportTraffic({ ...single, queuePairs: SINGLE_MESSAGE_QUEUE_PAIRS, inFlight });
    compare(`lone-qp, ${inFlight} in flight`, ['1 QP', one], [`${SINGLE_MESSAGE_QUEUE_PAIRS} QPs`, many], json);
  }
}

/** Compares a region that is all of memory, as kernels use it, with one of a program's pages. */
function comparePages(json: boolean): void {
  const plan = { ...SMALL_WRITES, queuePairs: 1, inFlight: SMALL_WRITES.batch };
  const whole = new TransportTraffic(plan);
  const paged = new TransportTraffic({ ...plan, paged: true });
  compare('pages', ['one region', whole], ['pages', paged], json);
}

/**
 * Runs two kinds of traffic in turns, so that other load affects both; the ratio of each turn
 * counts.
 */
function compare(
  name: string,
  [firstLabel, first]: readonly [string, TransportTraffic],
  [secondLabel, second]: readonly [string, TransportTraffic],
  json: boolean,
): void {
  const times: { first: number[]; second: number[] } = { first: [], second: [] };
  for (let turn = -8; turn < COMPARISON_ROUNDS; turn++) {
    const firstNs = timePiece(first);
    const secondNs = timePiece(second);
    if (turn < 0) continue;
    times.first.push(firstNs);
    times.second.push(secondNs);
  }
  first.verify();
  second.verify();
  const ratio = median(times.second.map((ns, turn) => ns / times.first[turn]));
  const [firstNs, secondNs] = [median(times.first), median(times.second)];
  process.stdout.write(
    json
      ? `${JSON.stringify({ name, firstLabel, firstNs, secondLabel, secondNs, ratio })}\n`
      : `${name}: ${firstNs.toFixed(0)} ns of processor time with ${firstLabel}, ${secondNs.toFixed(0)} ns with ${secondLabel}; median of the ratios ${ratio.toFixed(3)}\n`,
  );
}

/** ns of processor time per message. */
function timePiece(traffic: TransportTraffic): number {
  const before = traffic.messages;
  const start = processorNs();
  while (traffic.messages - before < COMPARISON_PIECE) traffic.round();
  return (processorNs() - start) / (traffic.messages - before);
}

interface Options {
  readonly only?: string;
  readonly against?: string;
  readonly pairs?: number;
  readonly messages?: number;
  readonly list?: boolean;
  readonly json?: boolean;
}

await runEntry(async () => {
  const script = defineScript('npm run bench -- transport', 'Measures messages and bytes per second of the transport.')
    .option('--only <NAMES>', 'Only these scenarios, with commas between them.')
    .option('--against <FOLDER>', 'Compares this checkout with the one in FOLDER.')
    .option('--pairs <N>', 'Pairs of processes of a comparison; 31 unless given.', wholeNumber(1))
    .option('--messages <N>', 'Messages of each scenario.', wholeNumber(1))
    .option('--list', 'Prints the names of the scenarios.')
    .option('--json', 'Prints JSON lines.');
  await runScenarios(readOptions<Options>(script));
});

async function runScenarios({ only, against, pairs = PAIRS, messages, list, json = false }: Options): Promise<void> {
  const all = scenarios(messages);
  const comparisons = against === undefined ? ['many-qps', 'lone-qp', 'pages', 'trace', 'trace-off'] : [];
  const names = [...all.map(({ name }) => name), ...comparisons];
  const wanted = only?.split(',') ?? names.filter((name) => name !== 'heap');
  const unknown = wanted.find((name) => !names.includes(name));
  if (unknown !== undefined) throw new UsageError(`there is no scenario ${unknown}; there are ${names.join(', ')}.`);
  if (list) {
    process.stdout.write(`${names.join('\n')}\n`);
    return;
  }
  if (against !== undefined)
    return compareCheckouts(
      resolve(against),
      all.filter(({ name }) => wanted.includes(name)),
      pairs,
      json,
    );
  if (!json) process.stdout.write(HEADER);
  for (const scenario of all) if (wanted.includes(scenario.name)) measure(scenario, json);
  if (wanted.includes('many-qps')) compareManyQueuePairs(json);
  if (wanted.includes('lone-qp')) compareLoneQueuePair(json);
  if (wanted.includes('pages')) comparePages(json);
  if (wanted.includes('trace')) await compareTraced(json);
  if (wanted.includes('trace-off')) await compareAbsentHooks(json);
}
