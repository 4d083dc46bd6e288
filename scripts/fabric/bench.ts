// SPDX-License-Identifier: Apache-2.0
/**
 * A running fabric with its host door, the judges on it, and its own view of the subnet. Each
 * scenario has one, with the topology that it asks for.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { FabricReport } from '../../device/main/fabric-report.ts';
import type { InfinibandTools } from '../../qemu/setup/infiniband-tools.ts';
import { Judges } from './judges.ts';
import { type FabricShape, LocalFabric } from './local-fabric.ts';
import { CheckError, type Scoreboard } from './scoreboard.ts';

/** What a scenario has to work with. */
export interface Bench {
  readonly board: Scoreboard;
  readonly judges: Judges;
  readonly fabric: LocalFabric;
  /** The subnet as the process has it. */
  report(): FabricReport;
  /** Waits until the process's view of the subnet is as wanted. */
  until(what: string, condition: (report: FabricReport) => boolean): Promise<FabricReport>;
}

export interface BenchOptions {
  readonly board: Scoreboard;
  readonly tools: InfinibandTools;
  /** Folder of what the judges leave. */
  readonly folder: string;
  readonly shape: FabricShape;
}

/** Ends only what would never end. */
const PATIENCE_MS = 60_000;
const POLL_MS = 10;

/** Performs `work` on a running fabric and ends it. */
export async function withFabric(options: BenchOptions, work: (bench: Bench) => Promise<void>): Promise<void> {
  const { board, tools, shape, folder } = options;
  const fabric = new LocalFabric(shape, 0);
  await fabric.door.start();
  const report = (): FabricReport => fabric.report();
  const until = async (what: string, condition: (report: FabricReport) => boolean): Promise<FabricReport> => {
    for (const start = performance.now(); ; await delay(POLL_MS)) {
      const now = report();
      if (condition(now)) return now;
      if (performance.now() - start > PATIENCE_MS)
        throw new CheckError(`no sign of ${what}; the subnet is:\n${JSON.stringify(now)}`);
    }
  };
  const judges = new Judges(tools, fabric.door.server.port, folder);
  try {
    await work({ board, judges, fabric, report, until });
  } finally {
    fabric.close();
  }
}
