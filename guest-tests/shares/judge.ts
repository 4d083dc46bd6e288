// SPDX-License-Identifier: Apache-2.0
/** Whether the guarantees of the worked example held in a measurement. Pure; called by three-guests.ts and by the test of three guests. */
import { GUESTS } from '../../device/simulations/qos/worked-example.ts';
import type { Measurement, PhaseResult } from './measure.ts';
import { type FunctionResult, sum } from './samples.ts';

/** Something that is claimed, and what the measurement says of it. */
export interface Finding {
  readonly claim: string;
  readonly outcome: 'holds' | 'broken' | 'not shown';
  /** Numbers; where it does not hold, whose. */
  readonly detail: string;
}

/** How far a guest's part of all commands may stay below that of its lanes: two points of a hundred, and what the count itself may be off. */
const SHARE_TOLERANCE = 0.02;
/** Part of a phase in which each at work must have had commands waiting for shares to mean something. */
const LEAST_CONTESTED = 0.5;

/** The one claim that can be shown only on a machine that lets all guests run most of the time. */
export const SERVICE_CLAIM = 'whoever has commands waiting gets the service that its lanes guarantee';

/** The part of the service that a guest's lanes guarantee in the company of a phase; 0 when it is not at work. */
export function guaranteedShare({ active }: Pick<PhaseResult, 'active'>, number: number): number {
  const lanes = sum(GUESTS.map((guest, index) => (active[index] ? guest.lanes : 0)));
  return active[number] ? GUESTS[number].lanes / lanes : 0;
}

/** Whether its share was met; undefined when it was alone or had too little to do. */
export function isShareMet(phase: PhaseResult, number: number): boolean | undefined {
  const guaranteed = guaranteedShare(phase, number);
  if (guaranteed === 0 || guaranteed === 1 || phase.contested < LEAST_CONTESTED) return undefined;
  const { share, shareError } = phase.functions[number];
  return share >= guaranteed - SHARE_TOLERANCE - shareError;
}

/** All that is claimed. The measurement must have phases with one and with several guests at work. */
export function judge({ phases, completed, failed }: Measurement): Finding[] {
  return [judgeRefusals(phases), judgeReserves(phases), judgeShares(phases), judgeLoans(phases), judgeWrites()];

  function judgeWrites(): Finding {
    const outcome = failed > 0 ? 'broken' : completed > 0 ? 'holds' : 'not shown';
    return { claim: 'every WRITE was done', outcome, detail: `${completed} counted by the guests, ${failed} failed` };
  }
}

function judgeRefusals(phases: readonly PhaseResult[]): Finding {
  const claim = 'within the PCBs guaranteed to it a level is never refused one';
  const guilty = collect(phases, ({ levels: [, within] }) => within.refused > 0);
  if (guilty.length > 0) return { claim, outcome: 'broken', detail: `refused: ${guilty.join('; ')}` };
  const scarce = phases
    .filter(isShared)
    .map(({ functions }) => sum(functions.map(({ levels: [{ refused }] }) => refused)));
  if (scarce.length === 0 || scarce.some((refused) => refused === 0))
    return { claim, outcome: 'not shown', detail: 'nobody was refused anything: PCBs were not scarce' };
  return { claim, outcome: 'holds', detail: `level 1: 0 refused; level 0, in company: ${sum(scarce)}` };
}

function judgeReserves(phases: readonly PhaseResult[]): Finding {
  const claim = 'what is guaranteed and not in use can be had at any time';
  const guilty = collect(phases, ({ levels }) => levels.some(({ broken }) => broken > 0), true);
  const looks = sum(phases.map(({ samples }) => samples.length));
  return guilty.length > 0
    ? { claim, outcome: 'broken', detail: `could not be had: ${guilty.join('; ')}` }
    : { claim, outcome: 'holds', detail: `in ${looks} looks at both levels of all functions` };
}

function judgeShares(phases: readonly PhaseResult[]): Finding {
  const claim = SERVICE_CLAIM;
  const shared = phases.filter(isShared);
  const missed = collectBy(shared, (phase, number) => isShareMet(phase, number) === false);
  if (missed.length > 0) return { claim, outcome: 'broken', detail: `too little: ${missed.join('; ')}` };
  const idle = shared.filter(({ contested }) => contested < LEAST_CONTESTED).map(({ name }) => name);
  if (shared.length === 0 || idle.length > 0)
    return { claim, outcome: 'not shown', detail: `somebody had nothing waiting most of the time: ${idle.join('; ')}` };
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
  const claim = 'what others leave free is used';
  const alone = phases.filter((phase) => !isShared(phase));
  const timid = collect(
    alone,
    ({ levels: [{ pcbsPeak, pcbsGuaranteed, creditsSharedPeak }] }) =>
      pcbsPeak <= pcbsGuaranteed || creditsSharedPeak === 0,
  );
  if (alone.length === 0 || timid.length > 0)
    return { claim, outcome: 'broken', detail: `no more than its own had: ${timid.join('; ') || 'nobody was alone'}` };
  const peaks = alone.map(({ functions }) => Math.max(...functions.map(({ levels: [{ pcbsPeak }] }) => pcbsPeak)));
  return { claim, outcome: 'holds', detail: `alone at level 0: ${peaks.join(', ')} PCBs, and shared credits` };
}

/** Several guests are at work. */
function isShared({ active }: PhaseResult): boolean {
  return active.filter(Boolean).length > 1;
}

/** Those who were at work, or all, of whom something is true: `weather (all flood)`. */
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
