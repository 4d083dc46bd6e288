// SPDX-License-Identifier: Apache-2.0
/**
 * Conditions in words that are looked for in a recording or a running process: `fault`, `overflow
 * not empty`, `QP 5 leaves RTS`. Each is read once, and then asked after every step whether it has
 * come to hold by this step: an event by happening in it, a state by beginning in it. `at NAME`
 * behind a condition restricts it to one adapter. scripts/cli/view and the control socket ask them;
 * docs/VIEW.md lists them.
 */
import { PortState, QpState } from '../../../protocol/layout/gen/values.gen.ts';
import type { LinkEnd } from '../../fabric/port/link.ts';
import { Adapter } from '../../hca/adapter/adapter.ts';
import { Refusal } from '../../hca/adapter/refusal.ts';
import { FunctionCounters } from '../../hca/function/function-counters.ts';
import { Step } from '../../hca/function/timeline.ts';
import type { UnderlyingFunction } from '../../hca/function/underlying-function.ts';
import type { NamedAdapter, NamedSwitch } from '../../topology/named-nodes.ts';
import type { TraceObserver } from './trace-observer.ts';

/** Asked once after every step; true when the condition has come to hold by it. */
export type Watch = () => boolean;

/** An adapter; conditions about packets and interrupts read the timeline of its observer. */
export interface WatchedAdapter extends NamedAdapter {
  readonly observer: Pick<TraceObserver, 'timeline'>;
}

export interface WatchedFabric {
  readonly adapters: readonly WatchedAdapter[];
  readonly switches: readonly NamedSwitch[];
}

/** Begins to watch before the next step. Throws Refusal for an unknown adapter. */
export type Condition = (fabric: WatchedFabric) => Watch;

/** The adapters that a condition is about. */
type Watched = readonly WatchedAdapter[];

interface Phrase {
  readonly pattern: RegExp;
  /** As a user is shown it. */
  readonly example: string;
  /** With names for what a user puts in; the example when it has none. */
  readonly form?: string;
  /** When it comes to hold, as docs/VIEW.md says it. */
  readonly meaning: string;
  make(words: RegExpExecArray): (adapters: Watched, fabric: WatchedFabric) => Watch;
}

/** A number of FunctionCounters. */
type Counter = Exclude<keyof FunctionCounters, 'reset'>;

const STATES = Object.keys(QpState);
const COUNTERS = Object.keys(new FunctionCounters());

/** What a timeline notes, by the words for it, and what they mean. */
const noted: Readonly<Record<string, readonly [step: Step, meaning: string]>> = {
  interrupt: [Step.INTERRUPT, 'an interrupt goes out'],
  'packet lost': [Step.PACKET_LOST, 'a link or a switch loses a packet that an adapter has sent'],
  'message lost': [Step.PACKET_LOST, 'the same'],
  'packet dropped': [Step.PACKET_DROPPED, 'a receiver drops a packet'],
  'packet refused': [Step.PACKET_REFUSED, 'a check of a responder refuses a packet'],
  retry: [Step.RETRY, 'a requester sends packets again'],
  timeout: [Step.TIMEOUT, 'the ACK timeout of a requester is over'],
  'rnr wait': [Step.RNR_WAIT, 'a requester waits because the receiver is not ready'],
  'page fault': [Step.PAGE_FAULT, 'an access misses a page of an on-demand region'],
};

const phrases: readonly Phrase[] = [
  {
    pattern: /^fault$/,
    example: 'fault',
    meaning: 'a function counts a fault of its guest',
    make: () => watchFaults,
  },
  {
    pattern: /^overflow not empty$/,
    example: 'overflow not empty',
    meaning: 'the first doorbell is spilled to an empty overflow buffer',
    make: () => (adapters) => watchBeginning(hasOverflow(adapters)),
  },
  {
    pattern: /^qp (\d+) (enters|leaves) (\w+)$/,
    example: 'qp 5 leaves RTS',
    form: 'qp N enters STATE`, `qp N leaves STATE',
    meaning: `a queue pair with number N enters or leaves the state: ${STATES.join(', ')}`,
    make: ([, number, verb, state]) => watchQueuePair(Number(number), verb === 'enters', readState(state)),
  },
  {
    pattern: /^link down$/,
    example: 'link down',
    meaning: 'a port of an adapter or a switch goes down',
    make: () => watchLinks,
  },
  {
    pattern: /^counter (\w+) > (\d+)$/,
    example: 'counter doorbellsSpilled > 0',
    form: 'counter NAME > N',
    meaning: 'the sum of a counter over all functions goes above N',
    make: ([, name, limit]) => {
      const counter = readCounter(name);
      return (adapters) => watchCounter(adapters, counter, Number(limit));
    },
  },
  ...Object.entries(noted).map(
    ([words, [step, meaning]]): Phrase => ({
      pattern: new RegExp(`^${words}$`),
      example: words,
      meaning,
      make: () => (adapters) => watchTimelines(adapters, [step]),
    }),
  ),
];

/** All conditions for docs/VIEW.md: the form of each, and when it comes to hold. */
export const conditionTable: readonly (readonly [form: string, meaning: string])[] = phrases.map(
  ({ form, example, meaning }) => [form ?? example, meaning],
);

/** The names of counters that a condition may compare. */
export const conditionCounters: readonly string[] = COUNTERS;

