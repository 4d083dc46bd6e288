// SPDX-License-Identifier: Apache-2.0
/** Further seeds of xrc-load.test.ts. */
import { takeFurtherSeeds } from '../fixtures/seeds.ts';

takeFurtherSeeds();
await import('./xrc-load.test.ts');
