// SPDX-License-Identifier: Apache-2.0
/**
 * A device of two functions with a port each: their GUIDs, traffic between them, resets and fatal
 * errors of one that leave the other alone, numbers of one that the other does not know, and their
 * recording.
 */
import t, { type Test } from 'tap';
import { NODE_INFO_SYSTEM_IMAGE_GUID_OFFSET } from '../../../protocol/infiniband/mad/gen/node-info.gen.ts';
import { MadClass, MadMethod, SubnetAttribute } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { beginMad } from '../../../protocol/infiniband/mad/mad-head.ts';
import { ATTRIBUTE_OFFSET, MAD_BYTES } from '../../../protocol/infiniband/mad/mad-headers.ts';
import { PortState } from '../../../protocol/layout/gen/values.gen.ts';
import { DOORBELL_OFFSET, UAR_PAGE_BYTES } from '../../../protocol/mlx5/gen/constants.gen.ts';
import { decodeHcaVportContext, newHcaVportContext } from '../../../protocol/mlx5/gen/hca-vport-context.gen.ts';
import {
  CommandOpcode,
  CommandStatus,
  CompletionOpcode,
  CompletionSyndrome,
  EventType,
  InterfaceState,
  QpService,
  SendOpcode,
} from '../../../protocol/mlx5/gen/values.gen.ts';
import type { ResetKind } from '../../host.ts';
import { Random } from '../../random.ts';
import { DataFixture } from '../../rig/mlx5/driver/data-fixture.ts';
import type { Mlx5Command } from '../../rig/mlx5/driver/mlx5-driver.ts';
import { Mlx5Fabric, twoFunctionPlan } from '../../rig/mlx5/driver/mlx5-fabric.ts';
import type { Mlx5DriverQueuePair } from '../../rig/mlx5/driver/queue-pair.ts';
import { Firmware } from '../shared/firmware.ts';
import { encodeFault } from '../shared/injected-faults.ts';

const NODE_GUID = '0056554843416010';
const SECOND_GUID = '0056554843416012';
const VPORT_CONTEXT_BYTES = 0x210;
const BODY = 0x10;
const IGNORE_KEYS = 3;
const LONGEST = 9000;
const FUNCTIONS = [0, 1] as const;

/** Asks the agents of the node for NodeInfo. */
const askNodeInfo: Mlx5Command = {
  modifier: IGNORE_KEYS,
  inputBytes: BODY + MAD_BYTES,
  outputBytes: BODY + MAD_BYTES,
  fill: (view) => {
    view.setUint8(0xb, 1);
    const head = { managementClass: MadClass.SUBNET, method: MadMethod.GET, modifier: 0 };
    beginMad(new Uint8Array(view.buffer, BODY, MAD_BYTES), { ...head, attributeId: SubnetAttribute.NODE_INFO });
  },
};

/** Both functions with their drivers, their ports active. */
class TwoFunctions extends Mlx5Fabric {
  readonly fixtures: readonly [DataFixture, DataFixture];

  constructor() {
    super(twoFunctionPlan);
    this.fixtures = [this.m, this.n].map(({ driver }) => new DataFixture(driver)) as [DataFixture, DataFixture];
    for (const end of [this.m, this.n]) this.awaitActive(end);
    for (const fixture of this.fixtures) fixture.takeEvents();
  }

  /** Queue pairs of the two functions that are connected to each other, in the order of these. */
  connect(): [Mlx5DriverQueuePair, Mlx5DriverQueuePair] {
    const [first, second] = this.fixtures;
    const qps = [first.queuePair(), second.queuePair()] as const;
    qps[0].start(qps[1].number, second.lid);
    qps[1].start(qps[0].number, first.lid);
    return [...qps];
  }

  /** The driver of a function that was reset starts it anew. */
  restart(number: 0 | 1): DataFixture {
    const end = [this.m, this.n][number];
    this.machine.resume(number);
    const fixture = new DataFixture(end.driver);
    this.awaitActive(end);
    return fixture;
  }
}

/** A message from `a` to `b` arrives, and both have their completions. */
function exchange(t: Test, [from, a]: [DataFixture, Mlx5DriverQueuePair], [to, b]: [DataFixture, Mlx5DriverQueuePair]) {
  const [source, target] = [from.memory(LONGEST), to.memory(LONGEST)];
  const sent = from.bytes(source);
  for (let index = 0; index < LONGEST; index++) sent[index] = index * 7 + a.number + from.lid;
  b.postReceive(target);
  a.post({ opcode: SendOpcode.SEND, pieces: [source] });
  from.run();
  t.match(a.setup.cq.take(), [{ opcode: CompletionOpcode.REQUEST, qpn: a.number }]);
  t.match(b.setup.cq.take(), [{ opcode: CompletionOpcode.SEND, byteCount: LONGEST }]);
  t.equal(Buffer.compare(to.bytes(target), sent), 0, 'the bytes of the message');
}

