// SPDX-License-Identifier: Apache-2.0
/**
 * The state machine of a subnet manager (IBTA 14.4.1): DISCOVERING, STANDBY, MASTER, NOT_ACTIVE,
 * and what Set(SMInfo) of other managers does to it. It has no time and sends nothing: `Sweeper`
 * and `SubnetManager` do that.
 */
import { MadStatus, SmState } from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import type { Guid } from '../guid.ts';
import type { DirectedPath } from '../subnet.ts';
import { SmControl } from './handover.ts';

/** The manager that is watched while standing by. */
interface Watched {
  readonly guid: Guid;
  /** Undefined until a sweep has found it. */
  readonly path: DirectedPath | undefined;
}

export class SmStateMachine {
  state: SmState = SmState.DISCOVERING;
  watched: Watched | undefined = undefined;
  /** Looks at the watched manager without a good answer, in a row. */
  failures = 0;
  /** A master that has handed over and waits for the acknowledgement. */
  toAcknowledge: Guid | undefined = undefined;
  /** A manager that was asked to take over and has not answered yet. */
  successor: Watched | undefined = undefined;
  /** True until the first configuration as master is complete. */
  isNew = true;
  /** Times it became master, and times it gave that up. */
  takeovers = 0;
  handovers = 0;

  becomeMaster(): void {
    if (this.state === SmState.MASTER) return;
    this.#enter(SmState.MASTER);
    this.isNew = true;
    this.takeovers++;
  }

  standBy(watched: Watched): void {
    if (this.state === SmState.MASTER) this.handovers++;
    this.#enter(SmState.STANDBY);
    this.watched = watched;
  }

  discover(): void {
    this.#enter(SmState.DISCOVERING);
  }

  /**
   * Carries out Set(SMInfo) of the manager `guid`. Returns a status; controls that the state does
   * not allow change nothing.
   */
  control(modifier: number, guid: Guid): number {
    const { state } = this;
    if (modifier === SmControl.HANDOVER && state !== SmState.NOT_ACTIVE) {
      this.becomeMaster();
      this.toAcknowledge = guid;
    } else if (modifier === SmControl.ACKNOWLEDGE && this.successor !== undefined) this.standBy(this.successor);
    else if (modifier === SmControl.ACKNOWLEDGE && this.watched?.guid === guid) return MadStatus.SUCCESS;
    else if (modifier === SmControl.DISABLE && state === SmState.STANDBY) this.#enter(SmState.NOT_ACTIVE);
    else if (modifier === SmControl.STANDBY && state === SmState.NOT_ACTIVE) this.standBy({ guid, path: undefined });
    else if (modifier === SmControl.DISCOVER && state === SmState.STANDBY) this.discover();
    else return MadStatus.INVALID_VALUE;
    return MadStatus.SUCCESS;
  }

  /**
   * The watched manager answered with `state`, or not at all. Returns true when it counts as dead:
   * the subnet is discovered anew.
   */
  polled(state: number | undefined, attempts: number): boolean {
    if (state === SmState.MASTER) {
      this.failures = 0;
      return false;
    }
    this.failures++;
    // A manager that still discovers becomes master soon, so it gets more time.
    if (this.failures < (state === SmState.DISCOVERING ? 2 * attempts : attempts)) return false;
    this.discover();
    return true;
  }

  #enter(state: SmState): void {
    this.state = state;
    this.watched = undefined;
    this.failures = 0;
    this.toAcknowledge = undefined;
    this.successor = undefined;
  }
}
