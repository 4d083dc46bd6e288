// SPDX-License-Identifier: Apache-2.0
/**
 * A fault that an access of software causes names the access: its size, and the value of a write.
 * Random accesses to all BARs of both personalities, and faults that no access causes.
 */
import t, { type Test } from 'tap';
import {
  DEVICE_MEMORY_OFFSET,
  PAGE_BYTES,
  SEND_CONTEXT_WINDOW_BYTES,
  SEND_START_OF_PACKET_OFFSET,
} from '../../../protocol/layout/gen/constants.gen.ts';
import { CSR, CSR_SIZE } from '../../../protocol/layout/gen/registers.gen.ts';
import { FaultKind, faultKindName } from '../../../protocol/layout/gen/values.gen.ts';
import type { UnderlyingFunction } from '../../hca/function/underlying-function.ts';
import type { FunctionPort } from '../../host.ts';
import { Random } from '../../random.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { SendContextFixture } from '../../rig/fixtures/send-context-fixture.ts';
import { Mlx5Driver } from '../../rig/mlx5/driver/mlx5-driver.ts';
import { MthcaDriver, makeMthcaMachine } from '../../rig/mthca/driver/mthca-driver.ts';
import { reportFaults } from './common-report.ts';

const SEEDS = [1, 2, 3];
const ACCESSES = 1000;
const SIZES = [1, 2, 4, 8];
/** Ends of the parts of BAR0, and of pages and windows: where most faults are. */
const PLACES = [0, CSR_SIZE - 64, CSR_SIZE, DEVICE_MEMORY_OFFSET, DEVICE_MEMORY_OFFSET + PAGE_BYTES];
const PAGES = [0, PAGE_BYTES, 3 * PAGE_BYTES - 64, SEND_CONTEXT_WINDOW_BYTES, SEND_START_OF_PACKET_OFFSET];

type Write = 'writeRegister' | 'writeCollect' | 'writePio';

interface Fixture {
  readonly port: FunctionPort;
  readonly underlying: UnderlyingFunction;
}

const fixtures: Record<string, () => Fixture> = {
  vuhca: () => {
    const { machine } = new SendContextFixture().adapterFixture;
    return { port: machine.functionAt(0), underlying: machine.device.functions[0].underlying };
  },
  mthca: () => {
    const { machine, device } = new MthcaDriver(makeMthcaMachine({}));
    return { port: machine.functionAt(0), underlying: device.underlying };
  },
  mlx5: () => {
    const { machine, device } = new Mlx5Driver();
    return { port: machine.functionAt(0), underlying: device.underlying };
  },
};

/** Makes one random access; returns what a fault has to say of it. */
function accessOnce(random: Random, port: FunctionPort): { sizeBytes: number; written?: string } {
  const sizeBytes = random.pick(SIZES);
  const isRegister = random.oneIn(2);
  const offset = random.pick(isRegister ? PLACES : PAGES) + random.below(isRegister ? 1024 : PAGE_BYTES);
  if (isRegister && random.oneIn(3)) {
    port.readRegister(offset, sizeBytes);
    return { sizeBytes };
  }
  const value = random.bytes(8);
  const words = new DataView(value.buffer, value.byteOffset);
  const low = sizeBytes === 1 ? value[0] : sizeBytes === 2 ? words.getUint16(0, true) : words.getInt32(0, true);
  const high = sizeBytes === 8 ? words.getInt32(4, true) : 0;
  const write = isRegister ? 'writeRegister' : random.pick<Write>(['writeCollect', 'writePio']);
  port[write](offset, sizeBytes, low, high);
  const written = (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0);
  return { sizeBytes, written: `0x${written.toString(16)}` };
}

for (const [name, start] of Object.entries(fixtures))
  for (const seed of SEEDS)
    t.test(`random accesses to ${name}, seed ${seed}`, async (t) => {
      const random = new Random(seed);
      const { port, underlying } = start();
      const kinds = new Set<string>();
      for (let count = 0; count < ACCESSES; count++) {
        underlying.faults.clearFirst();
        const made = accessOnce(random, port);
        const { first } = reportFaults(underlying);
        if (first === undefined) continue;
        kinds.add(`${first.kind} ${made.written === undefined ? 'read' : 'write'}`);
        if (JSON.stringify(first.access) !== JSON.stringify(made))
          t.fail(`seed ${seed}, access ${count}: ${first.kind}`, { said: first.access, made });
      }
      t.ok(kinds.size >= 2, [...kinds].join(', '));
    });

/** The report of the fault that `cause` makes. */
function faultOf(t: Test, kind: FaultKind, cause: (fixture: AdapterFixture) => void) {
  const fixture = new AdapterFixture();
  cause(fixture);
  fixture.settle();
  const { first } = reportFaults(fixture.machine.device.functions[0].underlying);
  t.equal(first?.kind, faultKindName(kind));
  return first?.access;
}

t.test('a value of 64 bits is exact', async (t) => {
  const access = faultOf(t, FaultKind.REGISTER_READ_ONLY, (fixture) =>
    fixture.access.writeRegister(CSR.LAYOUT_HASH, 8, 0xffffffff, 0xfedcba98),
  );
  t.same(access, { sizeBytes: 8, written: '0xfedcba98ffffffff' });
});

t.test('an access is not blamed for a fault that comes later', async (t) => {
  const access = faultOf(t, FaultKind.DMA_READ, (fixture) => {
    const qp = fixture.createQueuePair();
    const address = qp.parts.sendBuffer.slotAddress(0);
    fixture.host.memory.protect(address - (address % PAGE_BYTES), PAGE_BYTES, 0);
    qp.post({ inline: new Uint8Array(8) }, 'doorbell');
  });
  t.equal(access, undefined);
});