/** What users may ask for, one of each kind. */
export const conditionExamples: readonly string[] = phrases.map(({ example }) => example);

/** Reads a condition. Case and spaces do not matter. Throws Refusal with one sentence. */
export function readCondition(text: string): Condition {
  const [words, place] = splitPlace(text.trim().replaceAll(/\s+/g, ' '));
  for (const { pattern, make } of phrases) {
    const found = new RegExp(pattern, 'i').exec(words);
    if (found === null) continue;
    const begin = make(found);
    return (fabric) => begin(place === undefined ? fabric.adapters : [find(fabric, place)], fabric);
  }
  const known = conditionExamples.map((one) => `\`${one}\``).join(', ');
  throw new Refusal(`the condition \`${words}\` is not understood; there are ${known}, each also \`at ADAPTER\``);
}

function find({ adapters }: WatchedFabric, place: string): WatchedAdapter {
  const found = adapters.find(({ name }) => name === place);
  if (found !== undefined) return found;
  throw new Refusal(`there is no adapter ${place}; there are ${adapters.map(({ name }) => name).join(', ')}`);
}

/** The words of a condition, and the adapter behind ` at `. */
function splitPlace(text: string): [string, string | undefined] {
  const found = /^(.*) at (\S+)$/i.exec(text);
  return found === null ? [text, undefined] : [found[1], found[2]];
}

function readState(word: string): QpState {
  const name = STATES.find((one) => one.toLowerCase() === word.toLowerCase());
  if (name !== undefined) return QpState[name as keyof typeof QpState];
  throw new Refusal(`there is no state ${word} of a QP; there are ${STATES.join(', ')}`);
}

function readCounter(word: string): Counter {
  const name = COUNTERS.find((one) => one.toLowerCase() === word.toLowerCase());
  if (name !== undefined) return name as Counter;
  throw new Refusal(`there is no counter ${word}; there are ${COUNTERS.join(', ')}`);
}

/** A state that begins: it holds after the step and did not before it. */
function watchBeginning(holds: () => boolean): Watch {
  let before = holds();
  return () => {
    const after = holds();
    const begins = after && !before;
    before = after;
    return begins;
  };
}

function hasOverflow(adapters: Watched): () => boolean {
  const buffers = adapters.flatMap(({ core }) =>
    core instanceof Adapter ? core.functions.map(({ doorbells }) => doorbells.overflow) : [],
  );
  return () => buffers.some(({ pending }) => pending > 0);
}

/** A reset of the function clears its counts. */
function watchFaults(adapters: Watched): Watch {
  const logs = listFunctions(adapters).map(({ faults }) => faults);
  const before = logs.map(({ counts }) => sum(counts));
  return () => {
    let isNew = false;
    logs.forEach(({ counts }, index) => {
      const after = sum(counts);
      if (after !== before[index] && after > 0) isNew = true;
      before[index] = after;
    });
    return isNew;
  };
}

/** A queue pair that does not exist is in no state. */
function watchQueuePair(number: number, enters: boolean, state: QpState): (adapters: Watched) => Watch {
  return (adapters) => {
    const tables = adapters.map(({ core }) => core.tables.queuePairs);
    const before = tables.map((table) => table.get(number)?.state);
    return () => {
      let isFound = false;
      tables.forEach((table, index) => {
        const after = table.get(number)?.state;
        const [without, within] = enters ? [before[index], after] : [after, before[index]];
        if (without !== state && within === state) isFound = true;
        before[index] = after;
      });
      return isFound;
    };
  };
}

/** A link goes down at one of its ends. Switches belong to no adapter. */
function watchLinks(adapters: Watched, fabric: WatchedFabric): Watch {
  const all = adapters.length === fabric.adapters.length;
  const ports: LinkEnd[] = [
    ...adapters.flatMap(({ core }) => [...core.uplinks]),
    ...(all ? fabric.switches.flatMap(({ core }) => [...core.ports]) : []),
  ];
  const before = ports.map(({ state }) => state);
  return () => {
    let isFound = false;
    ports.forEach(({ state }, index) => {
      if (state === PortState.DOWN && before[index] !== PortState.DOWN) isFound = true;
      before[index] = state;
    });
    return isFound;
  };
}

function watchTimelines(adapters: Watched, kinds: readonly Step[]): Watch {
  const rings = adapters.flatMap(({ observer }) => observer.timeline ?? []);
  const before = rings.map(({ head }) => head);
  return () => {
    let isFound = false;
    rings.forEach((ring, index) => {
      if (ring.head === before[index]) return;
      if (ring.hasNoted(kinds, before[index])) isFound = true;
      before[index] = ring.head;
    });
    return isFound;
  };
}

/** The sum over all functions is above the limit. */
function watchCounter(adapters: Watched, name: Counter, limit: number): Watch {
  const functions = listFunctions(adapters);
  return watchBeginning(() => functions.reduce((total, { counters }) => total + counters[name], 0) > limit);
}

function listFunctions(adapters: Watched): UnderlyingFunction[] {
  return adapters.flatMap(({ core }) =>
    core instanceof Adapter ? core.functions.map(({ underlying }) => underlying) : [core.underlying],
  );
}

function sum(counts: Uint32Array): number {
  let total = 0;
  for (const count of counts) total += count;
  return total;
}
