// SPDX-License-Identifier: Apache-2.0
/**
 * Debian's unmodified driver ib_mthca in a real guest, on a device of the personality mthca.
 * cases/mthca.sh has the checks. Called by mthca.test.ts and mthca-one-port.long.ts.
 */
import { readFileSync } from 'node:fs';
import type { Test } from 'tap';
import { defaultMthcaOptions } from '../device/personality/mthca/options.ts';
import { provideGuestKernel, provideStockModules } from '../qemu/setup/guest-kernel.ts';
import type { GuestJob } from './harness/guest-image.ts';
import { runGuest } from './harness/guest-run.ts';
import { runPastOthersFaults } from './harness/others-faults.ts';
import { report } from './harness/report.ts';

const DRIVER = 'ib_mthca';
const SCRIPT = 'mthca.sh';
const MEMORY_MIB = 768;
/** Results that the script prints. */
const CHECKS = 10;
/** Runs that others' faults may spoil. */
const ATTEMPTS = 4;
/** Default prefix of a subnet. */
const PREFIX = 'fe80:0000:0000:0000';

/** The last word of a GUID is increased by `plus`. */
function guidText(plus: number): string {
  const guid = (BigInt(`0x${defaultMthcaOptions.nodeGuid}`) + BigInt(plus)).toString(16).padStart(16, '0');
  return guid.replace(/(.{4})(?=.)/g, '$1:');
}

async function makeJob(type: string, firmware: string): Promise<GuestJob> {
  const packed = await provideStockModules(await provideGuestKernel(), [DRIVER]);
  const settings = [
    `TYPE=${type}`,
    `FIRMWARE=${firmware}`,
    `NODE_GUID=${guidText(0)}`,
    `PORT_GID=${PREFIX}:${guidText(1)}`,
  ];
  return {
    packed,
    files: [
      { path: '/etc/mthca/modules', content: packed.map(({ name }) => `${name}\n`).join(''), mode: 0o644 },
      { path: '/etc/mthca/settings', content: `${settings.join('\n')}\n`, mode: 0o644 },
    ],
    script: { name: SCRIPT, text: readFileSync(new URL(`cases/${SCRIPT}`, import.meta.url), 'utf8') },
  };
}

/** A form of the device, as the driver sees it. */
export interface MthcaForm {
  readonly personality: string;
  readonly type: string;
  readonly firmware: string;
}

/** Runs the checks on a device with `deviceArguments`, and adds the results to `t`. */
export async function checkMthca(t: Test, form: MthcaForm, deviceArguments: readonly string[] = []): Promise<void> {
  const job = await makeJob(form.type, form.firmware);
  const run = await runPastOthersFaults(t, ATTEMPTS, () =>
    runGuest(job, {
      guest: { memoryMiB: MEMORY_MIB },
      device: { arguments: ['--personality', form.personality, ...deviceArguments] },
    }),
  );
  report(t, run);
  t.equal(run.results.filter(({ step }) => step === undefined).length, CHECKS, 'all checks did run');
  t.comment(`${run.seconds.toFixed(1)} s`);
}
