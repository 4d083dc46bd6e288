// SPDX-License-Identifier: Apache-2.0
/**
 * The words for a node that starts: a shell script that sets its clock and its name and writes the
 * names of all nodes and the keys of the run. node.sh takes it from a port, so that all nodes share
 * one image, and no key lies in a file of the host. cluster-node.ts writes it.
 */
import type { ClusterKeys } from './cluster-keys.ts';
import { NETWORK_BITS, type NodeSpec } from './cluster-spec.ts';

const END = 'END_OF_FILE';
const MS_PER_SECOND = 1000;
const SECRET = '600';
const READABLE = '644';

/** Cheap algorithms: keys of the run protect against mistakes, and a guest has little time. */
const SSHD_CONFIG = `HostKey /etc/ssh/node_key
UsePAM no
UseDNS no
PasswordAuthentication no
KbdInteractiveAuthentication no
MaxSessions 10000
MaxStartups 1000
KexAlgorithms curve25519-sha256
PrintMotd no
PrintLastLog no
Subsystem sftp internal-sftp
SetEnv PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
`;
const SSH_CONFIG = `StrictHostKeyChecking yes
KexAlgorithms curve25519-sha256
LogLevel ERROR
`;

/** The script for `node`, one of `nodes`, at the time `nowMs` of the host. */
export function makeNodeWords(
  node: NodeSpec,
  nodes: readonly Pick<NodeSpec, 'name' | 'address'>[],
  keys: ClusterKeys,
  nowMs: number,
): string {
  const hosts = ['127.0.0.1 localhost', ...nodes.map(({ name, address }) => `${address} ${name}`)];
  return [
    `date --set=@${(nowMs / MS_PER_SECOND).toFixed(3)} >/dev/null`,
    `echo ${node.name} >/proc/sys/kernel/hostname`,
    `NODE_ADDRESS=${node.address}/${NETWORK_BITS}`,
    'mkdir -p -m 755 /run/sshd /etc/ssh /etc/ssh/ssh_config.d',
    'mkdir -p -m 700 /root/.ssh',
    'grep -q ^sshd: /etc/passwd || echo sshd:x:100:65534::/run/sshd:/usr/sbin/nologin >>/etc/passwd',
    ...writeFile('/etc/hostname', `${node.name}\n`),
    ...writeFile('/etc/hosts', `${hosts.join('\n')}\n`),
    ...writeFile('/etc/ssh/node_key', keys.host.private, SECRET),
    ...writeFile('/etc/ssh/node_config', SSHD_CONFIG),
    ...writeFile('/etc/ssh/ssh_known_hosts', `* ${keys.host.public}\n`),
    ...writeFile('/root/.profile', `PS1='\\h:\\w\\$ '\n`),
    ...writeFile('/root/.ssh/id_ed25519', keys.user.private, SECRET),
    ...writeFile('/root/.ssh/authorized_keys', `${keys.user.public}\n`, SECRET),
    ...writeFile('/root/.ssh/config', SSH_CONFIG, SECRET),
    '',
  ].join('\n');
}

/** Lines that write a file of lines. */
function writeFile(path: string, text: string, mode = READABLE): string[] {
  return [
    `cat >${path} <<'${END}'`,
    text.replace(/\n$/, ''),
    END,
    ...(mode === READABLE ? [] : [`chmod ${mode} ${path}`]),
  ];
}
