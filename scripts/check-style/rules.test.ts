// SPDX-License-Identifier: Apache-2.0
/** Each style rule on a file that breaks it and on one that does not. */

import t from 'tap';
import { FFI_PACKAGE } from '../../protocol/vfio-user/ffi-package.ts';
import { checkFile, formatFinding } from './main.ts';
import { registryHosts } from './registry-hosts.ts';

const LICENCE = '// SPDX-License-Identifier: Apache-2.0\n';
const HOSTS = ['packages.example.test'];

function findings(path: string, text: string, licence = LICENCE): string[] {
  return checkFile({ path, text: licence + text }, HOSTS, []).map(formatFinding);
}

/** The same with the rules of comments, in a folder where they apply. */
function tidyFindings(path: string, text: string, licence = LICENCE): string[] {
  return checkFile({ path: `tidy/${path}`, text: licence + text }, HOSTS, ['tidy']).map(formatFinding);
}

t.test('licence lines', async (test) => {
  test.same(findings('device/a.ts', ''), []);
  test.match(findings('device/a.ts', '', ''), [/device\/a\.ts:1: no SPDX/]);
  test.same(findings('scripts/a.sh', `#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n`, ''), []);
  const kernel = 'guest-tests/driver/a.c';
  test.same(findings(kernel, '// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause\n', ''), []);
  test.same(findings('guest-tests/kernel/a.h', '/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */\n', ''), []);
  test.match(findings(kernel, ''), [/kernel code is under GPL-2.0 OR BSD-3-Clause, not Apache-2.0/]);
  test.same(findings('docs/a.md', '', ''), []);
});

t.test('imports point down', async (test) => {
  const imports = (path: string, target: string) => findings(path, `import { x } from '${target}';\n`);
  test.same(imports('device/hca/queues/a.ts', '../../../protocol/layout/b.ts'), []);
  test.same(imports('device/process/a.ts', '../hca/b.ts'), []);
  test.same(imports('qemu/a.ts', '../scripts/b.ts'), []);
  test.match(imports('device/hca/queues/a.ts', '../../process/b.ts'), [
    /device units must not import device\/process\/b\.ts/,
  ]);
  test.match(imports('protocol/layout/a.ts', '../../device/b.ts'), [/protocol must not import device\/b\.ts/]);
  test.same(imports('protocol/layout/a.test.ts', '../../device/b.ts'), []);
  test.match(imports('device/process/a.ts', '../../scripts/b.ts'), [/device\/process must not import scripts\/b\.ts/]);
  test.match(imports('device/a.ts', '../protocol/vfio-user/b.ts'), [/only device\/process and above may import/]);
  test.match(imports('protocol/layout/a.ts', '../vfio-user/b.ts'), [/only device\/process and above may import/]);
  test.same(imports('device/process/a.ts', '../../protocol/vfio-user/b.ts'), []);
  test.same(imports('device/process/a.ts', '../../protocol/system/b.mjs'), []);
  test.match(imports('device/hca/queues/a.ts', '../../../protocol/system/b.mjs'), [
    /device units must not import protocol\/system/,
  ]);
  test.match(imports('device/a.ts', './b'), [/does not name the file with its extension/]);
  test.match(imports('device/a.ts', '../docs/b.ts'), [/leaves the layers/]);
  test.match(imports('device/a.ts', 'node:fs'), [/a device unit imports node:fs/]);
  test.match(imports('device/a.ts', 'pino'), [/a device unit imports pino/]);
  test.same(imports('device/a.test.ts', 'node:fs'), []);
  const spread = findings('protocol/a.ts', `import {\n  x,\n} from '../device/b.ts';\n`);
  test.match(spread, [/^protocol\/a\.ts:4: imports point down only/]);
  test.match(findings('protocol/a.ts', `const x = await import('../device/b.ts');\n`), [/imports point down only/]);
});

t.test('private members are fields and methods', async (test) => {
  const getter = 'class A {\n  get #size(): number {\n    return 1;\n  }\n}\n';
  test.match(findings('device/a.ts', getter), [/device\/a\.ts:3: a private accessor is slow in V8/]);
  test.match(findings('device/a.ts', getter.replace('get #size()', 'static set #size(_)')), [/private accessor/]);
  test.same(findings('device/a.ts', getter.replace('#', '')), []);
});

