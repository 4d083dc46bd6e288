// SPDX-License-Identifier: Apache-2.0
/**
 * The driver's end of a collect context: the collect pages of one process (docs/FEATURES.md,
 * Collect contexts). A QP or CQ that is created with its number can be used through its pages.
 */
import {
  type CollectContextAttributes,
  decodeCollectContextAttributes,
  newCollectContextAttributes,
} from '../../../protocol/layout/gen/collect-context-attributes.gen.ts';
import { PAGE_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import { ManagementOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import type { ManagementChannel, ManagementResult } from './management-channel.ts';

export class DriverCollectContext {
  readonly number: number;
  readonly #management: ManagementChannel;

  /** Creates a context without pages. */
  constructor(management: ManagementChannel, token = 0) {
    this.#management = management;
    this.number = management.perform({ opcode: ManagementOpcode.CREATE_COLLECT_CONTEXT, token }).objectNumber;
  }

  /** Gives it the page at a byte offset of the collect BAR; throws if refused. */
  give(page: number): number {
    this.#management.perform(assignment(page, this.number));
    return page;
  }

  query(): CollectContextAttributes {
    const request = { opcode: ManagementOpcode.QUERY_COLLECT_CONTEXT, objectNumber: this.number };
    const { payload } = this.#management.perform(request);
    return decodeCollectContextAttributes(payload, 0, newCollectContextAttributes());
  }

  /** Returns the result, whatever the status. */
  destroy(): ManagementResult {
    return this.#management.execute({
      opcode: ManagementOpcode.DESTROY_COLLECT_CONTEXT,
      objectNumber: this.number,
    });
  }
}

/** Takes a page back from its context; throws if refused. */
export function takeBackPage(management: ManagementChannel, page: number): void {
  management.perform(assignment(page, 0));
}

function assignment(page: number, objectNumber: number) {
  return { opcode: ManagementOpcode.ASSIGN_COLLECT_PAGE, objectNumber, modifier: page / PAGE_BYTES };
}
