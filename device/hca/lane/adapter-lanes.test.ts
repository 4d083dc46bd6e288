// SPDX-License-Identifier: Apache-2.0
/**
 * Lanes in a whole adapter with several functions (US 8,484,392 par. 41-47; docs/ARCHITECTURE.md,
 * Shares of time): shares of flooding tenants, registers, random load with resets.
 */
import t from 'tap';
import {
  CSR,
  getCsrTvlExecutionCredits,
  getCsrTvlKickListMaximum,
  getCsrTvlOwnerFunction,
  getCsrTvlOwnerQosLevels,
  getCsrTvlOwnerState,
} from '../../../protocol/layout/gen/registers.gen.ts';
import { SEND_COMMAND_SEQUENCE_MASK } from '../../../protocol/layout/gen/send-command.gen.ts';
import {
  ManagementStatus,
  ResourceKind,
  SendOpcode,
  ServiceType,
  TvlState,
} from '../../../protocol/layout/gen/values.gen.ts';
import { Driver } from '../../rig/driver/driver.ts';
import type { DriverQueuePair } from '../../rig/driver/queue-pair.ts';
import { NOP } from '../../rig/fixtures/command-poster.ts';
import { FULL_ACCESS } from '../../rig/fixtures/connected-fixture.ts';
import { findLaneFault } from '../../rig/fixtures/lane-invariants.ts';
import { InProcessAccess } from '../../rig/machine/access.ts';
import { InProcessMachine } from '../../rig/machine/machine.ts';

const QUEUE = 16;
/** Resources are ample and time is short: packets of all commands wait for their turn. */
const PLENTY = { schedulerBufferCount: 256, executionCredits: 1024 };
const LONG = 8192;

/** A flooding function: queue pairs from port 1 to port 2 whose send queues are always full. */
class Tenant {
  readonly driver: Driver;
  readonly queuePairs: DriverQueuePair[] = [];
  completed = 0;
  readonly #pd: number;
  readonly #region;
  readonly #sizeBytes: number;

  constructor(machine: InProcessMachine, index: number, queuePairs: number, sizeBytes: number, qosLevel = 0) {
    this.driver = new Driver(new InProcessAccess(machine, index)).bringUp({ levelOnePages: 16 });
    this.#pd = this.driver.createProtectionDomain();
    this.#region = this.driver.createDmaRegion(this.#pd, FULL_ACCESS);
    this.#sizeBytes = sizeBytes;
    for (let count = 0; count < queuePairs; count++) this.#connect(qosLevel);
  }