t.test('one folder for the FFI', async (test) => {
  const line = `import ffi from '${FFI_PACKAGE}';\n`;
  test.same(findings('protocol/vfio-user/a.ts', line), []);
  test.match(findings('scripts/a.ts', line), [/is named outside/]);
  test.same(findings('package.json', `"${FFI_PACKAGE}": "1"`, ''), []);
});

t.test('one file starts tsx', async (test) => {
  const message = [/tsx is started by protocol\/system\/typescript\.mjs only/];
  test.same(findings('protocol/system/typescript.mjs', "await import('tsx');\n"), []);
  test.same(findings('scripts/a.ts', "spawn('node', ['--import=#typescript', path]); // tsx translates it\n"), []);
  for (const line of [
    "await import('tsx');",
    "import 'tsx';",
    "spawn('node', ['--import', 'tsx', path]);",
    "const FLAGS = '--import=tsx';",
    '"chaos": "tsx scripts/simulations/chaos.ts",',
    'npx tsx qemu/a.ts',
  ])
    test.match(findings('scripts/a.ts', `${line}\n`), message, line);
});

t.test('device units are pure', async (test) => {
  const broken = [
    'const a = Date.now();',
    'const a = new Date();',
    'const a = performance.now();',
    'const a = process.hrtime();',
    'const a = Math.random();',
    'setTimeout(run, 1);',
    'setImmediate(run);',
    'const a = process.env.HOME;',
    "console.log('x');",
  ];
  for (const line of broken) {
    test.match(findings('device/a.ts', `${line}\n`), [/^device\/a\.ts:2: a device unit/], line);
    test.same(findings('device/process/a.ts', `${line}\n`), [], line);
    test.same(findings('device/a.test.ts', `${line}\n`), [], line);
  }
  test.same(findings('device/a.ts', '// unlike Date.now(), which\n/* Math.random() */\n'), [], 'comments may say it');
});

t.test('length', async (test) => {
  const lines = (count: number) => 'x;\n'.repeat(count - 1);
  test.same(findings('device/a.ts', lines(400)), []);
  test.match(findings('device/a.ts', lines(401)), [/^device\/a\.ts: 401 lines; at most 400/]);
  test.same(findings('device/a.test.ts', lines(450)), []);
  test.same(
    findings('guest-tests/kernel/a.c', lines(450), `// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause\n`),
    [],
  );
  test.match(findings('device/a.test.ts', lines(451)), [/451 lines; at most 450/]);
  test.same(findings('protocol/layout/csr.ts', lines(900)), [], 'a table');
  test.same(findings('protocol/infiniband/headers.ts', lines(900)), [], 'a table');
  test.same(findings('protocol/layout/gen/a.gen.ts', lines(900)), [], 'generated');
});

t.test('postponed work', async (test) => {
  for (const line of ['// TODO finish', 'x(); // FIXME: this', ' * TODO later', '# TODO later', '/* TODO(me) */']) {
    test.match(findings('device/a.ts', `${line}\n`), [/finish it/], line);
  }
  test.same(findings('device/a.ts', 'const directive = /# *(SKIP|TODO)b/;\n'), []);
});

t.test('hosts of package registries', async (test) => {
  test.match(findings('docs/a.md', 'see https://packages.example.test/x', ''), [/names the host/]);
  const tld = 'org';
  test.match(findings('package-lock.json', `"resolved": "https://registry.example.${tld}/x"`, ''), [/names the host/]);
  test.same(findings('docs/a.md', 'see https://www.example.com/registry', ''), []);
});

