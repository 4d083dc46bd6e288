// SPDX-License-Identifier: Apache-2.0
/** Further seeds of chaos.test.ts, over the data path of two mlx5 devices. */
import { takeFurtherSeeds } from '../fixtures/seeds.ts';

takeFurtherSeeds();
await import('./chaos.test.ts');
