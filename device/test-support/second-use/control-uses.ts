// SPDX-License-Identifier: Apache-2.0
/**
 * Uses of events, registers, ports and shares; and uses that disturb: they leave work half done and
 * switches set.
 */
import { MadClass, MadMethod, SubnetAttribute } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { ADAPTER_CHANGES_SIZE } from '../../../protocol/layout/gen/adapter-changes.gen.ts';
import { PAGE_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  CSR,
  CSR_ADAPTER_CONTROL_DISABLE_MASK,
  CSR_ADAPTER_CONTROL_FREEZE_SENDS_MASK,
  CSR_ADAPTER_CONTROL_LEND_IDLE_MASK,
  CSR_COLLECT_CONTROL_CHOKE_MASK,
  setCsrDoorbellPolicyAdaptive,
  setCsrDoorbellPolicyLinkCheck,
  setCsrDoorbellPolicyOverflow,
  setCsrDoorbellPolicySpillBuffered,
  setCsrDoorbellPolicySpillCommands,
} from '../../../protocol/layout/gen/registers.gen.ts';
import {
  CqMask,
  EqControl,
  ManagementOpcode,
  OverflowPolicy,
  ResourceKind,
  SendOpcode,
} from '../../../protocol/layout/gen/values.gen.ts';
import { cqPayload, madPayload, pdPayload, portChangesPayload } from '../../hosts/in-process/driver/payloads.ts';
import type { Random } from '../../random.ts';
import { type AdapterFixture, ASYNCHRONOUS_VECTOR, COMPLETION_VECTOR } from '../adapter-fixture.ts';
import { requestMad } from '../management-queue-pairs.ts';
import type { Use } from './use.ts';

const NOP = { header: { opcode: SendOpcode.NOP } };
const PERIOD_US = 50;
const OTHER_VECTOR = 11;

/** CQs that share an EQ with a timer; some of them are moderated, and some events are pending. */
function useEvents(fixture: AdapterFixture, random: Random): void {
  const { driver } = fixture;
  const attributes = { controls: EqControl.INTERRUPT, nextInterruptDelayNsLow: 20_000 };
  const eventQueue = driver.createEventQueue({ vector: OTHER_VECTOR, summaryCount: 3, attributes });
  const queues = [0, 1, 2].map((summaryIndex) => fixture.createCompletionQueue({ eventQueue, summaryIndex }));
  const qps = queues.map((sendCq) => fixture.createQueuePair({ sendCq }));
  for (const { cqn } of queues.slice(1)) {
    const fields = { attributeMask: CqMask.MODERATION, moderationCount: 3, moderationPeriodUs: PERIOD_US };
    driver.management.perform({ opcode: ManagementOpcode.MODIFY_CQ, objectNumber: cqn, payload: cqPayload(fields) });
  }
  for (let round = 0; round < 6; round++) {
    for (const [index, queue] of queues.entries()) {
      queue.notify({ solicitedOnly: random.oneIn(4), clearPending: random.oneIn(2) });
      for (let count = random.below(3); count > 0; count--) qps[index].post({ ...NOP, solicited: random.oneIn(2) });
    }
    fixture.settle();
    if (random.oneIn(2)) fixture.machine.clock.jumpToAlarm();
    if (random.oneIn(2)) eventQueue.walk();
    queues[random.below(3)].drain();
  }
  for (const queue of queues) queue.notify();
  for (const qp of qps) qp.post(NOP);
  fixture.settle();
}

/** A CQ that moves to other rings, and one that overruns. */
function useCompletionQueues(fixture: AdapterFixture): void {
  const sendCq = fixture.createCompletionQueue({ entriesLog2: 3 });
  const qp = fixture.createQueuePair({ sendCq });
  for (let count = 0; count < 5; count++) qp.post(NOP);
  fixture.settle();
  sendCq.poll();
  fixture.driver.resizeCompletionQueue(sendCq, 4);
  for (let count = 0; count < 14; count++) qp.post(NOP, count % 2 === 0 ? 'collect' : 'register');
  fixture.settle();
  fixture.asynchronous.walk();
  fixture.createCompletionQueue({ eventQueue: fixture.events, token: 5 }).notify();
}

