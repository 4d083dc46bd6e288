// SPDX-License-Identifier: Apache-2.0
/**
 * Registers show what is in effect and count what they name (US 8,484,392 par. 55, 68; US 9,069,485
 * par. 27, 71-73, 92): values that were clamped, bounds that hold, and counters next to an account
 * of their own.
 */
import t from 'tap';
import { CANCEL_OFFSET, PAGE_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  CSR,
  CSR_ADAPTER_CONTROL_DISABLE_MASK,
  getCsrDoorbellPolicyAdaptive,
  getCsrDoorbellPolicyOverflow,
  getCsrDoorbellThresholdsHigh,
  getCsrDoorbellThresholdsLow,
  getCsrTvlKickListLength,
  getCsrTvlKickListMaximum,
  setCsrDoorbellPolicyAdaptive,
  setCsrDoorbellPolicyLinkCheck,
  setCsrDoorbellPolicyOverflow,
  setCsrDoorbellThresholdsHigh,
  setCsrDoorbellThresholdsLow,
} from '../../../protocol/layout/gen/registers.gen.ts';
import {
  getSendQueueDescriptorDestroyed,
  getSendQueueDescriptorNextSequence,
  getSendQueueDescriptorNextState,
  getSendQueueDescriptorQpn,
  getSendQueueDescriptorTail,
  SEND_QUEUE_DESCRIPTOR_SIZE,
} from '../../../protocol/layout/gen/send-queue-descriptor.gen.ts';
import { LinkCheck, OverflowPolicy, ResourceKind, SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import { Random } from '../../random.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { InProcessMachine } from '../../rig/machine/machine.ts';
import { Tenant } from '../../rig/qos/tenant.ts';

const NOP = { header: { opcode: SendOpcode.NOP } };

t.test('DOORBELL_THRESHOLDS shows the thresholds in effect, whatever was written', async (t) => {
  for (const doorbellEntries of [8, 64]) {
    const fixture = new AdapterFixture({ adapter: { doorbellEntries } });
    const { thresholds } = fixture.machine.device.functions[0].doorbells;
    const shown = () => {
      const word = fixture.read(CSR.DOORBELL_THRESHOLDS);
      return [getCsrDoorbellThresholdsLow(word), getCsrDoorbellThresholdsHigh(word)];
    };
    t.same(shown(), [doorbellEntries / 8, doorbellEntries / 2], 'at power-on');
    const random = new Random(doorbellEntries);
    for (let step = 0; step < 100; step++) {
      const written = [0, 1].map(() => (random.oneIn(4) ? random.below(0x10000) : random.below(doorbellEntries + 2)));
      const word = setCsrDoorbellThresholdsHigh(setCsrDoorbellThresholdsLow(0, written[0]), written[1]);
      fixture.access.writeRegister(CSR.DOORBELL_THRESHOLDS, 4, word, 0);
      const [low, high] = shown();
      const what = `${written} with ${doorbellEntries} entries`;
      t.same([low, high], [thresholds.low, thresholds.high], what);
      t.ok(1 <= low && low < high && high <= doorbellEntries, what);
      const isPossible = 1 <= written[0] && written[0] < written[1] && written[1] <= doorbellEntries;
      if (isPossible) t.same([low, high], written, `${what} as written`);
    }
  }
});

t.test('DOORBELL_POLICY shows the policy in effect when an unknown one was written', async (t) => {
  const fixture = new AdapterFixture();
  const { doorbells } = fixture.machine.device.functions[0];
  for (let policy = 0; policy < 4; policy++) {
    const word = setCsrDoorbellPolicyAdaptive(setCsrDoorbellPolicyOverflow(0, policy), 1);
    fixture.access.writeRegister(CSR.DOORBELL_POLICY, 4, word, 0);
    const shown = fixture.read(CSR.DOORBELL_POLICY);
    t.equal(getCsrDoorbellPolicyOverflow(shown), doorbells.policy);
    t.equal(
      getCsrDoorbellPolicyOverflow(shown),
      policy <= OverflowPolicy.MOST_SPILLED ? policy : OverflowPolicy.NEWEST,
    );
    t.equal(getCsrDoorbellPolicyAdaptive(shown), 1);
  }
});

t.test(
  'TVL_KICK_LIST: no list is longer than its maximum, whoever fills it and however lanes are divided',
  async (t) => {
    for (let seed = 1; seed <= 10; seed++) {
      const random = new Random(seed);
      const adapter = { laneCount: 3, executionCredits: 6, completionCredits: 6, pipelineNs: 1000, privatePercent: 0 };
      const machine = new InProcessMachine({
        functionCount: 3,
        seed,
        adapter: { ...adapter, schedulerBufferCount: 8 },
      });
      const tenants = [0, 1, 2].map((index) => new Tenant(machine, index, { levelOnePages: 4 }));
      const [manager] = tenants;
      const queues = tenants.flatMap(({ driver, pd }) => {
        const sendCq = driver.createCompletionQueue({ eventQueue: driver.createEventQueue(), entriesLog2: 10 });
        return [0, 1].map((qosLevel) =>
          driver.createQueuePair({ pd, sendCq, qosLevel, sendEntriesLog2: 6 }).start({ port: 1 }),
        );
      });
      for (let lane = 0; lane < 3; lane++)
        manager.driver.resources.request([
          { resource: ResourceKind.TVL_LIST_SIZE, target: lane, amount: random.between(1, 4) },
        ]);
      let longest = 0;
      for (let step = 0; step < 400; step++) {
        const qp = random.pick(queues);
        if (qp.sendTail < 60) qp.post(NOP, random.pick(['collect', 'register']));
        if (random.oneIn(40))
          manager.driver.resources.request([
            {
              resource: ResourceKind.TVL_MAP,
              target: random.below(3),
              qosLevel: random.below(2),
              word: 0,
              amount: 1 << random.below(3),
            },
          ]);
        if (random.oneIn(2)) machine.step();
        if (random.oneIn(8)) machine.clock.jumpToAlarm();
        for (let lane = 0; lane < 3; lane++) {
          const word = manager.access.readRegister(CSR.TVL_KICK_LIST + 4 * lane, 4);
          const [length, maximum] = [getCsrTvlKickListLength(word), getCsrTvlKickListMaximum(word)];
          if (length > maximum) t.fail(`seed ${seed}, step ${step}, lane ${lane}: ${length} of ${maximum}`);
          longest = Math.max(longest, length);
        }
      }
      t.ok(longest > 4, `seed ${seed}: more than one function and level fill a list: ${longest}`);
    }
  },
);

t.test('QUEUES_LINKED counts the links that descriptors show, QUEUE_TURNS the turns', async (t) => {
  for (const functionCount of [1, 2])
    for (const linkCheck of [LinkCheck.READ, LinkCheck.COMPARE_SWAP]) {
      const fixture = new AdapterFixture({ functionCount });
      const qp = fixture.createQueuePair();
      fixture.access.writeRegister(CSR.DOORBELL_POLICY, 4, setCsrDoorbellPolicyLinkCheck(1, linkCheck), 0);
      fixture.settle();
      const descriptor = fixture.access.view(qp.parts.descriptorAddress, SEND_QUEUE_DESCRIPTOR_SIZE);
      let links = 0;
      let isLinked = false;
      const look = () => {
        const now = getSendQueueDescriptorNextState(descriptor, 0) === 0;
        if (now && !isLinked) links++;
        isLinked = now;
      };
      const { descriptors } = fixture.machine.device.functions[0].doorbells;
      const { writeLink, check } = descriptors;
      descriptors.writeLink = (one) => {
        writeLink.call(descriptors, one);
        look();
      };
      descriptors.check = (one, how) => {
        const isReadable = check.call(descriptors, one, how);
        look();
        return isReadable;
      };
      const before = [CSR.QUEUES_LINKED, CSR.QUEUE_TURNS].map((offset) => fixture.read(offset));
      for (let count = 0; count < 5; count++) {
        qp.post(NOP, 'register');
        fixture.settle();
      }
      const [linked, turns] = [CSR.QUEUES_LINKED, CSR.QUEUE_TURNS].map(
        (offset, index) => fixture.read(offset) - before[index],
      );
      const what = `${functionCount} functions, check ${linkCheck}`;
      t.equal(linked, links, what);
      t.equal(links > 0, functionCount > 1 || linkCheck === LinkCheck.COMPARE_SWAP, what);
      t.equal(turns, 5, what);
      fixture.finish();
    }
});

t.test('the descriptor has queue pair, read pointer and write pointer of its send queue (par. 27)', async (t) => {
  const fixture = new AdapterFixture({ adapter: { fetchQuantum: 4 } });
  const qp = fixture.createQueuePair();
  const descriptor = fixture.access.view(qp.parts.descriptorAddress, SEND_QUEUE_DESCRIPTOR_SIZE);
  const shown = () => [
    getSendQueueDescriptorQpn(descriptor, 0),
    getSendQueueDescriptorNextSequence(descriptor, 0),
    getSendQueueDescriptorTail(descriptor, 0),
    getSendQueueDescriptorDestroyed(descriptor, 0),
  ];
  t.same(shown(), [qp.qpn, 0, 0, 0], 'from its creation on');
  for (let count = 0; count < 10; count++) qp.post(NOP, 'slot');
  qp.ring();
  fixture.machine.runUntil(() => getSendQueueDescriptorNextSequence(descriptor, 0) > 0, 'the first commands');
  t.same(shown().slice(0, 3), [qp.qpn, Math.min(getSendQueueDescriptorNextSequence(descriptor, 0), 10), 10]);
  fixture.settle();
  t.same(shown(), [qp.qpn, 10, 10, 0], 'all that is posted was read');
  qp.post(NOP, 'slot');
  fixture.settle();
  t.same(shown(), [qp.qpn, 10, 10, 0], 'the scheduler has not seen the tail');
  qp.stop();
  fixture.settle();
  t.same(shown(), [qp.qpn, 10, 10, 1], 'stopped');
  qp.toReset();
  qp.start({ port: 1, qkey: 0x11 });
  fixture.settle();
  t.same(shown(), [qp.qpn, 0, 0, 0], 'reset');
});

t.test('PCB_REFUSALS counts a lack of PCBs, COLLECT_REFUSALS send queue mode for any reason', async (t) => {
  const adapter = { vcbCount: 16, vcbLimit: 64, pcbCount: 3, pcbGuaranteed: [1, 1] as [number, number] };
  const fixture = new AdapterFixture({ adapter });
  const { access, driver } = fixture;
  const half = (page: number) => access.writeCollect(page * PAGE_BYTES + 8, 8, 0x5a, 0);
  const cancel = (page: number) => access.writeCollect(page * PAGE_BYTES + CANCEL_OFFSET, 8, 0, 0xff000000 | 0);
  const counts = () => [
    fixture.read(CSR.PCB_REFUSALS),
    fixture.read(CSR.PCB_REFUSALS, 1),
    fixture.read(CSR.COLLECT_REFUSALS),
  ];
  half(5);
  driver.resources.request([{ resource: ResourceKind.VCB_BASE, target: 0, amount: 2 }]);
  half(3);
  t.same(counts(), [0, 0, 1], 'the number of page 3 is held by page 5');
  t.ok(fixture.read(CSR.PCB_AVAILABLE) > 0, 'PCBs are free');
  half(6);
  half(7);
  t.same(counts(), [1, 0, 2], 'no PCB is free for level 0');
  for (const page of [3, 5, 6, 7]) cancel(page);
  access.writeRegister(CSR.ADAPTER_CONTROL, 4, CSR_ADAPTER_CONTROL_DISABLE_MASK, 0);
  half(3);
  t.same(counts(), [1, 0, 2], 'the number is free again');
  cancel(3);
});
