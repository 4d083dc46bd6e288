// SPDX-License-Identifier: Apache-2.0
/** Further seeds of queue-pair-reuse.test.ts. */
import { takeFurtherSeeds } from '../../rig/fixtures/seeds.ts';

takeFurtherSeeds();
await import('./queue-pair-reuse.test.ts');
