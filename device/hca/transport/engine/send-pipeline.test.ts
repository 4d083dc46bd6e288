// SPDX-License-Identifier: Apache-2.0
/**
 * The send pipeline in time (US 8,484,392 par. 39-43, 94-100, 116-124): commands of every service
 * hold both credits while their reads and packets take time, DMA contexts limit the reads, lanes
 * overtake each other, and no credit leaks however a command ends.
 */
import t from 'tap';
import { PAGE_BYTES } from '../../../../protocol/layout/gen/constants.gen.ts';
import { CSR } from '../../../../protocol/layout/gen/registers.gen.ts';
import { CompletionStatus, FaultKind, SendOpcode, ServiceType } from '../../../../protocol/layout/gen/values.gen.ts';
import type { DriverQueuePair } from '../../../rig/driver/queue-pair.ts';
import type { SendRequest } from '../../../rig/driver/send-request.ts';
import { AdapterFixture } from '../../../rig/fixtures/adapter-fixture.ts';
import { NOP } from '../../../rig/fixtures/command-poster.ts';
import { connect } from '../../../rig/fixtures/connected-fixture.ts';
import { PacketPeer } from '../../../rig/fixtures/packet-peer.ts';
import { InProcessAccess } from '../../../rig/machine/access.ts';
import { AdapterLoad } from '../../../rig/qos/adapter-load.ts';
import { type AdapterOptions, defaultAdapterOptions, findOptionError } from '../../adapter/options.ts';
import { countPayloadReads } from '../payload-reads.ts';
import { RECORDS_PER_QUEUE_PAIR } from '../state/requester-state.ts';

const LATENCY_NS = 1000;
const INLINE = { inline: Uint8Array.of(1) };
/** For datagrams to no QP: their arrival needs no read of a receive WQE. */
const NOWHERE = { remoteQpn: 0xabcde };

function fixtureWith(adapter: Partial<AdapterOptions>): AdapterFixture {
  return new AdapterFixture({ adapter: { laneCount: 1, dmaLatencyNs: LATENCY_NS, ...adapter } });
}

/** Lets `timeNs` pass, and the device work. */
function pass(fixture: AdapterFixture, timeNs = LATENCY_NS): void {
  fixture.machine.clock.advance(timeNs);
  fixture.settle();
}

/** Number of completions that arrived since the last call. Throws unless all are successful. */
function completions(qp: DriverQueuePair): number {
  const entries = qp.parts.sendCq.drain();
  const failed = entries.find(({ status }) => status !== CompletionStatus.SUCCESS);
  if (failed !== undefined) throw new Error(`QP ${qp.qpn}: status ${failed.status}`);
  return entries.length;
}

function used(fixture: AdapterFixture): [execution: number, completion: number] {
  return [fixture.read(CSR.EXECUTION_CREDITS_USED), fixture.read(CSR.COMPLETION_CREDITS_USED)];
}

/** Posts `count` commands by collect page: no fetch takes time. */
function post(qp: DriverQueuePair, request: object, count: number): void {
  for (let posted = 0; posted < count; posted++) qp.post(request);
}

t.test('datagrams hold credits until their address handle is read', async (t) => {
  const fixture = fixtureWith({ executionCredits: 2, completionCredits: 8 });
  const { sender, to } = fixture.createPair();
  post(sender, to(INLINE), 20);
  fixture.settle();
  t.same(used(fixture), [2, 2], 'two launches of 20');
  t.equal(fixture.read(CSR.LANE_LAUNCHES), 2);
  t.equal(fixture.read(CSR.KICK_LIST_LENGTH), 18);
  pass(fixture, LATENCY_NS - 1);
  t.equal(completions(sender), 0);
  for (let done = 2; done <= 20; done += 2) {
    pass(fixture, done === 2 ? 1 : LATENCY_NS);
    t.equal(completions(sender), 2);
    t.same(used(fixture), done === 20 ? [0, 0] : [2, 2]);
  }
  fixture.finish();
});

t.test('a completion credit limits commands as well', async (t) => {
  const fixture = fixtureWith({ executionCredits: 8, completionCredits: 3 });
  const { sender, to } = fixture.createPair();
  post(sender, to(INLINE), 7);
  fixture.settle();
  t.same(used(fixture), [3, 3]);
  for (const expected of [3, 3, 1]) {
    pass(fixture);
    t.equal(completions(sender), expected);
  }
  fixture.finish();
});

