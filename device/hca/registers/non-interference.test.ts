// SPDX-License-Identifier: Apache-2.0
/**
 * To a virtual function it appears as if it were alone (US 8,484,392 par. 30; docs/DOCUMENTS.md
 * decision 14): after each step of what the other functions do, all registers of a quiet function,
 * and all answers to its queries, are as before, and so are the numbers of objects that it creates.
 */
import t from 'tap';
import { PAGE_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import { CSR, CSR_ADAPTER_CONTROL_LEND_IDLE_MASK, csrRegisters } from '../../../protocol/layout/gen/registers.gen.ts';
import { ManagementOpcode, SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import { Random } from '../../random.ts';
import { InProcessMachine } from '../../rig/machine/machine.ts';
import { Tenant } from '../../rig/qos/tenant.ts';

const FUNCTIONS = 3;
const QUIET = 1;
const QUERIES = Object.entries(ManagementOpcode).filter(([name]) => name.startsWith('QUERY_'));
/**
 * What is not of the function: time, and the packets of the ports that all share
 * (docs/PROGRAMMING.md, Ports). Reading DEDICATED_LOCK takes the lock; the two counters count the
 * queries.
 */
const EXCEPTED: readonly number[] = [
  CSR.LOCAL_TIME,
  CSR.USER_TIME,
  CSR.DEDICATED_LOCK,
  CSR.MANAGEMENT_COMMANDS,
  CSR.MANAGEMENT_REFUSED,
  CSR.PORT_TRANSMIT_PACKETS,
  CSR.PORT_RECEIVE_PACKETS,
  CSR.PORT_RECEIVE_DROPS,
];
/** While idle functions lend, these show what the quiet function itself lends. */
const OWN_LOANS: readonly number[] = [
  CSR.EXECUTION_CREDITS,
  CSR.COMPLETION_CREDITS,
  CSR.TVL_OWNER,
  CSR.TVL_EXECUTION,
  CSR.TVL_COMPLETION,
];
/** Few of everything, so that the others use much of it, and reads that take time. */
const ADAPTER = {
  dmaLatencyNs: 1000,
  vcbCount: 16,
  schedulerBufferCount: 8,
  pcbCount: 16,
  pcbGuaranteed: [2, 2],
  laneCount: 8,
  executionCredits: 16,
} as const;

/** What a function can read, by name. */
function observe(
  tenant: Tenant,
  objects: readonly number[],
  excepted: readonly number[],
): Map<string, number | string> {
  const seen = new Map<string, number | string>();
  for (const { name, offset, bits, count } of csrRegisters)
    if (!excepted.includes(offset))
      for (let at = 0; at < (bits / 32) * count; at++)
        seen.set(`${name}[${at}]`, tenant.access.readRegister(offset + at * 4, 4));
  const { management } = tenant.driver;
  for (const [name, opcode] of QUERIES)
    for (const objectNumber of objects)
      for (const modifier of [0, 1]) {
        const { status, limit, payload } = management.execute({ opcode, objectNumber, modifier });
        seen.set(
          `${name} ${objectNumber} ${modifier}`,
          `${status} ${limit} ${Buffer.from(payload.buffer).toString('hex')}`,
        );
      }
  return seen;
}

/** Things that a function does; each leaves something in use now and then. */
function actionsOf(tenant: Tenant, random: Random): (() => void)[] {
  const { driver, access, pd, region } = tenant;
  const sendCq = driver.createCompletionQueue({ entriesLog2: 8 });
  const newQueuePair = () => driver.createQueuePair({ pd, sendCq, sendEntriesLog2: 4 }).start({ port: 1, qkey: 1 });
  let qp = newQueuePair();
  const buffer = driver.createBuffer(PAGE_BYTES);
  const addressHandle = driver.addressHandles.add({ port: 1, dlid: tenant.lidOf(2), pd });
  const sges = [{ address: buffer.address, length: 1024, lkey: region.lkey }];
  const post = (by: 'collect' | 'doorbell'): void => {
    if (sendCq.drain().length === 0 && random.oneIn(4)) qp = newQueuePair();
    qp.post({ remoteQpn: 99, qkey: 1, addressHandle, sges }, by);
  };
  return [
    () => post('collect'),
    () => post('doorbell'),
    () => qp.post({ header: { opcode: SendOpcode.NOP } }, 'collect'),
    () => access.writeCollect(random.below(15) * PAGE_BYTES + 8, 8, 1, 1),
    () => access.writeCollect(random.below(200) * PAGE_BYTES, 8, random.below(1000), 0),
    () => void driver.createProtectionDomain(),
    () => void driver.createDmaRegion(pd),
    () => void driver.createCompletionQueue(),
    () => void driver.createEventQueue({ vector: 9 }),
    () => void newQueuePair(),
    () => void driver.management.execute({ opcode: ManagementOpcode.QUERY_PD, objectNumber: random.below(1000) }),
    () => {
      const { number } = driver.createSendContext({ blocks: 64 });
      access.writeRegister(CSR.SEND_CONTEXT_CONTROL + number * 4, 4, 1, 0);
      access.writePio(number * 0x10000, 8, random.below(100), 0);
    },
    () => access.writeRegister(CSR.LOCAL_TIME, 8, random.below(1000), 5),
    () => access.writeRegister(CSR.SCRATCH, 8, random.below(1000), 0),
    () => access.writeRegister(CSR.DEDICATED_LOCK, 4, access.readRegister(CSR.DEDICATED_LOCK, 4), 0),
    () => access.writeRegister(CSR.SEND_DOORBELL, 8, random.below(1000), random.below(1000)),
  ];
}

/** Plays the others; returns the first change that the quiet function saw. */
function findMove(seed: number): string | undefined {
  const random = new Random(seed);
  const machine = new InProcessMachine({ functionCount: FUNCTIONS, adapter: ADAPTER, seed, budget: 4 });
  const tenants = Array.from({ length: FUNCTIONS }, (_, index) => new Tenant(machine, index));
  const isLending = random.oneIn(2);
  if (isLending) tenants[0].access.writeRegister(CSR.ADAPTER_CONTROL, 4, CSR_ADAPTER_CONTROL_LEND_IDLE_MASK, 0);
  const excepted = isLending ? [...EXCEPTED, ...OWN_LOANS] : EXCEPTED;
  const quiet = tenants[QUIET];
  const own = quiet.driver.createQueuePair({ pd: quiet.pd, sendCq: quiet.driver.createCompletionQueue() });
  const objects = [0, 1, 2, QUIET, quiet.pd, quiet.region.number, own.qpn, own.parts.sendCq.cqn];
  const actions = [0, 2].flatMap((index) => actionsOf(tenants[index], random));
  machine.runUntilIdle();
  const before = observe(quiet, objects, excepted);
  for (let step = 0; step < 40; step++) {
    random.pick(actions)();
    if (random.oneIn(3)) machine.step();
    if (random.oneIn(6)) machine.clock.advance(random.pick([500, 20_000_000]));
    if (step % 4 !== 3) continue;
    for (const [name, value] of observe(quiet, objects, excepted))
      if (before.get(name) !== value) return `seed ${seed}, step ${step}: ${name} was ${before.get(name)}, is ${value}`;
  }
  return undefined;
}

t.test('nothing that other functions do moves what a virtual function can read', async (t) => {
  for (let seed = 1; seed <= 8; seed++) t.equal(findMove(seed), undefined);
});

t.test('the numbers of new objects do not tell what other functions have', async (t) => {
  const numbers = [false, true].map((isBusy) => {
    const machine = new InProcessMachine({ functionCount: FUNCTIONS, seed: 5 });
    const tenants = Array.from({ length: FUNCTIONS }, (_, index) => new Tenant(machine, index));
    const random = new Random(5);
    const busy = isBusy ? [0, 2].flatMap((index) => actionsOf(tenants[index], random)) : [];
    const { driver, pd } = tenants[QUIET];
    return Array.from({ length: 5 }, () => {
      for (let count = 0; count < 5 && isBusy; count++) random.pick(busy)();
      const sendCq = driver.createCompletionQueue();
      return [
        driver.createProtectionDomain(),
        driver.createDmaRegion(pd).lkey,
        sendCq.cqn,
        driver.createEventQueue({ vector: 3 }).eqn,
        driver.createQueuePair({ pd, sendCq }).qpn,
        driver.createSendContext({ blocks: 8 }).number,
      ];
    });
  });
  t.same(numbers[1], numbers[0]);
});
