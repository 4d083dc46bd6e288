// SPDX-License-Identifier: Apache-2.0
/**
 * Processes beside a hostile one on an mthca device: pairs of QPs of all services, one of them with
 * an SRQ, that send, read and count. A round is one message; what it leaves in memory and contexts
 * can be compared with another run. `MthcaIsolation` calls it.
 */

import { crc32 } from 'node:zlib';
import { GRH_SIZE } from '../../../protocol/infiniband/gen/grh.gen.ts';
import { COMPLETION_BYTES } from '../../../protocol/mthca/gen/constants.gen.ts';
import { CommandOpcode, QpService, WorkOpcode } from '../../../protocol/mthca/gen/values.gen.ts';
import type { Piece } from '../machine/personality-driver.ts';
import type { DataFixture, FixtureQueuePair } from './driver/data-fixture.ts';
import type { SendWork } from './driver/data-queue-pair.ts';
import { DriverSharedQueue } from './driver/shared-queue.ts';

export const VICTIM_UAR = 1;
const PEER_LID = 2;
const QKEY = 0x1234;
const MESSAGE_BYTES = 1024;
const MEMORY_BYTES = 8192;
const COUNTER_BYTES = 8;
const CONTEXT_BYTES = 0x108;
const { SEND, RDMA_READ, RDMA_WRITE, FETCH_AND_ADD } = WorkOpcode;

type Pair = readonly [FixtureQueuePair, FixtureQueuePair];

/** Syndromes of the completions of a message. */
interface Outcome {
  readonly sent: number[];
  readonly taken: number[];
}

export class Victims {
  readonly pairs: readonly Pair[];
  rounds = 0;
  readonly #fixture: DataFixture;
  readonly #memory: Piece;
  readonly #counter: Piece;
  readonly #shared: DriverSharedQueue;