t.test('NOPs of every service hold their credits for the time of the pipeline', async (t) => {
  for (const serviceType of [ServiceType.UD, ServiceType.UC, ServiceType.RC]) {
    const fixture = fixtureWith({ executionCredits: 2, completionCredits: 2, dmaLatencyNs: 0, pipelineNs: 300 });
    const qp = serviceType === ServiceType.UD ? fixture.createQueuePair() : connect(fixture, { serviceType }).a;
    post(qp, NOP, 5);
    fixture.settle();
    t.same(used(fixture), [2, 2]);
    t.equal(fixture.read(CSR.LANE_LAUNCHES), 2);
    pass(fixture, 299);
    t.equal(completions(qp), 0);
    for (const [timeNs, expected] of [
      [1, 2],
      [300, 2],
      [300, 1],
    ]) {
      pass(fixture, timeNs);
      t.equal(completions(qp), expected);
    }
    t.same(used(fixture), [0, 0]);
    fixture.finish();
  }
});

t.test('a completion waits for all reads of its command; contexts limit them', async (t) => {
  for (const [contexts, turns] of [
    [1, 4],
    [2, 2],
    [3, 2],
    [64, 1],
  ]) {
    const fixture = fixtureWith({ dmaContexts: contexts });
    const { a, b } = connect(fixture, { serviceType: ServiceType.UC });
    fixture.postReceive(b, 20_000);
    const buffer = fixture.createBuffer(fixture.random.bytes(3 * 4096));
    // 4096 + 1 bytes are two reads, 4000 one, 4096 one.
    a.post({ sges: [fixture.sge(buffer, 0, 4097), fixture.sge(buffer, 8, 4000), fixture.sge(buffer, 0, 4096)] });
    fixture.settle();
    for (let turn = 1; turn <= turns; turn++) {
      pass(fixture, LATENCY_NS - 1);
      t.equal(completions(a), 0, `${contexts} contexts, turn ${turn}`);
      pass(fixture, 1);
    }
    t.equal(completions(a), 1);
    // The receiver reads its tail and its WQE.
    for (let read = 0; read < 2; read++) pass(fixture);
    t.equal(b.parts.receiveCq.drain().length, 1);
    fixture.finish();
  }
});

t.test('lanes share contexts in turns and overtake each other; commands of a lane do not', async (t) => {
  const fixture = fixtureWith({ laneCount: 2, dmaContexts: 1 });
  const { sender: long, to } = fixture.createPair();
  const { sender: short } = fixture.createPair();
  const buffer = fixture.createBuffer(2048);
  const sges = Array.from({ length: 8 }, (_, index) => fixture.sge(buffer, index * 256, 256));
  long.post(to({ sges, ...NOWHERE }));
  long.post(to(NOP));
  fixture.settle();
  short.post(to({ ...INLINE, ...NOWHERE }));
  short.post(to(NOP));
  fixture.settle();
  pass(fixture);
  t.same([completions(long), completions(short)], [0, 0], 'the one context served the first lane');
  pass(fixture);
  t.same([completions(long), completions(short)], [0, 2], 'then the second, whose NOP needs no read');
  for (let read = 2; read < 10; read++) {
    t.equal(completions(long), 0, 'the NOP behind the long command waits for it');
    pass(fixture);
  }
  t.equal(completions(long), 2);
  fixture.finish();
});

t.test('commands keep their order when the map of lanes changes', async (t) => {
  const fixture = fixtureWith({ laneCount: 2 });
  const { lanes } = fixture.machine.device;
  const { sender, to } = fixture.createPair();
  sender.post(to(INLINE));
  fixture.settle();
  const lane = lanes.lanes.findIndex(({ launches }) => launches > 0);
  lanes.setMap(0, 0, [2 >> lane]);
  sender.post(to(NOP));
  fixture.settle();
  t.equal(completions(sender), 0, 'the NOP does not overtake the datagram');
  t.equal(lanes.lanes[lane].launches, 2);
  pass(fixture);
  t.equal(completions(sender), 2);
  sender.post(to(NOP));
  fixture.settle();
  t.equal(lanes.lanes[1 - lane].launches, 1, 'afterwards the new map applies');
  fixture.finish();
});

