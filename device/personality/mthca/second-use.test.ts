// SPDX-License-Identifier: Apache-2.0
/**
 * An mthca device that was used and then reset works as one that was not: stores, interrupts,
 * packets and times of a second use are those of a fresh device, and so is the state of all units.
 * second-use.test.ts of device/hca/adapter does the same to an adapter of our own.
 */
import { Session } from 'node:inspector';
import t from 'tap';
import { CommandOpcode, FatalKind, QpService, WorkOpcode } from '../../../protocol/mthca/gen/values.gen.ts';
import type { ResetKind } from '../../host.ts';
import { Random } from '../../random.ts';
import { resetBoth } from '../../rig/fixtures/second-use/reset-both.ts';
import { watchEffects } from '../../rig/fixtures/second-use/session.ts';
import { findStateDifferences } from '../../rig/fixtures/second-use/state-difference.ts';
import { toleratedFields } from '../../rig/fixtures/second-use/tolerated-fields.ts';
import { seedsOf } from '../../rig/fixtures/seeds.ts';
import type { InProcessMachine } from '../../rig/machine/machine.ts';
import { MthcaChaos } from '../../rig/mthca/chaos.ts';
import { DataFixture } from '../../rig/mthca/driver/data-fixture.ts';
import { MthcaDriver, makeMthcaMachine } from '../../rig/mthca/driver/mthca-driver.ts';
import { Firmware } from '../shared/firmware.ts';
import { encodeFault } from '../shared/injected-faults.ts';
import type { MthcaAdapter } from './mthca-adapter.ts';

// The process ends it: a teardown of tap's root would end the tests of other files in the process.
const inspector = new Session();
inspector.connect();

const KINDS: readonly ResetKind[] = ['device', 'function', 'lost', 'software'];
const PIECE_BYTES = 3000;

/** Work space: filled before it is read, in the same step. */
const workSpace = [
  ...['AddressVectors', 'DataPath.#context', 'DoorbellRecords.#record', 'DoorbellRecords.#view', 'Events.#entry'],
  ...['Events.#view', 'MemoryRegions.address', 'MemoryRegions.contiguousBytes', 'RegionKeys.address'],
  ...[
    'RequestBlock',
    'SendCommandBuilder.#bytes',
    'SendCommandBuilder.#count',
    'UserAccess.#doorbell',
    'UserAccess.#sends',
  ],
  ...['UserAccess.#view', 'MthcaCommandContext'],
];
/** INIT_HCA places the tables; nothing is found in them before. */
const places = ['ContextTable.#base', 'ContextMemory.version'];
/** Counters that a reset does not change. */
const counters = [
  ...['CommandProcessor.executed', 'Hca.retired', 'MthcaPort.receiveDrops', 'MthcaPort.receivePackets'],
  ...['MthcaPort.transmitPackets', 'PlantedFaults.lostCommands', 'PlantedFaults.lostCompletions'],
];
/** Fields that may differ. */
const tolerated = new Set([...toleratedFields, ...workSpace, ...places, ...counters]);

function makeMachine(seed: number): InProcessMachine {
  return makeMthcaMachine({}, { seed });
}

function deviceOf({ core }: InProcessMachine): MthcaAdapter {
  return core as unknown as MthcaAdapter;
}

/** The requests of a second life, by service. */
const requests: readonly (readonly [service: number, opcodes: readonly number[]])[] = [
  [QpService.RC, [WorkOpcode.SEND, WorkOpcode.RDMA_WRITE, WorkOpcode.RDMA_READ, WorkOpcode.FETCH_AND_ADD]],
  [QpService.UC, [WorkOpcode.SEND, WorkOpcode.RDMA_WRITE]],
];

/** Ways in which a life ends, beside traffic that is left undone. */
const ends: readonly (readonly [name: string, end: (driver: MthcaDriver) => void])[] = [
  ['traffic under way', () => {}],
  ['a fatal error', ({ device }) => device.hca.fail(FatalKind.PARITY, Firmware.WORKS)],
  ['a fatal error, and firmware that refuses', ({ device }) => device.hca.fail(FatalKind.BUS, Firmware.REFUSES)],
  ['a fatal error, and silent firmware', ({ device }) => device.hca.fail(FatalKind.MEMORY, Firmware.SILENT)],
  ['a stopped HCA', (driver) => void driver.command(CommandOpcode.CLOSE_HCA)],
  [
    'planted faults',
    ({ port }) => {
      for (const fault of [
        ['lost-completions', 'count=5'],
        ['lost-commands', 'count=5'],
        ['link-flap', 'port=1'],
      ])
        port.plantFault(encodeFault(fault));
    },
  ],
];

/**
 * Everything that the device does to the outside in a life of its own. The device comes to rest
 * after each request, and effects of one are sorted: whose turn is next is no state of its own.
 */
function watchLife(machine: InProcessMachine): string[] {
  const seen: string[] = [];
  const effects: string[] = [];
  const stop = watchEffects(machine, machine.hostAt(0), deviceOf(machine).ports, effects);
  const fixture = new DataFixture({}, new MthcaDriver(machine));
  const [local, remote] = [fixture.memory(PIECE_BYTES), fixture.memory(PIECE_BYTES)];
  for (const [service, opcodes] of requests) {
    const [a, b] = fixture.connect(service);
    for (const opcode of opcodes) {
      b.postReceive(remote);
      const byteCount = opcode === WorkOpcode.FETCH_AND_ADD ? 8 : PIECE_BYTES;
      a.post({ opcode, pieces: [{ ...local, byteCount }], remote, atomic: [1, 0] });
      fixture.run();
      seen.push(...effects.splice(0).sort(), JSON.stringify([a.take(), b.take(), fixture.takeEvents()]));
    }
  }
  stop();
  return seen;
}

t.test('a device that was used and reset is as a fresh one', async (t) => {
  for (const seed of seedsOf(1, 6)) {
    const [used, fresh] = [makeMachine(seed), makeMachine(seed)];
    const [name, end] = ends[seed % ends.length];
    const kind = KINDS[seed % KINDS.length];
    const what = `seed ${seed}: ${name}, reset (${kind})`;
    const chaos = new MthcaChaos(seed, new MthcaDriver(used));
    chaos.act(new Random(seed).between(50, 300));
    end(chaos.fixture.driver);
    used.step();
    resetBoth(used, fresh, kind);
    const [first] = findStateDifferences(deviceOf(used), deviceOf(fresh), tolerated, inspector);
    t.equal(first && `${first.text} (${first.field}); ${what}`, undefined);
    const [seen, expected] = [watchLife(used), watchLife(fresh)];
    const place = seen.findIndex((line, index) => line !== expected[index]);
    t.same([seen[place], seen.length], [expected[place], expected.length], `${what}: the same second life`);
  }
});
