// SPDX-License-Identifier: Apache-2.0
/**
 * Log of collect buffers, doorbells, the scheduler and event queues of an adapter, from their own
 * calls: the part of model-log.ts between software and the transport. Tests only.
 */
import type { AdapterFixture } from '../../../device/rig/fixtures/adapter-fixture.ts';
import {
  getSendCommandOpcode,
  getSendCommandQpn,
  getSendCommandSequence,
} from '../../../protocol/layout/gen/send-command.gen.ts';
import { sendOpcodeName } from '../../../protocol/layout/gen/values.gen.ts';
import { wrap } from './wrap-method.ts';

/** The parts that are used of a collect buffer, of a queue pair and of a bus address. */
interface Buffer {
  readonly view: DataView;
  readonly vcb: number;
  readonly index: number;
}
interface Numbered {
  readonly number: number;
}
interface Address {
  readonly value: number;
}
type Note = (kind: string, numbers: Readonly<Record<string, number | string | boolean>>) => void;

/** Watches the way of commands to their launch. */
export function watchCommands({ machine }: AdapterFixture, note: Note): void {
  const { admission, collectBuffers, functions, lanes } = machine.device;
  /** The reason why the doorbell unit rings, and whether a kick admits. */
  let source = 'none';
  const during = (cause: string, call: () => unknown): unknown => {
    source = cause;
    const result = call();
    source = 'none';
    return result;
  };
  wrap(collectBuffers, 'bind', (call, _functionNumber, _qosLevel, vcb) => {
    const buffer = call() as Buffer | undefined;
    if (buffer !== undefined) note('bind', { vcb, pcb: buffer.index });
    return buffer;
  });
  wrap(admission, 'kick', (call, _unit, kicked) => {
    const { view, vcb } = kicked as never as Buffer;
    note('kick', { qp: getSendCommandQpn(view, 0), sequence: getSendCommandSequence(view, 0), vcb });
    return during('copy', call);
  });
  wrap(admission, 'ring', (call) => during('software', call));
  wrap(admission, 'ringRefused', (call) => during('no PCB', call));
  for (const { doorbells } of functions) {
    wrap(doorbells, 'ring', (call, rung, sequence) => {
      note('doorbell', { qp: (rung as never as Numbered).number, sequence, source });
      return call();
    });
    for (const [level, list] of doorbells.lists.entries())
      for (const [name, kind] of [
        ['push', 'enter'],
        ['remove', 'leave'],
      ] as const)
        wrap(list, name, (call, queued) => {
          note(kind, { qp: (queued as never as Numbered).number, level });
          return call();
        });
  }
  wrap(lanes, 'admit', (call, admitted, taken) => {
    const { view } = taken as never as Buffer;
    const command = sendOpcodeName(getSendCommandOpcode(view, 0));
    const numbers = { qp: (admitted as never as Numbered).number, sequence: getSendCommandSequence(view, 0), command };
    note(source === 'copy' ? 'admit' : 'fetch', numbers);
    return call();
  });
}

/** Watches the writes and interrupts of event queues beside their entries. */
export function watchEventQueues({ machine, host }: AdapterFixture, note: Note): void {
  const { eventQueues } = machine.device.tables;
  wrap(host, 'writeMemory', (call, at, _source, _offset, lengthBytes) => {
    const isWritten = call();
    if (lengthBytes !== 1) return isWritten;
    const { value: address } = at as never as Address;
    eventQueues.forEach(({ number: eq, primarySummaryAddress, secondarySummaryAddress, secondarySummaryCount }) => {
      const index = address - secondarySummaryAddress;
      if (address === primarySummaryAddress) note('summary', { eq, byte: 'primary' });
      else if (index >= 0 && index < secondarySummaryCount) note('summary', { eq, byte: `secondary ${index}` });
    });
    return isWritten;
  });
  eventQueues.forEach((queue) => {
    wrap(queue, 'postCompletion', (call) => {
      const { completionEventCounter, interrupts } = queue;
      const isPosted = call();
      const isInterrupt = queue.interrupts !== interrupts;
      if (isPosted) note('signal', { eq: queue.number, isFirst: completionEventCounter === 0, isInterrupt });
      return isPosted;
    });
  });
}