t.test('reads that carry no payload take no context', async (t) => {
  const fixture = fixtureWith({});
  const { a, region } = connect(fixture);
  const local = fixture.createBuffer(64);
  const remote = fixture.createBuffer(64);
  a.post({
    opcode: SendOpcode.RDMA_READ,
    sges: [fixture.sge(local)],
    remote: { address: remote.address, rkey: region.rkey },
  });
  a.post({ opcode: SendOpcode.RDMA_WRITE, ...INLINE, remote: { address: remote.address, rkey: region.rkey } });
  fixture.settle();
  t.equal(completions(a), 0, 'the responder reads the data');
  pass(fixture);
  t.equal(completions(a), 2);
  t.equal(fixture.machine.device.engine.pipeline.stage.reads, 0);
  fixture.finish();
});

t.test('the latency changes at run time; outstanding reads keep their time', async (t) => {
  const fixture = fixtureWith({});
  const setLatency = (ns: number): void => fixture.access.writeRegister(CSR.DMA_LATENCY, 4, ns, 0);
  const { sender, to } = fixture.createPair();
  sender.post(to(INLINE));
  fixture.settle();
  setLatency(10);
  sender.post(to(INLINE));
  fixture.settle();
  pass(fixture, 10);
  t.equal(completions(sender), 0, 'completions do not overtake each other');
  setLatency(0);
  sender.post(to(INLINE));
  fixture.settle();
  t.equal(completions(sender), 0, 'nor do commands');
  pass(fixture, LATENCY_NS - 10);
  t.equal(completions(sender), 3);
  sender.post(to(INLINE));
  fixture.settle();
  t.equal(completions(sender), 1, 'at once');
  fixture.finish();
});

t.test('registers set the times and show what waits; only the physical function sets', async (t) => {
  const fixture = new AdapterFixture({
    functionCount: 2,
    adapter: { laneCount: 1, dmaLatencyNs: LATENCY_NS, dmaContexts: 3, pipelineNs: 5 },
  });
  const other = new InProcessAccess(fixture.machine, 1);
  const settings = [CSR.DMA_LATENCY, CSR.DMA_CONTEXTS, CSR.PIPELINE_TIME];
  const read = (access = fixture.access): number[] => settings.map((offset) => access.readRegister(offset, 4));
  t.same(read(), [LATENCY_NS, 3, 5]);
  const { sender, to } = fixture.createPair();
  post(sender, to(INLINE), 7);
  fixture.settle();
  t.same([fixture.read(CSR.DMA_CONTEXTS_USED), fixture.read(CSR.PIPELINE_COMMANDS)], [3, 7]);
  t.equal(other.readRegister(CSR.PIPELINE_COMMANDS, 4), 0);
  for (const offset of settings) other.writeRegister(offset, 4, 9, 0);
  t.same(read(other), [LATENCY_NS, 3, 5]);
  t.equal(other.readRegister(CSR.FAULT_COUNT + FaultKind.NOT_PERMITTED * 4, 4), 3);
  fixture.access.writeRegister(CSR.DMA_CONTEXTS, 4, 0, 0);
  t.same(read(), [LATENCY_NS, 1, 5], 'one context at least');
  fixture.access.writeRegister(CSR.DMA_CONTEXTS, 4, 4, 0);
  fixture.access.writeRegister(CSR.PIPELINE_TIME, 4, 6, 0);
  pass(fixture);
  t.equal(completions(sender), 3);
  t.equal(fixture.read(CSR.DMA_CONTEXTS_USED), 4);
  fixture.machine.reset(0, 'function');
  t.same(read(), [LATENCY_NS, 3, 5], 'a reset of the physical function restores the options');
});

t.test('options out of range are refused', async (t) => {
  for (const [option, value, range] of [
    ['dmaLatencyNs', -1, '0 to 1073741823'],
    ['dmaLatencyNs', 2 ** 30, '0 to 1073741823'],
    ['pipelineNs', 0.5, '0 to 1073741823'],
    ['dmaContexts', 0, '1 to 1023'],
    ['dmaContexts', 1024, '1 to 1023'],
  ])
    t.equal(
      findOptionError({ ...defaultAdapterOptions, [option]: value }),
      `option ${option} is ${value}; it must be ${range}`,
    );
});

/** Ways in which commands in the pipeline end. */
const endings: Record<string, (fixture: AdapterFixture, qp: DriverQueuePair) => void> = {
  'the error state': (_, qp) => qp.toError(),
  'reset of the QP': (_, qp) => qp.toReset(),
  destruction: (_, qp) => qp.destroy(),
  'reset of the function': ({ machine }) => machine.reset(0, 'function'),
  'loss of the guest': ({ machine }) => machine.reset(0, 'lost'),
  'bus mastering turned off': (fixture) => {
    fixture.access.port.setBusMaster(false);
    fixture.host.quietBecause = 'bus mastering is off';
  },
};

