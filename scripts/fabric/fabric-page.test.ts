// SPDX-License-Identifier: Apache-2.0
/**
 * The examples of docs/FABRIC.md that start opensm: it becomes master, by priority and by GUID, as
 * the page says (IBTA 14.4.1). `npm run test:fabric` runs opensm itself.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { fabricOf, type Topology } from '../../device/main/topology.ts';
import { splitPort } from '../../device/topology/fabric-plan.ts';
import { managerPlaces } from '../../device/topology/manager-places.ts';
import { makeDirectory } from '../cli/testing/directory.ts';
import { readTopologyFile } from '../cli/topology-file.ts';

const PAGE = readFileSync(new URL('../../docs/FABRIC.md', import.meta.url), 'utf8');
/** A topology that is written to a file, and the manager of the fabric that is then served. */
const EXAMPLE = /echo '(?<json>[^']+)' > \w+\.json\n(?:.*\n)*?.*SIM_HOST=(?<host>\S+) \$tools opensm (?<words>.*)$/gm;

/** Rank of a manager: the greater one is master. */
function rank({ adapters, switches }: Topology, port: string, priority: number): readonly [number, bigint] {
  const [name] = splitPort(port);
  const node = switches.find((one) => one.name === port || one.name === name);
  const guid = node?.nodeGuid ?? adapters.find((one) => one.name === name)?.options.nodeGuid;
  return [priority, -BigInt(`0x${guid}`)];
}

t.test('opensm outranks the built-in manager of each topology', async (t) => {
  const examples = [...PAGE.matchAll(EXAMPLE)].map(({ groups }) => groups as Record<string, string>);
  t.ok(examples.length > 0);
  for (const { json, host, words } of examples) {
    const path = join(makeDirectory(t), 'topology.json');
    writeFileSync(path, json);
    const topology = readTopologyFile(path);
    const [place] = managerPlaces(fabricOf(topology));
    const [priority, guid] = rank(topology, host, Number(/-p (\d+)/.exec(words)?.[1] ?? 0));
    const [ownPriority, ownGuid] = rank(topology, place, topology.manager?.priority ?? 0);
    t.ok(priority > ownPriority || (priority === ownPriority && guid > ownGuid), `${host}: opensm ${words}`);
  }
});
