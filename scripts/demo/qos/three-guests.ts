// SPDX-License-Identifier: Apache-2.0
/**
 * The worked example of US8484392 with three guests under QEMU on three functions of one adapter
 * process. Called by main.ts.
 */
import { writeFileSync } from 'node:fs';
import { ControlClient } from '../../../device/process/control/control-client.ts';
import { ControlError } from '../../../device/process/control/control-path.ts';
import { GUESTS } from '../../../device/rig/qos/worked-example.ts';
import { DeviceProcess } from '../../../guest-tests/harness/device-process.ts';
import { packJob } from '../../../guest-tests/harness/guest-image.ts';
import { makeCaseJob } from '../../../guest-tests/harness/kernel-cases.ts';
import { GuestEndedError, Tenant } from '../../../guest-tests/harness/tenant-guest.ts';
import { judge } from '../../../guest-tests/shares/judge.ts';
import { measureShares } from '../../../guest-tests/shares/measure.ts';
import { judgeReturn, type ReturnedShare, returnShare } from '../../../guest-tests/shares/return.ts';
import type { Measurement } from '../../../guest-tests/shares/samples.ts';
import { SetupError } from '../../../qemu/setup/tools/errors.ts';
import type { AdapterWords } from '../../cli/options/adapter-script.ts';
import { setUp } from '../../setup/set-up.ts';
import type { DemoOptions } from './options.ts';
import { drawPhases } from './phase-plot.ts';
import { formatFindings, formatPhases } from './table.ts';

/**
 * Runs it, prints table and verdict, and writes the plot. False unless all guarantees were shown to
 * hold.
 */
export async function runThreeGuests({ seconds, output, members }: DemoOptions): Promise<boolean> {
  const startMs = performance.now();
  const say = (text: string): void => {
    process.stdout.write(`${((performance.now() - startMs) / 1000).toFixed(1).padStart(6)} s  ${text}\n`);
  };
  await setUp('start');
  const image = await packJob(await makeCaseJob({ script: 'tenant.sh', modules: ['driver', 'tenant'] }));
  const { measurement, returned } = await measure(image, members, seconds, say);
  const findings = [...judge(measurement), judgeReturn(returned)];
  writeFileSync(output, await drawPhases(measurement.phases));
  process.stdout.write(`\n${formatPhases(measurement.phases)}\n${formatFindings(findings)}Plot: ${output}\n`);
  return findings.every(({ outcome }) => outcome === 'holds');
}

interface Results {
  readonly measurement: Measurement;
  readonly returned: ReturnedShare;
}

/** Starts adapter and guests, measures, and ends them, also when it throws. */
async function measure(
  image: string,
  members: AdapterWords['members'],
  seconds: number,
  say: (text: string) => void,
): Promise<Results> {
  const sockets = GUESTS.map(({ name }) => `${name}.sock`);
  const device = await DeviceProcess.start({ topology: { adapters: { hca: { ...members, sockets } } } });
  const start = (name: string): Tenant => new Tenant(image, device.child.socketPath(name));
  const tenants = sockets.map(start);
  const faults: string[] = [];
  let results: Results;
  try {
    say(`one adapter process (${device.child.pid}); guests boot: ${GUESTS.map(({ name }) => name).join(', ')}`);
    await Promise.all(tenants.map(({ ready }) => ready));
    say('all guests are up, on function 0 (physical), 1 and 2 (virtual)');
    const client = await ControlClient.connect(device.child.controlPath);
    try {
      const measurement = await measureShares(tenants, client, seconds, say);
      const restart = (): Tenant => start(sockets[sockets.length - 1]);
      results = { measurement, returned: await returnShare(tenants, client, restart, say) };
    } finally {
      client.close();
    }
    await Promise.all(tenants.map((tenant) => tenant.end()));
  } catch (error) {
    if (error instanceof ControlError) throw new SetupError(`the adapter was lost: ${error.message}`);
    if (error instanceof GuestEndedError)
      throw new SetupError(`${error.message}; on a busy machine, run it again later.`);
    throw error;
  } finally {
    await Promise.all(tenants.map((tenant) => tenant.kill()));
    faults.push(
      ...tenants.flatMap((tenant) => tenant.report().faults.map(({ text }) => text)),
      ...(await device.stop()),
    );
  }
  if (faults.length > 0) throw new SetupError(`the run had faults: ${faults.join('; ')}`);
  return results;
}