for (const [name, end] of Object.entries(endings))
  for (const serviceType of [ServiceType.UD, ServiceType.UC, ServiceType.RC])
    t.test(`no credit leaks on ${name}, service ${serviceType}`, async (t) => {
      const fixture = fixtureWith({ executionCredits: 4, completionCredits: 8, dmaContexts: 2 });
      const pair = fixture.createPair();
      const qp = serviceType === ServiceType.UD ? pair.sender : connect(fixture, { serviceType }).a;
      const buffer = fixture.createBuffer(4096);
      post(qp, pair.to({ sges: [fixture.sge(buffer, 0, 2048), fixture.sge(buffer, 2048, 2048)] }), 9);
      fixture.settle();
      t.same(used(fixture), [4, 4]);
      end(fixture, qp);
      const isReset = fixture.host.quietBecause.includes('reset');
      if (isReset) t.same(used(fixture), [0, 0], 'a reset waits for no read');
      for (let turns = 0; turns < 40; turns++) pass(fixture);
      t.same(used(fixture), [0, 0]);
      t.equal(fixture.read(CSR.KICK_LIST_LENGTH), 0);
      t.equal(fixture.machine.device.engine.pipeline.stage.contextsUsed, 0);
      if (fixture.host.quietBecause !== '') return;
      fixture.finish();
      if (name !== 'the error state') return;
      const { reads } = fixture.machine.device.engine.pipeline.stage;
      t.equal(reads, 4 * (serviceType === ServiceType.UD ? 3 : 2), 'commands that are flushed need no reads');
      t.same(
        qp.parts.sendCq.drain().map(({ queueSequence, status }) => [queueSequence, status]),
        Array.from({ length: 9 }, (_, sequence) => [sequence, CompletionStatus.FLUSHED]),
      );
    });

t.test('a reset drops the commands of its function only', async (t) => {
  const fixture = new AdapterFixture({
    functionCount: 2,
    adapter: { laneCount: 1, dmaLatencyNs: LATENCY_NS, dmaContexts: 1 },
  });
  const { stage } = fixture.machine.device.engine.pipeline;
  const { sender, to } = fixture.createPair();
  post(sender, to({ ...INLINE, ...NOWHERE }), 3);
  fixture.settle();
  fixture.machine.functionAt(1).reset('function');
  t.equal(stage.count, 3, 'the other function has none');
  for (let read = 0; read < 3; read++) {
    pass(fixture);
    t.equal(completions(sender), 1);
  }
  fixture.finish();
});

t.test('commands in the pipeline finish while the adapter is disabled', async (t) => {
  const fixture = fixtureWith({ executionCredits: 2 });
  const { sender, to } = fixture.createPair();
  post(sender, to(INLINE), 5);
  fixture.settle();
  fixture.access.writeRegister(CSR.ADAPTER_CONTROL, 4, 1, 0);
  pass(fixture);
  t.equal(completions(sender), 2);
  pass(fixture);
  t.equal(completions(sender), 0, 'no further launch');
  fixture.access.writeRegister(CSR.ADAPTER_CONTROL, 4, 0, 0);
  for (let turn = 0; turn < 3; turn++) pass(fixture);
  t.equal(completions(sender), 3);
  fixture.finish();
});

t.test('more commands in the pipeline than a connection has records: the rest returns to the send queue', async (t) => {
  const fixture = fixtureWith({ dmaLatencyNs: 0, pipelineNs: 100, portQueuePackets: 2 });
  const count = 3 * RECORDS_PER_QUEUE_PAIR;
  const { a, b } = connect(fixture, { sendEntriesLog2: 8, receiveEntriesLog2: 8 });
  for (let posted = 0; posted < count; posted++) fixture.postReceive(b, 8);
  for (let posted = 0; posted < count; posted++) {
    a.post(INLINE);
    // Some are launched while others stay, and while records wait for the port.
    if (posted % 5 === 0) fixture.machine.step();
    if (posted % 7 === 0) fixture.machine.clock.advance(30);
  }
  for (let turn = 0; turn < 40; turn++) pass(fixture, 100);
  const sequences = a.parts.sendCq.drain().map(({ queueSequence }) => queueSequence);
  t.same(sequences, [...Array(count).keys()], 'each is executed once, in order');
  fixture.finish();
});

