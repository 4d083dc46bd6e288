// SPDX-License-Identifier: Apache-2.0
/** Machines whose time stamp counter guests may use, and its frequency. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { isSteady, readTscKhz } from './tsc-rate.ts';

const FLAGS = 'processor : 0\nflags\t\t: fpu tsc constant_tsc rep_good nonstop_tsc\nbugs : none\n';

t.test('a steady counter has both flags and the trust of the kernel', async (t) => {
  t.ok(isSteady(FLAGS, 'kvm-clock tsc acpi_pm \n'));
  t.notOk(isSteady(FLAGS, 'hpet acpi_pm \n'), 'the kernel has found it unstable');
  t.notOk(isSteady(FLAGS.replace('nonstop_tsc', ''), 'tsc \n'));
  t.notOk(isSteady(FLAGS.replace('constant_tsc', ''), 'tsc \n'));
  t.notOk(isSteady('', ''), 'another architecture');
});

t.test('the frequency is that of the machine', async (t) => {
  const khz = await readTscKhz();
  if (khz === undefined) return t.pass('this machine has no steady counter');
  t.ok(khz > 100_000 && khz < 20_000_000, `${khz} kHz`);
  t.equal(await readTscKhz(), khz, 'it is remembered');
  const model = /^model name.* ([\d.]+)GHz$/m.exec(readFileSync('/proc/cpuinfo', 'utf8'));
  if (model !== null) t.ok(Math.abs(khz / 1e6 / Number(model[1]) - 1) < 0.1, 'near the nominal one');
  return undefined;
});
