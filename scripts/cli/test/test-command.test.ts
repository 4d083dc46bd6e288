// SPDX-License-Identifier: Apache-2.0
/**
 * `vuhca test` as its users call it (writing-drivers.long.ts has what passes): modules that warn,
 * hang, panic, do not load, do not bind, do not compile, or print broken KTAP each get their exit
 * status, one clear sentence and the log; wrong arguments are found before anything starts.
 */
import { existsSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { buildKernelModules } from '../../../qemu/setup/kernel-modules.ts';
import { CliProcess, type CliResult, runCli } from '../testing/run-cli.ts';
import { TestStatus } from './test-command.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const FIXTURES = fileURLToPath(new URL('testing/modules', import.meta.url));
const EXAMPLE = join(ROOT, 'guest-tests/example');
/** Only the bound of the machine that runs the tests ends a slow one. */
t.setTimeout(0);

/** The packet of gdb's remote protocol that lets the guest run. */
const CONTINUE = '$c#63';
const POLL_MS = 50;

/** A job, its exit status, and what its output says. */
interface Case {
  readonly words: readonly string[];
  readonly status: TestStatus;
  readonly says: readonly RegExp[];
  /** Looks at what else it left. */
  readonly after?: (t: Test) => void;
}

async function check(t: Test, { words, status, says, after }: Case): Promise<CliResult> {
  const result = await runCli(['test', ...words]);
  t.equal(result.status, status, result.stderr + result.stdout);
  for (const pattern of says) t.match(result.stdout + result.stderr, pattern);
  after?.(t);
  return result;
}

t.test('wrong arguments', async (t) => {
  const folder = t.testdir({ empty: {}, 'x.txt': '', scripted: { 'test.sh': '' } });
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [[], /nothing to test: name a FOLDER, --driver, --module or --script/],
    [['--script', 'none.sh'], /option --script names none\.sh, which does not exist/],
    [['none'], /FOLDER none does not exist/],
    [[join(folder, 'empty')], /has neither Kbuild nor Makefile nor test\.sh/],
    [['--driver', join(folder, 'empty')], /--driver names .*empty, which has neither Kbuild nor Makefile/],
    [['--module', join(folder, 'x.txt')], /--module names .*x\.txt, which is neither a folder nor a \.ko file/],
    [['--module', 'vuhca'], /--module names vuhca, which does not exist/],
    [
      [join(folder, 'scripted'), '--script', join(folder, 'x.txt')],
      /--script cannot be given: .*scripted has test\.sh/,
    ],
    [[EXAMPLE, '--files', '/etc/passwd'], /option --files is \/etc\/passwd; it must be HOST:GUEST/],
    [[EXAMPLE, '--files', 'none:/x'], /option --files names none, which does not exist/],
    [[EXAMPLE, '--timeout', '0'], /option --timeout is 0; it must be a whole number from 1 to/],
    [[EXAMPLE, '--adapters', '2', '--record', 'x.rec'], /--record cannot be given with --adapters/],
    [
      [EXAMPLE, '--personality', 'mthca', '--adapters', '2'],
      /--functions and --adapters cannot be given with --personality mthca/,
    ],
  ];
  for (const [words, says] of cases) {
    const { status, stderr } = await runCli(['test', ...words]);
    t.equal(status, TestStatus.USAGE, words.join(' '));
    t.match(stderr, says);
  }
});

