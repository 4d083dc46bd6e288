// SPDX-License-Identifier: Apache-2.0
/**
 * One end of a connection of the chaos over an mlx5 device: a QP, the memory of its slots, and
 * what it has posted. It writes requests whose data follow from their number, and checks what their
 * completions say and what they left in memory. `Mlx5Chaos` drives it.
 */
import { GRH_SIZE } from '../../../protocol/infiniband/gen/grh.gen.ts';
import {
  CommandOpcode,
  FenceMode,
  QpService,
  ReceiveQueueType,
  SendOpcode,
} from '../../../protocol/mlx5/gen/values.gen.ts';
import { SharedForm } from '../../personality/mlx5/queues/shared-receive-queue.ts';
import type { Random } from '../../random.ts';
import type { Mlx5DriverCompletionQueue } from './driver/completion-queue.ts';
import type { DataFixture } from './driver/data-fixture.ts';
import { LOG_ENTRIES, type Mlx5DriverQueuePair, type Piece, type SendWork } from './driver/queue-pair.ts';
import { Mlx5DriverSharedQueue } from './driver/shared-queue.ts';

const ENTRIES = 2 ** LOG_ENTRIES;
/** Bytes of a slot; two packets and a bit. */
const SLOT_BYTES = 5120;
const DATAGRAM_MAX = 2048;
const DWORD = 4;
const COUNTER_BYTES = 8;
const NO_KEY = 0x7f00;
const QKEY = 0x1234;
const { SEND, WRITE, READ, FETCH_ADD, COMPARE_SWAP } = SendOpcode;
/** Blocks of the longest request. */
const BLOCKS_MAX = 3;
const COUNTER_MASK = 0xffff;
const NO_INDEX = 0xffffff;

/** A request that has not completed. */
interface Posted {
  /** Its first block. */
  readonly request: number;
  readonly opcode: number;
  /** Number among the messages or atomics of the end. */
  readonly number: number;
  readonly local: Piece;
  /** Memory of the peer that a WRITE or READ concerns. */
  readonly remote: { bytes(): Uint8Array } | undefined;
  readonly blocks: number;
}

/** Memory of an end, of one region each: slots of sends, of receives and of remote access. */
interface Memory {
  readonly sends: Piece;
  readonly receives: Piece;
  readonly remote: Piece;
  readonly counter: Piece;
}

/** Sides of a connection of XRC. */
export type XrcSide = 'initiator' | 'target';

export class ChaosEnd {
  readonly fixture: DataFixture;
  readonly qp: Mlx5DriverQueuePair;
  readonly service: number;
  readonly sends: Posted[] = [];
  readonly receives: number[] = [];
  failed = false;
  /** Messages that have arrived, and entries of the SRQ that this QP has used. */
  messages = 0;
  readonly #memory: Memory;
  readonly #shared: SharedEntries | undefined;
  readonly #side: XrcSide | undefined;
  #posted = 0;
  #received = 0;
  #sentMessages = 0;
  #takenMessages = 0;
  #atomics = 0;

  /** `shared`: entries of an SRQ in the place of receives of its own. */
  constructor(fixture: DataFixture, service: number, shared?: SharedEntries, side?: XrcSide) {
    this.fixture = fixture;
    this.service = service;
    this.#shared = shared;
    this.#side = side;
    this.qp = makeQueuePair(fixture, service, shared, side);
    const slots = (): Piece => fixture.memory(SLOT_BYTES * ENTRIES);
    this.#memory = { sends: slots(), receives: slots(), remote: slots(), counter: fixture.memory(COUNTER_BYTES) };
  }

  get isReliable(): boolean {
    return this.service === QpService.RC || this.service === QpService.XRC;
  }

  get isShared(): boolean {
    return this.#shared !== undefined;
  }

  /** A QP that tells when it has taken its last entry of an SRQ. */
  get tellsLast(): boolean {
    return this.isShared && this.#side === undefined;
  }

