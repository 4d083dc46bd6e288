// SPDX-License-Identifier: Apache-2.0
/**
 * The pictures of docs/pictures by name, each drawn by the function that draws it for users: plots
 * of measurements that are stored beside this file, and pictures of topologies. The same sources
 * give the same files. Called by main.ts and by the test.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { FabricReport } from '../../device/process/reports/fabric-report.ts';
import type { FabricFigure } from '../bench/fabric-figure.ts';
import { drawFabric } from '../cli/screens/fabric-picture.ts';
import { readTopologyFile } from '../cli/topology/topology-file.ts';
import { drawTopology } from '../cli/topology/topology-picture.ts';
import { drawFigures } from '../demo/interrupts/plot.ts';
import type { InterruptSample } from '../demo/interrupts/report.ts';
import { drawShares } from '../demo/qos/share-plot.ts';
import type { Row } from '../demo/qos/share-table.ts';
import { readFigures } from '../foreign/figures.ts';
import { readPerformance } from '../performance/figures.ts';
import { drawBandwidth, drawLatency, drawMessage, drawRate } from '../performance/plots.ts';
import { drawFabricSizes } from './fabric-size-plot.ts';

/** Where the pictures are. */
export const PICTURES_PATH = 'docs/pictures';

export const pictures: Readonly<Record<string, () => Promise<string>>> = {
  'two-adapters': () => drawTopology(readTopology('two-adapters')),
  'two-switches': () => drawTopology(readTopology('two-switches')),
  ring: () => drawTopology(readTopology('ring')),
  'fat-tree': () => drawTopology(readTopology('fat-tree')),
  fabric: () => drawFabric(...readMeasured<[FabricReport, FabricReport]>('fabric')),
  qos: () => drawShares(readMeasured<readonly Row[]>('qos')),
  'fabric-sizes': () => drawFabricSizes(readMeasured<readonly FabricFigure[]>('fabric-sizes')),
  'performance-message': () => drawMessage(readPerformance()),
  'performance-latency': () => drawLatency(readPerformance()),
  'performance-bandwidth': () => drawBandwidth(readPerformance(), readFigures()),
  'performance-rate': () => drawRate(readPerformance()),
  interrupts: () => drawFigures(readMeasured<readonly InterruptSample[]>('interrupts')),
};

function readTopology(name: string) {
  return readTopologyFile(fileURLToPath(new URL(`topologies/${name}.json`, import.meta.url)));
}

/** The file of a measurement. */
function measuredPath(name: string): string {
  return fileURLToPath(new URL(`measured/${name}.json`, import.meta.url));
}

function readMeasured<T>(name: string): T {
  return JSON.parse(readFileSync(measuredPath(name), 'utf8')) as T;
}
