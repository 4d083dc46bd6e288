// SPDX-License-Identifier: Apache-2.0
/**
 * Chaos over the data path: connections post random requests across a bad link, some of them wrong;
 * QPs are failed, reset and connected again at any time. What must hold is checked at each
 * completion: requests complete in their order, messages arrive in theirs, once, and unaltered,
 * and after a failure everything that was posted is flushed.
 */
import { CompletionSyndrome, WorkOpcode } from '../../../../protocol/mthca/gen/values.gen.ts';
import { Random } from '../../../random.ts';
import { type BenchQueuePair, DataBench } from './data-bench.ts';
import { LOG_ENTRIES, type Piece, type SendWork } from './data-queue-pair.ts';

const PAIRS = 3;
const ENTRIES = 2 ** LOG_ENTRIES;
const BYTES = 8192;
const NO_KEY = 0x7f00;
/** A message is its number, in every dword. */
const DWORD = 4;
const { SEND, RDMA_WRITE, RDMA_READ, FETCH_AND_ADD } = WorkOpcode;

/** Memory of one end: targets of receives, local and remote memory of RDMA, and a counter. */
interface Memory {
  readonly receives: readonly Piece[];
  readonly local: Piece;
  readonly remote: Piece;
  readonly counter: Piece;
}

class End {
  readonly qp: BenchQueuePair;
  readonly memory: Memory;
  /** Requests that have not completed: their offsets, and lengths of receives. */
  readonly sends: number[] = [];
  readonly receives: number[] = [];
  sentMessages = 0;
  takenMessages = 0;
  posted = 0;
  received = 0;
  failed = false;

  constructor(qp: BenchQueuePair, memory: Memory) {
    this.qp = qp;
    this.memory = memory;
  }
}

/** Two connected ends. */
class Connection {
  readonly ends: readonly [End, End];
  failed = false;
  starts = 0;

  constructor(ends: readonly [End, End]) {
    this.ends = ends;
  }
}

export class DataChaos {
  readonly bench: DataBench;
  /** What happened, so that a run that tests nothing is seen. */
  messages = 0;
  failures = 0;
  readonly #random: Random;
  readonly #connections: Connection[] = [];

  constructor(seed: number) {
    this.#random = new Random(seed);
    const faults = { drop: 0.02, duplicate: 0.02, reorder: 0.02, corrupt: 0.01, delay: 0.02 };
    this.bench = new DataBench({
      portLink: seed % 2 === 0 ? { kind: 'cable' } : { kind: 'faulty', seed, delayNs: 1000, faults },
    });
    for (let index = 0; index < PAIRS; index++) {
      const connection = new Connection([this.#end(1), this.#end(2)]);
      this.#connections.push(connection);
      this.#start(connection);
    }
  }

  run(acts: number): void {
    for (let act = 0; act < acts; act++) {
      this.#act(this.#random.pick(this.#connections));
      if (this.#random.oneIn(20)) this.bench.takeEvents();
    }
    for (const connection of this.#connections) this.#restart(connection);
  }

  #end(port: number): End {
    const { bench } = this;
    const qp = bench.queuePair({ port });
    const receives = Array.from({ length: ENTRIES }, () => bench.memory(256));
    return new End(qp, {
      receives,
      local: bench.memory(BYTES),
      remote: bench.memory(BYTES),
      counter: bench.memory(8),
    });
  }

  #start({ ends: [first, second], starts }: Connection): void {
    const psn = (starts * 100_003 + 100) % 2 ** 24;
    first.qp.start(second.qp.number, 2, {}, psn);
    second.qp.start(first.qp.number, 1, {}, psn);
  }

  #act(connection: Connection): void {
    const random = this.#random;
    const [end, peer] = random.oneIn(2) ? connection.ends : [connection.ends[1], connection.ends[0]];
    if (connection.failed) return this.#restart(connection);
    switch (random.below(8)) {
      case 0:
      case 1:
      case 2:
        return this.#postReceives(end);
      case 3:
      case 4:
        return this.#postSends(end, peer);
      case 5:
        if (random.oneIn(40)) return this.#failBySoftware(connection, end);
        return this.#pass();
      default:
        this.#pass();
        this.#take(connection);
    }
  }

  /** Steps, and time now and then. */
  #pass(): void {
    const { machine } = this.bench.driver;
    if (this.#random.oneIn(3)) {
      machine.runUntilIdle();
      machine.clock.jumpToAlarm();
    } else for (let steps = this.#random.below(4); steps >= 0; steps--) machine.step();
  }

  #postReceives(end: End): void {
    const room = ENTRIES - end.receives.length;
    if (room === 0) return;
    for (let count = 1 + this.#random.below(room); count > 0; count--) {
      const piece = end.memory.receives[end.received % ENTRIES];
      // A short one fails the connection when a message comes to it.
      const byteCount = this.#random.oneIn(300) ? 2 : piece.byteCount;
      end.receives.push(end.qp.receiveOffset(end.received++));
      end.qp.postReceive({ ...piece, byteCount });
    }
  }

