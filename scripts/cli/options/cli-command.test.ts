// SPDX-License-Identifier: Apache-2.0
/**
 * Arguments: the values that are read, the sentence for each mistake, and the options that `device`
 * and `run` share.
 */
import { Option } from 'commander';
import t from 'tap';
import { portNamesOf } from '../../../device/process/host/topology.ts';
import type { RunArguments } from '../run/run-command.ts';
import { readCommand } from '../testing/read-command.ts';
import type { AdapterArguments } from './adapter-arguments.ts';
import { givenOfAdapter, readSpin, repeatAdapterArguments } from './adapter-arguments.ts';
import { readAdapterOptions, readOrdering } from './adapter-options.ts';
import { CliCommand } from './cli-command.ts';
import { numberPair, wholeNumber, wholeNumbers, wordOf } from './option-values.ts';
import { readLoneDevice } from './personality.ts';
import { readLinks } from './socket-links.ts';
import { UsageError } from './usage-error.ts';

function makeCommand(): CliCommand {
  return new CliCommand('try')
    .takeRest('WORD')
    .argument('<FILE>')
    .addOption(wholeNumber('--size <N>', 'A size', 0, 100))
    .addOption(wholeNumbers('--step <N>', 'Steps', 0, 100))
    .addOption(numberPair('--pair <A,B>', 'Two', 0, 100))
    .addOption(wordOf('--kind <KIND>', 'A kind', ['a', 'b']))
    .addOption(new Option('--debug [PORT]', 'A port').preset('9229'))
    .option('--quiet', 'Prints nothing')
    .action(() => {});
}

function read(...words: readonly string[]): CliCommand {
  return makeCommand().parse(words, { from: 'user' });
}

t.test('what is given is read', async (t) => {
  const args = read(
    '--size',
    '0x10',
    '--pair=1,2',
    '--quiet',
    '--debug',
    'x',
    '--',
    '--size',
    'y',
    '--debug',
    '--help',
  );
  t.same(args.opts(), { size: 16, pair: [1, 2], quiet: true, debug: '9229' });
  t.same(args.args, ['x']);
  t.same(args.rest, ['--size', 'y', '--debug', '--help'], 'words behind -- are left as they are');
  t.same(read('--debug=1', 'x').opts(), { debug: '1' });
  t.equal(read('x').rest, undefined);
  t.same(read('x', '--').rest, []);
  t.same(read('--size', '1', 'x', '--size=2', '--step', '1', '--step=2').opts(), { size: 2, step: [1, 2] });
  t.same(
    read('--size', '1', 'x')
      .givenOptions()
      .map(({ long }) => long),
    ['--size'],
  );
});

t.test('each mistake has its sentence', async (t) => {
  const mistakes: [words: string[], message: RegExp][] = [
    [['--sise', '1', 'x'], /^unknown option --sise \(Did you mean --size\?\)$/],
    [['--kindd=1', 'x'], /^unknown option --kindd \(Did you mean --kind\?\)$/],
    [['--unlike', 'x'], /^unknown option --unlike$/],
    [['-s', 'x'], /^unknown option -s$/],
    [['--size'], /^option --size needs a value: --size N$/],
    [['--size', '--quiet', 'x'], /^option --size needs a value/],
    [['--size', '--', 'x'], /^option --size needs a value/],
    [['--size', '-5', 'x'], /^option --size needs a value/],
    [['--size=', 'x'], /^option --size needs a value/],
    [['--size', '', 'x'], /^option --size needs a value/],
    [['--debug=', 'x'], /^option --debug needs a value: --debug PORT$/],
    [['--quiet=yes', 'x'], /^option --quiet takes no value$/],
    [[], /^FILE is missing$/],
    [['x', 'y'], /^y is one argument too many$/],
    [['--size=101', 'x'], /^option --size is 101; it must be a whole number from 0 to 100$/],
    [['--size=1.5', 'x'], /^option --size is 1\.5/],
    [['--step=1', '--step=-1', 'x'], /^option --step is -1; it must be a whole number from 0 to 100$/],
    [['--pair=1', 'x'], /^option --pair is 1; it must be two numbers/],
    [['--pair=1,101', 'x'], /^option --pair is 101; it must be a whole number/],
    [['--kind=c', 'x'], /^option --kind is c; it must be a, b$/],
  ];
  for (const [words, message] of mistakes)
    t.throws(() => read(...words), { name: 'UsageError', message }, words.join(' '));
  await t.rejects(readCommand('status', '--', 'x'), { name: 'UsageError', message: 'nothing may follow --' });
  await t.rejects(readCommand('capture'), { name: 'UsageError', message: /^option --output is missing$/ });
});

