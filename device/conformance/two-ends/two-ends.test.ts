// SPDX-License-Identifier: Apache-2.0
/** The suite of two ends in process: on the two ports of one adapter, on two adapters with a cable, on two adapters with a faulty link. */
import t from 'tap';
import { Adapter } from '../../adapter.ts';
import { Cable } from '../../fabric/cable.ts';
import { Fabric } from '../../fabric/fabric.ts';
import { FaultyLink } from '../../fabric/faulty-link.ts';
import type { FaultyLinkOptions } from '../../fabric/link-options.ts';
import { InProcessAccess } from '../../hosts/in-process/access.ts';
import { InProcessMachine } from '../../hosts/in-process/machine.ts';
import { defaultAdapterOptions } from '../../options.ts';
import type { Port } from '../../port/port.ts';
import { Random } from '../../random.ts';
import { type Place, runTwoEndsCase, twoEndsCases } from './suite.ts';

const SEEDS = 12;
const FAULTS = { drop: 0.03, duplicate: 0.03, reorder: 0.03, corrupt: 0.02, delay: 0.03 };

/** Two adapters in one machine, joined at their first ports. */
function twoAdapters(join: (first: Port, second: Port) => void): [Place, Place] {
  const machine = new InProcessMachine({
    functionCount: 2,
    memoryBytes: 4 * 1024 * 1024,
    build: (options, clock, hosts) => {
      const nodes = hosts.map((host, index) => {
        const own = { portLids: [index * 2 + 1, index * 2 + 2] as const, nodeGuid: `005655484341${index}000` };
        return new Adapter({ ...options, ...own, portLink: { kind: 'none' } }, clock, [host]);
      });
      join(nodes[0].ports[0], nodes[1].ports[0]);
      return new Fabric(nodes);
    },
    adapter: defaultAdapterOptions,
  });
  return [place(machine, 0, 1), place(machine, 1, 1)];
}

function place(machine: InProcessMachine, index: number, port: 1 | 2): Place {
  return { access: new InProcessAccess(machine, index), port };
}

function onFaultyLink(options: Partial<FaultyLinkOptions>, seed: number): [Place, Place] {
  return twoAdapters((first, second) => new FaultyLink(first, second, options, new Random(seed)));
}

// One machine for all cases of a kind: a case must leave nothing to the next.
const machine = new InProcessMachine();
const access = new InProcessAccess(machine);
const functions = new InProcessMachine({ functionCount: 2 });
const pairs: readonly (readonly [string, readonly [Place, Place]])[] = [
  ['one adapter', [{ access, port: 1 }, { access, port: 2 }]], // biome-ignore format: a table
  ['two functions of one adapter', [place(functions, 0, 1), place(functions, 1, 2)]],
  ['two adapters', twoAdapters((first, second) => new Cable(first, second))],
];
for (const [name, [requester, responder]] of pairs) {
  for (const twoEnds of twoEndsCases) {
    t.test(`${name}: ${twoEnds.name}`, async (t) => {
      runTwoEndsCase(twoEnds, requester, responder);
      runTwoEndsCase(twoEnds, responder, requester, 2);
      t.pass('both ways');
    });
  }
}

for (const twoEnds of twoEndsCases.filter(({ losslessOnly }) => !losslessOnly)) {
  t.test(`two adapters on a faulty link: ${twoEnds.name}`, async (t) => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const [requester, responder] = onFaultyLink({ faults: FAULTS, delayNs: 700 }, seed);
      runTwoEndsCase(twoEnds, requester, responder, seed);
    }
    t.pass(`${SEEDS} seeds`);
  });
}
