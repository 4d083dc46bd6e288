// SPDX-License-Identifier: Apache-2.0
/**
 * Judges whether the guarantees of the worked example (US8484392, figure 11) held in a measurement.
 * Pure; called by `npm run demo -- qos` and by the test of three guests.
 */
import { GUESTS } from '../../device/rig/qos/worked-example.ts';
import { type FunctionResult, type Measurement, type PhaseResult, sum } from './samples.ts';

/** A claim, and whether the measurement shows it. */
export interface Finding {
  readonly claim: string;
  readonly outcome: 'holds' | 'broken' | 'not shown';
  /** The numbers; for a broken claim also the guests concerned. */
  readonly detail: string;
}

/**
 * Margin by which a guest's part of all commands may stay below that of its lanes, beside the error
 * of the count.
 */
const SHARE_TOLERANCE = 0.02;
/**
 * Shares are judged when every active guest had commands waiting for at least this part of a phase.
 */
const LEAST_CONTESTED = 0.5;

/** The only claim that needs a machine which lets all guests run most of the time. */
export const SERVICE_CLAIM = 'a guest with commands waiting gets the service that its lanes guarantee';

/**
 * The part of the service that a guest's lanes and their weights guarantee among the guests of a
 * phase; 0 when it is idle.
 */
export function guaranteedShare({ active, weights }: Pick<PhaseResult, 'active' | 'weights'>, number: number): number {
  const turns = GUESTS.map(({ lanes }, index) => (active[index] ? lanes * (weights?.[index] ?? 1) : 0));
  return turns[number] / sum(turns);
}

/**
 * Names a guest that gets less service than another one with fewer buffers, because service follows
 * the lanes (US 8,484,392 par. 51, 131). Undefined when buffers and lanes have the same order. With
 * weights, tells the service that each guest got for its PCBs.
 */
export function explainService(phase: Pick<PhaseResult, 'active' | 'functions' | 'weights'>): string | undefined {
  if (phase.weights !== undefined) return explainWeights(phase.functions);
  const present = GUESTS.flatMap((guest, number) => (phase.active[number] ? [{ ...guest, number }] : []));
  const pairs = present.flatMap((more) => present.map((less) => ({ more, less })));
  const odd = pairs
    .filter(({ more, less }) => more.vcbs > less.vcbs && more.pcbs > less.pcbs && more.lanes < less.lanes)
    .sort((left, right) => right.less.lanes / right.more.lanes - left.less.lanes / left.more.lanes)[0];
  if (odd === undefined) return undefined;
  const describe = ({ name, vcbs, pcbs, lanes, number }: (typeof present)[number]): string =>
    `${name} with ${vcbs} VCBs, ${pcbs} PCBs and ${lanes} lanes got ${(100 * phase.functions[number].share).toFixed(0)} %`;
  return `Service follows lanes, not buffers: ${describe(odd.more)}, ${describe(odd.less)}. A guest that pays for service needs lanes or weight.`;
}

function explainWeights(functions: PhaseResult['functions']): string {
  const got = GUESTS.map(
    ({ name, pcbs, paidWeight }, number) =>
      `${name} with ${pcbs} PCBs and lanes of weight ${paidWeight} got ${(100 * functions[number].share).toFixed(0)} %`,
  );
  return `With weights as paid, service follows PCBs: ${got.join(', ')}.`;
}

/** True if its share was met; undefined when it was alone or had too few commands waiting. */
export function isShareMet(phase: PhaseResult, number: number): boolean | undefined {
  const guaranteed = guaranteedShare(phase, number);
  if (guaranteed === 0 || guaranteed === 1 || phase.contested < LEAST_CONTESTED) return undefined;
  const { share, shareError } = phase.functions[number];
  return share >= guaranteed - SHARE_TOLERANCE - shareError;
}

/**
 * True if a phase shows what it should: a guest that is alone uses free resources of the others,
 * and PCBs are scarce when there are several guests. On a busy machine this takes a while.
 */
export function isShown(phase: PhaseResult): boolean {
  if (isShared(phase)) return countScarce(phase) > 0;
  return !phase.functions.some((result, number) => phase.active[number] && isTimid(result));
}

/** Judges all claims. The measurement must have phases with one and with several active guests. */
export function judge({ phases, completed, failed }: Measurement): Finding[] {
  return [judgeRefusals(phases), judgeReserves(phases), judgeShares(phases), judgeLoans(phases), judgeWrites()];

  function judgeWrites(): Finding {
    const outcome = failed > 0 ? 'broken' : completed > 0 ? 'holds' : 'not shown';
    return { claim: 'every WRITE was done', outcome, detail: `${completed} counted by the guests, ${failed} failed` };
  }
}

