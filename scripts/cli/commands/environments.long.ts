// SPDX-License-Identifier: Apache-2.0
/** Streams and variables that environments.test.ts leaves out. */
import { takeFurtherSeeds } from '../../../device/rig/fixtures/seeds.ts';

takeFurtherSeeds();
await import('./environments.test.ts');
