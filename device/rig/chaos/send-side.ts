// SPDX-License-Identifier: Apache-2.0
/**
 * The sending half of an endpoint: posts operations, and checks that each completes in order, with
 * the status that the state of both ends and of the wire allows (IBTA 10.8.5). Called by
 * `Endpoint` and `SideQueues`.
 */
import type { CompletionEntry } from '../../../protocol/layout/gen/completion-entry.gen.ts';
import { SEND_COMMAND_SEQUENCE_MASK } from '../../../protocol/layout/gen/send-command.gen.ts';
import { CompletionStatus, completionStatusNames } from '../../../protocol/layout/gen/values.gen.ts';
import type { Random } from '../../random.ts';
import type { EndState } from './end-state.ts';
import { type AtomicStep, type Operation, REMOTE_FAILURES } from './operation.ts';
import type { Trace } from './trace.ts';

/** log2 of the entries of a send queue. */
export const SEND_ENTRIES_LOG2 = 4;
const SEND_ENTRIES = 1 << SEND_ENTRIES_LOG2;
const { SUCCESS, FLUSHED, LOCAL_QP_OPERATION_ERROR, RETRY_EXCEEDED, RNR_RETRY_EXCEEDED } = CompletionStatus;

/** The end to which the sending half belongs. The half marks it failed. */
export interface SendingEnd extends EndState {
  failed: boolean;
  readonly source: { noteAtomic(step: AtomicStep): void };
  /** The wire neither loses nor changes packets. */
  readonly wireIsGood: boolean;
  readonly portMayFail: boolean;
  /** The end that receives. */
  readonly other: {
    mayFail: boolean;
    readonly isDead: boolean;
    readonly failed: boolean;
    readonly mayOverflow: boolean;
    readonly answersArrive: boolean;
    reap(): void;
  };
}

/** Sends of an end and their completions. */
export class SendSide {
  /** Sends posted, in order. */
  readonly operations: Operation[] = [];
  /** Sends known to be complete. */
  completed = 0;
  /** Sends posted that consume a receive entry. */
  readonly messages: Operation[] = [];
  /** Messages known to have succeeded. */
  messagesDone = 0;
  readonly #end: SendingEnd;
  readonly #random: Random;
  readonly #trace: Trace;

  constructor(end: SendingEnd, random: Random, trace: Trace) {
    this.#end = end;
    this.#random = random;
    this.#trace = trace;
  }

  get outstanding(): number {
    return this.operations.length - this.completed;
  }

  /** One slot is kept for the last request of a run (`Endpoint.sendLast`). */
  get hasRoom(): boolean {
    return this.outstanding < SEND_ENTRIES - 1;
  }

  /** Only an occasional completion tells software that its queue has room. */
  get mustSignal(): boolean {
    return this.outstanding >= SEND_ENTRIES / 2;
  }

  /**
   * After RESET: outstanding sends never complete, whether executed or not. Unreliable messages may
   * still be in flight.
   */
  restart(): void {
    this.operations.length = 0;
    this.completed = 0;
    this.messagesDone = 0;
    if (this.#end.isReliable) this.messages.length = 0;
  }

  post(operation: Operation): void {
    const end = this.#end;
    const by = this.#random.pick(['collect', 'doorbell', 'register'] as const);
    end.qp.post(operation.request, by);
    this.#trace.add(end.nowNs, `${end.name} posts ${operation.name}`, this.operations.length);
    this.operations.push(operation);
    if (operation.payload !== undefined) this.messages.push(operation);
  }

  /** Checks one completion, and the silent success of the unsignaled sends before it. */
  reap(entry: CompletionEntry): void {
    const end = this.#end;
    const { status, queueSequence } = entry;
    this.#trace.add(end.nowNs, `${end.name} send ${completionStatusNames[status]}`, queueSequence);
    const ahead = (queueSequence - this.completed) & SEND_COMMAND_SEQUENCE_MASK;
    end.expect(
      this.completed + ahead < this.operations.length,
      `completion of send ${queueSequence}, which was not posted`,
    );
    for (let skipped = 0; skipped < ahead; skipped++) {
      const { request } = this.operations[this.completed] as Operation;
      const isSilent = request.signaled === false && end.plan.signalAll === 0 && !end.failed;
      end.expect(isSilent || end.mayOverflow, `send ${this.completed} has no completion`);
      this.#succeed(this.operations[this.completed++] as Operation);
    }
    const operation = this.operations[this.completed++] as Operation;
    if (status === SUCCESS) this.#succeed(operation);
    else this.#fail(operation, status);
  }

  #succeed(operation: Operation): void {
    const end = this.#end;
    end.expect(!end.failed, `${operation.name} ${this.completed - 1} succeeds behind a failed one`);
    end.expect(!operation.bad, `bad request ${this.completed - 1} succeeds`);
    if (operation.payload !== undefined) this.messagesDone++;
    if (operation.write !== undefined) operation.write.done = true;
    if (operation.atomic !== undefined) end.source.noteAtomic(operation.atomic);
    const wrong = operation.check();
    if (wrong !== undefined) end.fail(`send ${this.completed - 1}: ${wrong}`);
  }

  #fail(operation: Operation, status: number): void {
    const end = this.#end;
    const wasFailed = end.failed;
    end.failed = true;
    const name = `${operation.name} ${this.completed - 1} ends with ${completionStatusNames[status]}`;
    if (status === FLUSHED) return end.expect(wasFailed || end.mayFail || end.mayOverflow, name);
    end.expect(!wasFailed, `${name} behind a failed one`);
    const { other } = end;
    // The other end may have failed first, and its software may not have polled since.
    other.reap();
    const otherIsGone = other.mayFail || other.isDead || other.failed || other.mayOverflow;
    if (status === RETRY_EXCEEDED) end.expect(!end.wireIsGood || (otherIsGone && !other.answersArrive), name);
    else if (status === RNR_RETRY_EXCEEDED) end.expect(end.plan.rnrRetry < 7, name);
    else if (status === LOCAL_QP_OPERATION_ERROR) end.expect(end.portMayFail, name);
    else end.expect(REMOTE_FAILURES.includes(status) && (operation.bad || otherIsGone), name);
    // The other end has refused the request, and failed.
    other.mayFail ||= operation.bad;
  }
}
