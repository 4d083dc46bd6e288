// SPDX-License-Identifier: Apache-2.0
/** The strings of a module's `.modinfo`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { readModuleInfo } from './module-info.ts';

t.test('fields of a module', async (t) => {
  const path = join(t.testdir(), 'x.ko');
  const strings = ['license=GPL', 'alias=pci:v00001AF4d000010F5sv*', 'alias=pci:v00001AF4d000010F6sv*', 'depends=a,b'];
  writeFileSync(path, `\x7fELF\0${strings.join('\0')}\0not an alias=no\0vermagic=6.12 SMP\0`, 'latin1');
  t.same(readModuleInfo(path), {
    depends: ['a', 'b'],
    aliases: ['pci:v00001AF4d000010F5sv*', 'pci:v00001AF4d000010F6sv*'],
    vermagic: '6.12 SMP',
  });
});

t.test('a file without fields', async (t) => {
  const path = join(t.testdir(), 'x.ko');
  writeFileSync(path, 'depends=\0');
  t.same(readModuleInfo(path), { depends: [], aliases: [], vermagic: '' });
});