t.test('an option that negates takes no value, wherever it stands', async (t) => {
  const snapshot = (...words: string[]): unknown =>
    makeCommand().option('--no-snapshot').parse(words, { from: 'user' }).opts().snapshot;
  t.equal(snapshot('x'), true);
  t.equal(snapshot('x', '--no-snapshot'), false);
  t.equal(snapshot('--no-snapshot', 'x'), false);
  t.throws(() => snapshot('--no-snapshot=1', 'x'), { message: 'option --no-snapshot takes no value' });
});

t.test('the order check is passed on, to adapters of both kinds', async (t) => {
  const command = await readCommand('run', '--order-check', '--ordering', 'pcie');
  t.same(repeatAdapterArguments(command).sort(), ['--order-check', '--ordering=pcie']);
  t.equal(readAdapterOptions(command.opts<AdapterArguments>()).orderCheck, true);
  const foreign = await readCommand('run', '--order-check', '--personality', 'mthca');
  t.match(readLoneDevice(foreign, foreign.opts()), [{ personality: 'mthca', options: { orderCheck: true } }]);
  const mlx5 = await readCommand('run', '--personality', 'mlx5', '--lids', '9,10');
  t.match(readLoneDevice(mlx5, mlx5.opts()), [{ personality: 'mlx5', options: { portCount: 1, portLids: [9, 10] } }]);
});

t.test('processors in turns: the adapter process is told, and our adapter tells its driver', async (t) => {
  const command = await readCommand('run', '--tcg-thread', 'single');
  t.same(repeatAdapterArguments(command), ['--tcg-thread=single']);
  t.equal(readAdapterOptions(command.opts<AdapterArguments>()).pollsPause, true);
  const usual = await readCommand('run', '--tcg-thread', 'multi');
  t.notOk('pollsPause' in readAdapterOptions(usual.opts<AdapterArguments>()));
  const mlx5 = await readCommand('run', '--tcg-thread', 'single', '--personality', 'mlx5');
  t.match(readLoneDevice(mlx5, mlx5.opts()), [{ personality: 'mlx5' }], 'its driver has no way to know');
  await t.rejects(readCommand('run', '--tcg-thread', 'two'), {
    message: 'option --tcg-thread is two; it must be multi, single',
  });
});

t.test('a device of two functions: a node for each, and the ports of both', async (t) => {
  const words = ['--personality', 'mlx5', '--functions', '2', '--lids', '9,10', '--order-check', '--port-queue', '8'];
  const command = await readCommand('run', ...words, '--link', '2=listen:/x', '--fabric', 'cable');
  const given = command.opts<RunArguments>();
  const nodes = readLoneDevice(command, given);
  const shared = { portQueuePackets: 8, orderCheck: true };
  t.match(nodes, [
    { name: 'a', functionOf: undefined, options: { ...shared, portLids: [9, 10] } },
    { name: 'a/1', functionOf: 'a', options: { ...shared, portLids: [10, 10] } },
  ]);
  t.match(readLinks(given, portNamesOf(nodes)), [{ port: 'a/1:1', endpoint: { path: '/x' } }]);
  t.ok(repeatAdapterArguments(command).includes('--functions=2'), 'the adapter process gets it');
  const faulty = await readCommand('device', '--personality=mlx5', '--functions=2', '--fault=drop=0.1');
  t.match(readLoneDevice(faulty, faulty.opts()), [
    { options: { portLink: { kind: 'faulty', faults: { drop: 0.1 } } } },
    { options: { portLink: { kind: 'faulty', faults: { drop: 0.1 } } } },
  ]);
  const lone = await readCommand('device', '--personality=mlx5', '--functions=1');
  t.match(readLoneDevice(lone, lone.opts()), { length: 1 });
});

