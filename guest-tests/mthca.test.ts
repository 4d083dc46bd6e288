// SPDX-License-Identifier: Apache-2.0
/**
 * Debian's unmodified driver ib_mthca in a real guest, on a device of the personality mthca: both
 * forms of it, with two ports that are cabled to each other, and with one port that is linked to a
 * port of our own adapter in another process.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { defaultMthcaOptions } from '../device/personality/mthca/options.ts';
import { provideGuestKernel, provideStockModules } from '../qemu/setup/guest-kernel.ts';
import { DeviceProcess } from './harness/device-process.ts';
import type { GuestJob } from './harness/guest-image.ts';
import { runGuest } from './harness/guest-run.ts';
import { report } from './harness/report.ts';

const DRIVER = 'ib_mthca';
const SCRIPT = 'mthca.sh';
const MEMORY_MIB = 768;
/** Results that the script prints. */
const CHECKS = 10;
/** Default prefix of a subnet. */
const PREFIX = 'fe80:0000:0000:0000';

// A guest that falls silent is ended (guest-session.ts); no other bound holds on a busy machine.
t.setTimeout(0);

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

for (const [personality, ports, type, firmware] of [
  ['mthca', 2, 'MT25208', '5.3.0'],
  ['mthca-one-port', 1, 'MT25204', '1.2.0'],
] as const) {
  t.test(`the stock driver on ${personality}`, async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'vuhca-mthca-'));
    t.teardown(() => rmSync(directory, { recursive: true }));
    const link = join(directory, 'link');
    const peer =
      ports === 1 ? await DeviceProcess.start({ arguments: [`--link=1=listen:${link}`, '--lids=3,4'] }) : undefined;
    const connected = peer === undefined ? [] : [`--link=1=connect:${link}`];
    const run = await runGuest(await makeJob(type, firmware), {
      guest: { memoryMiB: MEMORY_MIB },
      device: { arguments: ['--personality', personality, ...connected] },
    });
    t.same((await peer?.stop()) ?? [], [], 'the other process');
    report(t, run);
    t.equal(run.results.filter(({ step }) => step === undefined).length, CHECKS, 'all checks did run');
    t.comment(`${run.seconds.toFixed(1)} s`);
  });
}
