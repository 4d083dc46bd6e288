// SPDX-License-Identifier: Apache-2.0
/** Each style rule on a file that breaks it and on one that does not. */

import t from 'tap';
import { FFI_PACKAGE } from '../../protocol/vfio-user/ffi-package.ts';
import { checkFile, formatFinding } from './main.ts';
import { registryHosts } from './registry-hosts.ts';

const LICENCE = '// SPDX-License-Identifier: Apache-2.0\n';
const HOSTS = ['packages.example.test'];

function findings(path: string, text: string, licence = LICENCE): string[] {
  return checkFile({ path, text: licence + text }, HOSTS).map(formatFinding);
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
  test.same(imports('device/queues/a.ts', '../../protocol/layout/b.ts'), []);
  test.same(imports('device/main/a.ts', '../queues/b.ts'), []);
  test.same(imports('qemu/a.ts', '../scripts/b.ts'), []);
  test.match(imports('device/queues/a.ts', '../main/b.ts'), [/device units must not import device\/main\/b\.ts/]);
  test.match(imports('protocol/layout/a.ts', '../../device/b.ts'), [/protocol must not import device\/b\.ts/]);
  test.match(imports('device/main/a.ts', '../../scripts/b.ts'), [/device\/main must not import scripts\/b\.ts/]);
  test.match(imports('device/a.ts', '../protocol/vfio-user/b.ts'), [/only device\/main and above may import/]);
  test.match(imports('protocol/layout/a.ts', '../vfio-user/b.ts'), [/only device\/main and above may import/]);
  test.same(imports('device/main/a.ts', '../../protocol/vfio-user/b.ts'), []);
  test.match(imports('device/a.ts', './b'), [/does not name the file with its extension/]);
  test.match(imports('device/a.ts', '../docs/b.ts'), [/leaves the layers/]);
  test.match(imports('device/a.ts', 'node:fs'), [/a device unit imports node:fs/]);
  test.match(imports('device/a.ts', 'pino'), [/a device unit imports pino/]);
  test.same(imports('device/a.test.ts', 'node:fs'), []);
  const spread = findings('protocol/a.ts', `import {\n  x,\n} from '../device/b.ts';\n`);
  test.match(spread, [/^protocol\/a\.ts:4: imports point down only/]);
  test.match(findings('protocol/a.ts', `const x = await import('../device/b.ts');\n`), [/imports point down only/]);
});

t.test('one folder for the FFI', async (test) => {
  const line = `import ffi from '${FFI_PACKAGE}';\n`;
  test.same(findings('protocol/vfio-user/a.ts', line), []);
  test.match(findings('scripts/a.ts', line), [/is named outside/]);
  test.same(findings('package.json', `"${FFI_PACKAGE}": "1"`, ''), []);
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
    test.same(findings('device/main/a.ts', `${line}\n`), [], line);
    test.same(findings('device/a.test.ts', `${line}\n`), [], line);
  }
  test.same(findings('device/a.ts', '// unlike Date.now(), which\n/* Math.random() */\n'), [], 'comments may say it');
});

t.test('length', async (test) => {
  const lines = (count: number) => 'x;\n'.repeat(count - 1);
  test.same(findings('device/a.ts', lines(300)), []);
  test.match(findings('device/a.ts', lines(301)), [/^device\/a\.ts: 301 lines; at most 300/]);
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
