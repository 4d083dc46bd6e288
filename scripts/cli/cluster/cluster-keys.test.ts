// SPDX-License-Identifier: Apache-2.0
/** Keys of a cluster: OpenSSH's format, and the same ones of the same secret. */

import ssh2 from 'ssh2';
import t from 'tap';
import { makeKeys } from './cluster-keys.ts';

t.test('keys can be parsed, and sign what their public halves verify', async (t) => {
  for (let round = 0; round < 20; round++) {
    const { host, user } = makeKeys();
    for (const pair of [host, user]) {
      const [own, shown] = [pair.private, pair.public].map((text) => ssh2.utils.parseKey(text));
      if (own instanceof Error || shown instanceof Error) return t.fail(`${own}; ${shown}`);
      t.ok(own.isPrivateKey());
      t.equal(own.type, 'ssh-ed25519');
      const signature = own.sign('text');
      if (signature instanceof Error) return t.fail(signature.message);
      t.equal(shown.verify('text', signature), true);
    }
    t.not(host.public, user.public);
  }
});

t.test('a secret has its keys, and another secret others', async (t) => {
  const keys = makeKeys(Buffer.alloc(32, 1));
  t.same(makeKeys(Buffer.alloc(32, 1)), keys);
  t.not(makeKeys(Buffer.alloc(32, 2)).user.public, keys.user.public);
  t.not(makeKeys().user.public, makeKeys().user.public);
});
