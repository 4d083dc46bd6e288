// SPDX-License-Identifier: Apache-2.0
/** Keys of links, and the messages for all other files. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { parseLinkKey } from './link-key.ts';
import { sharedKeyText, TestAuthority } from './testing/link-keys.ts';

const folder = mkdtempSync(join(tmpdir(), 'vuhca-key-'));
t.teardown(() => rmSync(folder, { recursive: true }));
const authority = new TestAuthority(folder, 'lab');
const [one, other] = [authority.issue('one'), authority.issue('other')];
const read = (text: string) => parseLinkKey(Buffer.from(text));
const partsOf = (pem: string): string[] => pem.split(/(?<=-----END [A-Z ]+-----\n)/);

t.test('shared keys', async (t) => {
  t.same(read(`${sharedKeyText('a')}\n`), { kind: 'shared', secret: Buffer.alloc(32, 0xaa) });
  t.same(read('0123456789ABCDEF0123456789abcdef'), {
    kind: 'shared',
    secret: Buffer.from('0123456789abcdef'.repeat(2), 'hex'),
  });
  for (const bad of ['', 'a'.repeat(31), 'a'.repeat(33), 'a'.repeat(130), 'swordfish', `${'a'.repeat(32)}\nx`])
    t.match(read(bad), /^holds no key; it must be a line of 32 to 128 hex digits, .*, or PEM$/, bad);
});

t.test('certificates', async (t) => {
  const [key, own, ca] = partsOf(one);
  const [, foreign] = partsOf(other);
  t.same(read(`a comment\n${one}`), {
    kind: 'certified',
    privateKey: key.trim(),
    certificates: [own.trim(), ca.trim()],
    authorities: [ca.trim()],
  });
  t.match(read(own + ca), /^holds 0 private keys; it must be one/);
  t.match(read(key + one), /^holds 2 private keys/);
  t.match(read(key + own), /^lacks certificates; behind the private key it must have its certificate/);
  t.match(read(key + foreign + ca), /^has a first certificate that is not of its private key; put it first$/);
  t.match(read(key.replace(/.{4}(?=\n-----END)/, '') + own + ca), /^has a private key that cannot be read/);
  t.match(read(key + own.replace(/\n.{8}/, '\n') + ca), /^has a certificate that cannot be read/);
});