  constructor(fixture: DataFixture) {
    this.#fixture = fixture;
    this.#memory = fixture.memory(MEMORY_BYTES);
    this.#counter = fixture.memory(COUNTER_BYTES);
    this.#shared = new DriverSharedQueue(fixture.driver, fixture.takeRecords(VICTIM_UAR));
    const context = { hasSrq: 1, srqn: this.#shared.number };
    this.pairs = [
      fixture.connect(QpService.RC),
      fixture.connect(QpService.UC),
      fixture.connect(QpService.UD),
      fixture.connect(QpService.RC, {}, { context }),
    ];
  }

  get queuePairs(): readonly FixtureQueuePair[] {
    return this.pairs.flat();
  }

  /** Keys of their memory. */
  get keys(): readonly number[] {
    return [this.#memory.key, this.#counter.key];
  }

  /** One message of the next kind. Returns what is wrong with it. */
  round(): string | undefined {
    const number = this.rounds++;
    const [rc, uc, ud, shared] = this.pairs;
    const local = { ...this.#memory, byteCount: MESSAGE_BYTES };
    const remote = { ...local, address: local.address + MEMORY_BYTES / 2 };
    const to = { lid: PEER_LID, qpn: ud[1].number, qkey: QKEY };
    const bytes = this.#fixture.bytes(local);
    for (let at = 0; at < bytes.length; at++) bytes[at] = at * 7 + number;
    switch (number % 7) {
      case 0:
        return this.#send(rc, { opcode: SEND, pieces: [local] }, remote);
      case 1:
        return this.#send(uc, { opcode: SEND, pieces: [local] }, remote);
      case 2:
        return this.#send(ud, { opcode: SEND, pieces: [local], to }, remote, GRH_SIZE);
      case 3:
        return this.#sendShared(shared, { opcode: SEND, pieces: [local] }, remote);
      case 4:
        return this.#access(rc, { opcode: RDMA_WRITE, pieces: [local], remote }, remote);
      case 5:
        return this.#access(rc, { opcode: RDMA_READ, pieces: [remote], remote: local }, remote);
      default:
        return this.#count(rc);
    }
  }

  /** Memory, completions and contexts by name. */
  observe(): Map<string, number> {
    const { driver } = this.#fixture;
    const seen = new Map<string, number>();
    seen.set('memory', crc32(this.#fixture.bytes(this.#memory)));
    seen.set('counter', crc32(this.#fixture.bytes(this.#counter)));
    for (const { number, queue, cq } of this.queuePairs) {
      const entries = driver.bytes(cq.address, cq.entries * COMPLETION_BYTES);
      seen.set(`entries of CQ ${cq.number}`, crc32(entries));
      seen.set(`requests of QP ${number}`, crc32(driver.bytes(queue, 0x2000)));
      const { output } = driver.expect(CommandOpcode.QUERY_QP, { modifier: number, out: CONTEXT_BYTES });
      const context = new Uint8Array(output.buffer, output.byteOffset, CONTEXT_BYTES);
      seen.set(`context of QP ${number}`, crc32(context));
    }
    return seen;
  }

  /** Changes one byte, to show that a comparison notices it. */
  touch(): void {
    this.#fixture.bytes(this.#memory)[MEMORY_BYTES - 1]++;
  }

  #send(pair: Pair, work: SendWork, target: Piece, headBytes = 0): string | undefined {
    const [a, b] = pair;
    b.postReceive({ ...target, byteCount: target.byteCount + headBytes });
    a.post(work);
    return this.#judge(this.#await(pair, 1), 1) ?? this.#compare(target, headBytes);
  }

  #sendShared(pair: Pair, work: SendWork, target: Piece): string | undefined {
    const request = this.#shared.post(target);
    pair[0].post(work);
    const wrong = this.#judge(this.#await(pair, 1), 1) ?? this.#compare(target, 0);
    this.#shared.free(request);
    return wrong;
  }

  #access(pair: Pair, work: SendWork, target: Piece): string | undefined {
    pair[0].post(work);
    return this.#judge(this.#await(pair, 0), 0) ?? this.#compare(target, 0);
  }

  /** An atomic is executed once: the counter has the number of them. */
  #count(pair: Pair): string | undefined {
    const bytes = this.#fixture.bytes(this.#counter);
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    const wanted = view.getBigUint64(0, true) + 1n;
    const pieces = [{ ...this.#memory, byteCount: COUNTER_BYTES }];
    pair[0].post({ opcode: FETCH_AND_ADD, pieces, remote: this.#counter, atomic: [1, 0] });
    const wrong = this.#judge(this.#await(pair, 0), 0);
    const found = view.getBigUint64(0, true);
    return wrong ?? (found === wanted ? undefined : `the counter is ${found}, not ${wanted}`);
  }

  #await([a, b]: Pair, receives: number): Outcome {
    const sent: number[] = [];
    const taken: number[] = [];
    this.#fixture.driver.machine.runUntil(() => {
      sent.push(...a.take().map(({ syndrome }) => syndrome));
      taken.push(...b.take().map(({ syndrome }) => syndrome));
      return sent.length > 0 && taken.length >= receives;
    }, 'the message of a victim');
    return { sent, taken };
  }

  #judge({ sent, taken }: Outcome, receives: number): string | undefined {
    const isGood = sent.join() === '0' && taken.join() === (receives === 1 ? '0' : '');
    return isGood ? undefined : `syndromes ${sent} and ${taken}`;
  }

  /** The message has arrived in `target`, behind `headBytes`. */
  #compare(target: Piece, headBytes: number): string | undefined {
    const source = this.#fixture.bytes({ ...this.#memory, byteCount: MESSAGE_BYTES });
    const found = this.#fixture.bytes({ ...target, byteCount: target.byteCount + headBytes }).subarray(headBytes);
    return source.every((byte, at) => byte === found[at]) ? undefined : 'the message is altered';
  }
}
