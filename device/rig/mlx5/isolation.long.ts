// SPDX-License-Identifier: Apache-2.0
/** Further seeds of isolation.test.ts, over two mlx5 devices with hostile processes. */
import { takeFurtherSeeds } from '../fixtures/seeds.ts';

takeFurtherSeeds();
await import('./isolation.test.ts');
