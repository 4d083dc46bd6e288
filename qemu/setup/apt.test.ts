// SPDX-License-Identifier: Apache-2.0
/** Every form in which apt prints the files of a request is read. */
import t from 'tap';
import { parseUris } from './apt.ts';

const HASH = 'ab'.repeat(32);

t.test('lines of --print-uris', async (t) => {
  const text = `Reading package lists...
Need to get 40.0 MB of source archives.
'http://m.example/pool/q/qemu_10.0.13%2bds.orig.tar.xz' qemu_10.0.13+ds.orig.tar.xz 40010016 SHA256:${HASH}
'http://m.example/pool/g/libc6_2.41_amd64.deb' libc6_2.41_amd64.deb 28 MD5Sum:0123456789abcdef0123456789abcdef
'http://m.example/pool/s/seabios_1%3a1.17_all.deb' seabios_1%3a1.17_all.deb 160548 
`;
  const files = parseUris(text);
  t.same(
    files.map((file) => file.file),
    ['qemu_10.0.13+ds.orig.tar.xz', 'libc6_2.41_amd64.deb', 'seabios_1%3a1.17_all.deb'],
  );
  t.equal(files[0]?.sizeBytes, 40010016);
  t.same(
    files.map((file) => file.sha256),
    [HASH, '', ''],
  );
});
