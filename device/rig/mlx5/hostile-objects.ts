// SPDX-License-Identifier: Apache-2.0
/**
 * Objects of a hostile process on an mlx5 device: a UAR page, memory, a key that its requests may
 * change, shared receive queues and queue pairs of all services. `Mlx5HostileProcess` uses it.
 */
import { KEY_NUMBER_SHIFT } from '../../../protocol/infiniband/memory-keys.ts';
import {
  CommandOpcode,
  CompletionOpcode,
  KeyAccessMode,
  QpService,
  QueueStatus,
  ReceiveQueueType,
} from '../../../protocol/mlx5/gen/values.gen.ts';
import { SharedForm } from '../../personality/mlx5/queues/shared-receive-queue.ts';
import type { Piece } from '../machine/personality-driver.ts';
import type { Mlx5DriverCompletionQueue } from './driver/completion-queue.ts';
import type { DataFixture } from './driver/data-fixture.ts';
import type { Mlx5DriverQueuePair } from './driver/queue-pair.ts';
import { Mlx5DriverSharedQueue, sharedOpcodes } from './driver/shared-queue.ts';
import { Mlx5Process } from './guest-process.ts';

/** Not the Q_Key of the victims, because a request may ask for the Q_Key of its own QP. */
export const HOSTILE_QKEY = 0x9999;
const NO_INDEX = 0xffffff;
const MEMORY_BYTES = 8192;
/** Receives of a new connection. */
const RECEIVES = 8;
const WINDOW_OCTOWORDS = 16;
const WINDOW_BYTES = 1024;
const { RC, UC, UD, XRC } = QpService;

/** Kinds of QPs; the last two are the ends of XRC. */
const hostileKinds = ['rc', 'uc', 'ud', 'shared', 'initiator', 'target'] as const;
export type HostileKind = (typeof hostileKinds)[number];

const services: Readonly<Record<HostileKind, QpService>> = {
  rc: RC,
  uc: UC,
  ud: UD,
  shared: RC,
  initiator: XRC,
  target: XRC,
};

/** All objects of a process. */
export class HostileObjects {
  readonly process: Mlx5Process;
  readonly memory: Piece;
  /** Key of pieces of other keys, as that of a memory window. */
  readonly window: number;
  readonly pool: Mlx5DriverSharedQueue;
  readonly xrcd: number;
  readonly xrcCq: Mlx5DriverCompletionQueue;
  readonly xrcQueue: Mlx5DriverSharedQueue;
  readonly ends: readonly HostileEnd[];

  /** `copies`: QPs of each kind. `drawEntries`: log2 of the size of a new CQ. */
  constructor(fixture: DataFixture, copies: number, drawEntries: () => number) {
    const { driver } = fixture;
    this.process = new Mlx5Process(fixture);
    const { pd } = this.process;
    this.memory = this.process.memory(MEMORY_BYTES);
    const list = { translationsOctwordSize: WINDOW_OCTOWORDS, logPageSize: 0, len: WINDOW_BYTES };
    this.window = fixture.createKey([], { pd, umrEn: 1, accessMode10: KeyAccessMode.KEYS, ...list });
    this.pool = new Mlx5DriverSharedQueue(driver, { form: SharedForm.POOL, pd });
    this.xrcd = driver.expect(CommandOpcode.ALLOC_XRCD).getUint32(8);
    this.xrcCq = this.process.completionQueue();
    const { xrcd } = this;
    this.xrcQueue = new Mlx5DriverSharedQueue(driver, { form: SharedForm.XRC, pd, xrcd, cqn: this.xrcCq.number });
    const kinds = Array.from({ length: copies }, () => hostileKinds).flat();
    this.ends = kinds.map((kind) => new HostileEnd(this, kind, drawEntries));
  }

  /** The context of a new QP. */
  contextOf(kind: HostileKind): object {
    const none = { qKey: HOSTILE_QKEY, rqType: ReceiveQueueType.NONE };
    if (kind === 'shared')
      return { ...none, rqType: ReceiveQueueType.SHARED, srqnRmpnXrqn: this.pool.number, userIndex: NO_INDEX };
    if (kind === 'initiator') return none;
    return kind === 'target' ? { ...none, noSq: 1, xrcd: this.xrcd } : { qKey: HOSTILE_QKEY };
  }