t.test('width of comments', async (test) => {
  const header = '/** Header. */\n';
  const text = (columns: number, before: string, after = '') =>
    before + 'x'.repeat(columns - before.length - after.length) + after;
  for (const [before, after] of [['// '], ['  // '], ['/** ', ' */']]) {
    test.same(tidyFindings('a.ts', `${header}${text(100, before, after)}\n`), [], before);
    const wide = `${header}${text(101, before, after)}\n`;
    test.match(tidyFindings('a.ts', wide), [/^tidy\/a\.ts:3: comment of 101 columns; at most 100/], before);
    test.same(findings('a.ts', wide), [], 'not in this folder');
  }
  test.match(tidyFindings('a.ts', `/**\n${text(101, ' * ')}\n */\n`), [/^tidy\/a\.ts:3: comment of 101/]);
  test.same(tidyFindings('a.ts', `${header}${text(101, "f('// ")}');\n`), [], 'code may be wider');
  test.same(tidyFindings('a.sh', `${text(100, '# ')}\n`, '# SPDX-License-Identifier: Apache-2.0\n'), []);
  test.match(tidyFindings('a.sh', `${text(101, '# ')}\n`, '# SPDX-License-Identifier: Apache-2.0\n'), [/a\.sh:2:/]);
  test.same(tidyFindings('a.mjs', `${text(100, '// ')}\n`), []);
  test.match(tidyFindings('a.mjs', `${text(101, '// ')}\n`), [/a\.mjs:2:/]);
  const licence = '/* SPDX-License-Identifier: Apache-2.0 */\n';
  test.same(tidyFindings('a.c', `\t${text(92, '/* ', ' */')}\n`, licence), [], 'a tab is 8 columns');
  test.match(tidyFindings('a.h', `\t${text(93, '/* ', ' */')}\n`, licence), [/a\.h:2: comment of 101/]);
  test.same(tidyFindings('a.md', `${text(300, '// ')}\n`, ''), [], 'Markdown');
  test.same(tidyFindings('a.gen.ts', `${text(100, '// ')}\n`), [], 'generated');
  test.match(tidyFindings('a.gen.ts', `${text(300, '// ')}\n`), [/a\.gen\.ts:2: comment of 300/], 'generated');
});

t.test('form of headers', async (test) => {
  test.same(tidyFindings('a.ts', '/** One line. */\n'), []);
  test.same(tidyFindings('a.ts', '/**\n * Two\n * lines.\n */\n'), []);
  const none = [/^tidy\/a\.ts:2: no header comment/];
  for (const text of ['', '// A line.\n', '\n/** Late. */\n', '/* Plain. */\n', "import x from './x.ts';\n"]) {
    test.match(tidyFindings('a.ts', text), none, JSON.stringify(text));
    test.same(findings('a.ts', text), [], 'not in this folder');
  }
  test.same(tidyFindings('a.gen.ts', ''), [], 'generated');
  test.same(tidyFindings('a.mjs', ''), [], 'TypeScript only');
});

t.test('citations of files that are not here', async (test) => {
  const names = ['DESIGN.md 4.2', 'real-hardware 1.3', 'vfio-user.md section 2', '../shared/reference'];
  for (const name of names) {
    test.match(tidyFindings('a.md', `See ${name}.\n`, ''), [/a\.md:1: cites .* not in the repository/], name);
    test.match(tidyFindings('a.ts', `/** See ${name}. */\n`), [/a\.ts:2: cites/], name);
    test.same(findings('a.md', `See ${name}.\n`, ''), [], 'not in this folder');
  }
  test.same(tidyFindings('a.md', 'See docs/DOCUMENTS.md and docs/interop/vfio-user.rst of QEMU.\n', ''), []);
});

t.test('one form for clauses', async (test) => {
  const wrong = [
    '/** Keys (InfiniBand specification, 14.2.4). */',
    '/** Links (InfiniBand specification, chapter 7). */',
    '/**\n * Links (InfiniBand\n * specification, C14-9).\n */',
    '// The InfiniBand specification 9.7.4 says so.',
    '// IBA 9.7.4, and InfiniBand Architecture specification, annex A14.',
    '// IBTA spec section 9.7.4',
  ];
  for (const text of wrong) {
    test.match(findings('device/a.ts', `${text}\n`), [/cites ".*": write `IBTA 9\.7\.4`/], text);
    test.match(findings('docs/a.md', `${text}\n`, ''), [/cites/], text);
  }
  test.match(findings('docs/a.md', 'XRC (InfiniBand\nspecification, annex A14)\n', ''), [/a\.md:1: cites/]);
  const right = [
    '/** Keys (IBTA 14.2.4), links (IBTA chapter 7), XRC (IBTA annex A14). */',
    '// A rule of the InfiniBand specification',
  ];
  for (const text of right) test.same(findings('device/a.ts', `${text}\n`), [], text);
});

t.test('the hosts come from the configuration', async (test) => {
  const folder = test.testdir({
    'sources.list': 'deb http://one.test/debian bookworm main\n# deb http://old.test/debian x\n',
    'sources.list.d': {
      'two.sources': 'URIs: https://two.test:8080/debian\n',
      'three.list.disabled': 'deb http://no.test/ x\n',
    },
    '.npmrc': 'registry=https://three.test/npm/\n',
  });
  const environment = { npm_config_registry: 'http://four.test/', NPM_CONFIG_REGISTRY: 'http://127.0.0.1:4873/' };
  test.same(registryHosts(environment, folder, folder).sort(), ['four.test', 'one.test', 'three.test', 'two.test']);
});
