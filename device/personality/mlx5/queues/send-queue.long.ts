// SPDX-License-Identifier: Apache-2.0
/** Further seeds of send-queue.test.ts: requests of random lengths. */
import { takeFurtherSeeds } from '../../../rig/fixtures/seeds.ts';

takeFurtherSeeds();
await import('./send-queue.test.ts');
