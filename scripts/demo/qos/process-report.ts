// SPDX-License-Identifier: Apache-2.0
/**
 * The measurement of two processes as a table for a terminal. Pure; called by processes.ts.
 */
import { table } from '../../console/table.ts';
import { type MeasuredPhase, summarisePhase, TENANTS } from './process-samples.ts';

const BYTES_PER_MIB = 2 ** 20;
const HEADER = [
  ...['phase', 'process', 'QoS level', 'WRITEs/s', 'MiB/s', 'share', 'by lanes'],
  ...['PCBs of the level', 'refused', 'launched by its lane', 'by collect page'],
];
const LEFT_COLUMNS = 3;

/** A line for each phase and process, and a legend of the columns. */
export function formatProcesses(phases: readonly MeasuredPhase[], messageBytes: number): string {
  const rows = phases.flatMap((phase) => {
    const { tenants, levels, collected } = summarisePhase(phase);
    return tenants.map(({ share, documented, perSecond }, at) => {
      const level = levels[phase.levels[at]];
      return [
        at === 0 ? phase.name : '',
        TENANTS[at],
        `${phase.levels[at]}`,
        perSecond.toFixed(0),
        ((perSecond * messageBytes) / BYTES_PER_MIB).toFixed(0),
        percent(share),
        percent(documented),
        level.pcbs.toFixed(1),
        `${level.refused}`,
        `${level.launched}`,
        at === 0 ? percent(collected) : '',
      ];
    });
  });
  return `${table([HEADER, ...rows], LEFT_COLUMNS)}
Counted by the adapter: commands of the queue pairs of each process, through the control socket.
share       part of all WRITEs of ${messageBytes / 1024} KiB that completed while both processes had some under way
by lanes    the part that the weights of the lanes give to its level
refused     copies to the collect page that found no PCB and went by doorbell
`;
}

function percent(part: number): string {
  return `${(100 * part).toFixed(1)} %`;
}
