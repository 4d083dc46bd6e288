// SPDX-License-Identifier: Apache-2.0
/**
 * The choice of the accelerator: the environment decides first; an accelerator that does not run is
 * not chosen.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { chooseAccelerator, findFaster } from './accelerator.ts';

const QEMU = { path: '/bin/false', version: '11.1.3', arguments: [], environment: {} };
/** Connects as QEMU does; its guest comes to init, or QEMU does what the variable says. */
const PRETENDER = `#!${process.execPath}
const { connect } = require('node:net');
const find = (pattern) => pattern.exec(process.argv.join(' '))[1];
const does = process.env[find(/-accel (\\w+)/)];
const say = (socket, message) => socket.write(JSON.stringify(message) + '\\n');
const port = find(/chardev=(\\w+),name=vuhca.report/);
const report = connect(find(new RegExp('id=' + port + ',path=([^ ]+)')));
const qmp = connect(find(/-qmp unix:([^ ,]+)/), () => say(qmp, { QMP: {} }));
qmp.on('data', (data) => {
  const { id, execute } = JSON.parse(data);
  say(qmp, { id, return: { running: does !== 'has stopped' } });
  if (execute !== 'query-status') return;
  if (does === 'boots') report.write('@vuhca init 1\\n');
  if (does === 'stops') say(qmp, { event: 'STOP' });
  if (does === 'ends') process.exit(1);
});
`;

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

for (const [kvm, tcg, faster] of [
  ['boots', 'is silent', 'kvm'],
  ['is silent', 'boots', 'tcg'],
  ['stops', 'boots', 'tcg'],
  ['has stopped', 'ends', 'tcg'],
  ['ends', 'boots', 'tcg'],
  ['boots', 'ends', 'kvm'],
  ['stops', 'ends', 'tcg'],
] as const)
  t.test(`KVM ${kvm}, TCG ${tcg}: ${faster} is chosen, and no QEMU is left`, async (t) => {
    const directory = t.testdir({ 'qemu.cjs': PRETENDER });
    const path = join(directory, 'qemu.cjs');
    chmodSync(path, 0o755);
    t.equal(await findFaster({ ...QEMU, path, environment: { kvm, tcg } }, '/k', '/i'), faster);
    t.notMatch(spawnSync('ps', ['-eo', 'args']).stdout.toString(), path);
  });