  #connect(qosLevel: number): void {
    const make = (): DriverQueuePair =>
      this.driver.createQueuePair({
        pd: this.#pd,
        sendCq: this.driver.createCompletionQueue({ entriesLog2: 7 }),
        sendEntriesLog2: 4,
        qosLevel,
        creation: { serviceType: ServiceType.RC },
      });
    const [a, b] = [make(), make()];
    a.connect({ reliable: true, port: 1, dlid: 2, remoteQpn: b.qpn, pathMtu: 3 });
    b.connect({ reliable: true, port: 2, dlid: 1, remoteQpn: a.qpn, pathMtu: 3 });
    this.queuePairs.push(a);
  }

  /** Takes completions and posts as many new commands. */
  work(collect = false): void {
    const { allocator } = this.driver;
    for (const qp of this.queuePairs) {
      const done = qp.parts.sendCq.drain();
      for (const { status } of done) if (status !== 0) throw new Error(`a command ended with ${status}`);
      this.completed += done.length;
      const free = this.completed === 0 && qp.sendTail === 0 ? QUEUE : done.length;
      for (let count = 0; count < free; count++) {
        const address = this.#address ?? allocator.allocate(this.#sizeBytes);
        this.#address = address;
        const sges = [{ address, length: this.#sizeBytes, lkey: this.#region.lkey }];
        const remote = { address, rkey: this.#region.rkey };
        qp.post({ opcode: SendOpcode.RDMA_WRITE, sges, remote }, collect ? 'collect' : 'slot');
      }
      if (free > 0 && !collect) qp.ring();
    }
  }

  #address: number | undefined = undefined;
}

/** Lets tenants flood. Returns the completions of each without the first tenth of the steps. */
function race(machine: InProcessMachine, tenants: readonly Tenant[], steps: number): number[] {
  let before: number[] = [];
  for (let step = 0; step < steps; step++) {
    if (step === Math.floor(steps / 10)) before = tenants.map(({ completed }) => completed);
    for (const tenant of tenants) tenant.work();
    machine.step();
  }
  return tenants.map(({ completed }, at) => completed - before[at]);
}

for (const sizeBytes of [64, 4096])
  t.test(`two equal flooding tenants are served within 5 % of each other, ${sizeBytes} bytes`, async (t) => {
    const machine = new InProcessMachine({ functionCount: 2 });
    const [one, two] = race(
      machine,
      [0, 1].map((index) => new Tenant(machine, index, 2, sizeBytes)),
      1500,
    );
    t.ok(one > 1000 && Math.abs(one / two - 1) < 0.05, `${one} and ${two} messages`);
    t.equal(findLaneFault(machine.device), undefined);
  });

t.test('a tenant gains nothing by many queue pairs on its lane', async (t) => {
  const machine = new InProcessMachine({ functionCount: 2, adapter: PLENTY });
  const { lanes } = machine.device;
  for (const functionNumber of [0, 1]) lanes.setMap(functionNumber, 0, [1 << (functionNumber * 8)]);
  const [one, two] = race(machine, [new Tenant(machine, 0, 1, 65536), new Tenant(machine, 1, 8, 65536)], 1500);
  t.ok(one > 300 && Math.abs(one / two - 1) < 0.05, `${one} and ${two} messages`);
});

t.test('a tenant with very long messages cannot take all credits of the default adapter', async (t) => {
  const machine = new InProcessMachine({ functionCount: 2, memoryBytes: 1 << 24 });
  const { execution } = machine.device.lanes;
  t.ok(
    machine.device.lanes.lanes.every(({ number }) => execution.lanes[number].private > 0),
    'each lane has a private credit',
  );
  const long = new Tenant(machine, 0, 16, 1 << 23);
  for (let step = 0; step < 200; step++) {
    long.work(true);
    machine.step();
  }
  const short = new Tenant(machine, 1, 2, 64);
  let steps = 0;
  for (; short.completed < 100 && steps < 400; steps++) {
    long.work(true);
    short.work();
    machine.step();
  }
  t.ok(short.completed >= 100, `${short.completed} short messages in ${steps} steps, ${long.completed} long ones`);
});

t.test('shares of time follow the weights of lanes within 2 %', async (t) => {
  const machine = new InProcessMachine({ functionCount: 3, adapter: PLENTY });
  const { lanes } = machine.device;
  const weights = [1, 2, 4];
  weights.forEach((weight, functionNumber) => {
    lanes.setMap(functionNumber, 0, [1 << (functionNumber * 8)]);
    lanes.setLane(functionNumber * 8, { weight });
  });
  const shares = race(
    machine,
    weights.map((_, functionNumber) => new Tenant(machine, functionNumber, 2, LONG)),
    3000,
  );
  const total = shares.reduce((sum, share) => sum + share, 0);
  shares.forEach((share, functionNumber) => {
    const ratio = (share / total) * (7 / weights[functionNumber]);
    t.ok(
      Math.abs(ratio - 1) < 0.02,
      `weight ${weights[functionNumber]}: ${share} of ${total}, ratio ${ratio.toFixed(3)}`,
    );
  });
});

t.test('registers show a function its own lanes, and the physical function all lanes', async (t) => {
  const machine = new InProcessMachine({ functionCount: 2 });
  const read = (index: number, offset: number, lane = 0): number =>
    machine.functionAt(index).readRegister(offset + 4 * lane, 4);
  t.same(
    [0, 1].map((index) => read(index, CSR.TVL_COUNT)),
    [128, 128],
  );
  t.same(
    [0, 1].map((index) => read(index, CSR.TVL_ALLOCATED)),
    [32, 32],
  );
  t.same(
    [0, 1].map((level) => read(1, CSR.TVL_MAPPED, level)),
    [16, 16],
  );
  const owner = read(1, CSR.TVL_OWNER, 50);
  t.same(
    [getCsrTvlOwnerState(owner), getCsrTvlOwnerFunction(owner), getCsrTvlOwnerQosLevels(owner)],
    [TvlState.ALLOCATED, 1, 2],
  );
  t.equal(read(0, CSR.TVL_OWNER, 50), owner);
  t.equal(read(1, CSR.TVL_OWNER, 5), 0, 'a lane of another function');
  t.equal(getCsrTvlOwnerState(read(0, CSR.TVL_OWNER, 100)), TvlState.SHARED);
  machine.device.lanes.setLane(50, { executionCredits: 7, listSize: 9 });
  t.equal(getCsrTvlExecutionCredits(read(1, CSR.TVL_EXECUTION, 50)), 7);
  t.equal(getCsrTvlKickListMaximum(read(1, CSR.TVL_KICK_LIST, 50)), 9);
  // One credit for each of the 32 lanes of its levels, except the lane with 7; then the shared
  // credits of the adapter.
  t.equal(read(1, CSR.EXECUTION_CREDITS), 31 + 7);
  t.equal(read(0, CSR.EXECUTION_CREDITS_SHARED), 256 - 127 - 7);
});

t.test('after a reset a function has its lanes of power-on', async (t) => {
  for (const functionCount of [2, 3, 9, 34]) {
    const machine = new InProcessMachine({ functionCount });
    const { map } = machine.device.lanes;
    const lanes = () => [0, 1].map((level) => Array.from(map.getLanes(1, level).words));
    const before = lanes();
    machine.reset(1, 'function');
    t.same(lanes(), before, `${functionCount} functions`);
  }
});

t.test('all 128 lanes hold commands at once', async (t) => {
  const machine = new InProcessMachine({ memoryBytes: 1 << 22 });
  machine.onStep = () => {};
  const driver = new Driver(new InProcessAccess(machine)).bringUp();
  const pd = driver.createProtectionDomain();
  const sendCq = driver.createCompletionQueue({ entriesLog2: 8 });
  const queuePairs = Array.from({ length: 128 }, () =>
    driver.createQueuePair({ pd, sendCq, sendEntriesLog2: 2 }).start({ port: 1 }),
  );
  for (const qp of queuePairs) qp.post(NOP);
  const { lanes } = machine.device;
  t.ok(
    lanes.lanes.every(({ length }) => length === 1),
    'one command in each lane',
  );
  machine.runUntilIdle();
  t.equal(sendCq.drain().length, 128);
  t.ok(lanes.lanes.every(({ launches }) => launches === 1));
});

t.test('fetched commands use the lanes of dedicated buffers and keep the order of their queue pair', async (t) => {
  const machine = new InProcessMachine({ budget: 3 });
  const adapter = machine.device;
  const driver = new Driver(new InProcessAccess(machine)).bringUp();
  const pd = driver.createProtectionDomain();
  const map = [0, 0, 0, 0xc0000000].map((amount, word) => ({
    ...{ resource: ResourceKind.DEDICATED_TVL_MAP, target: 0, amount, word },
  }));
  t.equal(driver.resources.request(map).status, ManagementStatus.OK);
  const sendCq = driver.createCompletionQueue({ entriesLog2: 9 });
  const queuePairs = Array.from({ length: 8 }, () => driver.createQueuePair({ pd, sendCq }).start({ port: 1 }));
  const launches = () => [
    adapter.lanes.lanes.slice(0, 126).reduce((sum, lane) => sum + lane.launches, 0),
    ...adapter.lanes.lanes.slice(126).map((lane) => lane.launches),
  ];
  for (const qp of queuePairs) for (let count = 0; count < 4; count++) qp.post(NOP, 'doorbell');
  machine.runUntilIdle();
  t.same(launches(), [0, 16, 16], 'fetched commands');
  for (const qp of queuePairs) qp.post(NOP, 'collect');
  machine.runUntilIdle();
  t.same(launches(), [8, 16, 16], 'collected commands');
  sendCq.drain();
  const seen = new Map(queuePairs.map(({ qpn }) => [qpn, 5]));
  for (let round = 0; round < 200; round++) {
    const qp = machine.random.pick(queuePairs);
    qp.post(NOP, machine.random.pick(['collect', 'doorbell'] as const));
    for (let steps = machine.random.below(4); steps > 0; steps--) machine.step();
    for (const { qpn, queueSequence } of sendCq.drain()) {
      t.equal(queueSequence, seen.get(qpn));
      seen.set(qpn, queueSequence + 1);
    }
  }
  machine.runUntilIdle();
});

t.test('short kick lists lose, repeat and reorder nothing', async (t) => {
  const machine = new InProcessMachine({ functionCount: 2, adapter: { laneCount: 4, executionCredits: 3 } });
  const { lanes } = machine.device;
  for (let lane = 0; lane < 4; lane++) lanes.setLane(lane, { listSize: 1 });
  const tenants = [0, 1].map((index) => new Tenant(machine, index, 5, 64, index));
  for (let step = 0; step < 400; step++) {
    for (const tenant of tenants) tenant.work(step % 3 === 0);
    machine.step();
  }
  machine.runUntilIdle();
  for (const { queuePairs } of tenants)
    for (const { parts, sendTail } of queuePairs) {
      const sequences = parts.sendCq.drain().map(({ queueSequence }) => queueSequence);
      t.same(
        sequences,
        sequences.map((_, at) => (sendTail - sequences.length + at) & SEND_COMMAND_SEQUENCE_MASK),
      );
    }
  t.equal(findLaneFault(machine.device), undefined);
});

for (let seed = 1; seed <= 10; seed++)
  t.test(
    `credits and lists are consistent at every step while functions are reset under load, seed ${seed}`,
    async (t) => {
      const machine = new InProcessMachine({ functionCount: 3, seed, budget: 5, memoryBytes: 1 << 24 });
      const { random } = machine;
      const adapter = machine.device;
      machine.onStep = () => {
        const fault = findLaneFault(adapter);
        if (fault !== undefined) throw new Error(`${fault}; ${machine.describe()}`);
      };
      const tenants = [0, 1, 2].map((index) => new Tenant(machine, index, 3, 300));
      for (let step = 0; step < 1500; step++) {
        const index = random.below(3);
        if (random.oneIn(200)) {
          machine.reset(index, random.pick(['device', 'function', 'lost'] as const));
          t.equal(adapter.lanes.completion.functions[index].used, 0, 'its credits return at once');
          machine.resume(index);
          tenants[index] = new Tenant(machine, index, random.between(1, 4), 300, random.below(2));
        } else if (random.oneIn(50)) {
          const lane = random.below(128);
          const few = (): number => random.below(3);
          adapter.lanes.setLane(lane, { executionCredits: few(), completionCredits: few(), weight: 1 + few() });
        } else if (random.below(50) === 0) adapter.lanes.setMap(index, random.below(2), [random.next() | 1]);
        tenants[index].work(random.oneIn(2));
        machine.step();
      }
      // Tenants that started late get their completions now.
      for (let round = 0; round < 2; round++) {
        for (const tenant of tenants) tenant.work();
        machine.runUntilIdle();
      }
      for (const tenant of tenants) tenant.work();
      machine.runUntilIdle();
      t.same([adapter.lanes.execution.used, adapter.lanes.completion.used], [0, 0]);
      t.ok(tenants.every(({ completed }) => completed > 0));
    },
  );
