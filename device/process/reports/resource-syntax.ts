// SPDX-License-Identifier: Apache-2.0
/**
 * Resource requests as words, for the control socket and `vuhca resources set`: `function 1 vcbs=25
 * pcbs=20 policy=off level 1 vcbs=15 lane 3 shared=none adapter lend=on`. All words together are
 * one request, made as a whole or not at all. Also describes a refusal in one sentence.
 */

import { RESOURCE_CHANGES_MAX, RESOURCE_NO_LEVEL, TVL_MAX } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  encodeResourceChange,
  newResourceChange,
  RESOURCE_CHANGE_SIZE,
  type ResourceChange,
} from '../../../protocol/layout/gen/resource-change.gen.ts';
import { ManagementStatus, managementStatusName, ResourceKind } from '../../../protocol/layout/gen/values.gen.ts';
import { Refusal } from '../../hca/adapter/refusal.ts';
import type { ResourceAnswer } from '../../host.ts';

/** A change, and the words that it was read from. */
interface WordedChange extends ResourceChange {
  readonly words: string;
}

/** The function, level or lane to which `name=value` applies. */
interface Scope {
  readonly words: string;
  readonly target: number;
  readonly qosLevel: number;
  readonly names: Readonly<Record<string, ResourceKind>>;
}

const LANES_PER_WORD = 32;
const AMOUNT_MAX = 0xffffffff;
const TARGET_MAX = 0xffff;
const LEVEL_MAX = RESOURCE_NO_LEVEL - 1;
const SWITCH_WORDS = ['off', 'on'];
/** Values that are words: each stands for its index. */
const valueWords: Readonly<Record<string, readonly string[]>> = {
  shared: ['none', 'execution', 'completion', 'both'],
  policy: ['off', 'newest', 'most-spilled'],
  'link-check': ['read', 'compare-swap'],
  adaptive: SWITCH_WORDS,
  'host-queue': SWITCH_WORDS,
  'spill-buffered': SWITCH_WORDS,
  'spill-commands': SWITCH_WORDS,
  'lane-table': ['valid', 'invalid'],
  disable: SWITCH_WORDS,
  return: SWITCH_WORDS,
  lend: SWITCH_WORDS,
  freeze: SWITCH_WORDS,
};
const MAP_KINDS: readonly number[] = [ResourceKind.TVL_MAP, ResourceKind.DEDICATED_TVL_MAP];

const levelNames = {
  vcbs: ResourceKind.VCBS,
  pcbs: ResourceKind.PCBS,
  tvls: ResourceKind.TVLS,
  lanes: ResourceKind.TVL_MAP,
} as const;
const functionNames = {
  ...levelNames,
  base: ResourceKind.VCB_BASE,
  buffers: ResourceKind.SCHEDULER_BUFFERS,
  contexts: ResourceKind.SEND_CONTEXTS,
  'send-blocks': ResourceKind.SEND_BLOCKS,
  'lane-table': ResourceKind.TVL_TABLE_ENTRY,
  policy: ResourceKind.DOORBELL_POLICY,
  'link-check': ResourceKind.DOORBELL_LINK_CHECK,
  adaptive: ResourceKind.DOORBELL_ADAPTIVE,
  'host-queue': ResourceKind.DOORBELL_HOST_QUEUE,
  'spill-buffered': ResourceKind.DOORBELL_SPILL_BUFFERED,
  'spill-commands': ResourceKind.DOORBELL_SPILL_COMMANDS,
  low: ResourceKind.DOORBELL_THRESHOLD_LOW,
  high: ResourceKind.DOORBELL_THRESHOLD_HIGH,
} as const;
const laneNames = {
  execution: ResourceKind.TVL_EXECUTION_CREDITS,
  completion: ResourceKind.TVL_COMPLETION_CREDITS,
  shared: ResourceKind.TVL_SHARED_CREDITS,
  list: ResourceKind.TVL_LIST_SIZE,
  weight: ResourceKind.TVL_WEIGHT,
} as const;
const adapterNames = {
  disable: ResourceKind.ADAPTER_DISABLE,
  return: ResourceKind.ADAPTER_RETURN_SHARES,
  lend: ResourceKind.ADAPTER_LEND_IDLE,
  freeze: ResourceKind.ADAPTER_FREEZE_SENDS,
} as const;
const dedicatedNames = { lanes: ResourceKind.DEDICATED_TVL_MAP } as const;

/**
 * Reads the words of one request for an adapter with `laneCount` lanes. Throws a Refusal.
 */
export function readResourceWords(words: readonly string[], laneCount = TVL_MAX): WordedChange[] {
  const changes: WordedChange[] = [];
  let scope: Scope | undefined;
  for (let at = 0; at < words.length; at++) {
    const word = words[at];
    if (word.includes('=')) {
      if (scope === undefined)
        throw new Refusal(`${word}: of what? say function N, lane N, dedicated or adapter before it`);
      changes.push(...readSetting(scope, word, laneCount));
    } else if (word === 'dedicated') scope = makeScope(word, 0, dedicatedNames);
    else if (word === 'adapter') scope = makeScope(word, 0, adapterNames);
    else if (word === 'function')
      scope = makeScope('function', readNumber(word, words[++at], TARGET_MAX), functionNames);
    else if (word === 'lane') scope = makeScope('lane', readNumber(word, words[++at], TARGET_MAX), laneNames);
    else if (word === 'level') scope = narrow(scope, readNumber(word, words[++at], LEVEL_MAX));
    else
      throw new Refusal(
        `${word} is not understood; say function N [level N], lane N, dedicated or adapter, then name=value`,
      );
  }
  if (changes.length === 0) throw new Refusal('nothing to set; say for example function 1 pcbs=20');
  if (changes.length > RESOURCE_CHANGES_MAX)
    throw new Refusal(`${changes.length} changes are more than a request can hold (${RESOURCE_CHANGES_MAX})`);
  return changes;
}

