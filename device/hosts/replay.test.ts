// SPDX-License-Identifier: Apache-2.0
/**
 * Sessions of the real adapter, recorded at the seam and replayed without a guest: the calls are
 * equal byte for byte (docs/ARCHITECTURE.md, The seam; docs/DOCUMENTS.md decision 17).
 */
import t from 'tap';
import { CSR } from '../../protocol/layout/gen/registers.gen.ts';
import { SendOpcode } from '../../protocol/layout/gen/values.gen.ts';
import { encodeLinkChange } from '../fabric/link/link-changes.ts';
import { Adapter } from '../hca/adapter/adapter.ts';
import type { AdapterOptions } from '../hca/adapter/options.ts';
import type { AdapterClock, HostPort } from '../host.ts';
import { AdapterFixture, type Pair } from '../rig/fixtures/adapter-fixture.ts';
import { Recorder } from './recording.ts';
import { decodeHeader } from './recording-format.ts';
import { Replay } from './replay.ts';

const build = (options: AdapterOptions, clock: AdapterClock, hosts: HostPort[]) => new Adapter(options, clock, hosts);

/** A sink that keeps the recording in memory. */
class MemorySink {
  readonly #pieces: Uint8Array[] = [];
  lengthBytes = 0;
  calls = 0;

  readonly sink = (bytes: Uint8Array): void => {
    this.#pieces.push(bytes.slice());
    this.lengthBytes += bytes.length;
    this.calls++;
  };

  get bytes(): Uint8Array {
    const joined = new Uint8Array(this.lengthBytes);
    let at = 0;
    for (const piece of this.#pieces) {
      joined.set(piece, at);
      at += piece.length;
    }
    return joined;
  }
}

function recordedFixture(seed: number, memory: MemorySink, chunkBytes?: number): AdapterFixture {
  const record = (options: AdapterOptions, count: number) => new Recorder(options, count, memory.sink, chunkBytes);
  return new AdapterFixture({
    seed,
    record,
    budget: 9,
    memoryBytes: 32 * 1024 * 1024,
    adapter: { pcbCount: 6, pcbGuaranteed: [2, 2] },
  });
}

/** Random valid and invalid work. */
function work(fixture: AdapterFixture, pairs: Pair[], rounds: number): void {
  const { random, machine, access } = fixture;
  for (let round = 0; round < rounds; round++) {
    const { sender, receiver, to } = random.pick(pairs);
    machine.clock.advance(random.below(10_000));
    fixture.postReceive(receiver, 40 + random.below(300));
    const content = random.oneIn(2)
      ? { inline: random.bytes(random.below(257)) }
      : { sges: [fixture.sge(fixture.createBuffer(random.below(1000)))] };
    sender.post(to(content), random.pick(['collect', 'doorbell', 'register', 'slot'] as const), {
      storeBytes: 0,
      random,
    });
    if (random.oneIn(5)) receiver.parts.receiveCq.notify({ solicitedOnly: random.oneIn(2) });
    if (random.oneIn(10)) fixture.host.masked[5] = random.below(2);
    if (random.oneIn(10))
      access.writeCollect(random.below(0x50000), random.pick([1, 2, 4, 8]), random.next(), random.next());
    if (random.oneIn(10)) access.readRegister(random.below(0x2000), random.pick([1, 2, 4, 8]));
    if (random.oneIn(3)) machine.step();
    sender.parts.sendCq.drain();
    receiver.parts.receiveCq.drain();
    fixture.events.walk();
    if (random.oneIn(50)) {
      sender.toReset();
      sender.start({ port: 1, qkey: 0x1234 });
    }
  }
}

function recordSession(seed: number): Uint8Array {
  const memory = new MemorySink();
  const fixture = recordedFixture(seed, memory, 4096);
  work(fixture, [fixture.createPair(), fixture.createPair()], 300);
  fixture.machine.reset(0, 'function');
  fixture.settle();
  fixture.machine.resume();
  fixture.bringUp();
  work(fixture, [fixture.createPair()], 50);
  fixture.settle();
  fixture.machine.recorder?.flush();
  return memory.bytes;
}

t.test('random sessions replay to equal calls, from the construction to the last one', async (t) => {
  for (const seed of [201, 202, 203, 204]) {
    const recording = recordSession(seed);
    const replay = new Replay(recording, build);
    const result = replay.run();
    t.equal(result.divergence, undefined, `seed ${seed}`);
    t.notOk(result.truncated, `seed ${seed}`);
    t.ok(result.steps > 3000, `seed ${seed}: ${result.steps} steps`);
    const live = replay.adapter.functions[0]?.readRegister(CSR.LANE_LAUNCHES, 4) ?? 0;
    t.ok(live > 100, `seed ${seed}: the replayed adapter did the work, ${live} launches`);
  }
});

t.test('a session with shadow tails is repeated: looks, finds and rests', async (t) => {
  for (const seed of [208, 209]) {
    const memory = new MemorySink();
    const fixture = recordedFixture(seed, memory);
    fixture.driver.watchTails();
    const { random, machine } = fixture;
    const queues = Array.from({ length: 18 }, () => fixture.createQueuePair({ sendEntriesLog2: 4 }));
    const completed = queues.map(() => 0);
    machine.onStep = () => {};
    for (let round = 0; round < 2000; round++) {
      const index = random.below(queues.length);
      const qp = queues[index];
      if (random.oneIn(3)) machine.clock.advance(random.below(60_000));
      if (qp.sendTail - completed[index] < 16) qp.post({ header: { opcode: SendOpcode.NOP } }, 'tail');
      if (random.oneIn(2)) machine.step();
      if (random.oneIn(40)) machine.adapter.rest?.();
      completed[index] += qp.parts.sendCq.drain().length;
    }
    const finds = fixture.read(CSR.TAILS_FOUND);
    t.ok(finds > 300, `seed ${seed}: ${finds} finds`);
    machine.recorder?.flush();
    const replay = new Replay(memory.bytes, build);
    t.match(replay.run(), { divergence: undefined, truncated: false }, `seed ${seed}`);
    t.equal(replay.adapter.functions[0]?.readRegister(CSR.TAILS_FOUND, 4), finds, `seed ${seed}`);
  }
});

