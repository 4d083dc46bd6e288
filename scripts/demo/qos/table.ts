// SPDX-License-Identifier: Apache-2.0
/**
 * The measurement of three guests as a table for a terminal, with the verdict below it, and with a
 * sentence about the guest whose buffers promise more than its lanes. Pure;
 * called by three-guests.ts.
 */
import { GUESTS } from '../../../device/rig/qos/worked-example.ts';
import { explainService, type Finding, guaranteedShare, isShareMet } from '../../../guest-tests/shares/judge.ts';
import type { LevelResult, PhaseResult } from '../../../guest-tests/shares/samples.ts';
import { table } from '../../console/table.ts';

const HEADER = [
  ...['phase', 'guest', 'QoS level', 'commands/s', 'service', 'by lanes', 'PCBs used', 'peak', 'own'],
  ...['refused', 'credits', 'own', 'shared', 'completion', 'by doorbell', 'guarantee'],
];
const LEFT_COLUMNS = 3;
const LEVELS = ['0, floods', '1, within'] as const;

const LEGEND = `Measured in the adapter, through its control socket. Each QEMU guest keeps RDMA WRITEs of 128 KiB under way:
256 at level 0, and at level 1 as many as it has PCBs of its own.
service     part of all commands launched while every active guest had some waiting
by lanes    the part that its lanes, with their weights, guarantee among the active guests
PCBs used, credits (execution credits)    means over the samples
refused     copies that found no PCB; a doorbell replaces each
shared      the most credits used that belong to no lane
completion  completion credits, mean over the samples
by doorbell part of the commands of both levels that came by doorbell`;

/** A line for each phase, guest at work and level. */
export function formatPhases(phases: readonly PhaseResult[]): string {
  const rows = phases.flatMap((phase) => {
    const numbers = GUESTS.map((_, number) => number).filter((number) => phase.active[number]);
    return numbers.flatMap((number, at) => describe(phase, number, at === 0));
  });
  const notes = phases.map(explainService).filter((note) => note !== undefined);
  const note = notes.length === 0 ? '' : `\n${notes.slice(-2).join('\n')}\n`;
  return `${table([HEADER, ...rows], LEFT_COLUMNS)}\n${LEGEND}\n${note}`;
}

function describe(phase: PhaseResult, number: number, first: boolean): string[][] {
  const { levels, share, byDoorbell } = phase.functions[number];
  return levels.map((level, index) => [
    first && index === 0 ? phase.name : '',
    index === 0 ? GUESTS[number].name : '',
    LEVELS[index],
    level.commandsPerSecond.toFixed(0),
    index === 0 ? percent(share) : '',
    index === 0 ? percent(guaranteedShare(phase, number)) : '',
    level.pcbsMean.toFixed(1),
    `${level.pcbsPeak}`,
    `${level.pcbsGuaranteed}`,
    `${level.refused}`,
    level.creditsMean.toFixed(1),
    `${level.credits}`,
    `${level.creditsSharedPeak}`,
    level.completionCreditsMean.toFixed(1),
    index === 0 ? `${(100 * byDoorbell).toFixed(0)} %` : '',
    index === 0 ? describeShare(isShareMet(phase, number)) : describeWithin(level),
  ]);
}

function describeShare(met: boolean | undefined): string {
  return met === undefined ? '-' : met ? 'share met' : 'share MISSED';
}

function describeWithin({ refused }: LevelResult): string {
  return refused === 0 ? 'none refused' : 'REFUSED';
}

/** The outcome of each claim, and the verdict. */
export function formatFindings(findings: readonly Finding[]): string {
  const lines = findings.map(({ claim, outcome, detail }) => `${outcome.padEnd(9)}  ${claim} (${detail})`);
  const verdict = findings.every(({ outcome }) => outcome === 'holds')
    ? 'The guarantees hold.'
    : findings.some(({ outcome }) => outcome === 'broken')
      ? 'The guarantees do NOT hold.'
      : 'Not everything could be shown.';
  return `${lines.join('\n')}\n${verdict}\n`;
}

function percent(part: number): string {
  return `${(100 * part).toFixed(1)} %`;
}