/** Encodes changes as a request carries them. */
export function encodeRequest(changes: readonly ResourceChange[]): Uint8Array {
  const bytes = new Uint8Array(changes.length * RESOURCE_CHANGE_SIZE);
  const view = new DataView(bytes.buffer);
  for (const [index, change] of changes.entries()) encodeResourceChange(view, index * RESOURCE_CHANGE_SIZE, change);
  return bytes;
}

/** One sentence about a refused request. */
export function describeRefusal(changes: readonly WordedChange[], answer: ResourceAnswer): string {
  const { words, resource, word, amount } = changes[answer.index];
  const { status, limit } = answer;
  const name = managementStatusName(status);
  const accepted = MAP_KINDS.includes(resource)
    ? `of lanes ${word * LANES_PER_WORD} on, ${formatLanes(lanesOf(limit, word))} would be accepted`
    : `at ${amount < limit ? 'least' : 'most'} ${limit} would be accepted`;
  const why: Partial<Record<number, string>> = {
    [ManagementStatus.BAD_OBJECT]: `there is none; the last one is ${limit}`,
    [ManagementStatus.BAD_FIELD]: accepted,
    [ManagementStatus.BAD_STATE]:
      resource === ResourceKind.TVL_TABLE_ENTRY
        ? 'the physical function has no lane table'
        : 'a lane needs credits of each kind, its own or shared ones',
    [ManagementStatus.NO_RESOURCES]:
      resource === ResourceKind.VCB_BASE
        ? 'another function has VCBs there'
        : `not so much is unallocated; ${accepted}`,
    [ManagementStatus.SHARE_EXCEEDED]: `the function does not own so much; ${accepted}`,
    [ManagementStatus.CONVERGING]: 'another function still uses what it gave back; try again',
  };
  return `${words}: ${why[status] ?? name} (${name}); nothing was changed`;
}

/** Numbers of lanes as words: `0-9,12`, or `none`. */
export function formatLanes(lanes: readonly number[]): string {
  const runs: [number, number][] = [];
  for (const lane of lanes) {
    const last = runs.at(-1);
    if (last !== undefined && last[1] === lane - 1) last[1] = lane;
    else runs.push([lane, lane]);
  }
  return runs.map(([first, end]) => (first === end ? `${first}` : `${first}-${end}`)).join(',') || 'none';
}

function makeScope(what: string, target: number, names: Scope['names']): Scope {
  const words = what === 'dedicated' || what === 'adapter' ? what : `${what} ${target}`;
  return { words, target, qosLevel: RESOURCE_NO_LEVEL, names };
}

function narrow(scope: Scope | undefined, qosLevel: number): Scope {
  if (scope === undefined || (scope.names !== functionNames && scope.names !== levelNames))
    throw new Refusal(`level ${qosLevel}: of what? say function N before it`);
  const words = `${scope.words.replace(/ level .*/, '')} level ${qosLevel}`;
  return { words, target: scope.target, qosLevel, names: levelNames };
}

function readSetting(scope: Scope, word: string, laneCount: number): WordedChange[] {
  const [name, value] = [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)];
  const words = `${scope.words} ${word}`;
  if (!Object.hasOwn(scope.names, name))
    throw new Refusal(`${words}: there is no ${name} to set; there are ${Object.keys(scope.names).join(', ')}`);
  const { target, qosLevel } = scope;
  const change = { ...newResourceChange(), resource: scope.names[name], target, qosLevel, words };
  if (name === 'lanes') {
    const lanes = readLanes(words, value, laneCount);
    return Array.from({ length: Math.ceil(laneCount / LANES_PER_WORD) }, (_, index) => {
      const mine = lanes.filter((lane) => Math.floor(lane / LANES_PER_WORD) === index);
      const bits = mine.reduce((sum, lane) => sum | (1 << (lane % LANES_PER_WORD)), 0);
      return { ...change, word: index, amount: bits >>> 0 };
    });
  }
  if (!Object.hasOwn(valueWords, name))
    return [{ ...change, amount: readNumber(`${scope.words} ${name}`, value, AMOUNT_MAX) }];
  const known = valueWords[name];
  const amount = known.indexOf(value);
  if (amount < 0) throw new Refusal(`${words}: it must be ${known.join(', ')}`);
  return [{ ...change, amount }];
}

function readNumber(what: string, text: string | undefined, max: number): number {
  const value = text !== undefined && /^(\d+|0x[0-9a-f]+)$/i.test(text) ? Number(text) : Number.NaN;
  if (value <= max) return value;
  throw new Refusal(`${what} is ${text ?? 'missing'}; it must be a whole number from 0 to ${max}`);
}

/** `0-9,12`, or `none`. */
function readLanes(words: string, text: string, laneCount: number): number[] {
  if (text === 'none') return [];
  return text.split(',').flatMap((part) => {
    const [first, last = first] = part.split('-').map((end) => (/^\d+$/.test(end) ? Number(end) : Number.NaN));
    if (!(first <= last && last < laneCount) || part.split('-').length > 2)
      throw new Refusal(`${words}: lanes are numbers from 0 to ${laneCount - 1}, as in 0-9,12, or none`);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}

function lanesOf(bits: number, word: number): number[] {
  const lanes = Array.from({ length: LANES_PER_WORD }, (_, bit) => bit);
  return lanes.filter((bit) => ((bits >>> bit) & 1) === 1).map((bit) => word * LANES_PER_WORD + bit);
}
