// SPDX-License-Identifier: Apache-2.0
//
// Arguments: what is read, and the sentence for each mistake.

import t from 'tap';
import { readAdapterOptions, readOrdering } from './adapter-arguments.ts';
import { type Command, readArguments, UsageError } from './command.ts';
import { deviceCommand } from './device-command.ts';
import { describeCommand } from './help.ts';
import { runCommand } from './run-command.ts';

const command: Command = {
  name: 'try',
  summary: 'is tried',
  operands: 'FILE [-- WORD...]',
  options: {
    size: { type: 'string', value: 'N', description: 'A size' },
    pair: { type: 'string', value: 'A,B', description: 'Two' },
    kind: { type: 'string', value: 'KIND', description: 'A kind' },
    debug: { type: 'string', value: 'PORT', bare: '9229', description: 'A port' },
    quiet: { type: 'boolean', description: 'Says nothing' },
  },
  run: async () => 0,
};

t.test('what is given is read', async (t) => {
  const args = readArguments(command, ['--size', '0x10', '--pair=1,2', '--quiet', '--debug', 'x', '--', '--size', 'y']);
  t.equal(args.integer('size', 0, 100), 16);
  t.same(args.pair('pair', 0, 9), [1, 2]);
  t.ok(args.has('quiet'));
  t.equal(args.text('debug'), '9229');
  t.same(args.operands, ['x']);
  t.same(args.rest, ['--size', 'y']);
  t.equal(args.choice('kind', ['a', 'b']), undefined);
  t.equal(readArguments(command, ['--debug=1', 'x']).text('debug'), '1');
});

t.test('each mistake has its sentence', async (t) => {
  const mistakes: [words: string[], message: RegExp][] = [
    [['--sise', '1', 'x'], /^unknown option --sise$/],
    [['-s', 'x'], /^unknown option -s$/],
    [['--size'], /^option --size needs a value: --size N$/],
    [['--size', '--quiet', 'x'], /^option --size needs a value/],
    [['--size=', 'x'], /^option --size needs a value/],
    [['--quiet=yes', 'x'], /^option --quiet takes no value$/],
    [[], /^FILE is missing$/],
    [['x', 'y'], /^y is one argument too many$/],
  ];
  for (const [words, message] of mistakes)
    t.throws(() => readArguments(command, words), { name: 'UsageError', message });
  const values: [words: string[], message: RegExp][] = [
    [['--size=101', 'x'], /^option --size is 101; it must be a whole number from 0 to 100$/],
    [['--size=1.5', 'x'], /^option --size is 1\.5/],
    [['--pair=1', 'x'], /^option --pair is 1; it must be two numbers/],
    [['--kind=c', 'x'], /^option --kind is c; it must be a, b$/],
  ];
  for (const [words, message] of values) {
    const args = readArguments(command, words);
    const read = (): void => {
      args.integer('size', 0, 100);
      args.pair('pair', 0, 100);
      args.choice('kind', ['a', 'b']);
    };
    t.throws(read, { name: 'UsageError', message });
  }
  const closed: Command = { ...command, operands: '' };
  t.throws(() => readArguments(closed, ['--', 'x']), { message: 'nothing may follow --' });
});

t.test("an adapter's options", async (t) => {
  const read = (...words: string[]) => readAdapterOptions(readArguments(deviceCommand, words));
  t.match(read('--vcbs', '8', '--pcbs', '16', '--lids', '5,6'), { vcbCount: 8, pcbCount: 16, portLids: [5, 6] });
  t.same(read('--pcbs', '2').pcbGuaranteed, [0, 0], 'guarantees shrink with the pool');
  t.same(read('--pcbs', '9', '--pcb-guaranteed', '4,5').pcbGuaranteed, [4, 5]);
  t.match(read('--functions', '3', '--vcb-limit', '100', '--lanes', '5', '--write-combining', '7'), {
    functionCount: 3,
    vcbLimit: 100,
    laneCount: 5,
    writeCombining: { seed: 7 },
  });
  t.equal(read().writeCombining, undefined);
  t.throws(() => read('--vcbs', '0'), new UsageError('option --vcbs is 0; it must be 1 to 16384'));
  t.throws(() => read('--functions', '35'), new UsageError('option --functions is 35; it must be 1 to 34'));
  t.throws(
    () => read('--functions', '34', '--vcbs', '482'),
    new UsageError('option --vcbs is 482; with --functions 34 it must be 1 to 481'),
  );
  t.throws(() => read('--vcb-limit', '63'), /option --vcb-limit is 63; it must be 0 or at least --vcbs \(64\)/);
  t.throws(() => read('--functions', '9', '--scheduler-buffers', '9'), /--scheduler-buffers .* than --functions \(9\)/);
  t.throws(
    () => read('--write-combining', '9999999999'),
    /option --write-combining.seed is 9999999999; it must be 0 to/,
  );
  t.throws(() => read('--pcbs', '9', '--pcb-guaranteed', '5,5'), /--pcb-guaranteed is 5,5; its sum .* --pcbs \(9\)/);
  t.throws(() => read('--lids', '0,1'), /option --lids is 0,1; a unicast LID is 1 to 49151/);
});

t.test('an ordering model', async (t) => {
  const read = (...words: string[]) => readOrdering(readArguments(deviceCommand, words));
  t.same(read(), { mode: 'strict' });
  t.same(read('--ordering', 'pcie'), { mode: 'pcie' });
  t.same(read('--ordering=adversarial:4294967295'), { mode: 'adversarial', seed: 4294967295 });
  for (const word of ['late', 'adversarial', 'adversarial:4294967296', 'adversarial:-1', 'adversarial:x', 'pcie:1']) {
    const message = `option --ordering is ${word}; it must be strict, pcie or adversarial:SEED, with a seed below 2^32`;
    t.throws(() => read('--ordering', word), new UsageError(message));
  }
});

t.test('help names every option', async (t) => {
  for (const one of [deviceCommand, runCommand]) {
    const text = describeCommand(one);
    for (const name of Object.keys(one.options)) t.match(text, `--${name}`);
    t.ok(text.split('\n').every((line) => line.length <= 120));
  }
});
