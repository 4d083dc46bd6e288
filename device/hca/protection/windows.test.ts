// SPDX-License-Identifier: Apache-2.0
/**
 * Access through memory windows: rights and bounds of both types for each operation, and the QPs
 * that may use them (IBTA 10.6.7).
 */
import t from 'tap';
import { withKeyByte } from '../../../protocol/infiniband/memory-keys.ts';
import { AccessFlag, CompletionStatus, MwKind, SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import type { DriverQueuePair } from '../../rig/driver/queue-pair.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { connect, FULL_ACCESS } from '../../rig/fixtures/connected-fixture.ts';
import { ledger } from '../../rig/fixtures/ledger.ts';
import { bindWindow } from '../../rig/fixtures/window-fixture.ts';

const { SUCCESS, REMOTE_ACCESS_ERROR } = CompletionStatus;
const KEY_BYTE = 0x21;
const BYTES = 64;

const operations = {
  WRITE: { opcode: SendOpcode.RDMA_WRITE, right: AccessFlag.REMOTE_WRITE },
  READ: { opcode: SendOpcode.RDMA_READ, right: AccessFlag.REMOTE_READ },
  ATOMIC: { opcode: SendOpcode.FETCH_ADD, right: AccessFlag.REMOTE_ATOMIC },
} as const;
type Operation = keyof typeof operations;
const ALL = AccessFlag.REMOTE_WRITE | AccessFlag.REMOTE_READ | AccessFlag.REMOTE_ATOMIC;

/** A window with `access` over the middle 64 of 192 bytes, bound by `b` of a fresh connection. */
function windowed(kind: MwKind, access: number) {
  const fixture = new AdapterFixture();
  const { a, b } = connect(fixture);
  const memory = fixture.createBuffer(3 * BYTES);
  const region = fixture.driver.createDmaRegion(fixture.pd, FULL_ACCESS | AccessFlag.WINDOW_BIND);
  const window = fixture.driver.createMemoryWindow(fixture.pd, kind).rkey;
  const buffer = { ...memory, address: memory.address + BYTES, lengthBytes: BYTES };
  const bound = bindWindow(b, { window, region, buffer, access, keyByte: KEY_BYTE });
  if (bound !== SUCCESS) throw new Error(`the window was not bound: status ${bound}`);
  const rkey = withKeyByte(window, KEY_BYTE);
  const attempt = (operation: Operation, offset: number, length: number, qp: DriverQueuePair = a): number => {
    const local = fixture.createBuffer(new Uint8Array(length).fill(7));
    const remote = { address: memory.address + offset, rkey };
    const atomic = operation === 'ATOMIC' ? { atomic: { swapOrAdd: 1n } } : {};
    qp.post({ opcode: operations[operation].opcode, sges: [fixture.sge(local)], remote, ...atomic });
    return qp.parts.sendCq.take().status;
  };
  return { fixture, memory, rkey, attempt };
}

for (const [type, kind] of Object.entries(MwKind)) {
  for (const operation of Object.keys(operations) as Operation[]) {
    t.test(`${type}: ${operation} passes within the bounds and with the right only`, async (t) => {
      const name = type.toLowerCase().replace('_', ' ');
      ledger(t, '10.6.7', `A ${name} window lets ${operation}s through within its bounds and with its right alone`);
      const { right } = operations[operation];
      const good = windowed(kind, right);
      t.equal(good.attempt(operation, 2 * BYTES - 8, 8), SUCCESS, 'its last 8 bytes');
      t.equal(good.attempt(operation, BYTES, 8), SUCCESS, 'its first 8 bytes');
      good.fixture.finish();
      for (const [why, access, offset] of [
        ['without the right', ALL & ~right, BYTES],
        ['8 bytes before it', right, BYTES - 8],
        ['8 bytes behind it', right, 2 * BYTES],
      ] as const) {
        const { fixture, memory, attempt } = windowed(kind, access);
        t.equal(attempt(operation, offset, 8), REMOTE_ACCESS_ERROR, why);
        t.ok(memory.bytes.every((byte) => byte === 0));
        fixture.finish();
      }
      if (operation === 'ATOMIC') return;
      const across = windowed(kind, right);
      t.equal(across.attempt(operation, 2 * BYTES - 7, 8), REMOTE_ACCESS_ERROR, 'across its end');
    });
  }
}

t.test('a type 1 window admits the QPs of its domain, a type 2 window the QP that bound it', async (t) => {
  ledger(
    t,
    '10.6.7',
    'A type 1 window is for every QP of its protection domain, a type 2 window for the QP that bound it',
  );
  const ofDomain = windowed(MwKind.TYPE_1, ALL);
  t.equal(ofDomain.attempt('WRITE', BYTES, 8, connect(ofDomain.fixture).a), SUCCESS);
  const { pd } = ofDomain.fixture;
  ofDomain.fixture.pd = ofDomain.fixture.driver.createProtectionDomain();
  const foreign = connect(ofDomain.fixture).a;
  ofDomain.fixture.pd = pd;
  const remote = { address: ofDomain.memory.address + BYTES, rkey: ofDomain.rkey };
  foreign.post({ opcode: SendOpcode.RDMA_WRITE, inline: Uint8Array.of(1), remote });
  t.equal(foreign.parts.sendCq.take().status, REMOTE_ACCESS_ERROR, 'a QP of another protection domain');
  const ofQueuePair = windowed(MwKind.TYPE_2, ALL);
  t.equal(ofQueuePair.attempt('WRITE', BYTES, 8), SUCCESS);
  t.equal(ofQueuePair.attempt('WRITE', BYTES, 8, connect(ofQueuePair.fixture).a), REMOTE_ACCESS_ERROR);
});
