// SPDX-License-Identifier: Apache-2.0
/**
 * A device with ACTIVE ports and pairs of queue pairs for tests of the data path: the first of a
 * pair is at port 1, the second at port 2, and the ports are cabled to each other.
 */
import { CommandOpcode, type EventKind, QpService } from '../../../../protocol/mthca/gen/values.gen.ts';
import type { PersonalityOptions } from '../../../personality/shared/options.ts';
import type { Piece } from '../../machine/personality-driver.ts';
import { MthcaDriverCompletionQueue, type TakenCompletion } from './completion-queue.ts';
import { DriverDataQueuePair, type QueuePairSetup } from './data-queue-pair.ts';
import { MthcaDriver, type MthcaDriverEventQueue, makeMthcaMachine } from './mthca-driver.ts';
import { portSetup } from './profile.ts';

const FIRST_CQN = 128;
const FIRST_QPN = 16;
const LOG_CQ_ENTRIES = 6;
/** Doorbell records of a CQ and of a QP. */
const RECORDS = 2;
const ALL_EVENTS = 0x1fffff;

/** A queue pair with a CQ of its own. */
export class FixtureQueuePair extends DriverDataQueuePair {
  take(): TakenCompletion[] {
    return this.setup.cq.take();
  }

  get cq(): MthcaDriverCompletionQueue {
    return this.setup.cq;
  }
}

export class DataFixture {
  readonly driver: MthcaDriver;
  readonly events: MthcaDriverEventQueue;
  #nextCqn = FIRST_CQN;
  #nextQpn = FIRST_QPN;
  /** Next free doorbell record, by user access region. */
  readonly #nextRecord: number[] = [];

  /** `driver`: that of a device that was reset or is in a fabric, in place of a new one. */
  constructor(options: Partial<PersonalityOptions> = {}, driver = new MthcaDriver(makeMthcaMachine(options))) {
    this.driver = driver;
    this.events = this.driver.start();
    this.driver.expect(CommandOpcode.MAP_EQ, { input: ALL_EVENTS, modifier: this.events.number });
    for (const { number: modifier } of this.driver.device.ports)
      this.driver.expect(CommandOpcode.INIT_IB, { modifier, input: portSetup() });
    this.events.take();
  }

  run(): void {
    this.driver.machine.runUntilIdle();
  }

  /** Registered memory of its own pages. */
  memory(byteCount: number, entry: object = {}): Piece {
    const sizeBytes = Math.ceil(byteCount / 0x1000) * 0x1000;
    const at = this.driver.allocate(sizeBytes);
    const rights = { remoteRead: 1, remoteWrite: 1, atomic: 1 };
    const key = this.driver.createRegion(at, sizeBytes, { start: at, ...rights, ...entry });
    return { key, address: at, byteCount };
  }

  bytes({ address, byteCount }: Piece): Uint8Array {
    return this.driver.bytes(address, byteCount);
  }

  takeRecords(uar: number): number {
    const record = this.#nextRecord[uar] ?? 0;
    this.#nextRecord[uar] = record + RECORDS;
    return record;
  }

  completionQueue(uar = 1, logEntries = LOG_CQ_ENTRIES): MthcaDriverCompletionQueue {
    return new MthcaDriverCompletionQueue(this.driver, this.#nextCqn++, logEntries, uar, this.takeRecords(uar));
  }

  /** A queue pair in INIT. */
  queuePair(setup: Partial<QueuePairSetup> = {}): FixtureQueuePair {
    const { uar = 1 } = setup;
    const cq = setup.cq ?? this.completionQueue(uar);
    return new FixtureQueuePair(this.driver, {
      number: this.#nextQpn++,
      record: this.takeRecords(uar),
      ...setup,
      uar,
      cq,
    });
  }

  /** Two queue pairs in RTS, connected to each other unless their service is UD. */
  connect(
    service: number = QpService.RC,
    first: Partial<QueuePairSetup> = {},
    second: Partial<QueuePairSetup> = {},
  ): [FixtureQueuePair, FixtureQueuePair] {
    const a = this.queuePair({ service, port: 1, ...first });
    const b = this.queuePair({ service, port: 2, ...second });
    a.start(b.number, 2);
    b.start(a.number, 1);
    return [a, b];
  }

  /** Kinds of the events that have come since the last call. */
  takeEvents(): { kind: EventKind; number: number }[] {
    return this.events
      .take()
      .map((view) => ({ kind: view.getUint8(1) as EventKind, number: view.getUint32(4) & 0xffffff }));
  }
}