  #postSends(end: End, peer: End): void {
    const room = ENTRIES - end.sends.length;
    if (room === 0) return;
    for (let count = 1 + this.#random.below(room); count > 0; count--) {
      end.sends.push(end.qp.sendOffset(end.posted++));
      end.qp.write(this.#request(end, peer));
    }
    end.qp.ring();
  }

  #request(end: End, peer: End): SendWork {
    const random = this.#random;
    const { local } = end.memory;
    const isWrong = random.oneIn(150);
    const remote = { ...peer.memory.remote, key: isWrong ? NO_KEY : peer.memory.remote.key };
    const piece = { ...local, byteCount: 1 + random.below(BYTES), key: random.oneIn(200) ? NO_KEY : local.key };
    const fence = random.oneIn(5) ? 1 : 0;
    switch (random.below(4)) {
      case 0:
        return { opcode: RDMA_WRITE, pieces: [piece], remote, fence };
      case 1:
        return { opcode: RDMA_READ, pieces: [piece], remote, fence };
      case 2: {
        const counter = { ...peer.memory.counter, key: isWrong ? NO_KEY : peer.memory.counter.key };
        return { opcode: FETCH_AND_ADD, pieces: [{ ...local, byteCount: 8 }], remote: counter, atomic: [1, 0] };
      }
      default:
        return { opcode: SEND, inline: this.#message(end.sentMessages++), fence };
    }
  }

  /** Its length follows from its number too. */
  #message(number: number): Uint8Array {
    const bytes = new Uint8Array(DWORD * (1 + (number % 40)));
    const view = new DataView(bytes.buffer);
    for (let at = 0; at < bytes.length; at += DWORD) view.setUint32(at, number);
    return bytes;
  }

  #failBySoftware(connection: Connection, end: End): void {
    end.qp.fail();
    connection.failed = true;
  }

  #take(connection: Connection): void {
    for (const end of connection.ends)
      for (const { isSend, request, syndrome, opcode, byteCount } of end.qp.take()) {
        const isOfSend = syndrome === 0 ? isSend === 1 : opcode === 0xff;
        const expected = (isOfSend ? end.sends : end.receives).shift();
        if (request !== expected) throw new Error(`request ${request} completes in the place of ${expected}`);
        if (syndrome !== 0) {
          connection.failed = true;
          end.failed = true;
        } else if (end.failed && !isOfSend) throw new Error('a receive succeeds behind a failure');
        else if (!isOfSend) this.#checkMessage(end, request, byteCount);
        if (syndrome !== 0 && syndrome !== CompletionSyndrome.FLUSHED) this.failures++;
      }
  }

  #checkMessage(end: End, request: number, byteCount: number): void {
    const wanted = this.#message(end.takenMessages++);
    const piece = end.memory.receives[request / 64];
    const found = this.bench.driver.bytes(piece.address, byteCount);
    if (byteCount !== wanted.length || !wanted.every((byte, at) => byte === found[at]))
      throw new Error(`message ${end.takenMessages - 1} is altered, lost or doubled`);
    this.messages++;
  }

  /** Both ends fail, all that is posted is flushed, and they begin anew. */
  #restart(connection: Connection): void {
    const { machine } = this.bench.driver;
    this.#take(connection);
    connection.failed = true;
    for (const { qp } of connection.ends) qp.fail();
    const isFlushed = (): boolean => {
      this.#take(connection);
      return connection.ends.every(({ sends, receives }) => sends.length + receives.length === 0);
    };
    if (this.#random.oneIn(2)) machine.runUntil(isFlushed, 'the flush of all that was posted');
    for (const end of connection.ends) {
      end.qp.restart();
      Object.assign(end, { posted: 0, received: 0, sentMessages: 0, takenMessages: 0, failed: false });
      end.sends.length = 0;
      end.receives.length = 0;
    }
    machine.runUntilIdle();
    connection.failed = false;
    connection.starts++;
    this.#start(connection);
  }
}
