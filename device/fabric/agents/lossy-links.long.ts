// SPDX-License-Identifier: Apache-2.0
/** Further seeds of lossy-links.test.ts. */
import { takeFurtherSeeds } from '../../rig/fixtures/seeds.ts';

takeFurtherSeeds();
await import('./lossy-links.test.ts');