t.test('two nodes of one system', async (t) => {
  const { fixtures, m, n, lids } = new TwoFunctions();
  const contexts = fixtures.map(({ driver }) => {
    const output = driver.expect(CommandOpcode.QUERY_HCA_VPORT_CONTEXT, { outputBytes: VPORT_CONTEXT_BYTES });
    const guids = [0x28, 0x30, 0x38].map((at) => Buffer.from(output.buffer, BODY + at, 8).toString('hex'));
    return { guids, lid: decodeHcaVportContext(output, BODY, newHcaVportContext()).lid };
  });
  t.same(
    contexts.map(({ guids }) => guids),
    [
      [NODE_GUID, '0056554843416011', NODE_GUID],
      [NODE_GUID, '0056554843416013', SECOND_GUID],
    ],
    'GUIDs of the system, of the port and of the node',
  );
  t.not(lids[0], lids[1], 'each port has a LID of its own');
  t.same(
    contexts.map(({ lid }) => lid),
    lids,
  );
  const systems = fixtures.map(({ driver }) => {
    const info = driver.expect(CommandOpcode.MAD_IFC, askNodeInfo);
    return Buffer.from(info.buffer, BODY + ATTRIBUTE_OFFSET + NODE_INFO_SYSTEM_IMAGE_GUID_OFFSET, 8).toString('hex');
  });
  t.same(systems, [NODE_GUID, NODE_GUID], 'NodeInfo says the same');
  t.same(
    [m, n].map(({ device: { description } }) => Buffer.from(description).toString().replaceAll('\0', '')),
    ['vuhca mlx5', 'vuhca mlx5/1'],
  );
});

t.test('traffic between the functions and in each, with keys that have the same numbers', async (t) => {
  const both = new TwoFunctions();
  const [one, other] = both.fixtures;
  const [a, b] = both.connect();
  exchange(t, [one, a], [other, b]);
  exchange(t, [other, b], [one, a]);
  for (const fixture of both.fixtures) {
    const [c, d] = fixture.connect();
    exchange(t, [fixture, c], [fixture, d]);
  }
  const places = [one.memory(8), other.memory(8)];
  t.equal(places[0].key, places[1].key, 'each function numbers its own keys');
  const source = one.memory(8);
  one.bytes(source).fill(0xa5);
  a.post({ opcode: SendOpcode.WRITE, pieces: [source], remote: places[1] });
  one.run();
  t.match(a.setup.cq.take(), [{ opcode: CompletionOpcode.REQUEST }]);
  t.same([one.bytes(places[0])[0], other.bytes(places[1])[0]], [0, 0xa5], 'the key is that of the other end');
  t.match(both.replay(), { divergence: undefined, truncated: false });
});

/** Resets: by the driver in two ways, of the machine, and the end of a guest that is killed. */
const resets: readonly ResetKind[] = ['function', 'software', 'device', 'lost'];
/** Fatal errors by what is left of the firmware; the driver resets the function then. */
const firmwares = [Firmware.REFUSES, Firmware.SILENT];

/** Ends a function. The other one does not notice, and its driver starts the function anew. */
function checkEnd(t: Test, both: TwoFunctions, number: 0 | 1, end: () => void): void {
  const left = both.fixtures[1 - number];
  const { device } = left.driver;
  const [c, d] = left.connect();
  const count = (): string => JSON.stringify([device.hca.objectCounts, device.commands.executed]);
  const before = count();
  end();
  both.machine.runUntilIdle();
  t.equal(both.built.adapters[number].ports[0].state, PortState.DOWN);
  t.ok(device.ports[0].active, 'the other port');
  t.same(left.takeEvents(), [], 'its driver hears nothing');
  t.equal(count(), before);
  t.notOk(device.hca.health.hasFailed);
  exchange(t, [left, c], [left, d]);
  const anew = both.restart(number);
  const [a, b] = [anew.queuePair(), left.queuePair()];
  a.start(b.number, left.lid);
  b.start(a.number, anew.lid);
  exchange(t, [anew, a], [left, b]);
  exchange(t, [left, b], [anew, a]);
}

for (const number of FUNCTIONS)
  t.test(`the end of function ${number} leaves the other alone`, async (t) => {
    const both = new TwoFunctions();
    const { driver } = both.fixtures[number];
    for (const kind of resets) checkEnd(t, both, number, () => both.machine.reset(number, kind));
    for (const firmware of firmwares)
      checkEnd(t, both, number, () => {
        driver.port.plantFault(encodeFault(['fatal', 'cause=hardware', `firmware=${firmware}`]));
        both.machine.runUntilIdle();
        driver.setInterface(InterfaceState.SOFTWARE_RESET);
      });
    t.match(both.replay(), { divergence: undefined, truncated: false });
  });

