// SPDX-License-Identifier: Apache-2.0
/**
 * Weights of the functions at the uplinks of embedded switches: those of their lanes, as at the
 * arbitrator before their ports (US 8,484,392 par. 51; docs/DOCUMENTS.md decision 13). Functions
 * without lanes of their own share an account. Set up by the constructor of `Adapter`.
 */
import { FUNCTION_MAX } from '../../../protocol/layout/gen/constants.gen.ts';
import { InputTurns, type InputWeights } from '../../fabric/switch/input-turns.ts';
import type { Switch } from '../../fabric/switch/switch.ts';
import type { LaneOwners } from '../lane/owner-turns.ts';
import { UPLINK } from './port-model.ts';

/** One account for each function, and the one of lanes without an owner. */
const ACCOUNTS = FUNCTION_MAX + 1;

class UplinkWeights implements InputWeights {
  readonly #owners: LaneOwners;

  constructor(owners: LaneOwners) {
    this.#owners = owners;
  }

  accountOf(inputPort: number): number {
    const functionNumber = inputPort - UPLINK - 1;
    return this.#owners.weights[functionNumber] > 0 ? functionNumber : FUNCTION_MAX;
  }

  weightOf(account: number): number {
    return this.#owners.weights[account] || 1;
  }
}

/** Lets functions share each uplink by the weights of their lanes. */
export function shareUplinks(switches: readonly Switch[], owners: LaneOwners): void {
  const weights = new UplinkWeights(owners);
  for (const { ports } of switches) ports[UPLINK - 1].shareAmongInputs(new InputTurns(weights, ACCOUNTS));
}