t.test('a command behind staged ones does not return to the send queue before them', async (t) => {
  const peer = new PacketPeer({ fixture: { adapter: { laneCount: 1, pipelineNs: 100 } } });
  const { fixture, qp } = peer;
  post(qp, INLINE, RECORDS_PER_QUEUE_PAIR);
  fixture.settle();
  fixture.machine.clock.advance(50);
  post(qp, INLINE, 6);
  fixture.settle();
  pass(fixture, 50);
  t.equal(fixture.read(CSR.PIPELINE_COMMANDS), 6, 'the connection has all its records');
  post(qp, INLINE, 1);
  fixture.settle();
  for (let turn = 0; turn < 10; turn++) {
    pass(fixture, 100);
    for (const { psn } of peer.take()) peer.acknowledge(psn - peer.firstPsn);
  }
  t.equal(completions(qp), RECORDS_PER_QUEUE_PAIR + 7);
  fixture.finish();
});

t.test('reads of a command', async (t) => {
  const fixture = fixtureWith({});
  const pair = fixture.createPair();
  const { a } = connect(fixture);
  const buffer = fixture.createBuffer(20_000);
  const readsOf = (qp: DriverQueuePair, request: SendRequest): number => {
    const bytes = qp.fill(request);
    return countPayloadReads(qp === a, new DataView(bytes.buffer, bytes.byteOffset, bytes.length));
  };
  const two = [fixture.sge(buffer, 0, 4097), fixture.sge(buffer, 0, 1)];
  const empty = fixture.sge(buffer, 0, 0);
  t.equal(readsOf(a, INLINE), 0);
  t.equal(readsOf(a, NOP), 0);
  t.equal(readsOf(a, { sges: [fixture.sge(buffer, 0, 4096)] }), 1);
  t.equal(readsOf(a, { sges: two }), 3);
  t.equal(readsOf(a, { sges: [...two, empty] }), 3);
  t.equal(readsOf(a, { sges: [] }), 0);
  t.equal(readsOf(a, { opcode: SendOpcode.RDMA_WRITE, sges: two, remote: { address: 0, rkey: 0 } }), 3);
  t.equal(readsOf(a, { opcode: SendOpcode.RDMA_READ, sges: two, remote: { address: 0, rkey: 0 } }), 0);
  t.equal(readsOf(a, { header: { opcode: SendOpcode.FAST_REGISTER } }), 1);
  t.equal(readsOf(a, { header: { opcode: SendOpcode.LOCAL_INVALIDATE } }), 0);
  t.equal(readsOf(pair.sender, pair.to(INLINE)), 1, 'the address handle');
  t.equal(readsOf(pair.sender, pair.to({ sges: two })), 4);
  t.equal(readsOf(pair.sender, NOP), 0);
  t.equal(readsOf(a, { sges: two, header: { sgeCount: 17 } }), 0, 'a command that fails');
  t.equal(readsOf(a, { sges: two, header: { sgeCount: 16 } }), 0, 'elements beyond its end');
});

t.test('the level of the VCB decides PCB and lane of a command; the mismatch is counted', async (t) => {
  const fixture = new AdapterFixture({ adapter: { laneCount: 2, pipelineNs: 10 }, bringUp: { levelOnePages: 16 } });
  const { lanes } = fixture.machine.device;
  lanes.setMap(0, 0, [1]);
  lanes.setMap(0, 1, [2]);
  const qp = fixture.createQueuePair();
  const pageOfLevelOne = (fixture.read(CSR.VCB_COUNT) - 1) * PAGE_BYTES;
  for (const [page, lane, mismatches] of [
    [qp.parts.page, 0, 0],
    [pageOfLevelOne, 1, 1],
  ]) {
    const command = qp.fill(NOP);
    qp.advanceSendTail();
    qp.collect(command, {}, page);
    fixture.settle();
    t.equal(lanes.lanes[lane].launches, 1);
    t.same([fixture.read(CSR.PCB_IN_USE, 0), fixture.read(CSR.PCB_IN_USE, 1)], [1 - lane, lane]);
    t.equal(fixture.read(CSR.LEVEL_MISMATCHES), mismatches);
    pass(fixture, 10);
    t.equal(completions(qp), 1);
  }
  fixture.finish();
});

for (const seed of [1, 2, 3])
  t.test(`random load with latency, seed ${seed}`, async (t) => {
    const load = new AdapterLoad(seed, { dmaLatencyNs: 3000, dmaContexts: 1 + seed * 2, pipelineNs: seed * 500 });
    load.run(1200);
    load.drain();
    t.ok(load.summary.messages > 100, JSON.stringify(load.summary));
    t.ok(load.machine.device.engine.pipeline.stage.reads > 100);
  });
