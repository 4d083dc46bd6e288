// SPDX-License-Identifier: Apache-2.0
/** Missing Debian packages are named, installed ones are not. */
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { describeManual, findMissingPackages } from './system-packages.ts';

t.test('evidence is a program on PATH or a file', async (t) => {
  const directory = t.testdir({ there: '#!/bin/sh\n', notExecutable: '' });
  chmodSync(join(directory, 'there'), 0o755);
  const packages = [
    { name: 'one', evidence: 'there' },
    { name: 'two', evidence: 'notExecutable' },
    { name: 'three', evidence: join(directory, 'notExecutable') },
    { name: 'four', evidence: join(directory, 'absent') },
  ];
  t.same(findMissingPackages(packages, `/nowhere:${directory}`), ['two', 'four']);
});

t.test('the sentence contains the command to type', async (t) => {
  t.match(describeManual(['meson', 'patchelf']), /run: sudo apt-get install --no-install-recommends meson patchelf$/);
});
