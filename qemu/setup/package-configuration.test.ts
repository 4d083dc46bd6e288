// SPDX-License-Identifier: Apache-2.0
/**
 * Packages are configured inside a root, and nowhere else: links, alternatives by Debian's program,
 * copies, and the script of what only the guest can do. A linker that notes its words stands for
 * the programs of the root.
 */
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { configurePackages } from './package-configuration.ts';

const POSTINST = `#!/bin/sh
update-alternatives --quiet --install /usr/bin/cc cc /usr/bin/gcc 20 \\
  --slave /usr/share/man/cc.1.gz cc.1.gz /usr/share/man/gcc.1.gz --slave /usr/bin/c90 c90 /usr/bin/gcc-90
update-alternatives --install /usr/bin/none none /usr/bin/not-there 20
adduser --quiet --system --group --home /nonexistent munge
chmod 0700 /var/log/munge
chown munge:munge /var/log/munge
chown munge:munge /etc/munge /etc/later
ln -s /etc/site /etc/enabled/site
ln -s /etc/absent /etc/enabled/absent
cp /usr/share/index /var/www/index
cp /usr/share/index /etc/site
`;

/** A root with files, and the scripts of one package. */
function prepare(t: Test): { root: string; scripts: string; at(path: string): string } {
  const folder = t.testdir({ scripts: { 'a.deb': { postinst: POSTINST }, 'b.deb': { control: '' } }, root: {} });
  const root = join(folder, 'root');
  const files: Record<string, string> = {
    'usr/bin/gcc': '',
    'usr/bin/gcc-90': '',
    'var/log/munge/log': '',
    'etc/munge/x': '',
    'etc/site': 'kept',
    'etc/pam.d/common-auth': 'kept',
    'usr/share/index': 'index',
    'usr/share/openssh/sshd_config': 'Port 22\n',
    'usr/lib/systemd/system/munge.service': '[Service]\nUser=munge\nRuntimeDirectory=munge\n',
    'usr/lib/systemd/system/at@.service': '[Service]\nRuntimeDirectory=at\n',
    'usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2': `#!/bin/sh\necho "$@" >>${folder}/called\necho x >${root}/etc/shadow\nchmod 0 ${root}/etc/shadow\n`,
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  chmodSync(join(root, 'usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2'), 0o755);
  return { root, scripts: join(folder, 'scripts'), at: (path) => join(root, path) };
}

t.test('what scripts do is done in the root', async (t) => {
  const { root, scripts, at } = prepare(t);
  await configurePackages(root, scripts, false);
  t.equal(readlinkSync(at('usr/bin/cc')), '/etc/alternatives/cc');
  t.equal(readlinkSync(at('etc/alternatives/cc')), '/usr/bin/gcc');
  t.equal(readlinkSync(at('etc/alternatives/c90')), '/usr/bin/gcc-90', 'a link that follows');
  t.notOk(existsSync(at('etc/alternatives/none')), 'not for a program that is not there');
  t.equal(readlinkSync(at('etc/enabled/site')), '/etc/site');
  t.throws(() => lstatSync(at('etc/enabled/absent')), { code: 'ENOENT' });
  t.equal(readFileSync(at('var/www/index'), 'utf8'), 'index');
  t.equal(readFileSync(at('etc/site'), 'utf8'), 'kept', 'no file is replaced');
  t.equal(readFileSync(at('etc/ssh/sshd_config'), 'utf8'), 'Port 22\n');
  t.equal(readFileSync(at('etc/pam.d/common-auth'), 'utf8'), 'kept');
  t.match(readFileSync(at('etc/pam.d/common-account'), 'utf8'), /^account required pam_unix.so$/m);
  t.equal(readFileSync(at('usr/lib/sysusers.d/vuhca-packages.conf'), 'utf8'), 'u munge - "" /nonexistent -\n');
  t.match(readFileSync(join(root, '../called'), 'utf8'), `${root}/usr/bin/systemd-sysusers --root=${root}`);
  t.equal(statSync(at('etc/shadow')).mode & 0o777, 0o600, 'whoever makes the image can read it');
});

t.test('the guest does the rest, each program once', async (t) => {
  const { root, scripts, at } = prepare(t);
  await configurePackages(root, scripts, true);
  const [, , ...lines] = readFileSync(at('etc/vuhca/start-packages.sh'), 'utf8').split('\n');
  t.same(lines.slice(1), [
    'systemd-tmpfiles --create --boot',
    'chown munge:munge /var/log/munge /etc/munge',
    'chmod 0700 /var/log/munge',
    'install -d -m 0755 -o munge -g munge /run/munge',
    'ldconfig',
    '',
  ]);
});
