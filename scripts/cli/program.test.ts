// SPDX-License-Identifier: Apache-2.0
/**
 * The command line as a whole: every command has help with examples that can be parsed, a
 * misspelling gets a suggestion and status 2, and help loads nothing of the adapter.
 * program.long.ts checks the files that the help of each command loads.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { partOf } from '../../device/rig/fixtures/seeds.ts';
import type { AdapterArguments } from './options/adapter-arguments.ts';
import { readAdapterOptions } from './options/adapter-options.ts';
import { readLinks } from './options/socket-links.ts';
import { defineCommands, makeProgram } from './program.ts';
import { makeDirectory } from './testing/directory.ts';
import { readCommand } from './testing/read-command.ts';
import { CliProcess, runCli } from './testing/run-cli.ts';
import { runWords } from './testing/run-words.ts';

const program = makeProgram(async () => {});
const commands = await defineCommands(program);

/** The words of a line that a shell would pass on. */
function splitLine(line: string): string[] {
  return (line.match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replaceAll('"', ''));
}

t.test('help describes every option, with its default', async (t) => {
  for (const command of commands) {
    const text = command.helpInformation();
    t.match(text, new RegExp(`^Usage: vuhca ${command.name()}`));
    for (const option of command.options) {
      t.match(text, option.long ?? '', `${command.name()} ${option.long}`);
      t.not(option.description, '', `${command.name()} ${option.long} is described`);
    }
    t.ok(
      text.split('\n').every((line) => line.length <= 120),
      command.name(),
    );
  }
  const run = commands[0].helpInformation().replaceAll(/\s+/g, ' ');
  t.match(run, '--memory <MIB> Guest memory (default: 512)');
  t.match(run, '--inspect[=HOST:PORT]');
  t.match(run, /Guest: --kernel .* Recording and debugging: .* --gdb.* Adapter: --functions /);
});

t.test('every example of the help can be read', async (t) => {
  const lines = [program, ...commands].flatMap((command) =>
    command.examples.map(({ line }) => [command, line] as const),
  );
  for (const command of commands.filter((one) => one.name() !== 'help'))
    t.ok(command.examples.length > 0, `${command.name()} has examples`);
  for (const [command, line] of lines) {
    const [, inner = line] = /^source <\((.*)\)$/.exec(line) ?? [];
    const [name, ...words] = splitLine(inner);
    t.equal(name, 'vuhca', line);
    const read = await readCommand(...words);
    if (command !== program) t.equal(read.name(), command.name(), line);
    if (!['run', 'device'].includes(read.name())) continue;
    const given = read.opts<AdapterArguments>();
    t.doesNotThrow(() => [readAdapterOptions(given), readLinks(given)], line);
  }
});

t.test('help prints the examples, and comes in three ways', async (t) => {
  const [help, long, short] = [
    await runWords(['help', 'replay']),
    await runWords(['replay', '--help']),
    await runWords(['replay', '--until=x', '-h']),
  ];
  t.match(help, { status: 0, stderr: '', stdout: /^ {2}vuhca replay --trace --until 40 x\.rec$/m });
  t.same([long, short], [help, help]);
  t.same(await runWords(['help']), await runWords(['--help']));
  t.same(await runWords(['--version']), { status: 0, stdout: `${version}\n`, stderr: '' });
  t.match(await runWords(['help', 'dance']), { status: 2, stdout: '' });
});

