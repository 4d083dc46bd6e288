// SPDX-License-Identifier: Apache-2.0
/**
 * The host's traces of an adapter (IPCOM000010133D par. 1, 4): QPs that it names, QPs to come that
 * fit a rule, and the timeline. They are no state of the adapter: neither a guest nor a recording
 * notices them, and a replay can have them, too. A trace outlives its QP. Used by `TraceControl`
 * and `vuhca replay`.
 */

import { serviceTypeName } from '../../../protocol/layout/gen/values.gen.ts';
import { Refusal } from '../../hca/adapter/refusal.ts';
import type { TimelineStep } from '../../hca/function/timeline.ts';
import { TimelineRing } from '../../hca/function/timeline-ring.ts';
import type { QueuePair } from '../../hca/queues/queue-pair.ts';
import type { AdapterTrace } from '../../hca/trace/adapter-trace.ts';
import type { QueuePairTrace, TraceSettings } from '../../hca/trace/queue-pair-trace.ts';
import { type RuleService, ruleServiceOf } from '../../hca/trace/rule-services.ts';
import { TraceRing } from '../../hca/trace/trace-ring.ts';
import { decodeMessages, type TracedMessage } from '../../hca/trace/traced-message.ts';
import type { BlockSink, TraceReading } from '../../hca/trace/traces.ts';
import { TurnClock } from '../../hca/trace/turn-clock.ts';
import type { AnyAdapter } from '../../topology/node-kinds.ts';
import { reportPeer } from '../reports/queue-pair-report.ts';

/** Memory of all traces of an adapter that its host began, in bytes. */
const OBSERVED_BYTES_MAX = 512 * 1024 * 1024;
/** Rules of an adapter: each QP that gets ready is compared with all of them. */
export const RULES_MAX = 256;
const TIMELINE_LOG2 = 16;

/** QPs to come. A field that is left out fits every QP. */
export interface TraceRule {
  readonly service?: RuleService;
  readonly functionNumber?: number;
  readonly peerLid?: number;
  readonly peerQp?: number;
  /** Process of the guest, as its driver names it. */
  readonly process?: number;
}

/** A trace of the host, or of a guest. */
interface ObservedTrace {
  /** Number of the trace in its process. */
  readonly id: number;
  readonly qp: number;
  readonly functionNumber: number;
  readonly trace: QueuePairTrace;
  /** Its QP is gone, or has another trace. */
  readonly ended: boolean;
  /** Time for which a message is kept after its end; for ever, within the ring, when undefined. */
  readonly keepNs?: number | undefined;
}

export type ObserverSettings = Pick<TraceSettings, 'blocksLog2' | 'snapLength' | 'stopOnError'> & {
  readonly keepNs?: number | undefined;
};

export class TraceObserver {
  paused = false;
  timeline: TimelineRing | undefined = undefined;
  readonly #core: AnyAdapter;
  readonly #nowNs: () => number;
  readonly #clock: TurnClock;
  readonly #bytesMax: number;
  readonly #rules: { readonly rule: TraceRule; readonly settings: ObserverSettings }[] = [];
  #traces: ObservedTrace[] = [];
  #nextId = 1;
  #timelineStartNs = 0;
  #timelineKeepNs: number | undefined = undefined;
  #pausedNs = 0;

  /** `bytesMax`: memory of all traces of the host; those of QPs that are gone make room. */
  constructor(core: AnyAdapter, nowNs: () => number, bytesMax = OBSERVED_BYTES_MAX) {
    this.#core = core;
    this.#nowNs = nowNs;
    this.#clock = new TurnClock(core.turns, nowNs);
    this.#bytesMax = bytesMax;
  }

  get rules(): readonly TraceRule[] {
    return this.#rules.map(({ rule }) => rule);
  }

