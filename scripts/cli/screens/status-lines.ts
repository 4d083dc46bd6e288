// SPDX-License-Identifier: Apache-2.0
/**
 * Lines of the screens of `vuhca status` that adapters of all kinds have: guest, resets, ports,
 * dropped packets, queues, faults. Pure. `status-screen.ts` and `personality-screen.ts` call it.
 */
import type { AdapterReport, FunctionReport, StatusReport } from '../../../device/process/reports/status-report.ts';
import { describeFirstFault } from './fault-text.ts';
import { BAD, bad, bytes, line, shorten } from './screen-text.ts';

export function describeGuest(socket: StatusReport['adapters'][number]['sockets'][number]): string[] {
  const state = socket.attached
    ? `${socket.inD0 ? 'attached' : 'attached, D3hot'}, ${bytes(socket.sharedMemoryBytes)} within reach`
    : socket.attaches > 0
      ? 'gone'
      : 'not attached yet';
  const { registerReads, registerWrites, collectWrites, pioWrites, blockedTooLong } = socket;
  return [
    line('guest', [state, shorten(socket.path, 30)]),
    line('accesses', [
      `${registerReads} register reads`,
      `${registerWrites} writes`,
      `${collectWrites} collect writes`,
      `${pioWrites} PIO`,
      ...(blockedTooLong > 0 ? [bad(blockedTooLong, 'times past a blocked bus')] : []),
    ]),
  ];
}

/** Resets by their cause. QEMU resets every device when its machine starts. */
export function describeResets({ device, function: guest, lost, software }: FunctionReport['resets']): string[] {
  const causes: [number, string][] = [
    [device, 'by QEMU at starts'],
    [guest, 'by function level reset'],
    [lost, 'as QEMU left'],
    [software, 'by the driver'],
  ];
  const words = causes.filter(([count]) => count > 0).map(([count, cause]) => `${count} ${cause}`);
  return words.length === 0 ? ['never reset'] : [`resets: ${words[0]}`, ...words.slice(1)];
}

/** The faults of a function, and the first one. */
export function describeFaults({ counts, first, late }: FunctionReport['faults']): string[] {
  const kinds = Object.entries(counts).sort(([, a], [, b]) => b - a);
  return [
    line('faults', kinds.length === 0 ? ['none'] : kinds.map(([kind, count]) => bad(count, kind))),
    ...(first === undefined ? [] : [line('first fault', describeFirstFault(first))]),
    ...(late === undefined ? [] : [line('late stores', [late.count === 0 ? 'none' : bad(late.count, 'stores')])]),
  ];
}

export function describePort(port: AdapterReport['ports'][number]): string {
  const owner = port.functionNumber;
  return line(owner === undefined ? `port ${port.number}` : `port ${port.number} of ${owner}`, [
    `${port.state === 'ACTIVE' ? '' : BAD}${port.state}`,
    `LID ${port.lid}`,
    `${port.transmitPackets} sent`,
    `${port.receivePackets} received`,
    bad(port.receiveDrops, 'dropped'),
    ...(port.badPkeys > 0 ? [bad(port.badPkeys, 'bad P_Keys')] : []),
    ...(port.badQkeys > 0 ? [bad(port.badQkeys, 'bad Q_Keys')] : []),
  ]);
}

export function describeDrops(drops: AdapterReport['drops']): string {
  const causes = Object.entries(drops).filter(([, count]) => count > 0);
  const words = causes.map(([cause, count]) =>
    bad(
      count,
      cause.replace(/[A-Z]/g, (c) => ` ${c.toLowerCase()}`),
    ),
  );
  return line('drops', words.length === 0 ? ['none'] : words);
}

export function queues({ count, posted, errors }: FunctionReport['eventQueues']): string[] {
  return [`${count}`, `${posted} entries posted`, bad(errors, 'in error')];
}

export function states(counts: Readonly<Record<string, number>>): string {
  const words = Object.entries(counts).map(([state, count]) => `${count} ${state}`);
  return words.length === 0 ? 'none' : words.join(' ');
}
