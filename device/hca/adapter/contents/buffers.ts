// SPDX-License-Identifier: Apache-2.0
/**
 * `vuhca show vcbs` and `pcbs`: the VCBs that collect a command, with the PCBs that they are bound
 * to (US 8,484,392 par. 56, 96-100), and every PCB that is not free with its place in the life of a
 * command (par. 48-53).
 */
import { QOS_LEVELS } from '../../../../protocol/layout/gen/constants.gen.ts';
import { getDoorbellQpn, getDoorbellSequence } from '../../../../protocol/layout/gen/doorbell.gen.ts';
import type { Collecting } from '../../collect/collect-unit.ts';
import { PcbState, PhysicalCollectBuffer } from '../../collect/physical-collect-buffer.ts';
import { pcbStateName, type Row, type ShownAdapter } from './rows.ts';

/** VCBs in use. Without a PCB the VCB is in send-queue mode. */
export function showVcbs({ adapter }: ShownAdapter): Row[] {
  const rows: Row[] = [];
  for (const { collect, underlying } of adapter.functions)
    for (let page = 0; page < collect.pageCount; page++) {
      const buffer = collect.getCollecting(page);
      if (buffer === undefined) continue;
      const isBound = buffer instanceof PhysicalCollectBuffer;
      rows.push({
        function: underlying.number,
        page,
        vcb: isBound ? buffer.vcb : null,
        level: page < collect.vcbCount - collect.levelOneCount ? 0 : 1,
        mode: isBound ? 'collect' : 'send queue',
        pcb: isBound ? buffer.index : null,
        account: isBound ? nameAccount(buffer) : null,
        ...identify(buffer),
        arrived: buffer.arrivedBytes,
        length: buffer.lengthKnown ? buffer.collectLength : null,
      });
    }
  return rows;
}

/** PCBs that are not free: of both pools, and the dedicated ones of management. */
export function showPcbs({ adapter }: ShownAdapter): Row[] {
  const pools = { collect: adapter.collectBuffers, scheduler: adapter.schedulerBuffers };
  const rows: Row[] = [];
  for (const [pool, { buffers }] of Object.entries(pools))
    for (const buffer of buffers) if (buffer.state !== PcbState.FREE) rows.push(describePcb(pool, buffer));
  for (const { collect, underlying } of adapter.functions)
    for (const [pcb, { locked, state }] of collect.dedicated.entries())
      if (locked || state !== PcbState.FREE)
        rows.push({ ...unbound, pool: 'management', pcb, state: nameDedicated(state), function: underlying.number });
  return rows;
}

const unbound = {
  pool: '',
  pcb: null,
  state: '',
  function: 0,
  level: null,
  account: null,
  vcb: null,
  qp: null,
  sequence: null,
  lane: null,
} as const;

function describePcb(pool: string, buffer: PhysicalCollectBuffer): Row {
  const isKicked = buffer.state >= PcbState.KICKED;
  const { queuePair } = buffer;
  return {
    pool,
    pcb: buffer.index,
    state: pcbStateName(buffer.state),
    function: buffer.functionNumber,
    level: buffer.qosLevel,
    account: nameAccount(buffer),
    vcb: buffer.vcb < 0 ? null : buffer.vcb,
    // The scheduler's buffer of a read that is outstanding still has its last command.
    ...(pool === 'scheduler' && !isKicked ? { qp: null, sequence: null } : describeCommand(buffer)),
    lane: isKicked && queuePair !== undefined ? queuePair.lane : null,
  };
}

/** QP and sequence number, once the bytes that name them are there. */
function identify(buffer: NonNullable<Collecting>): { qp: number | null; sequence: number | null } {
  if (!buffer.identified) return { qp: null, sequence: null };
  return { qp: getDoorbellQpn(buffer.view, 0), sequence: getDoorbellSequence(buffer.view, 0) };
}

function describeCommand(buffer: PhysicalCollectBuffer): { qp: number | null; sequence: number | null } {
  if (buffer.state === PcbState.COLLECTING) return identify(buffer);
  const { queuePair, view } = buffer;
  return { qp: queuePair?.number ?? getDoorbellQpn(view, 0), sequence: getDoorbellSequence(view, 0) };
}

/** The account that pays for a bound PCB: of the level, of its function, or of all functions. */
function nameAccount({ account }: PhysicalCollectBuffer): string {
  if (account < QOS_LEVELS) return 'level';
  return account === QOS_LEVELS ? 'function' : 'all';
}

/** A locked buffer without a command waits for software. */
function nameDedicated(state: PcbState): string {
  return state === PcbState.FREE ? 'locked' : pcbStateName(state);
}
