// SPDX-License-Identifier: Apache-2.0
/**
 * The choice of the accelerator: the environment decides first; an accelerator that does not run is
 * not chosen.
 */
import t from 'tap';
import { chooseAccelerator } from './accelerator.ts';

const QEMU = { path: '/bin/false', version: '11.1.3', arguments: [], environment: {} };

t.test('VUHCA_ACCEL decides without a trial', async (t) => {
  for (const accelerator of ['kvm', 'tcg'] as const) {
    t.equal(await chooseAccelerator(QEMU, '/k', '/i', { VUHCA_ACCEL: accelerator }), accelerator);
  }
  await t.rejects(chooseAccelerator(QEMU, '/k', '/i', { VUHCA_ACCEL: 'hvf' }), {
    name: 'SetupError',
    message: 'VUHCA_ACCEL is hvf; set it to kvm or tcg, or unset it.',
  });
});

t.test('a QEMU that ends at once under KVM means TCG, and that is remembered', async (t) => {
  process.env.XDG_CACHE_HOME = t.testdir({});
  t.equal(await chooseAccelerator(QEMU, '/k', '/i', {}), 'tcg');
  t.equal(await chooseAccelerator(QEMU, '/k', '/i', {}), 'tcg');
});
