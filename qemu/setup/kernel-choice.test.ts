// SPDX-License-Identifier: Apache-2.0
/** A user's own kernel: what is read of its files, and the messages when files are missing. */
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { checkModuleRelease, readImageRelease, resolveGuestKernel } from './kernel-choice.ts';

const RELEASE = '6.9.1-mine';

/** The first bytes of a bzImage whose header names `RELEASE`. */
function image(): Buffer {
  const bytes = Buffer.alloc(0x1000);
  bytes.write('HdrS', 0x202);
  bytes.writeUInt16LE(0x600, 0x20e);
  bytes.write(`${RELEASE} (me@here) #1 SMP\0`, 0x800);
  return bytes;
}

/** A folder with an image, and a build folder of the release `built`. */
function files(t: Test, built = RELEASE): string {
  const directory = t.testdir({
    build: {
      Makefile: '',
      'Module.symvers': '',
      include: { generated: { 'utsrelease.h': `#define UTS_RELEASE "${built}"\n` } },
    },
    empty: {},
  });
  writeFileSync(join(directory, 'bzImage'), image());
  writeFileSync(join(directory, 'text'), 'no kernel');
  return directory;
}

t.test('the release of an image is that of its header', async (t) => {
  const directory = files(t);
  t.equal(readImageRelease(join(directory, 'bzImage')), RELEASE);
  t.equal(readImageRelease(join(directory, 'text')), undefined);
});

t.test('a bzImage with the build folder of its kernel', async (t) => {
  const directory = files(t);
  const choose = () => resolveGuestKernel(join(directory, 'bzImage'), join(directory, 'build'));
  const kernel = await choose();
  t.match(kernel, { release: RELEASE, imagePath: join(directory, 'bzImage'), stock: undefined });
  const toolchain = await kernel.provideToolchain();
  t.match(toolchain, { release: RELEASE, kernelDirectory: join(directory, 'build'), programs: undefined });
  t.equal((await (await choose()).provideToolchain()).identity, toolchain.identity);
  utimesSync(join(directory, 'build/Module.symvers'), 1, 1);
  t.not((await (await choose()).provideToolchain()).identity, toolchain.identity, 'the kernel was built again');
  await t.rejects(kernel.provideModules(['ib_core']), { message: /give the file of ib_core as a module \(\.ko\)/ });
});

t.test('the folder in which a kernel was built', async (t) => {
  const folder = join(files(t), 'build');
  await t.rejects(resolveGuestKernel(folder), { name: 'UsageError', message: /build has no bzImage; build it with/ });
  mkdirSync(join(folder, 'arch/x86/boot'), { recursive: true });
  mkdirSync(join(folder, 'drivers'));
  writeFileSync(join(folder, 'arch/x86/boot/bzImage'), image());
  writeFileSync(join(folder, 'modules.order'), 'drivers/ib_core.o\ndrivers/ib-verbs.o\n');
  writeFileSync(
    join(folder, 'modules.builtin'),
    'kernel/drivers/virtio/virtio_pci.ko\nkernel/drivers/virtio_console.ko\n',
  );
  writeFileSync(join(folder, 'drivers/ib_core.ko'), '\0depends=\0');
  writeFileSync(join(folder, 'drivers/ib-verbs.ko'), '\0depends=ib_core,virtio_pci\0');
  const kernel = await resolveGuestKernel(folder);
  t.match(kernel, { release: RELEASE, imagePath: join(folder, 'arch/x86/boot/bzImage'), bootModules: [] });
  t.equal((await kernel.provideToolchain()).kernelDirectory, folder);
  t.same(await kernel.provideModules(['ib_verbs']), [
    { name: 'ib_core', path: join(folder, 'drivers/ib_core.ko') },
    { name: 'ib_verbs', path: join(folder, 'drivers/ib-verbs.ko') },
  ]);
  await t.rejects(kernel.provideModules(['ib_none']), { message: /has no module ib_none/ });
});

t.test('a bzImage alone compiles nothing', async (t) => {
  const kernel = await resolveGuestKernel(join(files(t), 'bzImage'));
  await t.rejects(kernel.provideToolchain(), {
    name: 'UsageError',
    message: /modules cannot be compiled for it; give the build folder of that kernel with --headers/,
  });
});

t.test('wrong files are told in one sentence', async (t) => {
  const directory = files(t, '6.9.2');
  const reject = (message: RegExp, kernel: string, headers?: string) =>
    t.rejects(resolveGuestKernel(kernel, headers), { name: 'UsageError', message });
  await reject(/there is no kernel .*none; correct the path/, join(directory, 'none'));
  await reject(/text is no bzImage; name arch\/x86\/boot\/bzImage/, join(directory, 'text'));
  await reject(/empty has no Makefile;/, join(directory, 'bzImage'), join(directory, 'empty'));
  await reject(
    /those of Linux 6\.9\.2, the kernel is 6\.9\.1-mine/,
    join(directory, 'bzImage'),
    join(directory, 'build'),
  );
  await reject(/kernel 6\.1 has headers/, '6.1', join(directory, 'build'));
});

t.test('a module for another kernel is refused before the guest starts', async (t) => {
  const directory = files(t);
  const kernel = await resolveGuestKernel(join(directory, 'bzImage'));
  mkdirSync(join(directory, 'modules'));
  const write = (name: string, text: string): string => {
    const path = join(directory, 'modules', name);
    writeFileSync(path, text);
    return path;
  };
  checkModuleRelease(write('good.ko', `\0vermagic=${RELEASE} SMP preempt\0`), kernel);
  t.throws(() => checkModuleRelease(write('old.ko', '\0vermagic=6.1.0-50-amd64 SMP\0'), kernel), {
    message: /old\.ko is compiled for Linux 6\.1\.0-50-amd64, the guest has 6\.9\.1-mine/,
  });
  t.throws(() => checkModuleRelease(write('none.ko', 'text'), kernel), { message: /is no kernel module/ });
});
