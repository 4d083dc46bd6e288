// SPDX-License-Identifier: Apache-2.0
/**
 * Processes beside a hostile one on an mthca device: pairs of QPs of all services, one of them with
 * an SRQ. `MthcaIsolation` calls it.
 */
import { crc32 } from 'node:zlib';
import { GRH_SIZE } from '../../../protocol/infiniband/gen/grh.gen.ts';
import { COMPLETION_BYTES } from '../../../protocol/mthca/gen/constants.gen.ts';
import { CommandOpcode, QpService, WorkOpcode } from '../../../protocol/mthca/gen/values.gen.ts';
import {
  type Exchange,
  PersonalityVictims,
  VictimEnd,
  VictimMemory,
  type VictimOpcodes,
  type VictimWork,
} from '../fixtures/personality-victims.ts';
import type { InProcessMachine } from '../machine/machine.ts';
import type { Piece } from '../machine/personality-driver.ts';
import type { DataFixture, FixtureQueuePair } from './driver/data-fixture.ts';
import { DriverSharedQueue } from './driver/shared-queue.ts';

export const VICTIM_UAR = 1;
const PEER_LID = 2;
const QKEY = 0x1234;
const QUEUE_BYTES = 0x2000;
const CONTEXT_BYTES = 0x108;

class MthcaVictimEnd extends VictimEnd {
  readonly qp: FixtureQueuePair;
  readonly headBytes: number;
  readonly #fixture: DataFixture;
  readonly #shared: DriverSharedQueue | undefined;

  /** `shared`: the SRQ of the QP. */
  constructor(fixture: DataFixture, memory: VictimMemory, qp: FixtureQueuePair, shared?: DriverSharedQueue) {
    super(memory);
    this.#fixture = fixture;
    this.qp = qp;
    this.#shared = shared;
    this.headBytes = this.#isDatagram() ? GRH_SIZE : 0;
  }

  get number(): number {
    return this.qp.number;
  }

  #isDatagram(): boolean {
    return this.qp.setup.service === QpService.UD;
  }

  post(work: VictimWork, { number: qpn }: this): void {
    this.qp.post({ ...work, ...(this.#isDatagram() ? { to: { lid: PEER_LID, qpn, qkey: QKEY } } : {}) });
  }

  postReceive(piece: Piece): () => void {
    const shared = this.#shared;
    if (shared === undefined) {
      this.qp.postReceive(piece);
      return () => {};
    }
    const request = shared.post(piece);
    return () => shared.free(request);
  }

  take(): number[] {
    return this.qp.take().map(({ syndrome }) => syndrome);
  }

  *observe(): Iterable<readonly [string, number]> {
    const { driver } = this.#fixture;
    const { number, queue, cq } = this.qp;
    yield [`entries of CQ ${cq.number}`, crc32(driver.bytes(cq.address, cq.entries * COMPLETION_BYTES))];
    yield [`requests of QP ${number}`, crc32(driver.bytes(queue, QUEUE_BYTES))];
    const { output } = driver.expect(CommandOpcode.QUERY_QP, { modifier: number, out: CONTEXT_BYTES });
    yield [`context of QP ${number}`, crc32(new Uint8Array(output.buffer, output.byteOffset, CONTEXT_BYTES))];
  }
}

export class Victims extends PersonalityVictims<MthcaVictimEnd> {
  readonly exchanges: readonly Exchange<MthcaVictimEnd>[];
  protected readonly opcodes: VictimOpcodes = {
    send: WorkOpcode.SEND,
    write: WorkOpcode.RDMA_WRITE,
    read: WorkOpcode.RDMA_READ,
    count: WorkOpcode.FETCH_AND_ADD,
  };
  protected readonly machine: InProcessMachine;

  constructor(fixture: DataFixture) {
    super();
    this.machine = fixture.driver.machine;
    const memory = new VictimMemory(fixture);
    const shared = new DriverSharedQueue(fixture.driver, fixture.takeRecords(VICTIM_UAR));
    const context = { hasSrq: 1, srqn: shared.number };
    const connect = (service: number, srq?: DriverSharedQueue) => {
      const [from, to] = fixture.connect(service, {}, srq === undefined ? {} : { context });
      return { from: new MthcaVictimEnd(fixture, memory, from), to: new MthcaVictimEnd(fixture, memory, to, srq) };
    };
    const rc = connect(QpService.RC);
    this.exchanges = [
      { kind: 'send', ...rc },
      { kind: 'send', ...connect(QpService.UC) },
      { kind: 'send', ...connect(QpService.UD) },
      { kind: 'send', ...connect(QpService.RC, shared) },
      { kind: 'write', ...rc },
      { kind: 'read', ...rc },
      { kind: 'count', ...rc },
    ];
  }
}
