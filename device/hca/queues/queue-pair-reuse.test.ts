// SPDX-License-Identifier: Apache-2.0
/**
 * A queue pair that worked, failed, went to RESET and was brought up again is as one that was
 * brought up for the first time (IBTA 10.3.1): its state and that of its transport, field by field.
 */
import { Session } from 'node:inspector';
import t from 'tap';
import { SendOpcode, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import type { DriverQueuePair } from '../../rig/driver/queue-pair.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { FULL_ACCESS, rdma } from '../../rig/fixtures/connected-fixture.ts';
import { findStateDifferences } from '../../rig/fixtures/second-use/state-difference.ts';
import { toleratedFields } from '../../rig/fixtures/second-use/tolerated-fields.ts';
import { seedsOf } from '../../rig/fixtures/seeds.ts';
import type { QueuePair } from './queue-pair.ts';

// The process ends it: a teardown of tap's root would end the tests of other files in the process.
const inspector = new Session();
inspector.connect();

const LONG = 3000;
/**
 * Other objects; counts and places that make old work void; and fields of the message in progress,
 * or of an acknowledgement, that count only while there is one.
 */
const TOLERATED = new Set([
  ...toleratedFields,
  ...['CompletionQueue', 'MemoryRegion', 'Port', 'ProtectionDomain', 'QueuePairLifeCycle', 'UnderlyingFunction'],
  ...['QueuePair.epoch', 'QueuePair.lane', 'QueuePair.laneGeneration', 'RequesterState.timer'],
  ...['PendingAcknowledge.kind', 'PendingAcknowledge.msn', 'PendingAcknowledge.psn', 'PendingAcknowledge.value'],
  ...['ResponderState.messageBytes', 'ResponderState.wqeNumber', 'ResponderState.writeAddress'],
  ...['ResponderState.writeLength', 'ResponderState.writeRkey'],
]);

interface Pair {
  readonly fixture: AdapterFixture;
  readonly qps: readonly [DriverQueuePair, DriverQueuePair];
  readonly serviceType: ServiceType;
}

function makePair(serviceType: ServiceType, seed: number): Pair {
  const dmaLatencyNs = seed % 2 === 0 ? 500 : 0;
  const fixture = new AdapterFixture({ seed, budget: 3, adapter: { dmaLatencyNs } });
  const create = () => {
    const sendCq = fixture.createCompletionQueue({ entriesLog2: 8 });
    return fixture.driver.createQueuePair({ pd: fixture.pd, sendCq, sendEntriesLog2: 6, creation: { serviceType } });
  };
  return { fixture, qps: [create(), create()], serviceType };
}

/** Brings both up; `life` makes the attributes of each life other ones. */
function bringUp({ fixture, qps, serviceType }: Pair, life: number): void {
  const reliable = serviceType === ServiceType.RC;
  const retries = { timeout: 8 + life, retryCount: life, rnrRetry: life };
  const [near, far] = [100 * life, 200 * life];
  for (const [index, qp] of qps.entries()) {
    const port = index + 1;
    const [sendPsn, receivePsn] = index === 0 ? [near, far] : [far, near];
    if (serviceType === ServiceType.UD) qp.start({ port, sendPsn });
    else {
      const path = { port, dlid: fixture.lidOf(3 - port), remoteQpn: qps[1 - index].qpn, pathMtu: life };
      qp.connect({ reliable, ...path, ...retries, sendPsn, receivePsn });
    }
  }
}

/** Messages of all kinds, of which some find no receive WQE and some are under way at the end. */
function work({ fixture, qps: [near, far], serviceType }: Pair): void {
  const { random, machine } = fixture;
  const region = fixture.driver.createDmaRegion(fixture.pd, FULL_ACCESS);
  const [local, remote] = [fixture.createBuffer(LONG), fixture.createBuffer(LONG)];
  for (let count = random.below(5); count > 0; count--) fixture.postReceive(far, LONG);
  const addressHandle = fixture.handleTo(1, 2);
  const datagram = { remoteQpn: far.qpn, qkey: far.qkey, addressHandle };
  const opcodes: SendOpcode[] = [SendOpcode.SEND, SendOpcode.RDMA_WRITE, SendOpcode.RDMA_WRITE_IMMEDIATE];
  if (serviceType === ServiceType.RC) opcodes.push(SendOpcode.RDMA_READ);
  for (let count = 0; count < 8; count++) {
    const request = rdma(fixture, random.pick(opcodes), local, remote, region);
    near.post(serviceType === ServiceType.UD ? datagram : request, random.pick(['collect', 'register', 'slot']));
  }
  for (let step = random.below(60); step > 0; step--) {
    machine.step();
    if (random.oneIn(4)) machine.clock.jumpToAlarm();
  }
}

for (const name of ['RC', 'UC', 'UD'] as const)
  t.test(`${name}: after RESET a queue pair is as a new one`, async (t) => {
    for (const seed of seedsOf(4, 40)) {
      const [used, fresh] = [0, 1].map(() => makePair(ServiceType[name], seed));
      bringUp(used, 1);
      work(used);
      for (const qp of used.qps) {
        if (seed % 3 === 0) qp.toError();
        qp.toReset();
      }
      used.fixture.settle();
      used.fixture.machine.clock.advance(1e6);
      used.fixture.settle();
      for (const pair of [used, fresh]) bringUp(pair, 2);
      for (const index of [0, 1] as const) {
        const [one, other] = [used, fresh].map(
          ({ fixture, qps }) => fixture.machine.device.tables.queuePairs.get(qps[index].qpn) as QueuePair,
        );
        const [first] = findStateDifferences(one, other, TOLERATED, inspector);
        t.equal(first && `${first.text} (${first.field}), seed ${seed}`, undefined);
      }
    }
  });
