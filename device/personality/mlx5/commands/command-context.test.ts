// SPDX-License-Identifier: Apache-2.0
/** The space for one command: its head, its length, and answers that hold nothing of others. */
import t from 'tap';
import type { Hca } from '../hca/hca.ts';
import { CommandContext } from './command-context.ts';

const START_BYTES = 8192;

t.test('the space of a command grows with the longest one, and its output is zeros', async (t) => {
  const context = new CommandContext({} as Hca);
  const { input, output } = context;
  context.begin(START_BYTES, START_BYTES);
  t.ok(context.input === input && context.output === output);
  output.fill(7, 0, 20);
  context.begin(16, 16);
  t.same([...output.subarray(0, 17)], [...new Array(16).fill(0), 7]);
  t.same([context.inputBytes, context.outputBytes], [16, 16]);
  context.begin(START_BYTES + 1, START_BYTES + 2);
  t.same([context.input.length, context.output.length], [START_BYTES + 1, START_BYTES + 2]);
  context.input.set([0x12, 0x34, 0, 5, 0, 0, 0, 9]);
  t.same([context.opcode, context.number, context.owner, context.modifier], [0x1234, 0x1234, 5, 9]);
  context.outputView.setUint8(START_BYTES, 3);
  t.equal(context.output[START_BYTES], 3);
});
