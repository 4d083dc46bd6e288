// SPDX-License-Identifier: Apache-2.0
/** The other policy of doorbell-overflow.test.ts, through the wrap. */
import { takeFurtherSeeds } from '../../rig/fixtures/seeds.ts';

takeFurtherSeeds();
await import('./doorbell-overflow.test.ts');
