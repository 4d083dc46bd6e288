// SPDX-License-Identifier: Apache-2.0
/**
 * Links of the command line and of topology files, with keys: those that are read, and those that
 * are refused.
 */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { makeDirectory } from '../testing/directory.ts';
import { readCommand } from '../testing/read-command.ts';
import { readLink } from '../topology/topology-links.ts';
import type { AdapterArguments } from './adapter-arguments.ts';
import { repeatAdapterArguments } from './adapter-arguments.ts';
import { readLoneDevice } from './personality.ts';
import { readLinks } from './socket-links.ts';

const read = async (...words: string[]) => readLinks((await readCommand('device', ...words)).opts<AdapterArguments>());
const HEX = '0f'.repeat(32);
const secret = Buffer.from(HEX, 'hex');

function writeKey(t: Test, content = HEX, mode = 0o600): string {
  const path = join(makeDirectory(t), 'link.key');
  writeFileSync(path, content);
  chmodSync(path, mode);
  return path;
}

t.test('a key is for the links at tcp://', async (t) => {
  const key = writeKey(t);
  const words = ['--ports=4', `--link-key=${key}`, '--link=1=listen:/x', '--link=2=connect:tcp+plain://h:1'];
  const links = await read(...words, '--link=3=connect:tcp://10.0.0.1:7000', '--link=4=listen:tcp://[::]:0');
  t.same(
    links.map((link) => link.key),
    [undefined, undefined, { kind: 'shared', secret }, { kind: 'shared', secret }],
  );
  const run = await readCommand('run', '--link=1=listen:tcp://h:1', `--link-key=${key}`);
  t.ok(repeatAdapterArguments(run).includes(`--link-key=${key}`), 'the adapter process gets it');
  await t.rejects(read(...words), { message: /^option --link-key needs a --link at a tcp:\/\/ address; give one/ });
});

t.test('a file that is no private key is refused', async (t) => {
  const refuse = (path: string, message: RegExp) =>
    t.rejects(read('--link=1=listen:tcp://[::]:7', `--link-key=${path}`), { message });
  await refuse('/none/x', /^option --link-key names \/none\/x, which cannot be read \(ENOENT\): /);
  await refuse('/etc', /^option --link-key names \/etc, which others may use/);
  const open = writeKey(t, HEX, 0o640);
  await refuse(open, /which others may use; close it to them: chmod 600 \/.*link\.key$/);
  await refuse(writeKey(t, 'swordfish'), /, which holds no key; it must be a line of 32 to 128 hex digits/);
});

t.test('faults of the adapter are those of its links, too', async (t) => {
  const outgoing = { kind: 'faulty', seed: 7, faults: { drop: 0.5 } };
  t.match(await read('--link=1=listen:/x', '--fault=drop=0.5,seed=7'), [{ link: { outgoing } }]);
  t.equal((await read('--link=1=listen:/x'))[0].link, undefined);
  const command = await readCommand('device', '--personality=mlx5', '--link=1=listen:/x', '--fault=drop=0.5,seed=7');
  const given = command.opts<AdapterArguments & { personality: 'mlx5' }>();
  t.match(readLoneDevice(command, given), [{ options: { portLink: { kind: 'cable' } } }]);
  t.match(readLinks(given), [{ link: { outgoing } }]);
  const link = (more: object) => readLink({ port: 'a:1', listen: 'x', ...more }, 0, '/');
  t.match(link({ delayNs: 5, faults: { drop: 1 } }), {
    link: { outgoing: { seed: 1, delayNs: 5, faults: { drop: 1 } } },
  });
  t.equal('link' in link({}), false);
});

t.test('a link of a file has a key of its own', async (t) => {
  const key = writeKey(t);
  const folder = join(key, '..');
  const link = (more: object) => readLink({ port: 'a:1', ...more }, 0, folder);
  t.match(link({ listen: 'tcp://0.0.0.0:7', key: 'link.key' }), { key: { secret }, endpoint: { port: 7 } });
  t.throws(() => link({ listen: 'x', key }), { message: /^link 1: x takes no key; that is for tcp:\/\/ alone$/ });
  t.throws(() => link({ listen: 'tcp+plain://h:1', key }), { message: /takes no key/ });
  t.throws(() => link({ connect: 'tcp://h:1' }), {
    message: /not on loopback, .* give it a key \("key": FILE\), or say/,
  });
  t.throws(() => link({ connect: 'tcp://h:1', key: 'none' }), { message: /^link 1: key names \/.*none, which cannot/ });
});
