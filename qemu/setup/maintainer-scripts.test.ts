// SPDX-License-Identifier: Apache-2.0
/** Commands of scripts in the forms that Debian's packages have. */
import t from 'tap';
import { readCommands, readPackageSetup, readServiceFolders } from './maintainer-scripts.ts';

t.test('alternatives, over several lines and with a comment at the end', async (t) => {
  const script = `#! /bin/sh -e
update-alternatives \\
    --install /usr/bin/c++ c++ /usr/bin/g++ 20 \\
    #--slave /usr/share/man/man1/c++.1.gz c++.1.gz /usr/share/man/man1/g++.1.gz

if [ "$1" = "configure" ]; then
update-alternatives --quiet \\
\t--install /usr/bin/mpirun mpirun /usr/bin/mpirun.openmpi 50 \\
\t--slave /usr/bin/mpiexec mpiexec /usr/bin/mpiexec.openmpi
fi
[ -x /x ] && update-alternatives --remove nc /bin/nc
`;
  t.same(readPackageSetup(script).alternatives, [
    ['--install', '/usr/bin/c++', 'c++', '/usr/bin/g++', '20'],
    [
      ...['--quiet', '--install', '/usr/bin/mpirun', 'mpirun', '/usr/bin/mpirun.openmpi', '50'],
      ...['--slave', '/usr/bin/mpiexec', 'mpiexec', '/usr/bin/mpiexec.openmpi'],
    ],
  ]);
});

t.test('accounts as lines of sysusers.d', async (t) => {
  const accounts = (script: string) => readPackageSetup(script).accounts;
  t.same(accounts('  adduser --quiet --system --group --no-create-home --home /nonexistent munge'), [
    'u munge - "" /nonexistent -',
  ]);
  t.same(accounts('adduser --quiet --system --group --uid 64030 slurm || true'), ['u slurm 64030 "" - -']);
  t.same(accounts('addgroup --system --quiet one\nadduser --system --ingroup one two'), [
    'g one -',
    'u two -:one "" - -',
  ]);
  t.same(accounts('adduser --system --gecos "x of y" --ingroup a b'), ['u b -:a "" - -']);
  t.same(accounts('adduser --system --home=/var/lib/x --shell /bin/sh x'), ['u x -:nogroup "" /var/lib/x /bin/sh']);
  t.same(accounts('adduser x kvm >/dev/null'), ['m x kvm']);
  t.same(accounts('if ! getent passwd y; then useradd -r -g z -d /srv y; fi'), ['u y -:z "" /srv -']);
  t.same(accounts('adduser --system $USER\nadduser --system "a b"\nadduser'), [], 'only names that it has');
});

t.test('owners, links and copies', async (t) => {
  const setup = readPackageSetup(`
    logdir="/var/log/nginx"
    if ! dpkg-statoverride --list "$logdir" >/dev/null; then
      chown root:adm $logdir; chmod 0755 "$logdir"
    fi
    chown -R a:b /var/lib/a 2>/dev/null || true
    chown root: $(find /x)
    ln -s /etc/n/available/default /etc/n/enabled/default
    ln -sf one two
    cp /usr/share/n/index.html /var/www/html/index.html
    cp a.txt "$OTHER"
`);
  t.same(setup.owners, [
    { command: 'chown', words: ['root:adm', '/var/log/nginx'] },
    { command: 'chmod', words: ['0755', '/var/log/nginx'] },
    { command: 'chown', words: ['-R', 'a:b', '/var/lib/a'] },
  ]);
  t.same(setup.links, [{ target: '/etc/n/available/default', path: '/etc/n/enabled/default' }]);
  t.same(setup.copies, [{ from: '/usr/share/n/index.html', to: '/var/www/html/index.html' }]);
});

t.test('words that only a shell knows leave a command out', async (t) => {
  t.same(readCommands('chown `id -u` /x\nrm -rf /y/*\nchown a:a /{b,c}\n# chown a:a /d'), []);
  t.same(readCommands('chown \'a:a\' "/b" && chmod 1 /c'), [
    ['chown', 'a:a', '/b'],
    ['chmod', '1', '/c'],
  ]);
});

t.test('folders of services', async (t) => {
  const unit =
    '[Service]\nUser=munge\nGroup=m\nRuntimeDirectory=munge x/y\nRuntimeDirectoryMode=0711\nStateDirectory=z\n';
  t.same(readServiceFolders(unit), [
    { path: '/run/munge', mode: '0711', user: 'munge', group: 'm' },
    { path: '/run/x/y', mode: '0711', user: 'munge', group: 'm' },
    { path: '/var/lib/z', mode: '0755', user: 'munge', group: 'm' },
  ]);
  t.same(readServiceFolders('[Service]\nRuntimeDirectory=sshd\n')[0]?.user, 'root');
  t.same(readServiceFolders('[Service]\nRuntimeDirectory=../etc %i\n'), []);
});
