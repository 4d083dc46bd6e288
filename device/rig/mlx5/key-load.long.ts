// SPDX-License-Identifier: Apache-2.0
/** Further seeds of key-load.test.ts: random load on memory keys. */
import { takeFurtherSeeds } from '../fixtures/seeds.ts';

takeFurtherSeeds();
await import('./key-load.test.ts');
