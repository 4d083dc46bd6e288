// SPDX-License-Identifier: Apache-2.0
/** The command line of `npm run demo -- qos`: its options, and its messages for mistakes. */
import { join } from 'node:path';
import t from 'tap';
import { checkOutput, defineDemo, parseOptions } from './options.ts';

t.test('given options are taken, the others have their defaults', async (t) => {
  t.match(parseOptions([]), { inProcess: false, seconds: 4, output: /build\/demo\/qos\.svg$/ });
  t.match(parseOptions(['--seconds=7', '--output', '/tmp/x.svg']), { seconds: 7, output: '/tmp/x.svg' });
  t.match(parseOptions(['--in-process']), { inProcess: true, processes: false });
  t.match(parseOptions(['--processes', '--seconds=2']), { inProcess: false, processes: true, seconds: 2 });
  t.match(defineDemo().helpInformation(), /--in-process .*--seconds/s);
});

t.test('options of the adapter are taken, too', async (t) => {
  t.match(parseOptions([]), { words: [], members: {} });
  const { words, members } = parseOptions(['--in-process', '--pcbs', '64', '--dma-latency=700']);
  t.same(words, ['--pcbs=64', '--dma-latency=700']);
  t.match(members, { pcbCount: 64, dmaLatencyNs: 700 });
  t.same(Object.keys(members).sort(), ['dmaLatencyNs', 'pcbCount', 'pcbGuaranteed']);
  t.throws(() => parseOptions(['--pcbs=0']), { message: /--pcbs .*--help/ });
  t.match(defineDemo().helpInformation(), /--seconds/);
});

t.test('a mistake is named', async (t) => {
  t.throws(() => parseOptions(['--data=x']), { message: '--data has the shares of --in-process; add it.' });
  t.equal(parseOptions(['--data=x', '--in-process']).data, 'x');
  for (const value of ['0', '51', '1.5', 'x', ''])
    t.throws(() => parseOptions([`--seconds=${value}`]), {
      message: `option '--seconds <N>' argument '${value}' is invalid. It must be a whole number from 1 to 50; \`npm run demo -- qos --help\` lists the options.`,
    });
  t.throws(() => parseOptions(['--secnds=3']), { message: /unknown option '--secnds=3'.*--help/ });
  t.throws(() => parseOptions(['plot.svg']), { message: /too many arguments.*--help/ });
  t.throws(() => parseOptions(['--output']), { message: /--output.*--help/ });
  t.throws(() => parseOptions(['--in-process', '--processes']), { message: /leave --in-process out/ });
  t.throws(() => parseOptions(['--in-process', '--seconds=3']), { message: /leave --seconds out/ });
});

t.test('a plot that cannot be written is found before anything runs', async (t) => {
  const folder = t.testdir({ file: 'x', sub: {} });
  checkOutput(join(folder, 'new', 'plot.svg'));
  t.throws(() => checkOutput(join(folder, 'sub')), { message: /takes no plot: it is a folder; name a file/ });
  t.throws(() => checkOutput(join(folder, 'file', 'plot.svg')), {
    message: /cannot be written to \S+ \((?:EEXIST|ENOTDIR)\): [a-z]/,
  });
});
