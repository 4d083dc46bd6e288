// SPDX-License-Identifier: Apache-2.0
/**
 * The folder of a running cluster: `NAME.cluster` beside the control sockets, private to the user.
 * Its supervisor listens on a socket in it, so the living are told from the dead. Called by
 * `vuhca cluster`, by the supervisor, and by place-lease.ts.
 */
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { provideControlDirectory } from '../../../device/process/control/control-path.ts';
import { askListener } from '../../../protocol/system/listening.ts';
import { withLock } from '../../../qemu/setup/lock.ts';
import { SetupError } from '../../../qemu/setup/tools/errors.ts';
import { UsageError } from '../options/usage-error.ts';

/** The variable that names the cluster of commands without --name. */
export const NAME_VARIABLE = 'VUHCA_CLUSTER';
export const NAME_DEFAULT = 'default';
const SUFFIX = '.cluster';
const NAME = /^[a-z0-9][a-z0-9-]{0,30}$/i;
const FOLDER_MODE = 0o700;

/** The files of a cluster. */
export interface ClusterPlace {
  readonly name: string;
  readonly folder: string;
  readonly socketPath: string;
  readonly specPath: string;
  /** Has the process id of the supervisor. */
  readonly pidPath: string;
  /** Of the supervisor and the adapter process. */
  readonly logPath: string;
}

/** The place of a cluster. Throws UsageError for a name that none can have; `option` gave it. */
export function placeOf(name: string, option = '--name'): ClusterPlace {
  if (!NAME.test(name))
    throw new UsageError(`option ${option} is ${name}; it must have 1 to 31 letters, digits and hyphens`);
  return placeIn(join(provideControlDirectory(), `${name}${SUFFIX}`), name);
}

function placeIn(folder: string, name: string): ClusterPlace {
  return {
    name,
    folder,
    socketPath: join(folder, 'socket'),
    specPath: join(folder, 'cluster.json'),
    pidPath: join(folder, 'pid'),
    logPath: join(folder, 'log'),
  };
}

/** The log of a node. */
export function nodeLogPath({ folder }: Pick<ClusterPlace, 'folder'>, node: string): string {
  return join(folder, `${node}.log`);
}

/** Throws SetupError when a cluster of that name runs. */
export async function refuseRunning({ name, socketPath }: ClusterPlace): Promise<void> {
  if ((await askListener(socketPath)) !== 'living') return;
  throw new SetupError(
    `cluster ${name} is running: \`vuhca cluster down\` ends it, and \`--name\` gives another one its name`,
  );
}

/**
 * Makes the folder of a new cluster and awaits `start`, which returns when the supervisor listens.
 * Throws SetupError when a cluster of that name runs.
 */
export async function claimPlace<T>(place: ClusterPlace, start: () => Promise<T>): Promise<T> {
  const label = 'starting a cluster';
  return withLock(
    join(provideControlDirectory(), 'clusters.lock'),
    async () => {
      await refuseRunning(place);
      // That of a supervisor that was killed.
      rmSync(place.folder, { recursive: true, force: true });
      mkdirSync(place.folder, { mode: FOLDER_MODE });
      try {
        return await start();
      } catch (error) {
        rmSync(place.folder, { recursive: true, force: true });
        throw error;
      }
    },
    label,
  );
}

/** The names of the running clusters of this user. */
export async function findClusters(): Promise<string[]> {
  const directory = provideControlDirectory();
  const folders = readdirSync(directory).filter((name) => name.endsWith(SUFFIX));
  const names: string[] = [];
  for (const folder of folders) {
    const name = folder.slice(0, -SUFFIX.length);
    if ((await askListener(placeIn(join(directory, folder), name).socketPath)) === 'living') names.push(name);
  }
  return names.sort();
}
