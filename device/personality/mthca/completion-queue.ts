// SPDX-License-Identifier: Apache-2.0
/**
 * A completion queue as commands give it to the HCA and query it. Its entries are written by the
 * data path, which is not connected yet (docs/PERSONALITIES.md).
 */
import { type CqContext, encodeCqContext } from '../../../protocol/mthca/gen/cq-context.gen.ts';
import { ContextOwner, ContextStatus } from '../../../protocol/mthca/gen/values.gen.ts';

export class CompletionQueue {
  readonly context: CqContext;
  /** QPs that complete on it, once for each queue. */
  users = 0;

  /** Takes over the context, which is checked. */
  constructor(number: number, context: Readonly<CqContext>) {
    this.context = { ...context, cqn: number, status: ContextStatus.OK, consumerIndex: 0, producerIndex: 0 };
  }

  /** Writes the context as a query shows it. */
  encode(view: DataView): void {
    encodeCqContext(view, 0, { ...this.context, owner: ContextOwner.HARDWARE });
  }
}
