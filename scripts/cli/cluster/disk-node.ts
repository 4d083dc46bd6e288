// SPDX-License-Identifier: Apache-2.0
/**
 * The guest of a node that boots from a disk of the user, which stays as it is: what the guest
 * writes is in a file that QEMU has removed already. Nothing needs to be in the image. Its systemd
 * takes credentials from the machine (SMBIOS strings of type 11, systemd.system-credentials(7)),
 * and units among them (systemd-debug-generator(8)); this makes a service of disk-node.sh so.
 * cluster.ts calls it.
 */
import { readFileSync } from 'node:fs';
import type { GuestOptions } from '../../../qemu/guest-options.ts';
import { checkDisk } from '../options/disk-file.ts';
import { prepareGuest } from '../run/run-guest.ts';
import type { NodeSpec } from './cluster-spec.ts';

/** What lets the service begin, for users whose image has not begun it. */
export const DISK_NEEDS = 'its image must boot by a BIOS and have systemd 256 or newer';

const SERVICE = 'vuhca-node.service';
const SCRIPTS = {
  'vuhca.disk-node': new URL('disk-node.sh', import.meta.url),
  'vuhca.node': new URL('node.sh', import.meta.url),
  'vuhca.bind-again': new URL('../../../qemu/bind-again.sh', import.meta.url),
};
const UNIT = `[Unit]
Description=A node of a vuhca cluster

[Service]
${Object.keys(SCRIPTS)
  .map((name) => `LoadCredential=${name}`)
  .join('\n')}
Environment=HOME=/root
ExecStart=/bin/sh %d/vuhca.disk-node
TasksMax=infinity
`;
const DROP_IN = `[Unit]
Wants=${SERVICE}
`;

/** The guest of `node`, which has a disk. Throws UsageError for what is no disk. */
export async function prepareDiskNode(node: NodeSpec): Promise<GuestOptions> {
  const { disk = '', personality, cpus, tcgThread, memoryMiB } = node;
  checkDisk('disk', disk, true);
  const memory = memoryMiB === undefined ? {} : { memory: memoryMiB };
  const guest = await prepareGuest({ disk, personality, cpus, tcgThread, ...memory }, credentialArguments());
  return { ...guest, interactive: false };
}

/** Arguments of QEMU that bring the service to the systemd of the guest. */
export function credentialArguments(): string[] {
  const contents = {
    [`systemd.extra-unit.${SERVICE}`]: UNIT,
    'systemd.unit-dropin.multi-user.target': DROP_IN,
    ...Object.fromEntries(Object.entries(SCRIPTS).map(([name, url]) => [name, readFileSync(url, 'utf8')])),
  };
  return Object.entries(contents).flatMap(([name, content]) => {
    const bytes = Buffer.from(content).toString('base64');
    return ['-smbios', `type=11,value=io.systemd.credential.binary:${name}=${bytes}`];
  });
}
