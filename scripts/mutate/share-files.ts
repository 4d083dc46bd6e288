// SPDX-License-Identifier: Apache-2.0
/** The files of areas that one shard of a run has. Called by score-shard.ts. */
import { type Shard, takeShare } from '../console/shard.ts';
import { type Area, sourcesOf } from './areas.ts';
import { readScores } from './result-files.ts';

/** A file of an area. */
interface AreaFile {
  readonly area: Area;
  readonly path: string;
}

/** The files of a shard, those with the most mutants first. */
export function shareFiles(areas: readonly Area[], shard: Shard): { own: AreaFile[]; all: number } {
  const scores = readScores();
  const mutantsOf = ({ area, path }: AreaFile): number => scores[area.name]?.[path]?.mutants ?? 0;
  const all = areas
    .flatMap((area) => sourcesOf(area).map((path) => ({ area, path })))
    .sort((left, right) => mutantsOf(right) - mutantsOf(left));
  return { own: takeShare(all, shard), all: all.length };
}
