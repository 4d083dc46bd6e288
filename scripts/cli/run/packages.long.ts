// SPDX-License-Identifier: Apache-2.0
/**
 * `vuhca run --distribution --packages`: the guest has the programs, their alternatives, accounts
 * and folders; its own compiler makes a program for the verbs, which writes between two ports, and
 * an Open MPI job runs on InfiniBand alone. Unavailable names are refused with a sentence.
 */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { cacheRoot } from '../../../qemu/setup/cache.ts';
import { makeDirectory } from '../testing/directory.ts';
import { commandBlocksOf } from '../testing/document-blocks.ts';
import { runCli } from '../testing/run-cli.ts';

// No bound holds on a busy machine.
t.setTimeout(0);

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const SERVICES = 'openssh-server,slurm-wlm,nginx,fio,libfabric-bin,ucx-utils,make';

/** Each line prints the text at the same position of `EXPECTED`. */
const USES = `ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key
mkdir -m 700 .ssh
ssh-keygen -q -t ed25519 -N '' -f .ssh/id_ed25519
cp .ssh/id_ed25519.pub .ssh/authorized_keys
/usr/sbin/sshd
ssh -q -o StrictHostKeyChecking=no localhost 'echo by ssh as $USER'
as_munge() { setpriv --reuid munge --regid munge --clear-groups "$@"; }
as_munge mungekey -c
as_munge munged 2>/dev/null
munge -n | unmunge | grep -o 'Success'
stat -c '%U %n' /var/lib/slurm/slurmd /run/munge
nginx
exec 3<>/dev/tcp/127.0.0.1/80
printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3
head -n 1 <&3
for program in 'slurmd -V' 'fio --version' 'fi_info --version' 'ucx_info -v' 'make --version'; do
  $program >/dev/null && echo "\${program%% *} runs"
done
`;
const EXPECTED = [
  ...['by ssh as root', 'Success', 'slurm /var/lib/slurm/slurmd', 'munge /run/munge', 'HTTP/1.1 200 OK'],
  ...['slurmd', 'fio', 'fi_info', 'ucx_info', 'make'].map((program) => `${program} runs`),
];

/** The commands of the two examples, with paths from anywhere. */
const [VERBS = [], MPI = []] = commandBlocksOf('docs/verbs/README.md', 'vuhca run --personality mlx5 --functions 2')
  .flat()
  .map((line) =>
    line
      .split(' ')
      .slice(1)
      .map((word) => word.replace(/^guest-tests\//, `${ROOT}guest-tests/`)),
  );

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '');
}

t.test('services, their accounts and folders', async (t) => {
  const script = join(makeDirectory(t), 'uses.sh');
  writeFileSync(script, `#!/bin/bash\n${USES}`);
  const result = await runCli([
    'run',
    '--personality=mlx5',
    '--distribution',
    '--packages',
    SERVICES,
    '--case',
    script,
  ]);
  t.same(linesOf(result.stdout), EXPECTED, result.stderr);
  t.equal(result.status, 0, result.stderr);
});

t.test('a program for the verbs, compiled and run in the guest', async (t) => {
  const { status, stdout, stderr } = await runCli(VERBS);
  t.match(stdout, /^immediate 2026, text "hello"\r?$/m, stderr);
  t.match(stdout, /^request failed: remote access error\r?$/m);
  t.match(stdout, /^the server failed, too\r?$/m);
  t.equal(status, 0, stderr);
});

t.test('an Open MPI job on InfiniBand alone', async (t) => {
  const { status, stdout, stderr } = await runCli(MPI);
  for (const rank of [0, 1]) t.match(stdout, new RegExp(`^rank ${rank} of 2 on \\S+: 0 wrong sums\\r?$`, 'm'), stderr);
  t.match(stdout, /^token 1, expected 1\r?$/m);
  t.equal(status, 0, stderr);
});

t.test('packages that cannot be had', async (t) => {
  const artifacts = (): string[] =>
    readdirSync(join(cacheRoot(), 'artifacts')).filter((name) => name.startsWith('package-'));
  const before = artifacts();
  const mistakes: [packages: string, sentence: RegExp][] = [
    ['gcc,nosuchpackage', /^vuhca run: Debian trixie has no package nosuchpackage; correct the name, or /m],
    [
      'exim4-daemon-light,postfix',
      /^vuhca run: these packages cannot be installed together: .*; leave one of them out\.$/m,
    ],
    [
      'mail-transport-agent',
      /^vuhca run: mail-transport-agent stands for several packages of Debian trixie; name one/m,
    ],
  ];
  for (const [packages, sentence] of mistakes) {
    const { status, stderr } = await runCli(['run', '--distribution', '--packages', packages]);
    t.equal(status, 1);
    t.match(stderr, sentence);
  }
  t.same(artifacts(), before, 'nothing is left');
});