  /** Blocks of requests that have not completed. */
  get #blocks(): number {
    return this.sends.reduce((sum, { blocks }) => sum + blocks, 0);
  }

  /** Sends and receives that have not completed; entries of an SRQ belong to no QP. */
  get outstanding(): number {
    return this.sends.length + this.receives.length;
  }

  /** Software moves the QP to ERR. */
  fail(): void {
    this.qp.command(CommandOpcode.QP_2ERR);
  }

  /** A receive has completed. Returns false when it is an entry of an SRQ that was not posted. */
  complete(request: number): boolean {
    return this.#shared === undefined || this.#shared.complete(request);
  }

  /** In RESET, with nothing posted. */
  restart(): void {
    this.qp.reset();
    this.sends.length = 0;
    this.receives.length = 0;
    this.#posted = 0;
    this.#received = 0;
    this.#atomics = 0;
    if (this.isReliable) {
      // Unreliable messages may arrive when their QPs have begun anew.
      this.#sentMessages = 0;
      this.#takenMessages = 0;
    }
    this.failed = false;
    this.fixture.bytes(this.#memory.counter).fill(0);
  }

  postReceives(random: Random): void {
    if (this.#shared !== undefined) return this.#shared.post(random);
    if (this.#side !== undefined) return;
    const room = ENTRIES - this.receives.length;
    if (room === 0) return;
    for (let count = 1 + random.below(room); count > 0; count--) {
      const piece = slotOf(this.#memory.receives, this.#received);
      // A short one fails the connection when a message comes to it.
      const byteCount = random.oneIn(300) ? 2 : piece.byteCount;
      this.receives.push(this.#received++ & COUNTER_MASK);
      this.qp.postReceive({ ...piece, byteCount });
    }
  }

  postSends(random: Random, peer: ChaosEnd): void {
    // A target of XRC only answers.
    if (this.#side === 'target') return;
    let room = Math.floor((ENTRIES - this.#blocks) / BLOCKS_MAX);
    for (room = random.below(room + 1); room > 0; room--) this.#write(this.#request(random, peer));
    this.qp.ring();
  }

  /** The oldest send has completed with success. Returns what is wrong with it. */
  checkSend({ opcode, number, local, remote }: Posted): string | undefined {
    const bytes = this.fixture.bytes(local);
    if (opcode === FETCH_ADD || opcode === COMPARE_SWAP) {
      const found = this.fixture.driver.memory.view(local.address, COUNTER_BYTES).getBigUint64(0, true);
      return found === BigInt(number) ? undefined : `atomic ${number} found ${found}`;
    }
    if (remote === undefined || !this.isReliable) return undefined;
    const same = remote.bytes().every((byte, at) => byte === bytes[at]);
    return same ? undefined : `request ${opcode} with number ${number} has left other data`;
  }

  /** A receive has completed with success. Returns what is wrong with its message. */
  checkReceive(request: number, byteCount: number, sender: ChaosEnd): string | undefined {
    const piece = this.#shared?.pieceOf(request) ?? slotOf(this.#memory.receives, request);
    const head = this.service === QpService.UD ? GRH_SIZE : 0;
    const bytes = this.fixture.bytes({ ...piece, byteCount }).subarray(head);
    const number = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0);
    if (this.isReliable && number !== this.#takenMessages)
      return `message ${number} has come in the place of ${this.#takenMessages}`;
    if (number >= sender.#sentMessages) return `message ${number} was never sent`;
    this.#takenMessages++;
    this.messages++;
    const wanted = makeMessage(number, this.service);
    const same = bytes.length === wanted.length && wanted.every((byte, at) => byte === bytes[at]);
    return same ? undefined : `message ${number} is altered`;
  }

  #request(random: Random, peer: ChaosEnd): SendWork {
    const slot = slotOf(this.#memory.sends, this.#posted);
    const fence = random.oneIn(5) ? FenceMode.FENCE : FenceMode.NONE;
    const kind = this.isReliable ? random.below(6) : this.service === QpService.UC ? random.below(3) : 1;
    const isWrong = random.oneIn(150);
    if (kind === 0) return this.#access(random, peer, WRITE, slot, isWrong, fence);
    if (kind === 3) return this.#access(random, peer, READ, slot, isWrong, fence);
    if (kind === 4 || kind === 5) return this.#count(random, peer, slot, isWrong);
    const number = this.#sentMessages++;
    const message = makeMessage(number, this.service);
    const local = { ...slot, byteCount: message.length, key: random.oneIn(200) ? NO_KEY : slot.key };
    this.#note(SEND, number, local);
    const to = { remoteLid: peer.fixture.lid, remoteQpn: peer.qp.number, qkey: QKEY };
    const target = this.service === QpService.UD ? { to } : peer.#sharedTarget();
    if (message.length < 100 && random.oneIn(2)) return { opcode: SEND, inline: message, fence, ...target };
    this.fixture.bytes({ ...slot, byteCount: message.length }).set(message);
    return { opcode: SEND, pieces: [local], fence, ...target };
  }

  /** A WRITE of random data to the slot of the peer, or a READ of it. */
  #access(random: Random, peer: ChaosEnd, opcode: number, slot: Piece, isWrong: boolean, fence: number): SendWork {
    const byteCount = 1 + random.below(slot.byteCount);
    const local = { ...slot, byteCount, key: random.oneIn(200) ? NO_KEY : slot.key };
    const remote = { ...slotOf(peer.#memory.remote, this.#posted), byteCount };
    const source = opcode === WRITE ? local : remote;
    const owner = opcode === WRITE ? this : peer;
    owner.fixture.bytes(source).fill(random.next() & 0xff);
    this.#note(opcode, 0, local, { bytes: () => peer.fixture.bytes(remote) });
    return {
      opcode,
      pieces: [local],
      remote: isWrong ? { ...remote, key: NO_KEY } : remote,
      fence,
      ...peer.#sharedTarget(),
    };
  }

  /** Each atomic adds 1 to a counter of the peer, and so finds its own number there. */
  #count(random: Random, peer: ChaosEnd, slot: Piece, isWrong: boolean): SendWork {
    const opcode = random.oneIn(2) ? FETCH_ADD : COMPARE_SWAP;
    const number = this.#atomics++;
    const local = { ...slot, byteCount: COUNTER_BYTES };
    const { counter } = peer.#memory;
    this.#note(opcode, number, local);
    const atomic = opcode === FETCH_ADD ? ([1, 0] as const) : ([number + 1, number] as const);
    return {
      opcode,
      pieces: [local],
      remote: isWrong ? { ...counter, key: NO_KEY } : counter,
      atomic,
      ...peer.#sharedTarget(),
    };
  }

  /** The SRQ that requests of XRC name. */
  #sharedTarget(): Pick<SendWork, 'srqn'> {
    return this.#side === 'target' && this.#shared !== undefined ? { srqn: this.#shared.queue.number } : {};
  }

  /** What the next request will be known by when it completes; `#write` adds its place. */
  #note(opcode: number, number: number, local: Piece, remote?: Posted['remote']): void {
    this.#posted++;
    this.sends.push({ request: 0, blocks: 0, opcode, number, local, remote });
  }

  #write(work: SendWork): void {
    const noted = this.sends.pop() as Posted;
    const request = this.qp.write(work);
    this.sends.push({ ...noted, request, blocks: (this.qp.blocks - request) & COUNTER_MASK });
  }
}

/** The QP of an end, in RESET. */
function makeQueuePair(
  fixture: DataFixture,
  service: number,
  shared: SharedEntries | undefined,
  side: XrcSide | undefined,
): Mlx5DriverQueuePair {
  const none = { rqType: ReceiveQueueType.NONE };
  if (side === 'initiator') return fixture.queuePair({ service, context: none });
  if (shared === undefined) return fixture.queuePair({ service });
  const { number } = shared.queue;
  if (side === 'target')
    return fixture.queuePair({ service, cq: shared.cq, context: { ...none, noSq: 1, xrcd: shared.xrcd } });
  const context = { rqType: ReceiveQueueType.SHARED, srqnRmpnXrqn: number, userIndex: NO_INDEX };
  return fixture.queuePair({ service, context });
}

/** An SRQ of several ends, and the memory of its entries. */
export class SharedEntries {
  readonly queue: Mlx5DriverSharedQueue;
  /** The CQ of XRC, and its domain. */
  readonly cq: Mlx5DriverCompletionQueue;
  readonly xrcd: number;
  /** Entries that were posted and have not completed. */
  readonly posted = new Set<number>();
  readonly #memory: Piece;

  constructor(fixture: DataFixture, form: SharedForm) {
    const { driver, pd } = fixture;
    this.cq = fixture.completionQueue();
    this.xrcd = form === SharedForm.XRC ? driver.expect(CommandOpcode.ALLOC_XRCD).getUint32(8) : 0;
    this.queue = new Mlx5DriverSharedQueue(driver, { form, pd, xrcd: this.xrcd, cqn: this.cq.number });
    this.#memory = fixture.memory(SLOT_BYTES * ENTRIES);
  }

  post(random: Random): void {
    for (let count = random.below(this.queue.room + 1); count > 0; count--) {
      const request = this.queue.post(this.pieceOf(this.queue.next));
      this.posted.add(request);
    }
  }

  pieceOf(request: number): Piece {
    return slotOf(this.#memory, request);
  }

  /** An entry has completed. Returns false when it was not posted. */
  complete(request: number): boolean {
    if (!this.posted.delete(request)) return false;
    this.queue.free(request);
    return true;
  }
}

function slotOf(region: Piece, number: number): Piece {
  return { ...region, address: region.address + (number % ENTRIES) * SLOT_BYTES, byteCount: SLOT_BYTES };
}

/** A message is its number, in every dword; its length follows from its number too. */
function makeMessage(number: number, service: number): Uint8Array {
  const max = service === QpService.UD ? DATAGRAM_MAX - GRH_SIZE : SLOT_BYTES;
  const lengthBytes = number % 5 === 4 ? (1 + (number % (max / DWORD))) * DWORD : DWORD * (1 + (number % 40));
  const view = new DataView(new ArrayBuffer(lengthBytes));
  for (let at = 0; at < lengthBytes; at += DWORD) view.setUint32(at, number);
  return new Uint8Array(view.buffer);
}
