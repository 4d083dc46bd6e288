// SPDX-License-Identifier: Apache-2.0
/** The unit that works for QPs, as commands see it, and what a command says of a new QP. */
import type { Qpc } from '../../../../protocol/mlx5/gen/qpc.gen.ts';
import type { QpService, QpState } from '../../../../protocol/mlx5/gen/values.gen.ts';
import type { PageList } from '../memory/page-list.ts';
import type { Mlx5QueuePair } from '../queues/queue-pair.ts';

/** Sizes and kind of a QP. */
export interface QueuePairPlan {
  /** The receiving half of XRC: it has neither work queues nor CQs. */
  readonly isXrcTarget: boolean;
  /** Entries of the receive queue, and bytes of each; 0: it has none. */
  readonly receiveEntries: number;
  readonly receiveBytes: number;
  /** Blocks of 64 bytes of the send queue, which lies behind the receive queue; 0: it has none. */
  readonly sendBlocks: number;
  /** Receives come from the shared queue that the context names. */
  readonly usesSharedQueue: boolean;
}

/** Without receives the number of their CQ means nothing. */
export function hasReceives({ receiveEntries, usesSharedQueue }: QueuePairPlan): boolean {
  return receiveEntries > 0 || usesSharedQueue;
}

export interface QueuePairUnit {
  /** A QP in RESET; the objects that it names exist. Undefined when there are too many. */
  create(context: Uint8Array, fields: Readonly<Qpc>, plan: QueuePairPlan, pages: PageList): Mlx5QueuePair | undefined;
  /** True when the port has QP0, or QP1. */
  hasSpecial(service: QpService): boolean;
  /** A command moves the QP; its context is that of `next`. */
  move(qp: Mlx5QueuePair, next: QpState): void;
  destroy(qp: Mlx5QueuePair): void;
  /** The function stops: all QPs are gone, and nothing completes. */
  reset(): void;
}
