// SPDX-License-Identifier: Apache-2.0
/**
 * A shared receive queue as commands give it to the HCA, arm it and query it. Its entries are taken
 * by the data path, which is not connected yet (docs/PERSONALITIES.md).
 */
import { encodeSrqContext, type SrqContext } from '../../../protocol/mthca/gen/srq-context.gen.ts';
import { ContextStatus } from '../../../protocol/mthca/gen/values.gen.ts';

export class SharedReceiveQueue {
  readonly context: SrqContext;
  /** QPs that receive from it. */
  users = 0;

  /** Takes over the context, which is checked. */
  constructor(number: number, context: Readonly<SrqContext>) {
    this.context = { ...context, srqn: number, state: ContextStatus.OK, limit: 0, counter: 0 };
  }

  /** Writes the context as a query shows it. */
  encode(view: DataView): void {
    encodeSrqContext(view, 0, this.context);
  }
}
