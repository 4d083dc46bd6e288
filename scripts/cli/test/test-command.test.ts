// SPDX-License-Identifier: Apache-2.0
/**
 * `vuhca test` as its users call it: drivers and scripts that pass, a module that does not compile,
 * and wrong arguments, which are found before anything starts.
 * test-command.long.ts has further failures, writing-drivers.long.ts the promises of the document.
 */

import { join } from 'node:path';
import t from 'tap';
import { TestStatus } from '../session/exit-statuses.ts';
import { type Case, check, EXAMPLE } from '../testing/check-test-case.ts';
import { runWords } from '../testing/run-words.ts';

/** Only the bound of the machine that runs the tests ends a slow one. */
t.setTimeout(0);

t.test('wrong arguments', async (t) => {
  const folder = t.testdir({ empty: {}, 'x.txt': ':', scripted: { 'test.sh': ':' }, 'bash.sh': '#!/bin/bash\n' });
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
    [[EXAMPLE, '--files', '/etc/passwd:/bin/'], /--files is .*the path in the guest must be that of a file/],
    [['--script', join(folder, 'bash.sh')], /--script names .*bash\.sh, whose interpreter \/bin\/bash/],
    [[EXAMPLE, '--files', 'none:/x'], /option --files names none, which does not exist/],
    [[EXAMPLE, '--ordering', 'late'], /option --ordering is late; it must be strict, pcie or adversarial:SEED/],
    [[EXAMPLE, '--fault', 'drop=2'], /option --fault is drop=2; drop=2 must be one of .*drop/],
    [[EXAMPLE, '--seeds', '0'], /option --seeds is 0; it must be a whole number from 1 to/],
    [[EXAMPLE, '--shard', '5/4'], /option --shard is 5\/4; it must be NUMBER\/COUNT, such as 2\/4/],
    [
      [EXAMPLE, '--personality', 'mthca', '--write-combining', '3'],
      /option --write-combining cannot be given with --personality mthca/,
    ],
    [[EXAMPLE, '--timeout', '0'], /option --timeout is 0; it must be a whole number from 1 to/],
    [[EXAMPLE, '--debug=1234'], /option --debug is 1234; it must be two ports, for instance 1234,9229/],
    [[EXAMPLE, '--adapters', '2', '--record', 'x.rec'], /--record cannot be given with --adapters/],
    [
      [EXAMPLE, '--personality', 'mthca', '--adapters', '2'],
      /option --adapters cannot be given with --personality mthca/,
    ],
    [
      [EXAMPLE, '--personality', 'mthca', '--functions', '2'],
      /option --functions is 2; a device of --personality mthca has 1 \(/,
    ],
    [
      [EXAMPLE, '--personality', 'mlx5', '--functions', '3'],
      /option --functions is 3; a device of --personality mlx5 has 1 or 2 \(/,
    ],
  ];
  for (const [words, says] of cases) {
    const { status, stderr } = await runWords(['test', ...words]);
    t.equal(status, TestStatus.USAGE, words.join(' '));
    t.match(stderr, says);
  }
});

t.test('modules', { jobs: 2 }, async (t) => {
  const folder = t.testdir({
    wrong: { Kbuild: 'obj-m := wrong.o\n', 'wrong.c': 'int f(void)\n{\n\treturn missing;\n}\n' },
  });
  const cases: Readonly<Record<string, Case>> = {
    'a folder, as TAP': {
      words: [EXAMPLE, '--tap'],
      status: TestStatus.PASSED,
      says: [/^TAP version 14$/m, /^ok \d+ - .*bind skeleton$/m, /^1\.\.6$/m],
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