t.test('a mistyped command or option is recognised', async (t) => {
  const mistakes: [words: string[], stderr: RegExp][] = [
    [['rum'], /^vuhca: unknown command rum; the commands are run, .* \(Did you mean run\?\) \(`vuhca --help` /],
    [['staus', '--json'], /^vuhca: unknown command staus; .* \(Did you mean status\?\)/],
    [['--hlep'], /^vuhca: unknown option --hlep \(Did you mean --help\?\) \(`vuhca --help` lists the commands\)\n$/],
    [['run', '--kernal', 'x'], /^vuhca run: unknown option --kernal \(Did you mean --kernel\?\)/],
    [['run', '--memroy=5'], /unknown option --memroy \(Did you mean --memory\?\) \(`vuhca run --help` lists the/],
    [['device', '--sokcet', 'x'], /unknown option --sokcet \(Did you mean --socket\?\)/],
  ];
  for (const [words, stderr] of mistakes) {
    const result = await runWords(words);
    t.match(result, { status: 2, stdout: '', stderr }, words.join(' '));
    t.equal(result.stderr.split('\n').length, 2, 'one line');
  }
});

/** Bad input of every kind, for commands that would otherwise look for an adapter. */
const badCalls = [
  ['status', 'x'],
  ['status', '--watch=0'],
  ['status', '--watch='],
  ['status', '--function', '34'],
  ['status', '--json=1'],
  ['status', '-j'],
  ['top', '--interval', 'soon'],
  ['top', '--count'],
  ['show'],
  ['show', 'everything'],
  ['show', 'pcbs', 'x'],
  ['show', 'pcbs', '--qp', 'x'],
  ['resources'],
  ['resources', 'sing'],
  ['resources', 'set', 'function', '0', 'pcb=3'],
  ['capture'],
  ['capture', '--output', 'x', '--port', '37'],
  ['capture', '--output', 'x', '--direction', 'up'],
  ['trace'],
  ['trace', 'status', 'x'],
  ['trace', 'on', '--qp', '16777216'],
  ['trace', 'export', '--format', 'xml', 'x'],
  ['trace', 'read', '--follow', '--last', '5'],
  ['trace', 'on', '--qp', '2', '--process', '7'],
  ['show', 'queues', '--process', '0'],
  ['setup', 'everything'],
  ['setup', 'modules'],
  ['setup', 'qemu', 'x'],
  ['setup', 'images'],
  ['setup', '--kernels', '--kernel', '6.1'],
  ['setup', 'qemu', '--kernels'],
  ['setup', '--unused', '30'],
  ['setup', '--remove', '--unused', '0'],
  ['setup', '--remove', '--sizes'],
  ['setup', '--remove', '--kernels'],
  ['setup', 'qemu', 'x', '--remove'],
  ['replay'],
  ['replay', '--until', '-1', 'x'],
  ['replay', '--inspect-brk=nowhere:x', 'x'],
  ['completion'],
  ['completion', 'fish'],
  ['run', 'x'],
  ['device', '--socket', 'x', '--', 'y'],
  ['device', '--socket', 'x', '--ibsim', '65535'],
  ['device', '--socket', 'x', '--ibsim', '7171', '--record', 'y'],
  ['run', '--ibsim', '7171', '--record', 'y'],
  ['', 'x'],
  ['--', 'x'],
  ['-x'],
  ['dance', '--help'],
];

t.test('bad input of every kind gets one line and status 2', async (t) => {
  for (const words of badCalls) {
    const program = makeProgram(async (command, load) => {
      const perform = await load();
      await perform(command);
    });
    const parsed = program.parseAsync(words, { from: 'user' });
    await t.rejects(parsed, { name: 'UsageError', message: /^(?!error).+$/ }, words.join(' '));
  }
  for (const words of [['status', 'x'], ['trace', 'status', 'x'], ['dance', '--help'], ['-x']])
    t.match(await runWords(words), { status: 2, stdout: '', stderr: /^vuhca( \w+)?: .+\n$/ }, words.join(' '));
});

/** Sources and files of packages that Node loads for a command, relative to the repository. */
async function listLoaded(t: Test, words: readonly string[]): Promise<string[]> {
  const directory = makeDirectory(t);
  await runCli(words, { NODE_V8_COVERAGE: directory, XDG_RUNTIME_DIR: directory });
  const root = new URL('../../', import.meta.url).href;
  const reports = readdirSync(directory).filter((name) => name.endsWith('.json'));
  const urls = reports.flatMap((name) => {
    const { result } = JSON.parse(readFileSync(join(directory, name), 'utf8')) as { result: { url: string }[] };
    return result.map(({ url }) => url);
  });
  const paths = urls.filter((url) => url.startsWith(root)).map((url) => url.slice(root.length));
  return paths.flatMap((path) => (path.startsWith('build/program/') ? listSources(path) : [path]));
}

/** The sources of a compiled script, which it names in comments. */
function listSources(path: string): string[] {
  const text = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  return [...text.matchAll(/^\/\/ (\S+\.ts)$/gm)].map(([, source]) => source as string);
}

/** The packages that an adapter needs: those for its log and for vfio-user. */
const { dependencies, version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
const others = ['commander', 'elkjs', 'esbuild', 'junit-report-builder', 'preact', 'ssh2', 'tsx', 'uplot'];
const adapterPackages = Object.keys(dependencies).filter((name) => !others.includes(name));

function packagesOf(paths: readonly string[]): string[] {
  return adapterPackages.filter((name) => paths.some((path) => path.startsWith(`node_modules/${name}/`)));
}

t.test('help loads neither the adapter nor its packages', async (t) => {
  const help = await listLoaded(t, ['--help']);
  t.ok(help.includes('scripts/cli/program.ts'));
  t.same(packagesOf(help), []);
  t.same(
    help.filter((path) => /^(device|protocol|qemu|guest-tests)\//.test(path)),
    [],
  );
  for (const command of partOf(commands, 2)) {
    const loaded = await listLoaded(t, [command.name(), '--help']);
    t.same(packagesOf(loaded), [], command.name());
    t.same(
      loaded.filter((path) => /^(device\/process|protocol\/vfio-user|qemu)\//.test(path)),
      [],
    );
  }
  const device = await listLoaded(t, ['device', '--socket', '/none/x']);
  t.ok(device.includes('device/process/host/adapter-process.ts'), 'a device process loads all of them');
  t.same(packagesOf(device), adapterPackages);
});

t.test('a reader that closes the pipe early gets no error message', async (t) => {
  const command = new CliProcess(['run', '--help']);
  command.child.stdout?.destroy();
  t.equal(await command.whenExited, 141);
  t.equal(command.stderr, '');
});
