// SPDX-License-Identifier: Apache-2.0
/**
 * `vuhca show lists` and `overflow`: the doorbells of each function in the order of their service:
 * scheduler lists, scheduler buffer, bus (US 9,069,485 par. 67-75); and the doorbells that were
 * spilled to guest memory (par. 28-29, 86-93).
 */
import { OVERFLOW_ENTRY_BYTES } from '../../../../protocol/layout/gen/constants.gen.ts';
import { getDoorbellQpn, getDoorbellSequence } from '../../../../protocol/layout/gen/doorbell.gen.ts';
import { qpStateName } from '../../../../protocol/layout/gen/values.gen.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';
import { Inbound } from '../../scheduler/inbound-queue.ts';
import type { PcieFunction } from '../pcie-function.ts';
import type { Row, ShownAdapter } from './rows.ts';

const kinds: Readonly<Record<Inbound, string>> = {
  [Inbound.NONE]: 'none',
  [Inbound.POSTED]: 'doorbell',
  [Inbound.LINK_CHECK]: 'read of descriptor',
  [Inbound.RECORD]: 'read of record',
  [Inbound.COMMAND]: 'read of command',
  [Inbound.OVERFLOW_ENTRY]: 'read of overflow entry',
};

/** Scheduler lists first: their queues are served next. Then scheduler buffer, then bus. */
export function showLists({ adapter }: ShownAdapter): Row[] {
  return adapter.functions.flatMap((owner) => [...showLinked(owner), ...showBuffered(owner), ...showBus(owner)]);
}

/** Entries of the overflow buffers from the oldest to the newest, as guest memory has them. */
export function showOverflow({ adapter, hosts }: ShownAdapter): Row[] {
  const rows: Row[] = [];
  const bytes = new Uint8Array(OVERFLOW_ENTRY_BYTES);
  const view = new DataView(bytes.buffer);
  for (const { underlying, doorbells } of adapter.functions)
    for (let place = 0; place < doorbells.overflow.pending; place++) {
      const address = doorbells.overflow.addressOf(place);
      const isRead = hosts[underlying.number].readMemory({ value: address }, OVERFLOW_ENTRY_BYTES, bytes, 0);
      const qp = isRead ? getDoorbellQpn(view, 0) : null;
      const owner = qp === null ? undefined : adapter.tables.queuePairs.get(qp)?.owner;
      rows.push({
        function: underlying.number,
        place,
        qp,
        sequence: isRead ? getDoorbellSequence(view, 0) : null,
        state: isRead ? (owner === underlying ? 'waits' : 'no such QP') : 'unreadable',
        address: `0x${address.toString(16)}`,
      });
    }
  return rows;
}

function showLinked({ underlying, doorbells }: PcieFunction): Row[] {
  return doorbells.lists.flatMap(({ head }, level) => {
    const rows: Row[] = [];
    for (let qp = head; qp !== undefined; qp = qp.nextScheduled)
      rows.push(describe(underlying.number, `list ${level}`, rows.length, 'send queue', qp, qp.nextSequence));
    return rows;
  });
}

function showBuffered({ underlying, doorbells }: PcieFunction): Row[] {
  const { buffer } = doorbells;
  return Array.from({ length: buffer.used }, (_, place) => {
    const kind = place < buffer.checking ? 'doorbell, being checked' : 'doorbell';
    const qp = buffer.queuePairAt(place);
    return describe(underlying.number, 'scheduler buffer', place, kind, qp, buffer.sequenceAt(place));
  });
}

function showBus({ underlying, doorbells }: PcieFunction): Row[] {
  const rows: Row[] = [];
  doorbells.inbound.forEach((kind, qp, sequence) => {
    const hasSequence = kind === Inbound.POSTED || kind === Inbound.COMMAND;
    rows.push(describe(underlying.number, 'bus', rows.length, kinds[kind], qp, hasSequence ? sequence : null));
  });
  return rows;
}

function describe(
  functionNumber: number,
  where: string,
  place: number,
  entry: string,
  qp: QueuePair | undefined,
  sequence: number | null,
): Row {
  return {
    function: functionNumber,
    where,
    place,
    entry,
    qp: qp?.number ?? null,
    state: qp === undefined ? null : qpStateName(qp.state),
    sequence,
  };
}