t.test("an adapter's options", async (t) => {
  const read = async (...words: string[]) =>
    readAdapterOptions((await readCommand('device', ...words)).opts<AdapterArguments>());
  t.match(await read('--vcbs', '8', '--pcbs', '16', '--lids', '5,6'), { vcbCount: 8, pcbCount: 16, portLids: [5, 6] });
  t.same((await read('--pcbs', '2')).pcbGuaranteed, [0, 0], 'guarantees shrink with the pool');
  t.same((await read('--pcbs', '9', '--pcb-guaranteed', '4,5')).pcbGuaranteed, [4, 5]);
  t.match(
    await read(
      '--functions',
      '3',
      '--vcb-limit',
      '100',
      '--lanes',
      '5',
      '--write-combining',
      '7',
      '--egress-seed',
      '9',
      '--management-buffers',
      '4',
      '--device-memory',
      '8192',
    ),
    {
      functionCount: 3,
      vcbLimit: 100,
      laneCount: 5,
      writeCombining: { seed: 7 },
      sendEgressSeed: 9,
      managementBufferCount: 4,
      deviceMemoryBytes: 8192,
    },
  );
  t.equal((await read()).writeCombining, undefined);
  t.equal((await read()).sendEgressSeed, undefined);
  t.equal((await read()).managementBufferCount, undefined);
  const mistakes: [words: string[], message: string | RegExp][] = [
    [['--vcbs', '0'], 'option --vcbs is 0; it must be 1 to 16384'],
    [['--device-memory', '100'], 'option --device-memory is 100; it must be a multiple of 4096'],
    [['--functions', '35'], 'option --functions is 35; it must be 1 to 34'],
    [['--functions', '34', '--vcbs', '482'], 'option --vcbs is 482; with --functions 34 it must be 1 to 481'],
    [['--vcb-limit', '63'], /option --vcb-limit is 63; it must be 0 or at least --vcbs \(64\)/],
    [['--functions', '9', '--scheduler-buffers', '9'], /--scheduler-buffers .* than --functions \(9\)/],
    [['--write-combining', '9999999999'], /option --write-combining.seed is 9999999999; it must be 0 to/],
    [['--pcbs', '9', '--pcb-guaranteed', '5,5'], /--pcb-guaranteed is 5,5; its sum .* --pcbs \(9\)/],
    [['--lids', '0,1'], /option --lids is 0,1; a unicast LID is 1 to 49151/],
  ];
  for (const [words, message] of mistakes)
    await t.rejects(read(...words), { name: 'UsageError', message }, words.join(' '));
});

t.test('an ordering model', async (t) => {
  const read = async (...words: string[]) =>
    readOrdering((await readCommand('device', ...words)).opts<AdapterArguments>());
  t.same(await read(), { mode: 'strict' });
  t.same(await read('--ordering', 'pcie'), { mode: 'pcie' });
  t.same(await read('--ordering=adversarial:4294967295'), { mode: 'adversarial', seed: 4294967295 });
  for (const word of ['late', 'adversarial', 'adversarial:4294967296', 'adversarial:-1', 'adversarial:x', 'pcie:1']) {
    const message = `option --ordering is ${word}; it must be strict, pcie or adversarial:SEED, with a seed below 2^32`;
    await t.rejects(read('--ordering', word), new UsageError(message));
  }
});

t.test('the time of polling', async (t) => {
  const read = async (...words: string[]) => readSpin((await readCommand('device', ...words)).opts().spin);
  t.equal(await read(), undefined);
  t.equal(await read('--spin', 'auto'), undefined);
  t.equal(await read('--spin=off'), 0);
  t.equal(await read('--spin=1'), 1);
  t.equal(await read('--spin=10000'), 10_000);
  for (const word of ['0', '10001', '-1', '1.5', '50us', 'on']) {
    const message = `option --spin is ${word}; it must be auto, off, or microseconds from 1 to 10000`;
    await t.rejects(read(`--spin=${word}`), new UsageError(message));
  }
});

t.test('the time of polling does not describe an adapter, so it goes with any', async (t) => {
  const words = ['--spin=off', '--ordering=pcie'];
  t.same(givenOfAdapter(await readCommand('device', ...words)), []);
  t.same(repeatAdapterArguments(await readCommand('run', ...words)).toSorted(), words.toSorted());
  const mlx5 = await readCommand('device', '--personality=mlx5', ...words);
  t.match(readLoneDevice(mlx5, mlx5.opts()), { length: 1 });
});

t.test('`run` hands the options of the adapter that are given to the adapter process', async (t) => {
  const links = ['1=listen:/tmp/a', '2=connect:/tmp/b'].map((link) => `--link=${link}`);
  const words = ['--vcbs=8', '--lids=5,6', '--node-guid=0056554843410010', '--ordering=adversarial:7', ...links];
  const repeated = repeatAdapterArguments(await readCommand('run', '--memory', '100', '--record=x', ...words));
  t.same([...repeated].sort(), [...words].sort());
  const [first, second] = [await readCommand('device', ...words), await readCommand('device', ...repeated)];
  t.same(second.opts(), first.opts());
  t.same(repeatAdapterArguments(await readCommand('run')), []);
});
