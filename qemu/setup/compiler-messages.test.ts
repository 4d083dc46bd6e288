// SPDX-License-Identifier: Apache-2.0
/** The messages of a failed build: errors first, with the names of the author's files. */
import t from 'tap';
import { ModuleBuildError, readMessages } from './compiler-messages.ts';
import { SetupError } from './tools/errors.ts';

const OUTPUT = `make: Entering directory '/headers'
warning: the compiler differs from the one used to build the kernel
  The kernel was built by: gcc-14
  You are using:           gcc-15
  CC [M]  /build/source/mine/a.o
In file included from /build/source/mine/b.h:3,
                 from /build/source/mine/a.c:5:
/build/headers/vuhca.h: In function 'f':
/build/headers/vuhca.h:7:9: warning: unused variable 'x' [-Wunused-variable]
    7 |     int x;
      |         ^
/build/source/mine/a.c: In function 'g':
/build/source/mine/a.c:9:3: error: implicit declaration of function 'vuhca_opne'
    9 |   vuhca_opne();
      |   ^~~~~~~~~~
      |   vuhca_open
/build/source/driver/vuhca.h:4:1: note: declared here
make[3]: *** [Makefile:244: /build/source/mine/a.o] Error 1
ERROR: modpost: "vuhca_gone" [/build/source/mine/mine.ko] undefined!
make: Leaving directory '/headers'
`;

t.test('errors come first', async (t) => {
  const messages = readMessages(OUTPUT, '/build/source/mine', [
    ['/build/source/mine', '/home/me/mine'],
    ['/build/source/driver', '/home/me/driver'],
    ['/build/headers', ''],
  ]);
  t.same(messages.split('\n'), [
    "/home/me/mine/a.c: In function 'g':",
    "/home/me/mine/a.c:9:3: error: implicit declaration of function 'vuhca_opne'",
    '    9 |   vuhca_opne();',
    '      |   ^~~~~~~~~~',
    '      |   vuhca_open',
    '/home/me/driver/vuhca.h:4:1: note: declared here',
    'ERROR: modpost: "vuhca_gone" [/home/me/mine/mine.ko] undefined!',
    'In file included from /home/me/mine/b.h:3,',
    '                 from /home/me/mine/a.c:5:',
    "vuhca.h: In function 'f':",
    "vuhca.h:7:9: warning: unused variable 'x' [-Wunused-variable]",
    '    7 |     int x;',
    '      |         ^',
  ]);
});

t.test('names relative to the folder of the build become those of the author', async (t) => {
  const tree = t.testdir({ 'a.c': '' });
  const messages = readMessages('a.c:1:1: error: no\nb.c:1:1: error: no\n', tree, [[tree, '/home/me/mine']]);
  t.equal(messages, '/home/me/mine/a.c:1:1: error: no\nb.c:1:1: error: no');
});

t.test('files below the working folder are named relative to it', async (t) => {
  const messages = readMessages('/b/a.c:1:1: error: no\n', '/b', [['/b', `${process.cwd()}/guest-tests/mine`]]);
  t.equal(messages, 'guest-tests/mine/a.c:1:1: error: no');
  t.equal(readMessages('/b/a.c:1:1: error: no\n', '/b', [['/b', process.cwd()]]), 'a.c:1:1: error: no');
});

t.test('a missing source file is an error of make', async (t) => {
  const line = "make[3]: *** No rule to make target 'gone.o', needed by 'mine.o'.  Stop.";
  t.equal(readMessages(`${line}\nmake: *** [Makefile:1: all] Error 2\n`, '/b', []), line);
});

t.test('the error of a build is of its own type', async (t) => {
  const error = new ModuleBuildError('/home/me/mine', '6.1.0-50-amd64', 'a.c:1:1: error: no');
  t.ok(error instanceof SetupError);
  t.match(error.message, /^the kernel modules of \/home\/me\/mine do not compile for Linux 6\.1\.0-50-amd64; .*\na\.c/);
});
