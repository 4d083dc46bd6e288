// SPDX-License-Identifier: Apache-2.0
/**
 * A kernel is found by distribution, version or release among those of the archive; an unknown one
 * is answered with what there is.
 */
import t from 'tap';
import { parseVersions } from './apt.ts';
import { chooseKernel, describeKernels, listKernels } from './kernel-list.ts';

const TRIXIE = `linux-image-6.12.107+deb13-amd64 | 6.12.107-1 | http://m.example/debian trixie/main amd64 Packages
linux-signed-amd64 |  6.12.94+1 | http://m.example/debian trixie/main Sources
linux-image-6.12.94+deb13-amd64 |  6.12.94-1 | http://m.example/debian trixie/main amd64 Packages
linux-image-6.12.107+deb13-rt-amd64 | 6.12.107-1 | http://m.example/debian trixie/main amd64 Packages
linux-image-7.3.4+deb13-amd64 | 7.3.4-1~bpo13+1 | http://m.example/debian trixie-backports/main amd64 Packages
linux-image-7.3.4+deb13-cloud-amd64 | 7.3.4-1~bpo13+1 | http://m.example/debian trixie-backports/main amd64 Packages
linux-image-6.16.12+deb13-amd64 | 6.16.12-1~bpo13+1 | http://m.example/debian trixie-backports/main amd64 Packages
linux-image-7.1.13+deb13-amd64 | 7.1.13-1~bpo13+1 | http://m.example/debian trixie-backports/main amd64 Packages
linux-image-7.2.2+deb13-amd64 | 7.2.2-1~bpo13+1 | http://m.example/debian trixie-backports/main amd64 Packages
`;
const BOOKWORM = `linux-image-6.1.0-47-amd64 |  6.1.170-3 | http://m.example/debian bookworm/main amd64 Packages
linux-image-6.1.0-50-amd64 |  6.1.176-1 | http://m.example/debian bookworm-updates/main amd64 Packages
linux-image-6.1.0-50-rt-amd64 |  6.1.176-1 | http://m.example/debian bookworm/main amd64 Packages
`;

/** The answer of `apt-cache madison` with the headers of all images but one. */
function withHeaders(images: string): string {
  const lines = images.split('\n').filter((line) => line.startsWith('linux-image-') && !line.includes('7.2.2'));
  return `${images}${lines.map((line) => line.replace('image', 'headers')).join('\n')}\n`;
}

const trixie = listKernels(parseVersions(withHeaders(TRIXIE)), 'trixie');
const bookworm = listKernels(parseVersions(withHeaders(BOOKWORM)), 'bookworm');
const all = [...trixie, ...bookworm];

t.test('kernels for ordinary PCs are listed, those without headers are not', async (t) => {
  t.same(
    all.map(({ release }) => release),
    [
      '6.12.107+deb13-amd64',
      '6.12.94+deb13-amd64',
      '7.3.4+deb13-amd64',
      '6.16.12+deb13-amd64',
      '7.1.13+deb13-amd64',
      '6.1.0-47-amd64',
      '6.1.0-50-amd64',
    ],
  );
  t.same(all[2], {
    release: '7.3.4+deb13-amd64',
    version: '7.3.4-1~bpo13+1',
    suite: 'trixie-backports',
    distribution: 'trixie',
  });
});

for (const [wanted, release] of [
  ['trixie', '6.12.107+deb13-amd64'],
  ['backports', '7.3.4+deb13-amd64'],
  ['trixie-backports', '7.3.4+deb13-amd64'],
  ['bookworm', '6.1.0-50-amd64'],
  ['6.1', '6.1.0-50-amd64'],
  ['6.1.170', '6.1.0-47-amd64'],
  ['6.1.0-47', '6.1.0-47-amd64'],
  ['6.12', '6.12.107+deb13-amd64'],
  ['6.12.94+deb13-amd64', '6.12.94+deb13-amd64'],
  ['6', '6.16.12+deb13-amd64'],
  ['7', '7.3.4+deb13-amd64'],
  ['7.1', '7.1.13+deb13-amd64'],
] as const) {
  t.test(`${wanted} is ${release}`, async (t) => t.equal(chooseKernel(all, wanted)?.release, release));
}

for (const wanted of ['7.9', '6.12.1', '6.1.0', '', '.', '6.', 'forky', '7.2.2', '-amd64', '7.3.4+', '[']) {
  t.test(`"${wanted}" is none`, async (t) => t.equal(chooseKernel(all, wanted), undefined));
}

t.test('an unknown kernel is answered with those that there are', async (t) => {
  t.equal(
    describeKernels('7.9', all),
    'kernel 7.9: Debian has 6.1 (bookworm), 6.12 (trixie), 6.16, 7.1, 7.3 (backports); ' +
      'name one of these versions or distributions, or a bzImage by its path.',
  );
  t.match(describeKernels('7.9', []), /Debian has none;/);
});
