// SPDX-License-Identifier: Apache-2.0
/**
 * The user-space provider as libibverbs of the guest can load it: compiled without a warning, bound
 * to libibverbs' interface of providers, without exported symbols of its own, and with no symbol of
 * a C library newer than that of the guest, whatever this machine has. Programs of this machine
 * test its choice between ringing a doorbell and leaving the tail to the adapter, and its polls.
 */
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { run } from '../qemu/setup/tools/command.ts';
import { provideProviderProgram, provideVerbsProvider } from '../qemu/setup/verbs-provider.ts';

/** Debian 13 has this version of the C library. */
const GUEST_LIBRARY = [2, 41] as const;
const INTERFACE = /\bverbs_register_driver_([0-9]+)@IBVERBS_PRIVATE_([0-9]+)$/m;

// The provider may have to be compiled.
t.setTimeout(0);

t.test('it rings where the adapter does not look at the tail by itself, and only there', async (t) => {
  const source = fileURLToPath(new URL('harness/provider-posting.c', import.meta.url));
  const program = await provideProviderProgram(source, ['vu_posting.c', 'vu_doorbell.c']);
  const lines = (await run(program, [])).trimEnd().split('\n');
  const [one, two] = ['tail 8, collected 0', 'tail 9, collected 0'];
  const rang = ', rang 5 for 7';
  // Way of posting, shadow tails of the function, mark of the queue, commands.
  t.same(lines, [
    `auto 0 0 1: ${one}${rang}`,
    `auto 0 0 2: ${two}${rang}`,
    `auto 0 1 1: ${one}${rang}`,
    `auto 0 1 2: ${two}${rang}`,
    `auto 1 0 1: ${one}${rang}`,
    `auto 1 0 2: ${two}${rang}`,
    `auto 1 1 1: ${one}`,
    `auto 1 1 2: ${two}`,
    `doorbell 1 1 1: ${one}`,
    `doorbell 1 0 1: ${one}${rang}`,
    'collect 1 1 2: tail 9, collected 2',
  ]);
});

t.test('a poll takes the lock where an entry may be, and only there', async (t) => {
  const source = fileURLToPath(new URL('harness/provider-polling.c', import.meta.url));
  const program = await provideProviderProgram(source, ['vu_poll.c', 'vu_flush.c']);
  t.same((await run(program, [])).trimEnd().split('\n'), [
    'never written: nothing',
    'written: look',
    'written a lap ago: nothing',
    'written, and taken by another thread: look',
    'the last number: look',
    'not yet the last number: nothing',
    'not yet after the last number: nothing',
    'never written, in turns: nothing',
    'a dead adapter: look',
  ]);
});

t.test('the provider fits the libibverbs and the C library of the guest', async (t) => {
  const { path, guestPath, configText } = await provideVerbsProvider();
  const used = await run('nm', ['--dynamic', '--undefined-only', path]);
  const [, symbol, version] = INTERFACE.exec(used) ?? [];
  t.ok(symbol !== undefined && symbol === version, 'it registers by the interface of its version');
  t.match(guestPath, new RegExp(`/libvuhca-rdmav${version}\\.so$`), 'whose number is in its name');
  t.equal(configText, 'driver vuhca\n');
  const versions = [...used.matchAll(/@GLIBC_([0-9]+)\.([0-9]+)/g)].map(([, major, minor]) =>
    [major, minor].map(Number),
  );
  t.ok(versions.length > 0, 'nm shows versions');
  const newer = versions.filter(([major, minor]) => major !== GUEST_LIBRARY[0] || (minor as number) > GUEST_LIBRARY[1]);
  t.same(newer, [], 'the C library of the guest has them all');
  t.equal((await run('nm', ['--dynamic', '--defined-only', path])).trim(), '', 'it defines no symbol for others');
});
