// SPDX-License-Identifier: Apache-2.0
/**
 * A running fabric with its host door, the judges on it, and its own view of the subnet. Each
 * scenario has one, with its own topology.
 */
import { createSocket } from 'node:dgram';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ControlClient } from '../../device/process/control/control-client.ts';
import type { FabricReport } from '../../device/process/reports/fabric-report.ts';
import { DeviceChild } from '../../qemu/device-child.ts';
import type { InfinibandTools } from '../../qemu/setup/infiniband-tools.ts';
import { Judges } from './judges.ts';
import { type FabricShape, LocalFabric } from './local-fabric.ts';
import { CheckError, type Scoreboard } from './scoreboard.ts';

/** Environment of a scenario. */
export interface FabricFixture {
  readonly board: Scoreboard;
  readonly judges: Judges;
  /** The subnet in the view of the process. */
  report(): Promise<FabricReport>;
  /** Waits until the process's view of the subnet meets a condition. */
  until(what: string, condition: (report: FabricReport) => boolean): Promise<FabricReport>;
}

/** A fixture with a fabric of this process. */
export interface LocalFixture extends FabricFixture {
  readonly fabric: LocalFabric;
}

/** A fixture with the fabric of a process of its own, `vuhca device`. */
export interface DeviceFixture extends FabricFixture {
  readonly client: ControlClient;
}

export interface FixtureOptions {
  readonly board: Scoreboard;
  readonly tools: InfinibandTools;
  /** Folder of the output of the judges. */
  readonly folder: string;
}

/** Ends only a wait that would never end. */
const PATIENCE_MS = 600_000;
const POLL_MS = 10;

/** Performs `work` on a fabric of this process, and ends it. */
export async function withFabric(
  options: FixtureOptions,
  shape: FabricShape,
  work: (fixture: LocalFixture) => Promise<void>,
): Promise<void> {
  const fabric = new LocalFabric(shape, 0);
  await fabric.door.start();
  try {
    const report = async (): Promise<FabricReport> => fabric.report();
    await work({ ...makeFixture(options, fabric.door.server.port, report), fabric });
  } finally {
    fabric.close();
  }
}

/** Performs `work` on `vuhca device` with a topology, and ends it. */
export async function withDevice(
  options: FixtureOptions,
  topology: object,
  work: (fixture: DeviceFixture) => Promise<void>,
): Promise<void> {
  const port = await findDoorPort();
  const log: string[] = [];
  const onLogLine = (line: string): void => void log.push(line);
  const device = await DeviceChild.start({ topology, arguments: ['--ibsim', `${port}`], onLogLine });
  const client = await ControlClient.connect(device.controlPath);
  try {
    const report = async (): Promise<FabricReport> => await client.request('fabric');
    await work({ ...makeFixture(options, port, report), client });
  } finally {
    client.close();
    await device.stop();
    writeFileSync(join(options.folder, 'device.log'), log.join('\n'));
  }
}

function makeFixture(
  { board, tools, folder }: FixtureOptions,
  doorPort: number,
  report: FabricFixture['report'],
): FabricFixture {
  const until: FabricFixture['until'] = async (what, condition) => {
    for (const start = performance.now(); ; await delay(POLL_MS)) {
      const now = await report();
      if (condition(now)) return now;
      if (performance.now() - start > PATIENCE_MS)
        throw new CheckError(`no sign of ${what}; the subnet is:\n${JSON.stringify(now)}`);
    }
  };
  return { board, judges: new Judges(tools, doorPort, folder), report, until };
}

/** A UDP port that was free a moment ago. */
async function findDoorPort(): Promise<number> {
  const probe = createSocket('udp4');
  await new Promise<void>((resolve) => probe.bind(0, '127.0.0.1', resolve));
  const { port } = probe.address();
  await new Promise<void>((resolve) => probe.close(resolve));
  return port;
}
