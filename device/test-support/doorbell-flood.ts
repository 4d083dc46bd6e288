// SPDX-License-Identifier: Apache-2.0
/**
 * More QPs than the scheduler buffer has entries, all of which ring before the device runs: the
 * load of US 9,069,485 par. 67, 74 and 96-97. Used by the tests of doorbells, `npm run
 * demo:deadlock` and `npm run digests`.
 */
import {
  CSR,
  setCsrDoorbellPolicyAdaptive,
  setCsrDoorbellPolicyLinkCheck,
  setCsrDoorbellPolicySpillBuffered,
  setCsrDoorbellPolicySpillCommands,
  setCsrDoorbellThresholdsHigh,
} from '../../protocol/layout/gen/registers.gen.ts';
import { SEND_COMMAND_SEQUENCE_MASK } from '../../protocol/layout/gen/send-command.gen.ts';
import { CompletionStatus, type LinkCheck, OverflowPolicy } from '../../protocol/layout/gen/values.gen.ts';
import type { DriverCompletionQueue } from '../hosts/in-process/driver/completion-queue.ts';
import type { DriverQueuePair } from '../hosts/in-process/driver/queue-pair.ts';
import { AdapterFixture, type AdapterFixtureOptions } from './adapter-fixture.ts';
import { NOP } from './command-poster.ts';

/** Entries of the scheduler buffer. */
export const BUFFER_ENTRIES = 8;
const QUEUE_LOG2 = 3;

/** Number of QPs, and policy and size of the overflow buffer. */
export interface FloodOptions extends AdapterFixtureOptions {
  readonly queuePairs?: number;
  readonly policy?: OverflowPolicy;
  readonly linkCheck?: LinkCheck;
  /** log2 of the overflow buffer; 0: none. */
  readonly ringLog2?: number;
  readonly adaptive?: boolean;
  readonly spillBuffered?: boolean;
  readonly spillCommands?: boolean;
}

/** A fixture with a short scheduler buffer, and many QPs that share a CQ. */
export class DoorbellFlood {
  readonly fixture: AdapterFixture;
  readonly qps: DriverQueuePair[];
  readonly cq: DriverCompletionQueue;
  /** Commands posted, by QPN. */
  readonly posted = new Map<number, number>();
  /** Commands completed, by QPN. */
  readonly completed = new Map<number, number>();

  constructor(options: FloodOptions = {}) {
    const { queuePairs = 24, policy = OverflowPolicy.NEWEST, ringLog2 = 10 } = options;
    const adapter = { doorbellEntries: BUFFER_ENTRIES, ...options.adapter };
    this.fixture = new AdapterFixture({
      ...options,
      adapter,
      bringUp: { overflowEntriesLog2: ringLog2, ...options.bringUp },
    });
    let value = setCsrDoorbellPolicyLinkCheck(policy, options.linkCheck ?? 0);
    value = setCsrDoorbellPolicyAdaptive(value, Number(options.adaptive ?? false));
    value = setCsrDoorbellPolicySpillBuffered(value, Number(options.spillBuffered ?? false));
    value = setCsrDoorbellPolicySpillCommands(value, Number(options.spillCommands ?? false));
    this.fixture.access.writeRegister(CSR.DOORBELL_POLICY, 4, value, 0);
    this.cq = this.fixture.createCompletionQueue({ entriesLog2: 9 });
    this.qps = Array.from({ length: queuePairs }, () => this.add());
  }

  /** Creates one more QP. */
  add(): DriverQueuePair {
    return this.fixture.createQueuePair({ sendCq: this.cq, sendEntriesLog2: QUEUE_LOG2, receiveEntriesLog2: 1 });
  }

  setThresholds(low: number, high: number): void {
    this.fixture.access.writeRegister(CSR.DOORBELL_THRESHOLDS, 4, setCsrDoorbellThresholdsHigh(low, high), 0);
  }

  /** Posts a NOP, with a doorbell by register or with none. The device does not run. */
  post(qp: DriverQueuePair, by: 'register' | 'slot' = 'register'): void {
    qp.post(NOP, by);
    this.posted.set(qp.qpn, (this.posted.get(qp.qpn) ?? 0) + 1);
  }

  /** Each QP, in random order, posts 1 to 4 commands and rings for the first of them. */
  burst(qps: readonly DriverQueuePair[] = this.qps): void {
    const { random } = this.fixture;
    const order = [...qps];
    random.shuffle(order);
    for (const qp of order) {
      const first = qp.sendTail;
      for (let count = random.between(1, 4); count > 0; count--) this.post(qp, 'slot');
      qp.ring(first, 'register');
    }
  }

  /** Lets time pass until no read is in flight. Describes what is wrong then. */
  finish(): string | undefined {
    for (let turns = 0; turns < 2000; turns++) {
      this.fixture.settle();
      if (this.read(CSR.BUS_READS) === 0) break;
      this.fixture.machine.clock.jumpToAlarm();
    }
    return this.findWrong();
  }

  /** Takes completions. Describes the first that is not the next one of its QP. */
  reap(): string | undefined {
    for (const { qpn, queueSequence, status } of this.cq.drain()) {
      const expected = this.completed.get(qpn) ?? 0;
      if (status !== CompletionStatus.SUCCESS || queueSequence !== (expected & SEND_COMMAND_SEQUENCE_MASK))
        return `QP ${qpn}: completion ${queueSequence} with status ${status}, expected ${expected}`;
      this.completed.set(qpn, expected + 1);
    }
    return undefined;
  }

  /** Lets the device work. Describes a command that was not executed once and in order. */
  findWrong(): string | undefined {
    this.fixture.settle();
    const wrong = this.reap();
    if (wrong !== undefined) return wrong;
    for (const [qpn, posted] of this.posted) {
      const completed = this.completed.get(qpn) ?? 0;
      if (completed !== posted)
        return `QP ${qpn}: ${completed} of ${posted} commands completed; ${this.fixture.machine.describe()}`;
    }
    return undefined;
  }

  /** Commands completed. */
  get total(): number {
    return [...this.completed.values()].reduce((sum, count) => sum + count, 0);
  }

  read(offset: number): number {
    return this.fixture.read(offset);
  }
}

/** Steps the device until `condition` holds; throws if it does not within 10,000 steps. */
export function stepUntil(fixture: AdapterFixture, condition: () => boolean, what: string): void {
  for (let step = 0; step < 10_000; step++) {
    if (condition()) return;
    fixture.machine.step();
  }
  throw new Error(`no sign of ${what}; ${fixture.machine.describe()}`);
}