t.test('changes of the link of an adapter are repeated', async (t) => {
  const memory = new MemorySink();
  const fixture = recordedFixture(207, memory);
  const { adapter } = fixture.machine;
  const change = (...words: string[]): void => adapter.changeLink?.(encodeLinkChange('adapter:2', words));
  change('set', 'drop=0.5', 'seed=3');
  const pairs = [fixture.createPair()];
  work(fixture, pairs, 30);
  change('down');
  work(fixture, pairs, 10);
  change('up');
  work(fixture, pairs, 30);
  fixture.settle();
  fixture.machine.recorder?.flush();
  const replay = new Replay(memory.bytes, build);
  t.match(replay.run(), { divergence: undefined, truncated: false });
  const [port] = (replay.adapter as Adapter).uplinks;
  t.equal(port.counters.linkDowned, 2, 'by the exchange of the cable, and by the cut');
});

t.test('one different byte from the host makes the adapter differ, and the report names it', async (t) => {
  const memory = new MemorySink();
  const fixture = recordedFixture(205, memory);
  const { sender, receiver, to } = fixture.createPair();
  const target = fixture.postReceive(receiver, 40 + 64);
  const source = fixture.createBuffer(fixture.random.bytes(64));
  sender.post(to({ sges: [fixture.sge(source)] }));
  fixture.settle();
  fixture.machine.recorder?.flush();
  const spoiled = (options: AdapterOptions, clock: AdapterClock, hosts: HostPort[]) => {
    const [host] = hosts as [HostPort];
    const { readMemory } = host;
    host.readMemory = (at, lengthBytes, into, offset) => {
      const read = readMemory(at, lengthBytes, into, offset);
      if (at.value === source.address) into[offset + 17] = (into[offset + 17] ?? 0) ^ 1;
      return read;
    };
    return new Adapter(options, clock, hosts);
  };
  t.equal(new Replay(memory.bytes, build).run().divergence, undefined);
  const { divergence } = new Replay(memory.bytes, spoiled).run();
  t.match(divergence?.during, /^step \d+: run$/);
  t.match(
    divergence?.expected,
    new RegExp(`^byte 0x${(target.address + 40 + 17).toString(16)} \\(17 of 64\\): `),
    'the byte in the receive buffer',
  );
  t.not(divergence?.expected, divergence?.actual);
});

t.test('an adapter with other options differs', async (t) => {
  const recording = recordSession(206);
  const other = (options: AdapterOptions, clock: AdapterClock, hosts: HostPort[]) =>
    new Adapter({ ...options, executionCredits: 1, pcbCount: 5 }, clock, hosts);
  const result = new Replay(recording, other).run();
  t.ok(result.divergence);
  t.match(new Replay(recording, build).header.plan, { pcbCount: 6 });
});

t.test('a truncated session replays up to its end', async (t) => {
  const recording = recordSession(207);
  const { lengthBytes } = decodeHeader(recording);
  let steps = 0;
  for (const part of [0.01, 0.2, 0.5, 0.77, 0.99]) {
    const result = new Replay(
      recording.subarray(0, lengthBytes + Math.floor((recording.length - lengthBytes) * part)),
      build,
    ).run();
    t.equal(result.divergence, undefined, `${part} of it`);
    t.ok(result.steps > steps, `${part} of it: ${result.steps} steps`);
    steps = result.steps;
  }
});

t.test('a replay can be stepped, and the adapter inspected between steps', async (t) => {
  const replay = new Replay(recordSession(208), build);
  const names = new Set<string>();
  let last = -1;
  replay.onStep = ({ index, name, timeNs }) => {
    names.add(name);
    if (index !== last + 1 || timeNs < 0) t.fail(`step ${index} after ${last}`);
    last = index;
  };
  for (let count = 0; count < 500; count++) t.ok(replay.step());
  t.equal(last, 499);
  const before = (replay.adapter as Adapter).lanes.functionLaunches[0];
  replay.run();
  t.ok((replay.adapter as Adapter).lanes.functionLaunches[0] > before);
  for (const name of [
    'run',
    'read register',
    'write register',
    'write collect',
    'memory mapped',
    'bus master',
    'reset',
  ])
    t.ok(names.has(name), name);
});

t.test('a recording is compact and reaches its sink in few calls', async (t) => {
  const memory = new MemorySink();
  const fixture = recordedFixture(209, memory);
  const { sender, receiver, to } = fixture.createPair();
  fixture.machine.recorder?.flush();
  const [bytes, calls] = [memory.lengthBytes, memory.calls];
  const messages = 1000;
  for (let count = 0; count < messages; count++) {
    fixture.postReceive(receiver, 40 + 8);
    sender.post(to({ inline: new Uint8Array(8) }));
    fixture.machine.step();
    sender.parts.sendCq.drain();
    receiver.parts.receiveCq.drain();
  }
  fixture.machine.recorder?.flush();
  const perMessage = (memory.lengthBytes - bytes) / messages;
  // A message: 9 stores of 8 bytes, an address handle, a receive WQE of a 512-byte slot, two CQEs
  // and the payload, and the register reads of the invariants.
  t.ok(perMessage < 2000, `${perMessage} bytes per message`);
  t.ok(memory.calls - calls < 10, `${memory.calls - calls} pieces`);
});
