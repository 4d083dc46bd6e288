// SPDX-License-Identifier: Apache-2.0
/**
 * `vuhca show events`, `contexts` and `blocks`: event queues with their counters, delay and next
 * interrupt time stamp (IPCOM000126453D par. 1-4), send contexts with their absolute counts of
 * credits, and the runs of their blocks (US 2015/0378953 claim 1).
 */
import { joinDwords } from '../../../../protocol/layout/dwords.ts';
import { eqControlName, sendContextStateName, sendHaltCauseName } from '../../../../protocol/layout/gen/values.gen.ts';
import type { EventQueue } from '../../events/event-queue.ts';
import { SendBlockState } from '../../pio/send-blocks.ts';
import type { SendContext } from '../../pio/send-context.ts';
import { sorted } from './queues.ts';
import type { Row, ShownAdapter } from './rows.ts';

export function showEvents({ adapter, hosts }: ShownAdapter): Row[] {
  return sorted(adapter.tables.eventQueues).map((queue) => describeEventQueue(queue, hosts[queue.owner.number]));
}

/**
 * `pending`: CQs whose EQ pending bit is set (the completion event counter). `summary`: the primary
 * summary byte in guest memory.
 */
function describeEventQueue(queue: EventQueue, host: ShownAdapter['hosts'][number]): Row {
  const { timer } = queue;
  return {
    eq: queue.number,
    function: queue.owner.number,
    vector: queue.vector,
    controls: eqControlName(queue.controls),
    asynchronous: queue.asynchronous,
    error: queue.error,
    entries: queue.entries,
    posted: queue.producerCount,
    unread: (queue.producerCount - queue.consumed) >>> 0,
    pending: queue.completionEventCounter,
    delayNs: timer.pollOnly ? 'poll only' : joinDwords(timer.delayLow, timer.delayHigh),
    stampNs: joinDwords(timer.stampLow, timer.stampHigh),
    interrupts: queue.interrupts,
    late: queue.unresponsive,
    primary: address(queue.primarySummaryAddress),
    summary: readByte(host, queue.primarySummaryAddress),
    secondary: address(queue.secondarySummaryAddress),
    secondaryBytes: queue.secondarySummaryCount,
  };
}

export function showContexts({ adapter }: ShownAdapter): Row[] {
  const rows: Row[] = [];
  adapter.sendContexts.forEach((context) => {
    rows.push(describeContext(context));
  });
  return rows;
}

/** `free` and `returned` count blocks, modulo 2048. */
function describeContext(context: SendContext): Row {
  return {
    context: context.number,
    function: context.owner.number,
    port: context.port,
    state: sendContextStateName(context.state),
    cause: sendHaltCauseName(context.haltCause),
    blocks: context.blocks.count,
    free: context.freeCounter,
    returned: context.returnedCounter,
    unreturned: context.unreturned,
    waiting: context.readyCount,
    atPort: context.waitingCount - context.readyCount,
    threshold: context.threshold,
    sent: context.packetsSent,
    dropped: context.packetsDropped,
    writesDropped: context.writesDropped,
    returns: context.creditReturns,
    credit: address(context.creditAddress),
  };
}

/** The blocks of each context from the oldest one in use on, a row for each run of one state. */
export function showBlocks({ adapter }: ShownAdapter): Row[] {
  const rows: Row[] = [];
  adapter.sendContexts.forEach((context) => {
    context.forEachRun((state, first, count) => {
      rows.push({ context: context.number, function: context.owner.number, first, count, state: blockNames[state] });
    });
  });
  return rows;
}

const blockNames: Readonly<Record<SendBlockState, string>> = {
  [SendBlockState.FREE]: 'free',
  [SendBlockState.FILLING]: 'filling',
  [SendBlockState.COMPLETE]: 'complete',
  [SendBlockState.LEFT]: 'left, behind an older one',
};

/** A byte of guest memory; null without an address, and where there is no memory. */
function readByte(host: ShownAdapter['hosts'][number], value: number): number | null {
  const byte = new Uint8Array(1);
  return value !== 0 && host.readMemory({ value }, 1, byte, 0) ? byte[0] : null;
}

function address(value: number): string | null {
  return value === 0 ? null : `0x${value.toString(16)}`;
}