t.test('a port that flaps is one of the two', async (t) => {
  const both = new TwoFunctions();
  both.machine.functionAt(1).plantFault(encodeFault(['link-flap']));
  both.machine.runUntilIdle();
  both.awaitActive(both.n);
  const [one, other] = both.fixtures.map((fixture) => fixture.takeEvents().map(({ type }) => type));
  t.same(one, []);
  t.ok(other.length > 0 && other.every((type) => type === EventType.PORT_CHANGE));
});

/** Commands that take a number away, and how a driver gets one. */
const numbers: Readonly<Record<string, readonly [opcode: number, make: (fixture: DataFixture) => number]>> = {
  'UAR page': [CommandOpcode.DEALLOC_UAR, ({ driver }) => driver.allocateUar()],
  domain: [CommandOpcode.DEALLOC_PD, ({ driver }) => driver.expect(CommandOpcode.ALLOC_PD).getUint32(8)],
  'XRC domain': [CommandOpcode.DEALLOC_XRCD, ({ driver }) => driver.expect(CommandOpcode.ALLOC_XRCD).getUint32(8)],
  key: [CommandOpcode.DESTROY_MKEY, (fixture) => fixture.memory(8).key >>> 8],
  CQ: [CommandOpcode.DESTROY_CQ, (fixture) => fixture.completionQueue().number],
  EQ: [CommandOpcode.DESTROY_EQ, ({ driver, uar }) => driver.createEventQueue(uar, 0n).number],
  QP: [CommandOpcode.DESTROY_QP, (fixture) => fixture.queuePair().number],
};

t.test('numbers of one function are unknown to the other', async (t) => {
  const { fixtures } = new TwoFunctions();
  const count = () => fixtures.map(({ driver }) => JSON.stringify(driver.device.hca.objectCounts));
  for (const number of FUNCTIONS)
    for (const [what, [opcode, make]] of Object.entries(numbers)) {
      const [owner, stranger] = [fixtures[number], fixtures[1 - number]];
      const made = make(owner);
      const before = count();
      const take = { fill: (view: DataView) => view.setUint32(8, made) };
      t.not(stranger.driver.command(opcode, take).status, CommandStatus.OK, `${what} of function ${number}`);
      t.same(count(), before, 'nothing has changed');
      t.equal(owner.driver.command(opcode, take).status, CommandStatus.OK, 'its owner has it');
    }
});

t.test('pages, keys and queue pairs of the other function in stores, requests and packets', async (t) => {
  const seed = 5;
  const random = new Random(seed);
  const both = new TwoFunctions();
  const [one, other] = both.fixtures;
  const [, b] = both.connect();
  const uar = one.driver.allocateUar();
  const [spare, alone] = [one.memory(8), one.memory(LONGEST)];
  const qp = one.queuePair({ uar });
  const stray = (fixture: DataFixture) => fixture.driver.device.functions[0].strayDoorbells;
  const before = [stray(one), stray(other)];
  for (let store = 1; store <= 50; store++) {
    const offset = uar * UAR_PAGE_BYTES + DOORBELL_OFFSET + 8 * random.below(4);
    other.driver.port.writeRegister(offset, 8, random.next() | 0, qp.number);
    t.equal(stray(other), before[1] + store, `seed ${seed}, store ${store}`);
  }
  t.equal(stray(one), before[0], 'the page of the same number is not touched');
  // A request that names a key of the other function.
  const own = other.memory(8);
  t.equal(own.key, spare.key);
  b.post({ opcode: SendOpcode.SEND, pieces: [{ ...own, key: alone.key }] });
  other.run();
  t.match(b.setup.cq.take(), [{ opcode: CompletionOpcode.REQUEST_ERROR }]);
  // Packets that name one: the responder does not have it.
  const [c] = both.connect();
  const source = one.memory(8);
  c.post({ opcode: SendOpcode.WRITE, pieces: [source], remote: alone });
  one.run();
  t.match(c.setup.cq.take(), [{ opcode: CompletionOpcode.REQUEST_ERROR }]);
  t.equal(c.setup.cq.syndromeAt(0), CompletionSyndrome.REMOTE_ACCESS);
  t.equal(
    one.bytes(alone).findIndex((byte) => byte !== 0),
    -1,
    'its owner has its memory as it was',
  );
  // A datagram for a queue pair that only its sender knows.
  const lone = one.queuePair({ service: QpService.UD });
  lone.start(0, 0);
  const { receiver } = other.driver.device.engine;
  const unknown = receiver.unknownQueuePair;
  const to = { remoteLid: other.lid, remoteQpn: lone.number, qkey: 0x1234 };
  lone.post({ opcode: SendOpcode.SEND, pieces: [source], to });
  one.run();
  t.equal(receiver.unknownQueuePair, unknown + 1);
});
