// SPDX-License-Identifier: Apache-2.0
/**
 * A use of an adapter: software creates objects of one kind and lets them work. Uses stand beside
 * each other in any order on one fixture, and leave their objects in being. A use that disturbs
 * leaves work half done, or a switch set that stops other software; it comes last.
 */
import type { Random } from '../../random.ts';
import { type AdapterFixture, COMPLETION_VECTOR } from '../adapter-fixture.ts';

export interface Use {
  readonly name: string;
  /** Only the physical function may do this. */
  readonly physical?: boolean;
  /** Changes more than objects: registers, ports or shares, which only a reset restores. */
  readonly settings?: boolean;
  /** Software gets no answer to its commands any more. */
  readonly silences?: boolean;
  readonly run: (fixture: AdapterFixture, random: Random) => void;
}

/** Bytes in front of a datagram in its receive buffer. */
export const GRH_BYTES = 40;

/** Runs a use with an event queue of its own: one has room for the events of few CQs. */
export function run({ name, run: use }: Use, fixture: AdapterFixture, random: Random): void {
  fixture.events = fixture.driver.createEventQueue({ vector: COMPLETION_VECTOR });
  try {
    use(fixture, random);
  } catch (error) {
    throw new Error(`${name}: ${(error as Error).message}`, { cause: error });
  }
}
