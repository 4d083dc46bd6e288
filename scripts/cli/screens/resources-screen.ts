// SPDX-License-Identifier: Apache-2.0
/**
 * The tables of `vuhca resources show`: functions with their QoS levels, unallocated resources, and
 * lanes. Lanes with equal settings share a row. Pure.
 */
import type { ResourceReport } from '../../../device/process/reports/resource-report.ts';
import { formatLanes } from '../../../device/process/reports/resource-syntax.ts';
import { table } from '../../console/table.ts';

type FunctionShare = ResourceReport['functions'][number];
type Lane = ResourceReport['lanes'][number];

/** The report as lines of text. */
export function renderResources(report: ResourceReport): string {
  const { total, unallocated } = report;
  const functions = [
    ['', 'VCBs', 'in use', 'PCBs', 'in use', 'buffers', 'lanes', ''],
    ...report.functions.flatMap(describeFunction),
    [
      'unallocated',
      unallocated.vcbs,
      '',
      unallocated.pcbs,
      '',
      unallocated.schedulerBuffers,
      formatLanes(unallocated.lanes),
      '',
    ],
    ['total', total.vcbs, '', total.pcbs, '', total.schedulerBuffers, `${total.lanes}`, ''],
  ];
  const lanes = [
    ['lanes', 'of', 'execution', 'used', 'completion', 'used', 'shared', 'weight', 'list'],
    ...groupLanes(report.lanes).map(describeLanes),
    ['shared', '', unallocated.executionCredits, '', unallocated.completionCredits, '', '', '', ''],
  ];
  const switches = [
    ...(report.returnShares ? ['shares return when a guest leaves'] : []),
    ...(report.lendIdle ? ['idle shares are lent'] : []),
    ...(report.disabled ? ['the adapter is disabled: commands wait'] : []),
    ...(report.freezeSends ? ['send contexts are frozen'] : []),
  ];
  const { laneTable } = report;
  if (laneTable !== undefined) switches.push(describeLaneTable(laneTable));
  const notes = switches.length === 0 ? '' : `\n${switches.join('; ')}\n`;
  const doorbells = [
    ['doorbells', 'policy', 'link check', 'spill below', 'until', 'of', 'adaptive', 'host queue', 'also spilled'],
    ...report.functions.map(describeDoorbells),
  ];
  const sends = [
    ['send memory', 'contexts', 'in use', 'blocks', 'in use'],
    ...report.functions.map(describeSendShare),
    ['unallocated', unallocated.sendContexts, '', unallocated.sendBlocks, ''],
    ['total', total.sendContexts, '', total.sendBlocks, ''],
  ];
  const addresses = [['VCB addresses', 'of', 'level'], ...report.vcbAddresses.map(describeAddresses)];
  return `${[functions, lanes, sends, doorbells, addresses].map((rows) => table(rows)).join('\n')}${notes}`;
}

function describeFunction(share: FunctionShare): (string | number)[][] {
  const { number, vcbBase, vcbs, vcbsInUse, pcbs, pcbsInUse, schedulerBuffers, lanes, lent } = share;
  const where = `VCBs from ${vcbBase}${lent ? ', lent' : ''}`;
  return [
    [`function ${number}`, vcbs, vcbsInUse, pcbs, pcbsInUse, schedulerBuffers, formatLanes(lanes), where],
    ...share.levels.map((level, index) => [
      `  level ${index}`,
      level.vcbs,
      '',
      level.pcbs,
      level.pcbsInUse,
      '',
      formatLanes(level.lanes),
      '',
    ]),
  ];
}

function describeSendShare(share: FunctionShare): (string | number)[] {
  const { number, sendContexts, sendContextsInUse, sendBlocks, sendBlocksInUse } = share;
  return [`function ${number}`, sendContexts, sendContextsInUse, sendBlocks, sendBlocksInUse];
}

function describeDoorbells({ number, doorbells }: FunctionShare): (string | number)[] {
  const { policy, linkCheck, low, high, entries, adaptive, hostQueue, spillBuffered, spillCommands } = doorbells;
  const also = [...(spillBuffered ? ['buffered'] : []), ...(spillCommands ? ['commands'] : [])].join(', ') || 'none';
  const yes = (set: boolean): string => (set ? 'yes' : 'no');
  const word = (name: string): string => name.toLowerCase().replaceAll('_', '-');
  const settings = [word(policy), word(linkCheck), low, high, entries, yes(adaptive), yes(hostQueue), also];
  return [`function ${number}`, ...settings];
}

function describeLaneTable({ address, reads, refused, invalid }: NonNullable<ResourceReport['laneTable']>): string {
  const waiting = invalid.length === 0 ? '' : `, those of functions ${invalid.join(', ')} are invalid`;
  return `lane table at 0x${address.toString(16)}: ${reads} entries read, ${refused} refused${waiting}`;
}

function describeAddresses({ from, end, function: owner, level }: ResourceReport['vcbAddresses'][number]) {
  return [`0x${from.toString(16)}-0x${(end - 1).toString(16)}`, `function ${owner}`, level];
}

/** Runs of lanes that are set alike. */
function groupLanes(lanes: readonly Lane[]): Lane[][] {
  const groups: Lane[][] = [];
  for (const lane of lanes) {
    const group = groups.at(-1);
    if (group !== undefined && settings(group[0]) === settings(lane)) group.push(lane);
    else groups.push([lane]);
  }
  return groups;
}

function settings(lane: Lane): string {
  const { owner, dedicated, weight, executionCredits, completionCredits, sharedExecution, sharedCompletion } = lane;
  return [
    owner,
    dedicated,
    weight,
    executionCredits,
    completionCredits,
    sharedExecution,
    sharedCompletion,
    lane.listSize,
  ].join();
}

function describeLanes(lanes: readonly Lane[]): (string | number)[] {
  const [lane] = lanes;
  const owner = lane.owner === undefined ? (lane.dedicated ? 'dedicated' : 'all') : `function ${lane.owner}`;
  const used = (count: (one: Lane) => number): number => lanes.reduce((sum, one) => sum + count(one), 0);
  return [
    formatLanes(lanes.map((one) => one.number)),
    owner,
    lane.executionCredits,
    used((one) => one.executionCreditsUsed),
    lane.completionCredits,
    used((one) => one.completionCreditsUsed),
    describeShared(lane),
    lane.weight,
    lane.listSize,
  ];
}

function describeShared({ sharedExecution, sharedCompletion }: Lane): string {
  if (sharedExecution && sharedCompletion) return 'both';
  return sharedExecution ? 'execution' : sharedCompletion ? 'completion' : 'none';
}
