// SPDX-License-Identifier: Apache-2.0
/**
 * `vuhca show lanes` and `commands`: the commands in each virtual kick list in the order of their
 * launch (US 8,484,392 par. 45-46, 115), and every command from the read of its send queue over its
 * kick list to the completion list of its QP (par. 39-43), with the credits that it holds.
 */

import { getSendCommandOpcode, getSendCommandSequence } from '../../../../protocol/layout/gen/send-command.gen.ts';
import { type CreditHold, CreditSource } from '../../collect/credit-hold.ts';
import { PcbState, type PhysicalCollectBuffer } from '../../collect/physical-collect-buffer.ts';
import { requestName } from '../../function/request-opcodes.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';
import { Inbound } from '../../scheduler/inbound-queue.ts';
import { requesterOf } from '../../transport/state/connected-states.ts';
import type { SendRecord } from '../../transport/state/send-record.ts';
import type { Adapter } from '../adapter.ts';
import { type Pools, poolOf, type Row, type ShownAdapter, serviceOf } from './rows.ts';

/** A holder of commands: an adapter, or one of a personality. */
export interface CommandHolder extends Pools {
  readonly lanes: Adapter['lanes'];
  readonly tables: { readonly queuePairs: { forEach(visit: (qp: QueuePair) => void): void } };
}

const sources: Readonly<Record<CreditSource, string | null>> = {
  [CreditSource.NONE]: null,
  [CreditSource.PRIVATE]: 'private',
  [CreditSource.SHARED]: 'shared',
};

/** The commands in the kick lists. A command of an epoch that has ended is void. */
export function showLanes({ adapter }: { readonly adapter: CommandHolder }): Row[] {
  return adapter.lanes.lanes.flatMap(({ number, head }) => {
    const owner = adapter.lanes.map.getOwner(number);
    const rows: Row[] = [];
    for (let buffer = head; buffer !== undefined; buffer = buffer.nextKicked) {
      const qp = buffer.queuePair;
      rows.push({
        lane: number,
        owner: owner < 0 ? null : owner,
        place: rows.length,
        pool: poolOf(adapter, buffer),
        pcb: buffer.index,
        function: qp.owner.number,
        level: qp.qosLevel,
        qp: qp.number,
        ...identify(buffer),
        isVoid: buffer.epoch !== qp.epoch,
      });
    }
    return rows;
  });
}

/** Every command that the adapter holds, by place: the oldest stage first. */
export function showCommands({ adapter }: ShownAdapter): Row[] {
  return [...showHeldCommands(adapter), ...showReads(adapter)];
}

/** The commands that have left their send queues. */
export function showHeldCommands(adapter: CommandHolder): Row[] {
  const completing: Row[] = [];
  const recorded = new Set<PhysicalCollectBuffer>();
  adapter.tables.queuePairs.forEach((qp) => {
    for (let record = requesterOf(qp)?.oldest; record !== undefined; record = record.next) {
      if (record.buffer !== undefined) recorded.add(record.buffer);
      completing.push(describeRecord(adapter, qp, record));
    }
  });
  const launched: Row[] = [];
  for (const buffer of allBuffers(adapter))
    if (buffer.state === PcbState.LAUNCHED && buffer.queuePair !== undefined && !recorded.has(buffer))
      launched.push(describeBuffer(adapter, 'pipeline', buffer, buffer.queuePair));
  return [...completing, ...launched, ...showKicked(adapter)];
}

function allBuffers({ collectBuffers, schedulerBuffers }: Pools): PhysicalCollectBuffer[] {
  return [...collectBuffers.buffers, ...schedulerBuffers.buffers];
}

function showKicked(adapter: CommandHolder): Row[] {
  const rows: Row[] = [];
  for (const { head } of adapter.lanes.lanes)
    for (let buffer = head; buffer !== undefined; buffer = buffer.nextKicked)
      rows.push(describeBuffer(adapter, 'kick list', buffer, buffer.queuePair));
  return rows;
}

/** Commands that are being read from send queues. */
function showReads(adapter: Adapter): Row[] {
  const rows: Row[] = [];
  for (const { doorbells } of adapter.functions)
    doorbells.inbound.forEach((kind, qp, sequence, pcb) => {
      if (kind !== Inbound.COMMAND || qp === undefined) return;
      rows.push({ ...nothing, ...whose(qp), where: 'read', sequence, pool: 'scheduler', pcb: pcb ?? null });
    });
  return rows;
}

const nothing = {
  where: '',
  function: 0,
  qp: 0,
  service: '',
  sequence: 0,
  opcode: null,
  lane: null,
  pool: null,
  pcb: null,
  execution: null,
  completion: null,
  firstPsn: null,
  lastPsn: null,
  packets: null,
  responses: null,
  done: null,
} as const;

function describeBuffer(adapter: Pools, where: string, buffer: PhysicalCollectBuffer, qp: QueuePair): Row {
  return {
    ...nothing,
    ...whose(qp),
    where,
    ...identify(buffer),
    lane: qp.lane,
    pool: poolOf(adapter, buffer),
    pcb: buffer.index,
    ...describeCredits(buffer.hold),
  };
}

function describeRecord(adapter: Pools, qp: QueuePair, record: SendRecord): Row {
  const { buffer, hold, numbered } = record;
  return {
    ...nothing,
    ...whose(qp),
    where: 'completion list',
    sequence: record.sequence,
    opcode: requestName(record.opcode),
    lane: hold.lane,
    pool: buffer === undefined ? null : poolOf(adapter, buffer),
    pcb: buffer?.index ?? null,
    ...describeCredits(hold),
    firstPsn: numbered ? record.firstPsn : null,
    lastPsn: numbered ? record.lastPsn : null,
    packets: record.packetsSent,
    responses: record.responsesReceived,
    done: record.done,
  };
}

function whose(qp: QueuePair): { function: number; qp: number; service: string } {
  return { function: qp.owner.number, qp: qp.number, service: serviceOf(qp) };
}

function identify({ view }: PhysicalCollectBuffer): { sequence: number; opcode: string } {
  return { sequence: getSendCommandSequence(view, 0), opcode: requestName(getSendCommandOpcode(view, 0)) };
}

function describeCredits({ execution, completion }: CreditHold): Row {
  return { execution: sources[execution], completion: sources[completion] };
}
