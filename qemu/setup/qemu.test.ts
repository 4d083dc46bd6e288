// SPDX-License-Identifier: Apache-2.0
/**
 * A QEMU that cannot attach the device is refused in one sentence with the reason and the next
 * step.
 */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { findObjection, provideQemu, readVersion } from './qemu.ts';

t.test('versions as QEMU prints them', async (t) => {
  t.equal(readVersion('QEMU emulator version 11.1.3 (Debian 1:11.1.3+ds-1~bpo13+1)\nCopyright'), '11.1.3');
  t.equal(readVersion('QEMU emulator version 10.1.0-rc2'), '10.1.0');
  t.equal(readVersion('bash: command not found'), '');
});

t.test('old, new and incomplete QEMU', async (t) => {
  const objection = (version: string, hasVfioUser: boolean): string =>
    findObjection('/q', { version, hasVfioUser }) ?? 'none';
  t.equal(objection('10.1.0', true), 'none');
  t.equal(objection('11.0.0', true), 'none');
  t.match(objection('10.0.13', true), /QEMU 10\.0\.13, which is too old; .*10\.1.* QEMU=/);
  t.match(objection('9.2.1', false), /too old/);
  t.match(objection('10.1.2', false), /without vfio-user-pci/);
  t.match(objection('', false), /does not print a QEMU version/);
});

t.test('QEMU in the environment', async (t) => {
  process.env.XDG_CACHE_HOME = t.testdir({});
  await t.rejects(provideQemu({ QEMU: '/nowhere/qemu' }), {
    name: 'SetupError',
    message: /names \/nowhere\/qemu, which is not a program/,
  });
  const fake = join(t.testdirName, 'qemu');
  writeFileSync(fake, '#!/bin/sh\necho "QEMU emulator version 7.2.11 (Debian)"\n');
  chmodSync(fake, 0o755);
  await t.rejects(provideQemu({ QEMU: fake }), { name: 'SetupError', message: /QEMU 7\.2\.11, which is too old/ });
  const newer = join(t.testdirName, 'newer');
  writeFileSync(newer, `#!/bin/sh\necho 'QEMU emulator version 12.0.0'\necho 'name "vfio-user-pci", bus PCI'\n`);
  chmodSync(newer, 0o755);
  t.match(await provideQemu({ QEMU: newer }), { path: newer, version: '12.0.0' });
});