function useMaskedVectors(fixture: AdapterFixture): void {
  const { host } = fixture;
  for (const vector of [COMPLETION_VECTOR, ASYNCHRONOUS_VECTOR]) host.masked[vector] = 1;
  const qp = fixture.createQueuePair();
  qp.parts.sendCq.notify();
  qp.post(NOP);
  fixture.access.writeRegister(CSR.INTERRUPT_TRIGGER, 4, OTHER_VECTOR, 0);
  fixture.settle();
  host.masked.fill(0);
  fixture.events.walk();
}

/** Doorbells spill into the overflow buffer and come back. */
function overflowDoorbells(fixture: AdapterFixture, random: Random): void {
  const cq = fixture.createCompletionQueue({ entriesLog2: 9 });
  const qps = Array.from({ length: 24 }, () =>
    fixture.createQueuePair({ sendCq: cq, sendEntriesLog2: 3, receiveEntriesLog2: 1 }),
  );
  let policy = setCsrDoorbellPolicyOverflow(0, random.pick([OverflowPolicy.NEWEST, OverflowPolicy.MOST_SPILLED]));
  policy = setCsrDoorbellPolicyLinkCheck(policy, random.below(2));
  policy = setCsrDoorbellPolicyAdaptive(policy, random.below(2));
  policy = setCsrDoorbellPolicySpillBuffered(policy, random.below(2));
  policy = setCsrDoorbellPolicySpillCommands(policy, random.below(2));
  fixture.access.writeRegister(CSR.DOORBELL_POLICY, 4, policy, 0);
  for (let round = 0; round < 2; round++) {
    for (const qp of random.shuffle([...qps])) {
      const first = qp.sendTail;
      for (let count = random.between(1, 2); count > 0; count--) qp.post(NOP, 'slot');
      qp.ring(first, random.pick(['register', 'doorbell']));
    }
    fixture.settle();
    cq.drain();
  }
  for (const qp of qps.slice(12)) qp.destroy();
}

function writeRegisters(fixture: AdapterFixture): void {
  const { access } = fixture;
  access.writeRegister(CSR.SCRATCH, 8, 0x1234, 0x5678);
  access.writeRegister(CSR.LOCAL_TIME, 8, 0xfffffff0, 3);
  access.writeRegister(CSR.IDENTITY, 4, 1, 0);
  access.readRegister(CSR.FIRST_FAULT_KIND, 4);
  access.writeRegister(CSR.FIRST_FAULT_KIND, 4, 0xffffffff, 0);
  access.writeRegister(0x7f0, 4, 1, 0);
}

function usePorts(fixture: AdapterFixture): void {
  const { management } = fixture.driver;
  const payload = portChangesPayload({ capabilitiesSet: 0x10000 });
  management.perform({ opcode: ManagementOpcode.MODIFY_PORT, modifier: 1, payload });
  management.perform({ opcode: ManagementOpcode.QUERY_PORT, modifier: 1 });
  askForDescription(fixture);
  management.perform({
    opcode: ManagementOpcode.MODIFY_ADAPTER,
    payload: new Uint8Array(ADAPTER_CHANGES_SIZE).fill(0x41),
  });
  for (const objectNumber of [0, 1, 2])
    management.execute({ opcode: ManagementOpcode.QUERY_GID, objectNumber, modifier: 1 });
  fixture.asynchronous.walk();
}

/** The agents of the port say what the node is called. */
function askForDescription(fixture: AdapterFixture): void {
  const mad = requestMad(MadClass.SUBNET, MadMethod.GET, SubnetAttribute.NODE_DESCRIPTION);
  const payload = madPayload({ bufferAddress: fixture.createBuffer(mad).address, ignoreMkey: 1 });
  fixture.driver.management.perform({ opcode: ManagementOpcode.EXECUTE_MAD, modifier: 1, payload });
}

function changeShares(fixture: AdapterFixture): void {
  const { resources } = fixture.driver;
  const level = { target: fixture.access.readRegister(CSR.FUNCTION_NUMBER, 4), qosLevel: 1 };
  for (const [resource, amount] of [
    [ResourceKind.PCBS, 4],
    [ResourceKind.VCBS, 8],
    [ResourceKind.TVLS, 2],
  ] as const)
    resources.request([{ resource, amount, ...level }]);
  resources.query(level.target);
}