function judgeRefusals(phases: readonly PhaseResult[]): Finding {
  const claim = 'a level is never refused a PCB within its guarantee';
  const guilty = collect(phases, ({ levels: [, within] }) => within.refused > 0);
  if (guilty.length > 0) return { claim, outcome: 'broken', detail: `refused: ${guilty.join('; ')}` };
  const scarce = phases.filter(isShared).map(countScarce);
  if (scarce.length === 0 || scarce.some((refused) => refused === 0))
    return { claim, outcome: 'not shown', detail: 'no command was refused: PCBs were not scarce' };
  return { claim, outcome: 'holds', detail: `level 1: 0 refused; level 0, in company: ${sum(scarce)}` };
}

function judgeReserves(phases: readonly PhaseResult[]): Finding {
  const claim = 'guaranteed and unused PCBs are available at any time';
  const guilty = collect(phases, ({ levels }) => levels.some(({ broken }) => broken > 0), true);
  const looks = sum(phases.map(({ samples }) => samples.length));
  return guilty.length > 0
    ? { claim, outcome: 'broken', detail: `not available: ${guilty.join('; ')}` }
    : { claim, outcome: 'holds', detail: `in ${looks} samples of both levels of all functions` };
}

function judgeShares(phases: readonly PhaseResult[]): Finding {
  const claim = SERVICE_CLAIM;
  const shared = phases.filter(isShared);
  const missed = collectBy(shared, (phase, number) => isShareMet(phase, number) === false);
  if (missed.length > 0) return { claim, outcome: 'broken', detail: `too little: ${missed.join('; ')}` };
  const idle = shared.filter(({ contested }) => contested < LEAST_CONTESTED).map(({ name }) => name);
  if (shared.length === 0 || idle.length > 0)
    return { claim, outcome: 'not shown', detail: `a guest had nothing waiting most of the time: ${idle.join('; ')}` };
  const most = (value: (result: FunctionResult, phase: PhaseResult, number: number) => number): string => {
    const ofGuests = shared.flatMap((phase) =>
      phase.functions.flatMap((result, number) => (phase.active[number] ? value(result, phase, number) : [])),
    );
    return (100 * Math.max(...ofGuests)).toFixed(1);
  };
  const shortfall = most(({ share }, phase, number) => guaranteedShare(phase, number) - share);
  const error = most(({ shareError }) => shareError);
  return {
    claim,
    outcome: 'holds',
    detail: `at most ${shortfall} points below; ${100 * SHARE_TOLERANCE} are allowed, and up to ${error} for commands begun and not ended`,
  };
}

function judgeLoans(phases: readonly PhaseResult[]): Finding {
  const claim = 'resources that others leave free are used';
  const alone = phases.filter((phase) => !isShared(phase));
  const timid = collect(alone, isTimid);
  if (alone.length === 0 || timid.length > 0)
    return {
      claim,
      outcome: 'broken',
      detail: `used no more than its own: ${timid.join('; ') || 'no guest was alone'}`,
    };
  const peaks = alone.map(({ functions }) => Math.max(...functions.map(({ levels: [{ pcbsPeak }] }) => pcbsPeak)));
  return { claim, outcome: 'holds', detail: `alone at level 0: ${peaks.join(', ')} PCBs, and shared credits` };
}

/** Count of refusals of a PCB to level 0. */
function countScarce({ functions }: PhaseResult): number {
  return sum(functions.map(({ levels: [{ refused }] }) => refused));
}

/** True if level 0 used no more than its own. */
function isTimid({ levels: [{ pcbsPeak, pcbsGuaranteed, creditsSharedPeak }] }: FunctionResult): boolean {
  return pcbsPeak <= pcbsGuaranteed || creditsSharedPeak === 0;
}

/** True if several guests are active. */
function isShared({ active }: PhaseResult): boolean {
  return active.filter(Boolean).length > 1;
}

/** The guests, active ones or all, that satisfy a condition: `weather (all flood)`. */
function collect(phases: readonly PhaseResult[], is: (result: FunctionResult) => boolean, all = false): string[] {
  return collectBy(phases, (phase, number) => is(phase.functions[number]), all);
}

function collectBy(
  phases: readonly PhaseResult[],
  is: (phase: PhaseResult, number: number) => boolean,
  all = false,
): string[] {
  return phases.flatMap((phase) =>
    GUESTS.flatMap(({ name }, number) =>
      (all || phase.active[number]) && is(phase, number) ? [`${name} (${phase.name})`] : [],
    ),
  );
}
