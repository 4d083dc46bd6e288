// SPDX-License-Identifier: Apache-2.0
/**
 * Two processes that are linked: `vuhca trace show --with` tells the story of a message whose other
 * side is in the other process, found by LID and QPN (both adapters have the same name and number
 * their QPs alike), and the recording of either replays without the other.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { ChromeTrace } from '../../../device/process/trace/perfetto-export.ts';
import { bringUp } from '../../../device/rig/conformance/two-ends/suite.ts';
import { VfioUserAccess } from '../../../device/rig/live/vfio-user-access.ts';
import { makeDirectory } from '../testing/directory.ts';
import { CliProcess } from '../testing/run-cli.ts';
import { runWords } from '../testing/run-words.ts';

/** An adapter process with its guest's access; its control socket is in a directory of its own. */
async function startDevice(t: Test, ...words: string[]) {
  const directory = makeDirectory(t);
  const environment = { XDG_RUNTIME_DIR: directory };
  const socket = join(directory, 's.sock');
  const recording = join(directory, 'x.rec');
  const device = new CliProcess(['device', '--socket', socket, '--record', recording, ...words], environment);
  t.teardown(() => device.child.kill('SIGKILL'));
  await device.until(/^listening on/m);
  const access = new VfioUserAccess(socket);
  t.teardown(() => access.close());
  const [control = 'no control socket'] = readdirSync(join(directory, 'vuhca')).filter((one) =>
    one.endsWith('.control'),
  );
  const trace = (...args: string[]) => runWords(['trace', ...args], environment);
  const change = (...args: string[]) => runWords(['link', ...args], environment);
  const end = async () => {
    device.child.kill('SIGTERM');
    return { ended: await device.whenExited, ...(await runWords(['replay', recording])) };
  };
  return { place: { access, port: 1 } as const, trace, change, end, control: join(directory, 'vuhca', control) };
}

t.test('both sides of a message between two processes, and their recordings', async (t) => {
  const link = join(makeDirectory(t), 'link');
  const near = await startDevice(t, '--link', `1=listen:${link}`);
  const far = await startDevice(t, '--link', `1=connect:${link}`, '--lids', '3,4', '--node-guid', '0056554843411000');
  const ends = bringUp(near.place, far.place, 1);
  const { a, b } = ends.connect();
  t.equal(a.qpn, b.qpn);
  for (const { trace } of [near, far]) t.match(await trace('on', '--qp', `${a.qpn}`, '--timeline'), { status: 0 });
  b.postReceive([ends.b.sge(ends.b.buffer(64))]);
  a.post({ sges: [ends.a.sge(ends.a.buffer(Uint8Array.of(1, 2, 3)))] });
  ends.sent(a);
  for (const [own, other] of [
    [near, far],
    [far, near],
  ] as const) {
    const { stdout } = await own.trace('show', '--with', other.control);
    t.match(stdout, /^sent by a@LID1 QP 2: SEND number 0, 3 bytes in 1 packet, SUCCESS\n/);
    t.match(stdout, /\nreceived by a@LID3 QP 2: SEND number 0, 3 bytes in 1 packet, SUCCESS\n/);
    for (const told of [/a@LID1 QP 2 sends +packet sent: RC_/, /a@LID3 QP 2 receives +completion written/])
      t.match(stdout, told);
  }
  const file = join(makeDirectory(t), 'x.json');
  t.match(await near.trace('export', '--format', 'perfetto', '--with', far.control, file), { status: 0 });
  const { traceEvents } = JSON.parse(readFileSync(file, 'utf8')) as ChromeTrace;
  const of = (phase: string) => traceEvents.filter(({ ph }) => ph === phase);
  t.same(
    of('b').map(({ id }) => id),
    ['a@LID1.2.0', 'a@LID3.2.0'],
  );
  t.match([of('s'), of('f')], [[{ id: 'a@LID1.2.0' }], [{ id: 'a@LID1.2.0' }]], 'one flow joins them');
  t.not(of('s')[0]?.pid, of('f')[0]?.pid);
  t.match(
    (await near.trace('show')).stdout,
    /\nthe other side is not among the adapters that were read: none has LID 3;/,
  );
  t.match(await far.trace('off', '--qp', `${b.qpn}`), { status: 0 });
  t.match(
    (await near.trace('show', '--with', far.control)).stdout,
    `the other side is not traced: \`vuhca trace on --control ${far.control} --adapter a --qp 2\` adds it`,
  );

  t.match(await near.change('set', '1', 'delayNs=1000', 'duplicate=0.5', 'seed=3'), { status: 0 });
  t.match(await far.change('down', '1'), { status: 0 });
  ends.waitFor(() => !ends.a.isActive && !ends.b.isActive, 'the link going down');
  t.match(await far.change('up', '1'), { status: 0 });
  ends.waitFor(() => ends.a.isActive && ends.b.isActive, 'the link coming back');
  b.postReceive([ends.b.sge(ends.b.buffer(64))]);
  a.post({ sges: [ends.a.sge(ends.a.buffer(64))] });
  ends.sent(a);
  for (const device of [near, far])
    t.match(await device.end(), { ended: 0, status: 0, stdout: /: identical: \d+ steps/ });
});
