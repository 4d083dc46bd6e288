// SPDX-License-Identifier: Apache-2.0
/**
 * An mlx5 device that was used and then reset is as one that was not: nothing of its first use is
 * left in the state of any unit. Numbers of objects go on from where they were, as those of our own
 * adapter do.
 */
import { Session } from 'node:inspector';
import t from 'tap';
import { CommandOpcode, HealthSyndrome, QpService, SendOpcode } from '../../../protocol/mlx5/gen/values.gen.ts';
import type { ResetKind } from '../../host.ts';
import { Random } from '../../random.ts';
import { resetBoth } from '../../rig/fixtures/second-use/reset-both.ts';
import { findStateDifferences } from '../../rig/fixtures/second-use/state-difference.ts';
import { toleratedFields } from '../../rig/fixtures/second-use/tolerated-fields.ts';
import { seedsOf } from '../../rig/fixtures/seeds.ts';
import type { InProcessMachine } from '../../rig/machine/machine.ts';
import { DataFixture } from '../../rig/mlx5/driver/data-fixture.ts';
import { Mlx5Driver, makeMlx5Machine } from '../../rig/mlx5/driver/mlx5-driver.ts';
import type { Mlx5DriverQueuePair } from '../../rig/mlx5/driver/queue-pair.ts';
import { Mlx5DriverSharedQueue } from '../../rig/mlx5/driver/shared-queue.ts';
import { Firmware } from '../shared/firmware.ts';
import type { Mlx5Adapter } from './mlx5-adapter.ts';
import { SharedForm } from './queues/shared-receive-queue.ts';

// The process ends it: a teardown of tap's root would end the tests of other files in the process.
const inspector = new Session();
inspector.connect();

const KINDS: readonly ResetKind[] = ['device', 'function', 'lost', 'software'];
const PIECE_BYTES = 3000;
const { SEND, WRITE, READ, FETCH_ADD } = SendOpcode;

/** Work space: filled before it is read, in the same step. */
const workSpace: readonly string[] = [
  ...[
    'AddressVectors',
    'CommandContext',
    'CompletionDoorbells.#doorbell',
    'CompletionDoorbells.#view',
    'CommandQueue.#answer',
    'CommandQueue.#block',
    'CommandQueue.#blockView',
    'CommandQueue.#entry',
  ],
  ...['CommandQueue.#entryView', 'MemoryKeys.address', 'MemoryKeys.contiguousBytes', 'MemoryKeys.fault'],
  ...['RequestBlock', 'SendCommandBuilder.#bytes', 'SendCommandBuilder.#count', 'UmrUnit'],
];
/** Counters that a reset does not change. */
const counters: readonly string[] = [
  ...['CommandQueue.executed', 'CommandQueue.refused', 'Events.#retired', 'Hca.retired', 'Mlx5Function.strayDoorbells'],
  ...['PersonalityPort.receiveDrops', 'PersonalityPort.receivePackets', 'PersonalityPort.transmitPackets'],
];
const tolerated = new Set([...toleratedFields, ...workSpace, ...counters]);

function deviceOf({ core }: InProcessMachine): Mlx5Adapter {
  return core as unknown as Mlx5Adapter;
}

/** The requests of a life, by service. */
const requests: readonly (readonly [service: number, opcodes: readonly number[]])[] = [
  [QpService.RC, [SEND, WRITE, READ, FETCH_ADD]],
  [QpService.UC, [SEND, WRITE]],
];

/** Ways in which a life ends, beside traffic that is left undone. */
const ends: readonly (readonly [name: string, end: (driver: Mlx5Driver) => void])[] = [
  ['traffic under way', () => {}],
  ['a fatal error', ({ device }) => device.hca.fail(HealthSyndrome.FIRMWARE_INTERNAL, Firmware.REFUSES)],
  [
    'a fatal error, and silent firmware',
    ({ device }) => device.hca.fail(HealthSyndrome.FIRMWARE_INTERNAL, Firmware.SILENT),
  ],
  ['a stopped function', (driver) => void driver.command(CommandOpcode.TEARDOWN_HCA)],
];

/** A life with all kinds of objects, whose last requests are left undone. */
function live(machine: InProcessMachine, seed: number): Mlx5Driver {
  const random = new Random(seed);
  const driver = new Mlx5Driver(machine);
  const fixture = new DataFixture(driver);
  const [local, remote] = [fixture.memory(PIECE_BYTES, { umrEn: 1 }), fixture.memory(PIECE_BYTES)];
  const xrcd = driver.expect(CommandOpcode.ALLOC_XRCD).getUint32(8);
  const cqn = fixture.completionQueue().number;
  for (const form of [SharedForm.POOL, SharedForm.XRC]) {
    const queue = new Mlx5DriverSharedQueue(driver, { form, pd: fixture.pd, xrcd, cqn });
    queue.post(local);
    queue.arm(2);
  }
  const pairs: [Mlx5DriverQueuePair, Mlx5DriverQueuePair, readonly number[]][] = requests.map(([service, opcodes]) => [
    ...fixture.connect(service),
    opcodes,
  ]);
  for (let act = 0; act < 40; act++) {
    const [a, b, opcodes] = random.pick(pairs);
    const opcode = random.pick(opcodes);
    if (random.oneIn(2)) b.postReceive(remote);
    const byteCount = opcode === FETCH_ADD ? 8 : PIECE_BYTES;
    a.post({ opcode, pieces: [{ ...local, byteCount }], remote, ...(opcode === FETCH_ADD ? { atomic: [1, 0] } : {}) });
    if (random.oneIn(2)) machine.step();
    a.setup.cq.take();
    a.setup.cq.tell();
    if (random.oneIn(10)) a.setup.cq.arm();
  }
  return driver;
}

t.test('a device that was used and reset is as a fresh one', async (t) => {
  for (const seed of seedsOf(2, 12)) {
    const [used, fresh] = [makeMlx5Machine({ seed }), makeMlx5Machine({ seed })];
    const [name, end] = ends[seed % ends.length];
    const kind = KINDS[(seed >> 1) % KINDS.length];
    const what = `seed ${seed}: ${name}, reset (${kind})`;
    end(live(used, seed));
    used.step();
    // The cable that a life brings stays.
    new DataFixture(new Mlx5Driver(fresh));
    resetBoth(used, fresh, kind);
    const all = findStateDifferences(deviceOf(used), deviceOf(fresh), tolerated, inspector);
    t.same(
      all.map(({ text, field }) => `${text} (${field}); ${what}`),
      [],
    );
  }
});
