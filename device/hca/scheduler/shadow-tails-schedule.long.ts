// SPDX-License-Identifier: Apache-2.0
/** Further seeds of shadow-tails-schedule.test.ts: ten million posts. */
import { takeFurtherSeeds } from '../../rig/fixtures/seeds.ts';

takeFurtherSeeds();
await import('./shadow-tails-schedule.test.ts');
