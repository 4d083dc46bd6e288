// SPDX-License-Identifier: Apache-2.0
/**
 * Judges the sentences of `vuhca trace show` about the way of a command to its launch, and about
 * the actions of event queues beside their entries, by the log of the model. story-judge.ts has the
 * others.
 */
import { one, type Rule } from './judged-line.ts';

/**
 * Rules for the way of a command to its launch, and for the actions of an event queue beside its
 * entries.
 */
export const commandRules: readonly (readonly [RegExp, Rule])[] = [
  [
    /^first store to VCB (\d+), which gets PCB (\d+)$/,
    (line, log, vcb, pcb) => one(line, log, 'bind', { vcb: +vcb, pcb: +pcb }),
  ],
  [
    /^command (\d+) is whole in VCB (\d+) \(the kick\)$/,
    (line, log, sequence, vcb) => one(line, log, 'kick', { qp: line.qp, sequence: +sequence, vcb: +vcb }),
  ],
  [
    /^command (\d+) read from the send queue in guest memory \(fetch\)$/,
    (line, log, sequence) => one(line, log, 'fetch', { qp: line.qp, sequence: +sequence }),
  ],
  [
    /^doorbell for command (\d+)$/,
    (line, log, sequence) => one(line, log, 'doorbell', { qp: line.qp, sequence: +sequence, source: 'software' }),
  ],
  [
    /^the copy of command (\d+) (found no PCB|cannot be taken): a doorbell takes its place$/,
    (line, log, sequence, why) => {
      const source = why === 'found no PCB' ? 'no PCB' : 'copy';
      return one(line, log, 'doorbell', { qp: line.qp, sequence: +sequence, source });
    },
  ],
  [
    /^send queue (enter|leave)s the scheduler list of level (\d+)$/,
    (line, log, kind, level) => one(line, log, kind, { qp: line.qp, level: +level }),
  ],
  [
    /^([A-Z_]+)(?:, |$)/,
    ({ qp, timeNs }, log, command) =>
      log.facts.filter(
        (fact) =>
          (fact.kind === 'fetch' || fact.kind === 'admit') &&
          fact.qp === qp &&
          fact.timeNs <= timeNs &&
          fact.command === command,
      ),
  ],
  [
    /^primary summary byte of EQ (\d+) set$/,
    (line, log, eq) => one(line, log, 'summary', { eq: +eq, byte: 'primary' }),
  ],
  [
    /^secondary summary byte (\d+) of EQ (\d+) set$/,
    (line, log, index, eq) => one(line, log, 'summary', { eq: +eq, byte: `secondary ${index}` }),
  ],
  [
    /^no interrupt: EQ (\d+) holds events, and its time stamp lies ahead$/,
    (line, log, eq) => one(line, log, 'signal', { eq: +eq, isFirst: false, isInterrupt: false }),
  ],
  [
    /^no interrupt: the (?:event controls|delay) of EQ (\d+) /,
    (line, log, eq) => one(line, log, 'signal', { eq: +eq, isFirst: true, isInterrupt: false }),
  ],
  [
    /^EQ (\d+) held events, and its time stamp has passed: the driver is late$/,
    (line, log, eq) => one(line, log, 'signal', { eq: +eq, isFirst: false, isInterrupt: true }),
  ],
];