  /** Traces of the host, oldest first, then those that guests began. */
  get traces(): readonly ObservedTrace[] {
    const guests: ObservedTrace[] = [];
    this.#core.tables.queuePairs.forEach(({ number: qp, owner, trace }) => {
      if (trace !== undefined && !trace.settings.hidden)
        guests.push({ id: 0, qp, functionNumber: owner.number, trace, ended: false });
    });
    return [...this.#traces, ...guests];
  }

  /** Begins a trace of the QP. Throws a Refusal when it cannot. */
  observe(qp: QueuePair, settings: ObserverSettings): void {
    const bytes = TraceRing.sizeBytes(settings.blocksLog2, settings.snapLength);
    this.#makeRoom(bytes);
    if (qp.trace?.settings.hidden) this.drop(qp.number);
    const id = this.#nextId++;
    const trace = this.#core.traces.observe(qp, { ...settings, byGuest: false }, this.#clock, () => this.#end(id));
    if (trace === undefined) throw new Refusal(`QP ${qp.number} is traced by its guest; that trace can be read`);
    if (this.paused) trace.pause();
    this.#traces.push({
      id,
      qp: qp.number,
      functionNumber: qp.owner.number,
      trace,
      ended: false,
      keepNs: settings.keepNs,
    });
  }

  /** Ends the trace of the QP and drops what there is of it. Traces of guests stay. */
  drop(qpn: number): void {
    const qp = this.#core.tables.queuePairs.get(qpn);
    if (qp?.trace?.settings.hidden) this.#core.traces.disable(qp);
    this.#traces = this.#traces.filter((one) => one.qp !== qpn);
  }

  /** Traces QPs that fit the rule from RTR on. Throws a Refusal when there are too many rules. */
  addRule(rule: TraceRule, settings: ObserverSettings): void {
    if (this.#rules.length >= RULES_MAX)
      throw new Refusal(`there are ${RULES_MAX} rules of traces, as many as an adapter has; end them by trace off`);
    this.#rules.push({ rule, settings });
    this.#core.traces.onReady = (qp) => this.#meet(qp as QueuePair);
  }

  /** Traces the QPs of a process of the guest: those that there are, and those to come. */
  observeProcess(process: number, settings: ObserverSettings): void {
    for (const qp of this.#ofProcess(process)) this.observe(qp, settings);
    this.addRule({ process }, settings);
  }

  /** Ends that and drops what there is of it. */
  dropProcess(process: number): void {
    const rules = this.#rules.filter(({ rule }) => rule.process !== process);
    this.#rules.splice(0, this.#rules.length, ...rules);
    for (const { number } of this.#ofProcess(process)) this.drop(number);
  }

  clearRules(): void {
    this.#rules.length = 0;
    this.#core.traces.onReady = undefined;
  }

  startTimeline(capacityLog2 = TIMELINE_LOG2, keepNs?: number): void {
    this.#timelineKeepNs = keepNs;
    // A block that shares a reading could begin before the step of its launch.
    this.#clock.isExact = true;
    this.timeline = new TimelineRing(capacityLog2, this.#nowNs);
    this.#timelineStartNs = this.#nowNs();
    if (!this.paused) this.#core.attachTimeline(this.timeline);
  }

  stopTimeline(): void {
    this.timeline = undefined;
    this.#clock.isExact = false;
    this.#core.attachTimeline(undefined);
  }

  /** Keeps everything as it is: no block begins, and no step is noted, until `resume`. */
  pause(): void {
    this.paused = true;
    this.#pausedNs = this.#nowNs();
    for (const { trace } of this.#traces) trace.pause();
    this.#core.attachTimeline(undefined);
  }

  resume(): void {
    this.paused = false;
    for (const { trace } of this.#traces) trace.resume();
    // Steps of the pause are missing.
    this.#timelineStartNs = this.#nowNs();
    this.#core.attachTimeline(this.timeline);
  }

  /** All traces at this moment. `wallTimeNs`: time since 1970 at adapter time 0. */
  read(name: string, wallTimeNs: number): AdapterTrace {
    return {
      ...this.describe(name, wallTimeNs),
      messages: this.traces.flatMap((one) => this.#readMessages(one)),
      steps: this.readSteps(0, Number.POSITIVE_INFINITY),
    };
  }

  /** The same without messages and steps. */
  describe(name: string, wallTimeNs: number): Omit<AdapterTrace, 'messages' | 'steps'> {
    const { ports, tables } = this.#core;
    const { traces } = this;
    const known = new Map<number, number>();
    for (const { qp, functionNumber } of traces) known.set(qp, functionNumber);
    tables.queuePairs.forEach(({ number, owner }) => void known.set(number, owner.number));
    return {
      name,
      wallTimeNs,
      ports: ports.map(({ number, lid, lmc }) => ({ number, lid, lmc })),
      queuePairs: [...known].map(([qp, functionNumber]) => {
        const own = traces.filter((one) => one.qp === qp);
        const overwritten = own.reduce((sum, { trace }) => sum + trace.ring.tail, 0);
        return { qp, functionNumber, traced: own.length > 0, overwritten };
      }),
      stepsSinceNs: this.#stepsSinceNs(),
    };
  }

  /** Blocks from `position` on, without those that ended too long ago. */
  readBlocks(one: ObservedTrace, position: number, sink: BlockSink): TraceReading {
    return this.#core.traces.read(one.trace, Math.max(position, this.getTail(one)), sink);
  }

  /** The first block that is kept: neither overwritten nor too old. */
  getTail({ trace: { ring }, keepNs }: ObservedTrace): number {
    let first = ring.tail;
    if (keepNs === undefined) return first;
    const sinceNs = this.#presentNs() - keepNs;
    while (first < ring.head && ring.isComplete(first) && ring.endNs(first) < sinceNs) first++;
    return first;
  }

  /** Up to `limit` steps from `position` on, without those that are too old. */
  readSteps(position: number, limit: number): TimelineStep[] {
    const keepNs = this.#timelineKeepNs;
    if (keepNs === undefined) return this.timeline?.read(position, limit) ?? [];
    const sinceNs = this.#presentNs() - keepNs;
    const steps = this.timeline?.read(position, Number.POSITIVE_INFINITY) ?? [];
    return steps.filter(({ timeNs }) => timeNs >= sinceNs).slice(0, limit);
  }

  /** Kept messages do not age while traces are paused. */
  #presentNs(): number {
    return this.paused ? this.#pausedNs : this.#nowNs();
  }

  #readMessages(one: ObservedTrace): TracedMessage[] {
    const messages: TracedMessage[] = [];
    this.readBlocks(one, 0, (bytes) => {
      messages.push(...decodeMessages(bytes, 1));
      return true;
    });
    return messages;
  }

  #stepsSinceNs(): number | undefined {
    const { timeline } = this;
    if (timeline === undefined) return undefined;
    const oldestNs = timeline.tail === 0 ? 0 : (timeline.read(0, 1)[0]?.timeNs ?? 0);
    const keptNs = this.#timelineKeepNs === undefined ? 0 : this.#presentNs() - this.#timelineKeepNs;
    return Math.max(oldestNs, this.#timelineStartNs, keptNs);
  }

  #meet(qp: QueuePair): void {
    if (qp.trace !== undefined) return;
    const found = this.#rules.find(({ rule }) => fits(rule, qp));
    if (found === undefined) return;
    try {
      this.observe(qp, found.settings);
    } catch {
      // Without memory for traces the QP stays untraced; `trace-status` lists those that are.
    }
  }

  #end(id: number): void {
    this.#traces = this.#traces.map((one) => (one.id === id ? { ...one, ended: true } : one));
  }

  /** Drops traces of QPs that are gone, oldest first, until `bytes` fit. */
  #ofProcess(process: number): QueuePair[] {
    const found: QueuePair[] = [];
    this.#core.tables.queuePairs.forEach((qp: QueuePair) => {
      if (qp.creation.process === process) found.push(qp);
    });
    return found;
  }

  #makeRoom(bytes: number): void {
    let used = this.#traces.reduce((sum, { trace }) => sum + trace.ring.sizeBytes, 0);
    while (used + bytes > this.#bytesMax) {
      const oldest = this.#traces.find(({ ended }) => ended);
      if (oldest === undefined)
        throw new Refusal(
          `a trace of ${bytes} bytes is more than is left of ${this.#bytesMax}; use --blocks or --snap`,
        );
      this.#traces = this.#traces.filter((one) => one !== oldest);
      used -= oldest.trace.ring.sizeBytes;
    }
  }
}

function fits({ service, functionNumber, peerLid, peerQp, process }: TraceRule, qp: QueuePair): boolean {
  const peer = reportPeer(qp);
  return (
    (service === undefined || service === ruleServiceOf(serviceTypeName(qp.serviceType))) &&
    (functionNumber === undefined || functionNumber === qp.owner.number) &&
    (peerLid === undefined || peerLid === peer?.lid) &&
    (peerQp === undefined || peerQp === peer?.qpn) &&
    (process === undefined || process === qp.creation.process)
  );
}
