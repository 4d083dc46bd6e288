// SPDX-License-Identifier: Apache-2.0
/**
 * Adapters that live long: runs of one seed after another, on the same two adapters, with pauses.
 * Before each run drivers reset their functions and bring them up again, after which an adapter
 * holds what it held at the start. Called by `chaos.test.ts` and `npm run simulate -- chaos
 * --hours`.
 */
import { Random } from '../../random.ts';
import type { AdapterFixture } from '../fixtures/adapter-fixture.ts';
import { findLeak } from '../fixtures/invariants.ts';
import { type Adapters, newAdapter } from './network.ts';
import { runChaos } from './run.ts';

/** Time between two runs at most, and a pause within a run. */
const GAP_NS = 60e9;
const PAUSE_NS = 20e6;

/** The life of the adapters so far. */
export interface Life {
  readonly runs: number;
  readonly livedNs: number;
  /** The fault of the last run; undefined if it passed. */
  readonly error: string | undefined;
}

/** Yields after each run; ends once the adapters have lived for `lengthNs`, or with an error. */
export function* liveLong(seed: number, lengthNs: number): Generator<Life, void, void> {
  const random = new Random(seed);
  const adapters: Adapters = [newAdapter(0, seed, 0), newAdapter(1, seed, 0)];
  const atFirst = adapters.map(describe);
  let error: string | undefined;
  for (let runs = 1; error === undefined && livedNs(adapters) < lengthNs; runs++) {
    error = runChaos(seed + runs, { adapters, pauseNs: PAUSE_NS }).error;
    error ??= restart(adapters, livedNs(adapters) + random.below(GAP_NS), atFirst);
    yield { runs, livedNs: livedNs(adapters), error };
  }
}

/** Resets the functions and brings them up at `atNs`. Describes state that has survived. */
function restart(adapters: Adapters, atNs: number, atFirst: readonly string[]): string | undefined {
  for (const [index, fixture] of adapters.entries()) {
    const { machine } = fixture;
    for (const port of machine.device.ports) port.plug(undefined);
    machine.reset(0, 'function');
    machine.clock.advance(atNs - machine.clock.now());
    machine.resume();
    fixture.bringUp();
    fixture.settle();
    const now = describe(fixture);
    if (now !== atFirst[index]) return `adapter ${index} held ${atFirst[index]} at first, and holds ${now}`;
    const leak = findLeak(fixture.access);
    if (leak !== undefined) return leak;
  }
  return undefined;
}

function describe({ machine }: AdapterFixture): string {
  return JSON.stringify(machine.device.tables.counts);
}

function livedNs(adapters: Adapters): number {
  return Math.max(...adapters.map(({ machine }) => machine.clock.now()));
}
