// SPDX-License-Identifier: Apache-2.0
/** The runs of `vuhca test --seeds N`, their adapters, and the command that repeats one of them. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { CliCommand } from '../options/cli-command.ts';
import { readTopologyFile } from '../topology/topology-file.ts';
import { deviceOf } from './test-adapter.ts';
import { defineTest, type TestArguments } from './test-command.ts';
import { repeatCommand, seedRuns } from './test-seeds.ts';

function read(...words: readonly string[]): TestArguments {
  const command = new CliCommand('test');
  defineTest(command);
  command.parse([...words], { from: 'user' });
  return command.opts<TestArguments>();
}

t.test('each run adds its number to the seeds that are given', async (t) => {
  const runs = (...words: readonly string[]): unknown => seedRuns(read('x', ...words)).map((run) => run.words);
  t.same(runs(), [[]], 'one run, undisturbed');
  t.same(runs('--ordering', 'pcie'), [[]]);
  t.same(runs('--seeds', '2'), [
    ['--ordering=adversarial:1', '--write-combining=1'],
    ['--ordering=adversarial:2', '--write-combining=2'],
  ]);
  t.same(runs('--seeds', '2', '--personality', 'mthca'), [['--ordering=adversarial:1'], ['--ordering=adversarial:2']]);
  t.same(runs('--seeds', '2', '--ordering', 'adversarial:7'), [
    ['--ordering=adversarial:7'],
    ['--ordering=adversarial:8'],
  ]);
  t.same(runs('--seeds', '2', '--write-combining', '5'), [['--write-combining=5'], ['--write-combining=6']]);
  t.same(runs('--seeds', '2', '--fault', 'drop=0.1,seed=40,delay=0.2', '--ordering', 'pcie'), [
    ['--ordering=pcie', '--fault=drop=0.1,delay=0.2,seed=40'],
    ['--ordering=pcie', '--fault=drop=0.1,delay=0.2,seed=41'],
  ]);
  t.same(runs('--seeds', '1', '--fault', 'drop=0.1'), [['--fault=drop=0.1,seed=1']]);
  t.same(runs('--seeds', '2', '--ordering', 'adversarial:4294967295'), [
    ['--ordering=adversarial:4294967295'],
    ['--ordering=adversarial:0'],
  ]);
});

t.test('the command that repeats a run keeps the other words', async (t) => {
  const words = ['--ordering=adversarial:3', '--write-combining=3'];
  const again = (...typed: readonly string[]): string => repeatCommand(typed, ['other'], words);
  t.equal(again('mine', 'other', '--seeds', '20'), `vuhca test mine ${words.join(' ')}`);
  t.equal(
    again('--seeds=20', 'mine', '--ordering', 'adversarial:1', '--write-combining=1', '--cpus', '4'),
    `vuhca test mine --cpus 4 ${words.join(' ')}`,
  );
  t.equal(again('--script', "it's.sh"), `vuhca test --script 'it'\\''s.sh' ${words.join(' ')}`);
  // A repeated run uses the same adapter.
  const [, second] = seedRuns(read('mine', '--seeds', '2', '--fault', 'drop=0.1'));
  const line = repeatCommand(['mine', '--seeds', '2', '--fault', 'drop=0.1'], [], second.words);
  t.same(deviceOf(read(...line.split(' ').slice(2)), undefined), deviceOf(second.given, undefined));
});

t.test('the adapters get the options, in every shape of test', async (t) => {
  const disturbed = [
    '--ordering',
    'pcie',
    '--write-combining',
    '3',
    '--dma-latency',
    '500',
    '--fault',
    'drop=0.5,seed=9',
  ];
  t.same(deviceOf(read('x', ...disturbed), undefined).arguments, [
    '--functions=1',
    '--ordering=pcie',
    '--fault=drop=0.5,seed=9',
    '--write-combining=3',
    '--dma-latency=500',
    '--order-check',
    '--log-level=warn',
  ]);
  t.same(deviceOf(read('x', '--no-order-check'), undefined).arguments, ['--functions=1', '--log-level=warn']);
  for (const adapters of ['1', '2'])
    t.ok(deviceOf(read('x', '--adapters', adapters, '--spin', 'off'), undefined).arguments?.includes('--spin=off'));
  t.same(deviceOf(read('x', '--personality', 'mthca', '--fault', 'drop=0.5'), undefined).arguments, [
    '--personality=mthca',
    '--fault=drop=0.5',
    '--order-check',
    '--log-level=warn',
  ]);
  const { topology, arguments: words } = deviceOf(read('x', '--adapters', '2', ...disturbed), undefined);
  t.same(words, ['--ordering=pcie', '--log-level=warn']);
  const path = join(t.testdir(), 'ring.json');
  writeFileSync(path, JSON.stringify(topology));
  const { adapters, links } = readTopologyFile(path);
  for (const { options } of adapters)
    t.match(options, { writeCombining: { seed: 3 }, dmaLatencyNs: 500, orderCheck: true });
  t.match(links, [{ link: { kind: 'faulty', seed: 9, faults: { drop: 0.5 } } }, { link: { kind: 'faulty' } }]);
});
