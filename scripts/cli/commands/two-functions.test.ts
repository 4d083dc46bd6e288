// SPDX-License-Identifier: Apache-2.0
/**
 * `vuhca device` with a device of two functions, as QEMU and other commands see it: a socket for
 * each function and the slot they share, names of nodes and ports, faults and the end of a client
 * of one function, a capture of both ports, and the recording.
 */
import { join } from 'node:path';
import t from 'tap';
import { ControlClient } from '../../../device/process/control/control-client.ts';
import { CONFIG_REGION, VfioUserClient } from '../../../protocol/vfio-user/client/client.ts';
import { makeDirectory } from '../testing/directory.ts';
import { CliProcess } from '../testing/run-cli.ts';
import { runWords } from '../testing/run-words.ts';

const IDENTITY = 0x101715b3;

t.setTimeout(0);

t.test('a device of two functions', async (t) => {
  const directory = makeDirectory(t);
  const [socketPath, recording, packets] = ['x', 'x.rec', 'x.pcap'].map((name) => join(directory, name));
  const words = ['--socket', socketPath, '--record', recording, '--personality', 'mlx5', '--functions', '2'];
  const device = new CliProcess(['device', ...words], { XDG_RUNTIME_DIR: directory });
  t.teardown(() => device.child.kill('SIGKILL'));
  const [, first, second, controlPath] = await device.until(/^listening on (\S+) (\S+) control (\S+)$/m);
  t.match(device.stdout, `one slot for ${socketPath} ${socketPath}.1\nlistening on `);
  const guests = [first, second].map((path) => VfioUserClient.connect(path));
  for (const guest of guests) t.equal(guest.read32(CONFIG_REGION, 0), IDENTITY);
  const control = await ControlClient.connect(controlPath);
  const status = async () => (await control.request('status')).personalities;
  t.match(await status(), [
    { name: 'a', sockets: [{ path: socketPath, attached: true }], state: 'reset', ports: [{ number: 1 }] },
    { name: 'a/1', functionOf: 'a', sockets: [{ path: `${socketPath}.1`, attached: true }], state: 'reset' },
  ]);

  guests[1].close();
  let reports = await status();
  while (reports[1].sockets[0].attached) reports = await status();
  t.ok(reports[0].sockets[0].attached, 'the client of the other function stays');
  t.same(
    reports.map(({ resets }) => resets.lost),
    [0, 1],
  );
  t.equal(guests[0].read32(CONFIG_REGION, 0), IDENTITY);
  guests[0].close();

  const inject = (adapter: string | undefined, ...fault: string[]) =>
    control.request('inject', { words: fault, adapter });
  await inject('a/1', 'fatal', 'cause=hardware');
  t.match(await status(), [{ state: 'reset' }, { state: 'failed' }]);
  await t.rejects(inject(undefined, 'fatal'), /name an adapter; there are a, a\/1$/);
  await t.rejects(inject('a/2', 'fatal'), /there is no adapter a\/2; there are a, a\/1$/);
  t.match(await runWords(['show', '--control', controlPath, '--adapter', 'a/1', 'queues']), { status: 0 });
  t.match(await runWords(['status', '--control', controlPath]), { status: 0, stdout: /^adapter +a\/1, mlx5$/m });

  const link = (port: string, verb: string) => control.request('link', { port, words: [verb] });
  t.same(await link('2', 'down'), { text: 'the link of a/1:1 is down' }, 'the second port of the device');
  t.match(await control.request('status'), { links: [{ ends: ['a:1', 'a/1:1'], kind: 'cut' }] });
  t.same(await link('1', 'up'), { text: 'the link of a:1 is plugged in' });
  await t.rejects(link('3', 'down'), /no link is at port a:3; there are a:1, a\/1:1$/);

  const capture = (port?: number) => control.request('capture-start', { path: packets, ...(port && { port }) });
  await t.rejects(capture(3), /port is 3; the last one is 2$/);
  t.match(await capture(), { active: true }, 'both ports, without a name');
  await control.request('capture-stop');
  control.close();
  device.child.kill('SIGTERM');
  t.equal(await device.whenExited, 0);
  t.match(await runWords(['replay', recording]), { status: 0, stdout: /: identical: \d+ steps/ });
});
