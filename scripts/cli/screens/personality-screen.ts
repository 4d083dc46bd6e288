// SPDX-License-Identifier: Apache-2.0
/**
 * An adapter of a personality on the screens of `vuhca status` and `vuhca top`: its guest, the
 * parts that the driver has started, its objects and ports. Pure.
 */
import type { StatusReport } from '../../../device/process/reports/status-report.ts';
import { BAD, bad, bytes, line } from './screen-text.ts';
import {
  describeDrops,
  describeFaults,
  describeGuest,
  describePort,
  describeResets,
  queues,
  states,
} from './status-lines.ts';

type PersonalityReport = StatusReport['personalities'][number];

/** Rates of an adapter, per second. */
export interface PersonalityActivity {
  readonly sends: number;
  readonly completions: number;
  readonly commands: number;
  readonly interrupts: number;
  /** Bytes of guest memory. */
  readonly read: number;
  readonly written: number;
}

/** Sums since the process of an adapter started. */
export function personalityActivityOf(device: PersonalityReport): PersonalityActivity {
  return {
    sends: device.lanes.launches,
    completions: device.completionQueues.posted,
    commands: device.commands.executed,
    interrupts: device.vectorsSent,
    read: device.dmaBytesRead,
    written: device.dmaBytesWritten,
  };
}

/** `isRate`: activity per second, as `vuhca top` shows it. */
export function describePersonality(
  device: PersonalityReport,
  activity: PersonalityActivity,
  isRate: boolean,
): string[] {
  const shown = isRate ? [describeActivity(activity)] : describeState(device);
  return [...shown, ...device.ports.map(describePort), describeDrops(device.drops)];
}

function describeActivity({ sends, completions, commands, interrupts, read, written }: PersonalityActivity): string {
  return line('activity', [
    `${sends.toFixed(0)} requests/s`,
    `${completions.toFixed(0)} completions/s`,
    `${interrupts.toFixed(0)} interrupts/s`,
    `${commands.toFixed(0)} commands/s`,
    `${bytes(read)}/s read`,
    `${bytes(written)}/s written`,
  ]);
}

function describeState(device: PersonalityReport): string[] {
  const { sockets, state, commands, lanes, raw } = device;
  const [socket] = sockets;
  return [
    ...describeGuest(socket),
    line('HCA', [
      `${state === 'failed' ? BAD : ''}${state}`,
      `bus master ${device.busMaster ? 'on' : 'off'}`,
      ...describeResets(device.resets),
    ]),
    line('commands', [
      `${commands.executed} executed`,
      `${commands.refused} refused`,
      `${device.strayDoorbells} stray doorbells`,
    ]),
    line('objects', Object.entries(device.objects).map(describeCount)),
    line('QPs', [states(device.queuePairs)]),
    line('CQs', queues(device.completionQueues)),
    line('EQs', [
      ...queues(device.eventQueues),
      bad(device.eventsLost, 'lost'),
      `${device.vectorsSent} vectors sent`,
      `${device.vectorsPending} pending`,
    ]),
    line('sends', [
      `${lanes.launches} launched`,
      `${lanes.waiting} waiting`,
      `${device.sendBuffersBusy} buffers busy`,
      ...(raw === undefined ? [] : [`QP0 and QP1: ${raw.malformed + raw.noReceive} dropped`]),
    ]),
    line('DMA', [`${bytes(device.dmaBytesRead)} read`, `${bytes(device.dmaBytesWritten)} written`]),
    ...describeFaults(device.faults),
  ];
}

/** The name of a count has its words as the report writes them: `contextPages`. */
function describeCount([name, count]: [string, number]): string {
  return `${count} ${name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}`;
}
