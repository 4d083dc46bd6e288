// SPDX-License-Identifier: Apache-2.0
/**
 * The ordering model (docs/HAZARDS.md): writes are late, torn and reordered only as PCIe allows,
 * and all of them land.
 */
import t from 'tap';
import { PAGE_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import type { AdapterPort, FunctionPort, HostPort } from '../../host.ts';
import { Random } from '../../random.ts';
import { GuestMemoryModel, PageAccess } from '../../rig/machine/guest-memory-model.ts';
import { InProcessHost } from '../../rig/machine/host.ts';
import { OrderingModel } from './ordering-model.ts';
import { type OrderingOptions, parseOrdering } from './ordering-options.ts';

const ENTRY = 64;
const DONE: FunctionPort = {
  readRegister: () => 7,
  readHigh: 0,
  takesAccess: true,
  writeRegister: () => {},
  writeCollect: () => {},
  writePio: () => {},
  requestResources: () => ({ status: 0, index: 0, offset: 0, limit: 0 }),
  requestTrace: () => 0,
  plantFault: () => {},
  reset: () => {},
  setBusMaster: () => {},
  memoryMapped: () => {},
  memoryUnmapped: () => {},
};

interface OrderedMemory {
  readonly memory: GuestMemoryModel;
  readonly real: InProcessHost;
  readonly host: HostPort;
  readonly port: AdapterPort;
}

function build(options: OrderingOptions): OrderedMemory {
  const memory = new GuestMemoryModel(4 * PAGE_BYTES);
  const real = new InProcessHost(memory);
  const model = new OrderingModel(options);
  const host = model.wrapHost(real);
  const port = model.wrapAdapter({ functions: [DONE], run: () => false });
  return { memory, real, host, port };
}

function entryOf(count: number): Uint8Array {
  return new Uint8Array(ENTRY).fill(count);
}

t.test('a mode of the command line is parsed, and other text is refused', async (t) => {
  t.same(parseOrdering('strict'), { mode: 'strict' });
  t.same(parseOrdering('pcie'), { mode: 'pcie' });
  t.same(parseOrdering('adversarial:42'), { mode: 'adversarial', seed: 42 });
  for (const text of [
    '',
    'PCIE',
    'adversarial',
    'adversarial:',
    'adversarial:-1',
    'adversarial:4294967296',
    'strict:1',
  ])
    t.equal(parseOrdering(text), undefined, text);
});

t.test('strict wraps neither host nor adapter', async (t) => {
  const model = new OrderingModel({ mode: 'strict' });
  const { real, port } = build({ mode: 'strict' });
  t.equal(model.wrapHost(real), real);
  t.equal(model.wrapAdapter(port), port);
});

for (const mode of ['pcie', 'adversarial'] as const) {
  t.test(`${mode}: entries are torn and late, but valid only when whole, in order, and all arrive`, async (t) => {
    let [late, torn, disordered] = [0, 0, 0];
    for (let seed = 1; seed <= 60; seed++) {
      const { memory, host, port } = build({ mode, seed });
      const random = new Random(seed);
      const view = memory.view(memory.base, 32 * ENTRY);
      view.setUint8(0, 0);
      for (let slot = 0; slot < 32; slot++) new Uint8Array(view.buffer, view.byteOffset + slot * ENTRY, ENTRY).fill(0);
      let issued = 0;
      const look = (): void => {
        let started = 32;
        for (let slot = 31; slot >= 0; slot--) {
          const bytes = new Uint8Array(view.buffer, view.byteOffset + slot * ENTRY, ENTRY);
          const there = bytes.filter((byte) => byte !== 0).length;
          const valid = bytes[ENTRY - 1] !== 0;
          if (valid && there !== ENTRY) t.fail(`seed ${seed}: entry ${slot} is valid with ${there} bytes`);
          if (valid && slot < 31 && started < 32 && started <= slot) t.fail(`seed ${seed}: order`);
          if (there > 0 && there < ENTRY) torn++;
          if (there === 0 && slot < issued) late++;
          if (there === 0 && started < 32) disordered++;
          if (there > 0) started = slot;
        }
      };
      const validCount = (): number => {
        let count = 0;
        while (count < 32 && view.getUint8(count * ENTRY + ENTRY - 1) !== 0) count++;
        for (let slot = count; slot < 32; slot++)
          if (view.getUint8(slot * ENTRY + ENTRY - 1) !== 0) t.fail(`seed ${seed}: entry ${slot} before ${count}`);
        return count;
      };
      while (issued < 32) {
        if (random.oneIn(3))
          t.ok(host.publish({ value: memory.base + issued * ENTRY }, entryOf(++issued), 0, ENTRY, 4));
        else port.run(1);
        look();
        validCount();
      }
      let turns = 0;
      while (port.run(1)) turns++;
      t.ok(turns < 32 * 48, `seed ${seed}: an end`);
      t.equal(validCount(), 32, `seed ${seed}: everything is there`);
    }
    t.ok(late > 0 && torn > 0);
    t.equal(disordered > 0, mode === 'adversarial', 'bodies pass each other only with relaxed ordering');
  });
}

t.test('an interrupt follows every earlier write; a summary byte passes no write', async (t) => {
  for (let seed = 1; seed <= 60; seed++) {
    const { memory, real, host, port } = build({ mode: 'adversarial', seed });
    const at = memory.base;
    memory.view(at, 256).setUint32(60, 0);
    memory.view(at, 256).setUint8(128, 0);
    let seen = 0;
    real.onVector = () => {
      seen++;
      t.equal(memory.view(at, ENTRY).getUint8(63), 9, `seed ${seed}`);
      t.equal(memory.view(at + 128, 1).getUint8(0), 1, `seed ${seed}`);
    };
    host.publish({ value: at }, entryOf(9), 0, ENTRY, 4);
    host.writeMemory({ value: at + 128 }, Uint8Array.of(1), 0, 1);
    let tries = 0;
    while (!host.raiseVector(3)) {
      // New writes do not delay it forever.
      host.writeMemory({ value: at + 512 }, new Uint8Array(64), 0, 64);
      port.run(1);
      if (memory.view(at + 128, 1).getUint8(0) === 1) t.equal(memory.view(at, ENTRY).getUint8(63), 9, `seed ${seed}`);
      if (++tries > 100) throw new Error(`seed ${seed}: no interrupt`);
    }
    t.equal(seen, 1);
  }
});

t.test('reads push writes, and so do calls that end access to memory', async (t) => {
  const visible = (act: (fixture: OrderedMemory) => void): boolean => {
    const fixture = build({ mode: 'adversarial', seed: 5 });
    fixture.host.publish({ value: fixture.memory.base }, entryOf(9), 0, ENTRY, 4);
    if (fixture.memory.view(fixture.memory.base, 64).getUint8(63) === 9) t.fail('it was not late at all');
    act(fixture);
    return fixture.memory.view(fixture.memory.base, 64).getUint8(63) === 9;
  };
  t.ok(visible(({ port }) => t.equal(port.functions[0].readRegister(0, 4), 7)));
  t.ok(visible(({ host, memory }) => host.readMemory({ value: memory.base }, 4, new Uint8Array(4), 0)));
  t.ok(visible(({ port }) => port.functions[0].reset('function')));
  t.ok(visible(({ port }) => port.functions[0].setBusMaster(false)));
  t.ok(visible(({ port }) => port.functions[0].memoryUnmapped(0, 1)));
  t.notOk(
    visible(({ port }) => port.functions[0].writeRegister(0, 4, 0, 0)),
    'a write pushes nothing',
  );
});

t.test('a write to unmapped memory fails at once, and the latest write to an address wins', async (t) => {
  const { memory, host, port } = build({ mode: 'adversarial', seed: 8 });
  memory.protect(memory.base + PAGE_BYTES, 1, PageAccess.READ_ONLY);
  t.notOk(host.publish({ value: memory.base + PAGE_BYTES }, entryOf(1), 0, ENTRY, 4));
  t.notOk(host.writeMemory({ value: memory.base + PAGE_BYTES - 8 }, entryOf(1), 0, 16));
  for (let count = 1; count <= 200; count++) host.writeMemory({ value: memory.base }, entryOf(count), 0, ENTRY);
  while (port.run(1));
  t.same(new Uint8Array(memory.bytes.buffer, 0, ENTRY), entryOf(200));
});

t.test('an injected defect breaks only its own rule', async (t) => {
  const early = build({ mode: 'adversarial', seed: 2, defect: 'interrupt-first' });
  early.host.publish({ value: early.memory.base }, entryOf(9), 0, ENTRY, 4);
  t.ok(early.host.raiseVector(1));
  t.not(early.memory.view(early.memory.base, 64).getUint8(63), 9, 'the interrupt was first');
  let reversed = 0;
  for (let seed = 1; seed <= 20; seed++) {
    const { memory, host, port } = build({ mode: 'pcie', seed, defect: 'validity-first' });
    host.publish({ value: memory.base }, entryOf(9), 0, ENTRY, 4);
    do {
      const view = memory.view(memory.base, ENTRY);
      if (view.getUint8(63) === 9 && view.getUint8(59) !== 9) reversed++;
    } while (port.run(1));
  }
  t.ok(reversed > 0);
});
