// SPDX-License-Identifier: Apache-2.0
/** One end of a connection of the chaos over mlx5 devices. `Mlx5Chaos` drives it. */
import { getErrorCqeSyndrome } from '../../../protocol/mlx5/gen/error-cqe.gen.ts';
import {
  CommandOpcode,
  CompletionOpcode,
  CompletionSyndrome,
  FenceMode,
  QpService,
  ReceiveQueueType,
  SendOpcode,
} from '../../../protocol/mlx5/gen/values.gen.ts';
import { SharedForm } from '../../personality/mlx5/queues/shared-receive-queue.ts';
import { COUNTER_MASK } from '../../personality/shared/receive-queue.ts';
import type { Random } from '../../random.ts';
import {
  type ChaosCompletion,
  type ChaosOpcodes,
  type ChaosWork,
  ENTRIES,
  PersonalityEnd,
  SharedEntries,
} from '../fixtures/personality-end.ts';
import type { Piece } from '../machine/personality-driver.ts';
import type { Mlx5DriverCompletionQueue } from './driver/completion-queue.ts';
import type { DataFixture } from './driver/data-fixture.ts';
import type { Mlx5DriverQueuePair, SendWork } from './driver/queue-pair.ts';
import { Mlx5DriverSharedQueue } from './driver/shared-queue.ts';

const QKEY = 0x1234;
/** Blocks of the longest request. */
const BLOCKS_MAX = 3;
const NO_INDEX = 0xffffff;
const { REQUEST, REQUEST_ERROR, RESPONSE_ERROR } = CompletionOpcode;
const opcodes: ChaosOpcodes = {
  send: SendOpcode.SEND,
  write: SendOpcode.WRITE,
  read: SendOpcode.READ,
  fetchAdd: SendOpcode.FETCH_ADD,
  compareSwap: SendOpcode.COMPARE_SWAP,
};
const kinds = {
  [QpService.RC]: 'reliable',
  [QpService.XRC]: 'reliable',
  [QpService.UC]: 'connected',
  [QpService.UD]: 'datagram',
} as const;

/** The two sides of an XRC connection. */
type XrcSide = 'initiator' | 'target';

export class Mlx5End extends PersonalityEnd<Mlx5DriverQueuePair> {
  readonly #fixture: DataFixture;
  readonly #shared: Mlx5SharedEntries | undefined;
  readonly #side: XrcSide | undefined;

  /** `shared`: entries of an SRQ, in place of receives of its own. */
  constructor(fixture: DataFixture, service: keyof typeof kinds, shared?: Mlx5SharedEntries, side?: XrcSide) {
    const qp = makeQueuePair(fixture, service, shared, side);
    super(fixture, { qp, service, kind: kinds[service], opcodes, receiveUnit: 1, shared });
    this.#fixture = fixture;
    this.#shared = shared;
    this.#side = side;
  }

  override get tellsLast(): boolean {
    return this.isShared && this.#side === undefined;
  }

  start(peer: this, psn: number): void {
    this.qp.start(peer.qp.number, peer.#fixture.lid, {}, psn);
  }

  fail(): void {
    this.qp.command(CommandOpcode.QP_2ERR);
  }

  /** In RESET, with nothing posted. */
  override restart(): void {
    this.qp.reset();
    super.restart();
  }

  dropCompletions(): void {
    const { cq } = this.qp.setup;
    cq.take();
    cq.tell();
  }

  *take(): Iterable<ChaosCompletion> {
    const { cq } = this.qp.setup;
    for (let [entry] = cq.take(1); entry !== undefined; [entry] = cq.take(1)) {
      const { opcode, wqeCounter: request, byteCount } = entry;
      const isError = opcode === REQUEST_ERROR || opcode === RESPONSE_ERROR;
      const syndrome = isError ? getErrorCqeSyndrome(cq.slot(cq.consumed - 1), 0) : 0;
      cq.tell();
      const isSend = opcode === REQUEST || opcode === REQUEST_ERROR;
      yield { isSend, request, byteCount, isError, isFlushed: syndrome === CompletionSyndrome.FLUSHED };
    }
  }

  override postReceives(random: Random): void {
    // An initiator of XRC receives nothing.
    if (this.#side !== 'initiator') super.postReceives(random);
  }

  postSends(random: Random, peer: this): void {
    // A target of XRC only answers.
    if (this.#side === 'target') return;
    const [oldest] = this.sends;
    const blocks = oldest === undefined ? 0 : (this.qp.blocks - oldest.request) & COUNTER_MASK;
    const room = Math.floor((ENTRIES - blocks) / BLOCKS_MAX);
    for (let count = random.below(room + 1); count > 0; count--) this.write(random, peer);
    this.qp.ring();
  }

  protected postReceive(piece: Piece, number: number): number {
    this.qp.postReceive(piece);
    return number & COUNTER_MASK;
  }

  protected writeRequest({ isFenced = false, ...work }: ChaosWork, _number: number, peer: this): number {
    const fence = isFenced ? FenceMode.FENCE : FenceMode.NONE;
    const to = { remoteLid: peer.#fixture.lid, remoteQpn: peer.qp.number, qkey: QKEY };
    const target = this.service === QpService.UD ? { to } : peer.#sharedTarget();
    return this.qp.write({ ...work, fence, ...target });
  }

  /** The SRQ that requests of XRC name. */
  #sharedTarget(): Pick<SendWork, 'srqn'> {
    return this.#side === 'target' && this.#shared !== undefined ? { srqn: this.#shared.queue.number } : {};
  }
}

/** The QP of an end, in RESET. */
function makeQueuePair(
  fixture: DataFixture,
  service: number,
  shared: Mlx5SharedEntries | undefined,
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

/** An SRQ of several ends, with the CQ and the domain that XRC needs. */
export class Mlx5SharedEntries extends SharedEntries<Mlx5DriverSharedQueue> {
  readonly cq: Mlx5DriverCompletionQueue;
  readonly xrcd: number;

  constructor(fixture: DataFixture, form: SharedForm) {
    const { driver, pd } = fixture;
    const cq = fixture.completionQueue();
    const xrcd = form === SharedForm.XRC ? driver.expect(CommandOpcode.ALLOC_XRCD).getUint32(8) : 0;
    super(fixture, new Mlx5DriverSharedQueue(driver, { form, pd, xrcd, cqn: cq.number }), 1);
    this.cq = cq;
    this.xrcd = xrcd;
  }
}