export const controlUses: readonly Use[] = [
  { name: 'event queues, moderation and timers', run: useEvents },
  { name: 'a completion queue that moves and overruns', run: useCompletionQueues },
  { name: 'masked vectors', run: useMaskedVectors },
  { name: 'doorbells that spill', settings: true, run: overflowDoorbells },
  { name: 'registers', settings: true, run: writeRegisters },
  { name: 'ports', physical: true, settings: true, run: usePorts },
  { name: 'shares of a QoS level', settings: true, run: changeShares },
];

/** Half of a command in a page that nothing else uses. */
function collectHalf(fixture: AdapterFixture): void {
  const { sender, to } = fixture.createPair();
  const page = (fixture.access.readRegister(CSR.VCB_COUNT, 4) / 2 - 1) * PAGE_BYTES;
  sender.collect(sender.fill(to()).subarray(0, 40), {}, page);
}

function leaveCommands(fixture: AdapterFixture, random: Random): void {
  const { sender, receiver, to } = fixture.createPair({ sender: { sendEntriesLog2: 6 } });
  for (let count = 0; count < 40; count++) {
    if (count < 16) fixture.postReceive(receiver, 104);
    sender.post(to({ inline: new Uint8Array(32) }), count % 2 === 0 ? 'collect' : 'slot');
  }
  sender.ring();
  for (let steps = random.below(6); steps > 0; steps--) fixture.machine.step();
}

function leaveManagement(fixture: AdapterFixture): void {
  const { management } = fixture.driver;
  management.lock();
  management.write(management.build({ opcode: ManagementOpcode.CREATE_PD, payload: pdPayload({}) }).subarray(0, 40));
}

/** Spilled doorbells, with reads and writes of the overflow buffer under way. */
function leaveSpilled(fixture: AdapterFixture, random: Random): void {
  fixture.access.writeRegister(CSR.DOORBELL_POLICY, 4, setCsrDoorbellPolicyOverflow(0, OverflowPolicy.NEWEST), 0);
  const sendCq = fixture.createCompletionQueue({ entriesLog2: 9 });
  for (let count = 0; count < 32; count++) {
    const qp = fixture.createQueuePair({ sendCq, sendEntriesLog2: 3, receiveEntriesLog2: 1 });
    qp.post(NOP, 'slot');
    qp.ring(0, 'register');
  }
  for (let steps = random.below(16); steps > 0; steps--) {
    fixture.machine.step();
    if (random.oneIn(2)) fixture.machine.clock.jumpToAlarm();
  }
}

function setSwitch(offset: number, value: number) {
  return (fixture: AdapterFixture): void => {
    const { sender, to } = fixture.createPair();
    fixture.access.writeRegister(offset, 4, value, 0);
    sender.post(to());
    sender.post(to(), 'register');
    fixture.settle();
  };
}

export const disturbingUses: readonly Use[] = [
  { name: 'half a command', run: collectHalf },
  { name: 'commands under way', run: leaveCommands },
  { name: 'half a management command', silences: true, run: leaveManagement },
  { name: 'doorbells spilled', run: leaveSpilled },
  { name: 'the choke', run: setSwitch(CSR.COLLECT_CONTROL, CSR_COLLECT_CONTROL_CHOKE_MASK) },
  { name: 'a disabled adapter', physical: true, run: setSwitch(CSR.ADAPTER_CONTROL, CSR_ADAPTER_CONTROL_DISABLE_MASK) },
  { name: 'frozen sends', physical: true, run: setSwitch(CSR.ADAPTER_CONTROL, CSR_ADAPTER_CONTROL_FREEZE_SENDS_MASK) },
  { name: 'lent shares', physical: true, run: setSwitch(CSR.ADAPTER_CONTROL, CSR_ADAPTER_CONTROL_LEND_IDLE_MASK) },
  { name: 'memory that takes time', physical: true, run: setSwitch(CSR.DMA_LATENCY, 700) },
  { name: 'a slow pipeline', physical: true, run: setSwitch(CSR.PIPELINE_TIME, 900) },
  { name: 'a function that is not enabled', silences: true, run: setSwitch(CSR.DEVICE_CONTROL, 0) },
];