  get completionQueues(): readonly Mlx5DriverCompletionQueue[] {
    return [...new Set(this.ends.map(({ qp }) => qp.setup.cq))];
  }

  /** The driver destroys everything. */
  destroy(): void {
    const { process, memory, window, pool, xrcQueue, xrcCq, xrcd } = this;
    for (const end of this.ends) end.destroy();
    process.give(sharedOpcodes[pool.form].destroy, pool.number);
    process.give(sharedOpcodes[xrcQueue.form].destroy, xrcQueue.number);
    process.give(CommandOpcode.DESTROY_CQ, xrcCq.number);
    for (const key of [memory.key, window]) process.give(CommandOpcode.DESTROY_MKEY, key >>> KEY_NUMBER_SHIFT);
    process.give(CommandOpcode.DEALLOC_XRCD, xrcd);
    process.give(CommandOpcode.DEALLOC_PD, process.pd);
    process.give(CommandOpcode.DEALLOC_UAR, process.uar);
  }
}

/** A QP of the process; it is replaced when its CQ has failed. */
export class HostileEnd {
  readonly kind: HostileKind;
  readonly objects: HostileObjects;
  /** The end to which it was last connected. */
  peer: HostileEnd | undefined;
  readonly #drawEntries: () => number;
  #qp: Mlx5DriverQueuePair;

  constructor(objects: HostileObjects, kind: HostileKind, drawEntries: () => number) {
    this.objects = objects;
    this.kind = kind;
    this.#drawEntries = drawEntries;
    this.#qp = this.#create();
  }

  get qp(): Mlx5DriverQueuePair {
    return this.#qp;
  }

  get service(): QpService {
    return services[this.kind];
  }

  get sends(): boolean {
    return this.kind !== 'target';
  }

  get ownsReceives(): boolean {
    return this.kind === 'rc' || this.kind === 'uc' || this.kind === 'ud';
  }

  /** Blocks of its send queue that the device knows. */
  get posted(): number {
    return this.#device().hca.queuePairs.get(this.#qp.number)?.sends?.posted ?? 0;
  }

  get hasFailed(): boolean {
    const { cq } = this.#qp.setup;
    return this.#device().hca.completionQueues.get(cq.number)?.context.status !== QueueStatus.OK;
  }

  /**
   * Takes the completions that the device counts. Returns the numbers of good ones and of errors.
   */
  take(): { good: number; errors: number } {
    const { cq } = this.#qp.setup;
    // A fuzzed driver may have lost the CQ, or have another one with that number.
    const count = Math.max(cq.consumed, this.#device().hca.completionQueues.get(cq.number)?.producerCount ?? 0);
    let errors = 0;
    const taken = count - cq.consumed;
    for (; cq.consumed < count; cq.consumed++) {
      const opcode = cq.slot(cq.consumed).getUint8(0x3f) >>> 4;
      if (opcode === CompletionOpcode.REQUEST_ERROR || opcode === CompletionOpcode.RESPONSE_ERROR) errors++;
    }
    cq.tell();
    return { good: taken - errors, errors };
  }

  /**
   * The driver connects it again. `peer`: any end of the process. `drawPiece`: pieces of its
   * receives.
   */
  restart(peer: HostileEnd, drawPiece: () => Piece): void {
    this.#qp.reset();
    this.#qp.start(peer.qp.number, peer.objects.process.fixture.lid);
    this.peer = peer;
    if (!this.ownsReceives) return;
    // Messages fit, whatever the first piece is.
    for (let count = 0; count < RECEIVES; count++) this.#qp.postReceive(drawPiece(), this.objects.memory);
  }

  /** Destroys it and creates another one, in RESET. */
  replace(): void {
    this.destroy();
    this.#qp = this.#create();
  }

  destroy(): void {
    const { process } = this.objects;
    process.give(CommandOpcode.DESTROY_QP, this.#qp.number);
    if (this.kind !== 'target') process.give(CommandOpcode.DESTROY_CQ, this.#qp.setup.cq.number);
  }

  #device() {
    return this.objects.process.fixture.driver.device;
  }

  #create(): Mlx5DriverQueuePair {
    const { objects, kind, service } = this;
    const cq = kind === 'target' ? objects.xrcCq : objects.process.completionQueue(this.#drawEntries());
    return objects.process.queuePair({ service, cq, context: objects.contextOf(kind) });
  }
}
