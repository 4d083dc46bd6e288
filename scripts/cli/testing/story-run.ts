// SPDX-License-Identifier: Apache-2.0
/**
 * A random run whose stories are judged: connections and datagrams over a bad wire, with RNR, few
 * credits, pages on demand, moderation, masked vectors and wrong keys. Equal seeds give equal runs.
 * Tests only.
 */

import type { Adapter } from '../../../device/hca/adapter/adapter.ts';
import type { AdapterTrace, MessageEnd } from '../../../device/hca/trace/adapter-trace.ts';
import { TraceObserver } from '../../../device/process/trace/trace-observer.ts';
import { Random } from '../../../device/random.ts';
import { cqPayload } from '../../../device/rig/driver/payloads.ts';
import type { DriverQueuePair } from '../../../device/rig/driver/queue-pair.ts';
import type { DriverMemoryRegion } from '../../../device/rig/driver/requests.ts';
import { AdapterFixture, type Pair } from '../../../device/rig/fixtures/adapter-fixture.ts';
import {
  type Connected,
  connect,
  FULL_ACCESS,
  rdma,
  SendOpcode,
  ServiceType,
} from '../../../device/rig/fixtures/connected-fixture.ts';
import { DemandPager, PAGE, serveFaults } from '../../../device/rig/fixtures/demand-pager.ts';
import { AccessFlag, CqMask, ManagementOpcode, PlacementType } from '../../../protocol/layout/gen/values.gen.ts';
import { describeStory } from '../trace/trace-screen.ts';
import { ModelLog } from './model-log.ts';
import { countLostRequests, findWrongCounts, findWrongOrder } from './story-counts.ts';
import { judgeLine } from './story-judge.ts';

const OPERATIONS = 40;
const RECEIVE_BYTES = 2048;
/** Receive WQEs of a QP. */
const RECEIVES_MAX = 30;
/** Steps of 100 ns within which the wire is empty at some moment. */
const QUIET_WAITS = 10_000;
const PAGES = 4;
const VECTOR = 5;
const WRONG_QKEY = 7;
/** Services whose opcodes are no responses. */
const LOST_REQUEST = /^packet lost: (?!.*(?:RESPONSE|ACKNOWLEDGE)).*the link (?:drops|damages) it$/;
const SETTINGS = { blocksLog2: 8, snapLength: 8, stopOnError: false };

export class StoryRun {
  readonly #random: Random;
  readonly #fixture: AdapterFixture;
  readonly #connections: readonly Connected[];
  readonly #datagrams: Pair;
  readonly #pager: DemandPager;
  /** All of memory, with the right to flush. */
  readonly #flushed: DriverMemoryRegion;
  readonly #log: ModelLog;
  readonly #observer: TraceObserver;
  readonly #posted = new Map<DriverQueuePair, number>();
  /** Requests that stories report as lost. */
  readonly #losses = new Set<string>();
  /** Lines judged, by their words without numbers. */
  readonly told = new Set<string>();

