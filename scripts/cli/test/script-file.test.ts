// SPDX-License-Identifier: Apache-2.0
/** Scripts that a guest cannot run are refused with a remedy; others are used unchanged. */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { GuestFile } from '../../../qemu/initramfs.ts';
import { readScript } from './script-file.ts';

const files: GuestFile[] = [{ path: '/bin/bash', content: '' }];

t.test('refused, with a sentence', async (t) => {
  const folder = t.testdir({ folder: {} });
  const cases: Readonly<Record<string, readonly [content: string | Buffer, says: RegExp]>> = {
    empty: ['', /which is empty/],
    bash: [
      '#!/bin/bash\n',
      /interpreter \/bin\/bash the guest does not have: begin it with #!\/bin\/sh, or .*--files HOST:\/bin\/bash/,
    ],
    'spaces in front': ['#! /bin/bash -e\n', /interpreter \/bin\/bash /],
    'no line end': ['#!/usr/bin/python3', /interpreter \/usr\/bin\/python3 /],
    env: ['#!/usr/bin/env sh\n', /interpreter \/usr\/bin\/env /],
    'what env starts': ['#!/bin/env python3\n', /interpreter \/bin\/python3 /],
    CRLF: ['#!/bin/sh\r\necho hello\r\n', /CRLF.*sed -i/],
    'CRLF without interpreter': ['echo hello\r\n', /CRLF/],
    'CRLF in the middle': ['#!/bin/sh\necho hello\r\n', /CRLF/],
    'byte order mark': ['\ufeff#!/bin/sh\n', /byte order mark.*plain UTF-8/],
    'UTF-16': [Buffer.from('\ufeff#!/bin/sh\n', 'utf16le'), /UTF-16/],
    'a name with spaces': ['#!/bin/bash\n', /names .*a name with spaces, whose/],
    'a name with an escape \x1b[31m': ['', /names .*an escape , which is empty/],
    'dynamically linked': [elf('/lib64/ld-linux-x86-64.so.2'), /ld-linux-x86-64\.so\.2 .*: link it with -static/],
  };
  for (const [name, [content, says]] of Object.entries(cases)) {
    const path = join(folder, name);
    writeFileSync(path, content);
    t.throws(() => readScript('--script', path, { files: [] }), { name: 'UsageError', message: says }, name);
  }
  t.throws(() => readScript('--case', join(folder, 'none'), { files }), { message: /option --case .*does not exist/ });
  t.throws(() => readScript('--case', join(folder, 'folder'), { files }), {
    message: /is a folder: name a file in it/,
  });
  t.throws(() => readScript('--case', '/dev/null', { files }), { message: /which is no file/ });
});

t.test('taken as they are', async (t) => {
  const folder = t.testdir();
  const cases: Readonly<Record<string, string | Buffer>> = {
    'a shell script': '#!/bin/sh -e\necho hello\n',
    'another applet': '#!/bin/awk -f\n',
    'env of busybox': '#!/bin/env sh\n',
    'no interpreter': 'echo hello\n',
    'not UTF-8': Buffer.from([0x65, 0x63, 0x68, 0x6f, 0x20, 0xff, 0x0a]),
    'brought along': '#!/bin/bash\n',
    static: elf(undefined),
    'a damaged program': Buffer.from('\x7fELF damaged', 'latin1'),
  };
  for (const [name, content] of Object.entries(cases)) {
    const path = join(folder, name);
    writeFileSync(path, content);
    // It is packed with all permissions.
    chmodSync(path, 0o444);
    t.same(readScript('--script', path, { files }), { name, text: Buffer.from(content as string) }, name);
  }
  const path = join(folder, 'debian');
  writeFileSync(path, '#!/usr/bin/python3\n');
  t.same(readScript('--case', path, 'distribution').name, 'debian', "Debian's user space has others");
});

/** The head of an ELF program with one program header. */
function elf(loader: string | undefined): Buffer {
  const bytes = Buffer.alloc(0x100);
  bytes.write('\x7fELF\x02\x01\x01', 'latin1');
  bytes.writeBigUInt64LE(0x40n, 32);
  bytes.writeUInt16LE(56, 54);
  bytes.writeUInt16LE(1, 56);
  bytes.writeUInt32LE(loader === undefined ? 1 : 3, 0x40);
  bytes.writeBigUInt64LE(0x80n, 0x48);
  bytes.write(loader ?? '', 0x80, 'latin1');
  return bytes;
}
