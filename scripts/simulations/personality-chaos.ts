// SPDX-License-Identifier: Apache-2.0
/** Chaos over the data path of personalities, by their names; chaos.ts and its workers run it. */
import { runMlx5Chaos } from '../../device/rig/mlx5/chaos.ts';
import { runMthcaChaos } from '../../device/rig/mthca/chaos.ts';

/** Each runs one seed, and returns what is wrong. Such a run keeps no trace. */
export const personalityChaos = { mthca: runMthcaChaos, mlx5: runMlx5Chaos } as const;

export type Personality = keyof typeof personalityChaos;