  constructor(seed: number) {
    const random = new Random(seed);
    this.#random = random;
    const chance = (): number => (random.below(2) === 0 ? 0 : random.below(100) / 1000);
    const faults = { drop: chance(), corrupt: chance() / 2, delay: chance(), reorder: chance() };
    const wire = { bitsPerSecond: random.below(2) * 2.5e9, delayNs: random.below(2000) };
    const portLink = { kind: 'faulty', seed, faults, ...wire } as const;
    const completionCredits = random.below(2) === 0 ? 4 : 64;
    this.#fixture = new AdapterFixture({ seed, adapter: { portLink, completionCredits, laneCount: 2 } });
    const { machine } = this.#fixture;
    const { driver } = this.#fixture;
    const attributes = { controls: random.below(3), nextInterruptDelayNsLow: random.below(3) * 20_000 };
    this.#fixture.events = driver.createEventQueue({ vector: VECTOR, summaryCount: 2, attributes });
    const access = FULL_ACCESS | AccessFlag.FLUSH_GLOBAL;
    this.#flushed = driver.createDmaRegion(this.#fixture.pd, access);
    const common = { access, pathMtu: 1, retryCount: 7, rnrRetry: 7, minRnrTimer: 1, sendPsn: 100, receivePsn: 5000 };
    this.#connections = [ServiceType.RC, ServiceType.UC].map((serviceType) =>
      connect(this.#fixture, { serviceType, ...common, timeout: 3 + random.below(4), maxReads: 1 + random.below(3) }),
    );
    this.#datagrams = this.#fixture.createPair();
    this.#pager = new DemandPager(this.#fixture, { pages: PAGES });
    this.#observer = new TraceObserver(machine.device as Adapter, () => machine.clock.now());
    machine.device.tables.queuePairs.forEach((qp) => void this.#observer.observe(qp, SETTINGS));
    this.#observer.startTimeline();
    this.#log = new ModelLog(this.#fixture);
    this.#log.watchQueues([...new Set(this.#queuePairs().flatMap(({ parts }) => [parts.sendCq, parts.receiveCq]))]);
  }

  /** Runs, and describes what is wrong with the stories. */
  judge(): string[] {
    for (let done = 0; done < OPERATIONS; done++) {
      this.#operate();
      this.#advance(this.#random.below(4) * 500);
    }
    this.#fixture.host.masked.fill(0);
    for (let round = 0; round < 20; round++) {
      for (const qp of this.#queuePairs()) this.#receive(qp);
      this.#advance(10_000);
      serveFaults([this.#pager]);
    }
    this.#becomeQuiet();
    if (this.#random.below(2) === 0) this.#connections[0]?.a.toReset();
    this.#becomeQuiet();
    return this.#judgeAll();
  }

  /** Packets in flight are neither lost nor received, and a story ends at a reset. */
  #becomeQuiet(): void {
    for (let waits = 0; !this.#isQuiet() && waits < QUIET_WAITS; waits++) this.#advance(100);
  }

  /** Nothing waits for the wire, or is on it. */
  #isQuiet(): boolean {
    const { ports } = this.#fixture.machine.device;
    return ports.every(
      ({ transmitQueues, link }) => transmitQueues.count === 0 && link?.nextNs === Number.POSITIVE_INFINITY,
    );
  }

  #queuePairs(): DriverQueuePair[] {
    return [...this.#connections.flatMap(({ a, b }) => [a, b]), this.#datagrams.sender, this.#datagrams.receiver];
  }

  #advance(ns: number): void {
    this.#fixture.machine.clock.advance(ns);
    this.#fixture.settle();
    for (const { parts } of this.#queuePairs())
      for (const cq of [parts.sendCq, parts.receiveCq]) if (this.#random.below(3) > 0) cq.drain();
  }

  #operate(): void {
    const below = (limit: number): number => this.#random.below(limit);
    const connection = this.#connections[below(this.#connections.length)] as Connected;
    const qp = this.#queuePairs()[below(this.#queuePairs().length)] as DriverQueuePair;
    const operations = [
      () => this.#send(connection),
      () => this.#send(connection),
      () => this.#remote(connection),
      () => this.#remote(connection),
      () => this.#atomic(),
      () => this.#sendDatagram(),
      () => this.#receive(qp),
      () => this.#receive(qp),
      () => qp.parts.sendCq.notify({ solicitedOnly: below(4) === 0, clearPending: below(2) === 0 }),
      () => qp.parts.receiveCq.notify({ clearOnly: below(3) === 0 }),
      () => qp.parts.sendCq.notify({ clearOnly: below(2) === 0 }),
      () => this.#moderate(qp),
      () => this.#fixture.host.masked.fill(below(2), VECTOR, VECTOR + 1),
      () => serveFaults([this.#pager]),
    ];
    operations[below(operations.length)]?.();
  }

  #send({ a }: Connected): void {
    const length = this.#random.below(3) === 0 ? 0 : this.#random.below(RECEIVE_BYTES + 1);
    const sges = length === 0 ? [] : [this.#fixture.sge(this.#fixture.createBuffer(length))];
    this.#post(a, { sges, signaled: this.#random.below(4) > 0, solicited: this.#random.below(4) === 0 });
  }

  #remote({ a, region }: Connected): void {
    const fixture = this.#fixture;
    const isReliable = a === this.#connections[0]?.a;
    const opcode = isReliable && this.#random.below(2) === 0 ? SendOpcode.RDMA_READ : SendOpcode.RDMA_WRITE;
    const length = 1 + this.#random.below(1500);
    const request = rdma(fixture, opcode, fixture.createBuffer(length), fixture.createBuffer(length), region);
    const onDemandLocal = { sges: [{ address: this.#drawAddress(length), length, lkey: this.#pager.region.lkey }] };
    const onDemand = { remote: { address: this.#drawAddress(length), rkey: this.#pager.region.rkey } };
    const fence = this.#random.below(8) === 0;
    const isLocal = isReliable && this.#random.below(4) === 0;
    this.#post(a, { ...request, ...(isLocal && onDemandLocal), ...(this.#random.below(3) === 0 && onDemand), fence });
  }

  /** An operation that only reliable connections have: its answer takes a responder resource. */
  #atomic(): void {
    const fixture = this.#fixture;
    const [{ a }] = this.#connections as [Connected];
    const opcode = this.#random.pick([
      SendOpcode.FETCH_ADD,
      SendOpcode.COMPARE_SWAP,
      SendOpcode.ATOMIC_WRITE,
      SendOpcode.FLUSH,
    ]);
    const request = rdma(fixture, opcode, fixture.createBuffer(8), fixture.createBuffer(8), this.#flushed);
    const flush = { placementType: PlacementType.GLOBAL_VISIBILITY, lengthBytes: 8 };
    if (opcode === SendOpcode.FLUSH) this.#post(a, { ...request, sges: [], flush });
    else if (opcode === SendOpcode.ATOMIC_WRITE) this.#post(a, request);
    else this.#post(a, { ...request, atomic: { swapOrAdd: 3n, compare: 0n } });
  }

  /** An address in the memory whose pages come on demand. */
  #drawAddress(lengthBytes: number): number {
    return this.#pager.at(this.#random.below(PAGES * PAGE - lengthBytes));
  }

  #sendDatagram(): void {
    const { sender, to } = this.#datagrams;
    const qkey = this.#random.below(4) === 0 ? { qkey: WRONG_QKEY } : {};
    this.#post(sender, to({ inline: new Uint8Array(this.#random.below(32)), ...qkey }));
  }

  #post(qp: DriverQueuePair, request: Parameters<DriverQueuePair['post']>[0]): void {
    qp.post(request, this.#random.below(2) === 0 ? 'collect' : 'doorbell');
  }

  #receive(qp: DriverQueuePair): void {
    const posted = (this.#posted.get(qp) ?? 0) + 1;
    if (posted > RECEIVES_MAX) return;
    this.#posted.set(qp, posted);
    this.#fixture.postReceive(qp, RECEIVE_BYTES + 64);
  }

  #moderate({ parts }: DriverQueuePair): void {
    const request = {
      attributeMask: CqMask.MODERATION,
      moderationCount: this.#random.below(4),
      moderationPeriodUs: this.#random.below(3),
    };
    const { cqn: objectNumber } = parts.sendCq;
    const opcode = ManagementOpcode.MODIFY_CQ;
    this.#fixture.driver.management.perform({ opcode, objectNumber, payload: cqPayload(request) });
  }

  #judgeAll(): string[] {
    const adapter = this.#observer.read('adapter', 0);
    const wrong = adapter.messages.flatMap((message) => this.#judgeMessage({ adapter, message }, [adapter]));
    const lost = countLostRequests(this.#log);
    if (lost === this.#losses.size) return wrong;
    return [...wrong, `${lost} requests were lost, and ${this.#losses.size} are told as lost`];
  }

  #judgeMessage(end: MessageEnd, all: readonly AdapterTrace[]): string[] {
    const { block } = end.message;
    const told = describeStory(end, all) as never as {
      wallTime: string;
      story: { timeNs: number; who: string; text: string }[];
    };
    const startNs = nanoseconds(told.wallTime);
    const name = `QP ${block.qpn} block ${block.index}`;
    const counts = findWrongCounts(end.message, this.#log);
    const lines = told.story.map(({ timeNs, who, text }) => {
      const [, qp, verb] = /QP (\d+) (sends|receives)$/.exec(who) ?? [];
      const isOwn = Number(qp) === block.qpn;
      const peer = isOwn ? block.remoteQpn : block.qpn;
      return { timeNs: startNs + timeNs, text, qp: Number(qp), receives: verb === 'receives', peer };
    });
    for (const { text } of lines) this.told.add(text.replaceAll(/0x[0-9a-f]+|\d[\d.]*/g, 'N'));
    const verdicts = lines.map((line) => ({ ...line, ...judgeLine(line, this.#log) }));
    const orders = [true, false].map((side) => findWrongOrder(verdicts.filter(({ receives }) => receives === side)));
    for (const { timeNs, qp, text } of lines) if (LOST_REQUEST.test(text)) this.#losses.add(`${timeNs} ${qp} ${text}`);
    const wrong = [counts, ...orders, ...verdicts.map(({ untruth }) => untruth)];
    return wrong.flatMap((one) => (one === undefined ? [] : [`${name}: ${one}`]));
  }
}

/** Adapter time of a wall time whose clock stood at 0 in 1970. */
function nanoseconds(wallTime: string): number {
  const [, hours, minutes, seconds] = /T(\d+):(\d+):([\d.]+)Z/.exec(wallTime) ?? [];
  return Math.round((Number(hours) * 3600 + Number(minutes) * 60) * 1e9 + Number(seconds) * 1e9);
}
