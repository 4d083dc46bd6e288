// SPDX-License-Identifier: Apache-2.0
/**
 * The part of an end of a connection that its sending and its receiving half both read when they
 * judge a completion. `Endpoint` implements it.
 */
import type { DriverQueuePair } from '../driver/queue-pair.ts';
import type { ConnectionPlan } from './plan.ts';

/** State and checks of an end. */
export interface EndState {
  readonly name: string;
  readonly plan: ConnectionPlan;
  readonly qp: DriverQueuePair;
  readonly nowNs: number;
  readonly isReliable: boolean;
  /** The QP is in RESET, or gone with its function: no completion follows. */
  readonly isDead: boolean;
  /** The CQs of this end are so small that they may overflow. */
  readonly mayOverflow: boolean;
  /** The QP may fail, or completions may be lost, for a known reason. */
  readonly mayFail: boolean;
  /** A request of this end has completed in error. */
  readonly failed: boolean;
  /** Throws unless `holds`. */
  expect(holds: boolean, otherwise: string): void;
  /** Throws an error that names this end. */
  fail(what: string): never;
}
