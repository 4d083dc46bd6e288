// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca cluster plan`: reads a cluster as `up` does, splits it between machines, and
 * returns the script that runs it there. Called by cluster-action.ts.
 */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { placeOf } from '../cluster-client/cluster-place.ts';
import { UsageError } from '../options/usage-error.ts';
import { readTopologyValue } from '../topology/topology-file.ts';
import type { ClusterArguments } from './cluster-command.ts';
import { readCluster } from './cluster-file.ts';
import { splitCluster } from './machine-plan.ts';
import { partName, writeScript } from './machine-script.ts';
import { readChoice } from './up.ts';

const PROGRAM = fileURLToPath(new URL('../../vuhca', import.meta.url));
const HOST = /^([\w.-]+@)?[a-z\d][a-z\d._-]*$/i;

/** The script. Throws UsageError. */
export function planMachines(name: string, file: string | undefined, given: ClusterArguments): string {
  const { machines, nodesPerMachine, format, port, kernel, timeout } = given;
  if (machines === undefined) throw new UsageError('option --machines is missing: how many machines are there');
  if (nodesPerMachine === undefined)
    throw new UsageError('option --nodes-per-machine is missing: how many nodes does each machine run');
  if (format === undefined) throw new UsageError('option --format is missing; it must be slurm or ssh');
  const hosts = readHosts(given, machines);
  const shape = readCluster(readChoice(file, given));
  const topology = readTopologyValue(shape.topology, '/');
  const plan = splitCluster(shape, topology, { machines, nodesPerMachine, firstPort: port });
  for (const machine of plan.parts.keys()) placeOf(partName(name, machine));
  // A kernel is a file or a word.
  const words = kernel === undefined ? [] : ['--kernel', existsSync(kernel) ? resolve(kernel) : kernel];
  return writeScript(plan, {
    format,
    ...(hosts === undefined ? {} : { hosts }),
    name,
    program: PROGRAM,
    options: [...words, '--timeout', String(timeout)],
  });
}

function readHosts({ hosts, format }: ClusterArguments, machines: number): string[] | undefined {
  if (hosts === undefined) {
    if (format === 'ssh') throw new UsageError('option --hosts is missing: with --format ssh it names all machines');
    return undefined;
  }
  const names = hosts.split(',');
  const wrong = names.find((name) => !HOST.test(name));
  if (wrong !== undefined) throw new UsageError(`option --hosts is ${hosts}; "${wrong}" is no name of a machine`);
  if (names.length !== machines)
    throw new UsageError(`option --hosts names ${names.length} machines, and --machines is ${machines}`);
  return names;
}
