// SPDX-License-Identifier: Apache-2.0
/**
 * Planted bugs in a driver's posting of commands and its accounting of send context credits;
 * `planted-bugs.ts` describes each. docs/HAZARDS.md has the rules that they break (hazards 4, 11,
 * 21, 23 and 56).
 */
import { SEND_COUNTER_MASK } from '../../../protocol/layout/gen/constants.gen.ts';
import { CREDIT_RETURN_SIZE } from '../../../protocol/layout/gen/credit-return.gen.ts';
import {
  CSR_SEND_CONTEXT_CONTROL_ENABLE_MASK,
  CSR_SEND_CONTEXT_CONTROL_FORCE_MASK,
} from '../../../protocol/layout/gen/registers.gen.ts';
import { CollectPagePool } from '../driver/collect-page-pool.ts';
import { DriverQueuePair, type PostBy } from '../driver/queue-pair.ts';
import { DriverSendContext } from '../driver/send-context.ts';
import type { SendRequest } from '../driver/send-request.ts';

const WORDS_PER_LINE = 8;

/** `doorbell-before-entry`. */
export class EarlyDoorbellPair extends DriverQueuePair {
  override post(request: SendRequest, by?: PostBy): Uint8Array {
    if (by !== 'doorbell') return super.post(request, by);
    const sequence = this.sendTail;
    this.advanceSendTail();
    const next = this.sendTail;
    this.ring();
    this.sendTail = sequence;
    const bytes = this.fill(request);
    this.sendTail = next;
    return bytes;
  }
}

/** `mark-before-tail`: the behaviour of a processor without a barrier between the two. */
export class NoBarrierPair extends DriverQueuePair {
  override post(request: SendRequest, by?: PostBy): Uint8Array {
    if (by !== 'tail') return super.post(request, by);
    const bytes = this.fill(request);
    const { watched } = this;
    this.advanceSendTail();
    if (!watched) this.ring();
    return bytes;
  }
}

/** `page-released-early`. */
export class EarlyReleasePool extends CollectPagePool {
  override write(store: (page: number) => void): boolean {
    const page = this.take();
    if (page === undefined) return false;
    this.release(page);
    store(page);
    return true;
  }
}

/** `credit-read-twice`. */
export class ReadTwiceContext extends DriverSendContext {
  #last = 0;

  protected override readReturned(): number {
    if (this.word.freeCounter === this.#last) return 0;
    const returned = (this.word.freeCounter - this.#last) & SEND_COUNTER_MASK;
    this.#last = this.word.freeCounter;
    return returned;
  }
}

/** `credit-in-halves`. */
export class HalvesContext extends DriverSendContext {
  protected override readReturned(): number {
    const at = (this.number % WORDS_PER_LINE) * CREDIT_RETURN_SIZE;
    const low = this.line.getUint8(at);
    if (this.word.status !== 0) return 0;
    const high = this.line.getUint8(at + 1) << 8;
    return ((low | high) - this.freed) & SEND_COUNTER_MASK;
  }
}

/** `credit-without-wrap`. */
export class NoWrapContext extends DriverSendContext {
  protected override readReturned(): number {
    return Math.max(0, this.word.freeCounter - this.freed);
  }
}

/** `force-without-edge`. */
export class HeldForceContext extends DriverSendContext {
  override force(): void {
    this.control(CSR_SEND_CONTEXT_CONTROL_ENABLE_MASK | CSR_SEND_CONTEXT_CONTROL_FORCE_MASK);
  }
}
