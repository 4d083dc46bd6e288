// SPDX-License-Identifier: Apache-2.0
/**
 * The C files of a kernel module call each other in one direction. Kbuild lists the object files
 * lowest layer first, and `nm` names the symbols that each one defines and uses. A file may use
 * its own symbols and those of files before it. Use of a later file's symbol, a call or a
 * variable, fails the test. Callbacks handed over at run time leave no undefined symbol, so they
 * may point up. guest-tests/driver/README.md describes the layers of the driver.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { readObjectSymbols } from '../qemu/setup/kernel-modules.ts';

/**
 * The folders of the modules that have layers, in the order in which other tests have them built.
 */
const FOLDERS = ['driver', 'kernel', 'driver/ib'];

interface ObjectSymbols {
  readonly name: string;
  readonly defined: ReadonlySet<string>;
  readonly undefined: ReadonlySet<string>;
}

// The modules may have to be compiled.
t.setTimeout(0);

t.test('no C file uses a symbol of a file in a higher layer', async (t) => {
  const directories = FOLDERS.map((folder) => fileURLToPath(new URL(folder, import.meta.url)));
  const listings = await readObjectSymbols(directories);
  for (const [i, directory] of directories.entries()) {
    const names = objectsOf(readFileSync(join(directory, 'Kbuild'), 'utf8'));
    t.ok(names.length > 1 && new Set(names).size === names.length, `${FOLDERS[i]}: ${names.length} object files`);
    const objects = names.map((name) => readSymbols(listings[i] as string, name));
    t.ok(countUses(objects) >= names.length, `${FOLDERS[i]}: nm shows the uses`);
    t.same(findUpwardUses(objects), [], `${FOLDERS[i]}: every use points down`);
  }
});

t.test('a use that points up is found', async (t) => {
  const object = (name: string, defined: string, used: string): ObjectSymbols => ({
    name,
    defined: new Set([defined]),
    undefined: new Set([used]),
  });
  t.same(findUpwardUses([object('low.o', 'read', 'printk'), object('high.o', 'start', 'read')]), []);
  t.same(findUpwardUses([object('low.o', 'read', 'start'), object('high.o', 'start', 'read')]), [
    'low.o uses start of high.o',
  ]);
});

t.test('object files are read from Kbuild in their order', async (t) => {
  const kbuild = 'obj-m := m.o\nccflags-y := -I$(src)/x\n# a.o is lowest\nm-y := a.o b.o\nm-y += c.o\n';
  t.same(objectsOf(kbuild), ['a.o', 'b.o', 'c.o']);
});

/** The object files of a module's Kbuild, lowest layer first. */
function objectsOf(kbuild: string): string[] {
  const module = /^obj-m\s*:=\s*(\w+)\.o$/m.exec(kbuild)?.[1];
  const lines = kbuild.matchAll(new RegExp(`^${module}-y\\s*[:+]=(.*)$`, 'gm'));
  return [...lines].flatMap(([, list]) => list.trim().split(/\s+/));
}

/** The symbols of the object file `name` in what `nm -A` printed of all. */
function readSymbols(listing: string, name: string): ObjectSymbols {
  const lines = listing.split('\n').filter((line) => line.startsWith(`${name}:`));
  const entries = lines.map((line) => line.trim().split(/\s+/).slice(-2));
  const namesOf = (undefined_: boolean) =>
    new Set(entries.filter(([type]) => (type === 'U') === undefined_).map(([, symbol]) => symbol));
  return { name, defined: namesOf(false), undefined: namesOf(true) };
}

/** Uses of one file's symbols by another file of the module. */
function countUses(objects: readonly ObjectSymbols[]): number {
  const all = new Set(objects.flatMap(({ defined }) => [...defined]));
  return objects.reduce((sum, object) => sum + [...object.undefined].filter((symbol) => all.has(symbol)).length, 0);
}

function findUpwardUses(objects: readonly ObjectSymbols[]): string[] {
  return objects.flatMap((user, i) =>
    objects
      .slice(i + 1)
      .flatMap(({ name, defined }) =>
        [...user.undefined]
          .filter((symbol) => defined.has(symbol))
          .map((symbol) => `${user.name} uses ${symbol} of ${name}`),
      ),
  );
}
