// SPDX-License-Identifier: Apache-2.0
/** One end of a connection of the chaos over an mthca device. `MthcaChaos` drives it. */
import { CompletionSyndrome, QpService, WorkOpcode } from '../../../protocol/mthca/gen/values.gen.ts';
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
import type { DataFixture, FixtureQueuePair } from './driver/data-fixture.ts';
import { DriverSharedQueue } from './driver/shared-queue.ts';

const FAILED_SEND = 0xff;
const QKEY = 0x1234;
const UAR = 1;
/** Bytes of a receive; names of receives are offsets, so they differ by this much. */
const RECEIVE_BYTES = 64;
const opcodes: ChaosOpcodes = {
  send: WorkOpcode.SEND,
  write: WorkOpcode.RDMA_WRITE,
  read: WorkOpcode.RDMA_READ,
  fetchAdd: WorkOpcode.FETCH_AND_ADD,
  compareSwap: WorkOpcode.COMPARE_AND_SWAP,
};
const kinds = { [QpService.RC]: 'reliable', [QpService.UC]: 'connected', [QpService.UD]: 'datagram' } as const;

export type MthcaSharedEntries = SharedEntries<DriverSharedQueue>;

export function makeSharedEntries(fixture: DataFixture): MthcaSharedEntries {
  const queue = new DriverSharedQueue(fixture.driver, fixture.takeRecords(UAR));
  return new SharedEntries(fixture, queue, RECEIVE_BYTES);
}

export class MthcaEnd extends PersonalityEnd<FixtureQueuePair> {
  readonly port: number;

  /** `shared`: entries of an SRQ, in place of receives of its own. */
  constructor(fixture: DataFixture, service: keyof typeof kinds, port: number, shared?: MthcaSharedEntries) {
    const context = shared === undefined ? {} : { context: { hasSrq: 1, srqn: shared.queue.number } };
    const qp = fixture.queuePair({ port, service, ...context });
    super(fixture, { qp, service, kind: kinds[service], opcodes, receiveUnit: RECEIVE_BYTES, shared });
    this.port = port;
  }

  start({ qp, port }: MthcaEnd, psn: number): void {
    this.qp.start(qp.number, port, {}, psn);
  }

  fail(): void {
    this.qp.fail();
  }

  /** In INIT again, with nothing posted. */
  override restart(): void {
    this.qp.restart();
    super.restart();
  }

  /** `restart` has taken the completions. */
  dropCompletions(): void {}

  take(): ChaosCompletion[] {
    return this.qp.take().map(({ isSend, request, syndrome, opcode, byteCount }) => ({
      isSend: syndrome === 0 ? isSend === 1 : opcode === FAILED_SEND,
      ...{ request, byteCount, isError: syndrome !== 0, isFlushed: syndrome === CompletionSyndrome.FLUSHED },
    }));
  }

  postSends(random: Random, peer: this): void {
    const room = ENTRIES - this.sends.length;
    if (room === 0) return;
    for (let count = 1 + random.below(room); count > 0; count--) this.write(random, peer);
    this.qp.ring();
  }

  protected postReceive(piece: Piece, number: number): number {
    this.qp.postReceive(piece);
    return this.qp.receiveOffset(number);
  }

  protected writeRequest({ isFenced = false, ...work }: ChaosWork, number: number, peer: this): number {
    const to = { lid: peer.port, qpn: peer.qp.number, qkey: QKEY, port: this.port };
    const target = this.service === QpService.UD ? { to } : {};
    this.qp.write({ ...work, fence: isFenced ? 1 : 0, ...target });
    return this.qp.sendOffset(number);
  }
}
