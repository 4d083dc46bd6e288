// SPDX-License-Identifier: Apache-2.0
/**
 * Options of how resources are divided and how far the scheduler goes (US 8,484,392 par. 44, 50-53,
 * 64; US 9,069,485 par. 67, 70): each changes what it names, its default is the value without it,
 * and a value out of range has its sentence.
 */
import t from 'tap';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import { getSendQueueDescriptorNextSequence } from '../../../protocol/layout/gen/send-queue-descriptor.gen.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { NOP } from '../../rig/fixtures/command-poster.ts';
import { type AdapterOptions, defaultAdapterOptions, findOptionError } from './options.ts';

t.test('the private part of each pool', async (t) => {
  const divide = (privatePercent?: number) => {
    const adapter = {
      pcbCount: 200,
      schedulerBufferCount: 40,
      laneCount: 40,
      executionCredits: 400,
      completionCredits: 800,
    };
    const fixture = new AdapterFixture({
      functionCount: 2,
      adapter: { ...adapter, ...(privatePercent === undefined ? {} : { privatePercent }) },
    });
    const { plan } = fixture.machine.device.shareManager;
    return [
      plan.functions.map(({ pcbs }) => pcbs),
      plan.functions.map(({ schedulerBuffers }) => schedulerBuffers),
      plan.functions.map((_, number) => plan.lanesOf(number).length),
      plan.lanes[0].executionCredits,
      plan.lanes[39].completionCredits,
    ];
  };
  t.same(divide(), [[50, 50], [10, 10], [10, 10], 5, 10]);
  t.same(divide(50), divide());
  t.same(divide(80), [[80, 80], [16, 16], [16, 16], 8, 16]);
  t.same(divide(0), [[0, 0], [1, 1], [0, 0], 1, 1], 'a scheduler buffer and a credit of each lane stay');
});

t.test('the time after which an idle function lends', async (t) => {
  for (const [idleIntervalNs, waitNs, lent] of [
    [undefined, 9_999_999, false],
    [undefined, 10_000_000, true],
    [500, 499, false],
    [500, 500, true],
  ] as const) {
    const adapter = idleIntervalNs === undefined ? {} : { idleIntervalNs };
    const fixture = new AdapterFixture({ functionCount: 2, adapter });
    const { device, clock } = fixture.machine;
    device.control = 4;
    device.shareAdjuster.run();
    clock.advance(waitNs);
    device.shareAdjuster.run();
    t.equal(device.shareManager.isLent(1), lent, `${idleIntervalNs} ns, after ${waitNs} ns`);
  }
});

t.test('the depth of the bus', async (t) => {
  for (const [busDepth, held] of [
    [undefined, 32],
    [1, 8],
    [3, 24],
  ] as const) {
    const adapter = { doorbellEntries: 8, ...(busDepth === undefined ? {} : { busDepth }) };
    const fixture = new AdapterFixture({ adapter });
    fixture.machine.onStep = () => {};
    const { doorbells } = fixture.machine.device.functions[0];
    const queues = Array.from({ length: 40 }, () => fixture.createQueuePair());
    for (const qp of queues) qp.ring(0);
    t.equal(doorbells.inbound.posted, held, `depth ${busDepth}`);
    t.equal(fixture.read(CSR.DOORBELLS_LOST), 40 - held);
    fixture.settle();
  }
});

t.test('the commands of a turn; after it the descriptor has the read pointer', async (t) => {
  for (const [fetchQuantum, turns] of [
    [undefined, 2],
    [5, 4],
    [20, 1],
  ] as const) {
    const fixture = new AdapterFixture({ adapter: fetchQuantum === undefined ? {} : { fetchQuantum } });
    const qp = fixture.createQueuePair({ sendEntriesLog2: 5 });
    const descriptor = fixture.access.view(qp.parts.descriptorAddress, 32);
    for (let count = 0; count < 20; count++) qp.post(NOP, 'slot');
    const before = fixture.read(CSR.QUEUE_TURNS);
    qp.ring();
    fixture.settle();
    t.equal(fixture.read(CSR.COMMANDS_FETCHED), 20);
    t.equal(fixture.read(CSR.QUEUE_TURNS) - before, turns, `quantum ${fetchQuantum}`);
    t.equal(getSendQueueDescriptorNextSequence(descriptor, 0), 20);
  }
});

t.test('values out of range', async (t) => {
  const wrong: [keyof AdapterOptions, number[], string][] = [
    ['privatePercent', [-1, 101, 0.5], '0 to 100'],
    ['idleIntervalNs', [0, 1e13], '1 to 1000000000000'],
    ['busDepth', [0, 65], '1 to 64'],
    ['fetchQuantum', [0, 257], '1 to 256'],
  ];
  for (const [name, values, range] of wrong)
    for (const value of values)
      t.equal(
        findOptionError({ ...defaultAdapterOptions, [name]: value }),
        `option ${name} is ${value}; it must be ${range}`,
      );
  t.equal(
    findOptionError({ ...defaultAdapterOptions, pcbCount: undefined } as never),
    'option pcbCount is undefined; it must be 1 to 1024',
  );
  t.equal(findOptionError(defaultAdapterOptions), undefined);
});