t.test('modules', { jobs: 2 }, async (t) => {
  const built = await buildKernelModules([FIXTURES]);
  const fixture = (name: string): string => built.find((module) => module.name === name)?.path ?? '';
  const folder = t.testdir({
    wrong: { Kbuild: 'obj-m := wrong.o\n', 'wrong.c': 'int f(void)\n{\n\treturn missing;\n}\n' },
    scripted: { 'test.sh': 'echo fine\n' },
    'fails.sh': 'echo "the words of the script"\nexit 3\n',
    'quiet.sh': 'echo 1 >/proc/sys/kernel/printk\ninsmod /warn.ko\necho "KTAP version 1"\necho "1..0"\n',
  });
  const record = join(folder, 'failed.rec');
  const cases: Readonly<Record<string, Case>> = {
    'two folders at once, as TAP': {
      words: [EXAMPLE, join(folder, 'scripted'), '--jobs', '2', '--tap'],
      status: TestStatus.PASSED,
      says: [
        /^TAP version 14$/m,
        /^ok \d+ - .*example: bind skeleton$/m,
        /^ok \d+ - .*scripted: script test\.sh$/m,
        /^1\.\.7$/m,
      ],
    },
    'a module that warns while the console shows nothing': {
      words: ['--script', join(folder, 'quiet.sh'), '--files', `${fixture('bad_warn')}:/warn.ko`],
      status: TestStatus.KERNEL_COMPLAINED,
      says: [
        /ok +passes/,
        /FAILED +the guest's kernel complained \(warning\): .*bad_warn_init/,
        /kernel log around it/,
      ],
    },
    'a module that hangs': {
      words: ['--module', fixture('bad_hang'), '--timeout', '20'],
      status: TestStatus.SILENT,
      says: [/FAILED +the guest was silent for \d+ s in step load bad_hang and was ended/, /adapter at that time/],
    },
    'a module that panics': {
      words: ['--module', fixture('bad_panic')],
      status: TestStatus.KERNEL_COMPLAINED,
      says: [/complained \(panic\): .*bad_panic was loaded/, /ended before its case did in step load bad_panic/],
    },
    'a module that does not load': {
      words: ['--module', fixture('bad_load')],
      status: TestStatus.NOT_LOADED,
      says: [/FAILED +load bad_load/, /Invalid argument/],
    },
    'a driver that does not bind': {
      words: ['--driver', fixture('bad_bind'), '--record', record],
      status: TestStatus.NOT_LOADED,
      after: (t) => t.ok(existsSync(record)),
      says: [/FAILED +bind bad_bind\n +it bound none of: 0000:01:00\.0/, /`vuhca replay .*failed\.rec` runs it again/],
    },
    'broken KTAP, with a prefix': {
      words: ['--module', fixture('bad_results')],
      status: TestStatus.FAILED,
      says: [/FAILED +ring\/overflows\n +overflows: EXPECTATION FAILED at ring_test\.c:12/, /ring: 3 planned, 2 seen/],
    },
    'a script that fails': {
      words: ['--script', join(folder, 'fails.sh')],
      status: TestStatus.FAILED,
      says: [/FAILED +script fails\.sh\n +it ended with status 3\n +the words of the script/],
    },
    'a kernel that Debian does not have': {
      words: [EXAMPLE, '--kernel', '4.19'],
      status: TestStatus.USAGE,
      says: [/^vuhca test: .*4\.19.*6\.1/m],
    },
    'a module that does not compile': {
      words: [join(folder, 'wrong')],
      status: TestStatus.NOT_COMPILED,
      says: [/wrong\.c:3:\d+: error: .*missing/],
    },
  };
  for (const [name, one] of Object.entries(cases)) {
    t.test(name, async (t) => {
      await check(t, one);
    });
  }
});

t.test('--debug waits for gdb', async (t) => {
  const test = new CliProcess(['test', EXAMPLE, '--debug']);
  t.teardown(() => test.child.kill('SIGKILL'));
  await test.until(/the guest waits for gdb/);
  await test.until(/the adapter is process \d+: chrome:\/\/inspect, or port 9229/);
  t.match(await fetchJson('http://127.0.0.1:9229/json/list'), [{ type: 'node' }], 'a debugger finds the adapter');
  t.equal(test.stdout, '', 'nothing has run');
  const gdb = await connectTo(1234);
  gdb.write(CONTINUE);
  t.equal(await test.whenExited, TestStatus.PASSED, test.stdout + test.stderr);
  gdb.destroy();
});

async function fetchJson(url: string): Promise<unknown> {
  return (await fetch(url)).json();
}

/** QEMU listens soon after it has started. */
async function connectTo(port: number): Promise<Socket> {
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true));
      socket.once('error', () => resolve(false));
    });
    if (isOpen) return socket;
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
}
