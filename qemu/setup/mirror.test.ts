// SPDX-License-Identifier: Apache-2.0
/** The mirror is found in both formats of sources.list(5); only the Debian archive is accepted. */
import t from 'tap';
import { findMirror, parseDeb822, parseOneLine, pickArchive } from './mirror.ts';

const MIRROR = 'http://mirror.example/debian';

t.test('one-line format', async (t) => {
  const sources = parseOneLine(`# deb http://old.example/debian bookworm main
deb [arch=amd64 signed-by=/usr/share/keyrings/x.gpg] http://vendor.example/linux/debian bookworm stable
deb-src ${MIRROR} bookworm main
deb http://security.example/debian-security bookworm-security main
deb ${MIRROR} bookworm main contrib # the archive
deb\thttp://other.example/x\tx-bookworm\tmain`);
  t.equal(sources.length, 4);
  t.same(sources[2], { uris: [MIRROR], suites: ['bookworm'], components: ['main', 'contrib'] });
  t.equal(pickArchive(sources), MIRROR);
});

t.test('deb822 format', async (t) => {
  const sources = parseDeb822(`Types: deb
# a comment inside
URIs: http://security.example/debian-security
Suites: trixie-security
Components: main

Enabled: no
Types: deb
URIs: http://disabled.example/debian
Suites: trixie
Components: main

Types: deb-src
URIs: http://source-only.example/debian
Suites: trixie
Components: main

types: deb deb-src
URIs: ${MIRROR}
 http://second.example/debian
Suites: trixie
 trixie-updates
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 -----END PGP PUBLIC KEY BLOCK-----
`);
  t.equal(sources.length, 2);
  t.same(sources[1]?.suites, ['trixie', 'trixie-updates']);
  t.equal(pickArchive(sources), MIRROR);
});

t.test('a mirror under another path counts when there is no better one', async (t) => {
  t.equal(
    pickArchive(parseOneLine('deb mirror+file:/etc/apt/mirrors.list stable main')),
    'mirror+file:/etc/apt/mirrors.list',
  );
  t.equal(pickArchive(parseOneLine('deb cdrom:[Debian]/ bookworm main')), undefined);
});

t.test('apt configuration in files', async (t) => {
  const etc = t.testdir({
    'sources.list': 'deb http://wrong.example/x x-bookworm main\n',
    'sources.list.d': {
      'a.list.save': `deb ${MIRROR}/not-read bookworm main`,
      'debian.sources': '',
      'z.list': `deb ${MIRROR} stable main`,
    },
  });
  t.equal(findMirror(etc, {}), MIRROR);
  t.equal(findMirror(etc, { VUHCA_DEBIAN_MIRROR: 'file:/media/debian' }), 'file:/media/debian');
});

t.test('an absent archive is reported in one sentence', async (t) => {
  t.throws(() => findMirror(t.testdir({}), {}), { name: 'SetupError', message: /set VUHCA_DEBIAN_MIRROR/ });
});
