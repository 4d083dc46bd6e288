// SPDX-License-Identifier: Apache-2.0
/** Modules that are compiled for others, and modules that wait; nothing is compiled here. */
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { ModuleBuildError } from './compiler-messages.ts';
import { ModuleBuilder, type UsedModule } from './module-builder.ts';
import type { ModuleSources } from './module-sources.ts';

function folder(name: string, text: string): ModuleSources {
  const files = { Kbuild: `obj-m := ${name}.o\n`, [`${name}.c`]: text, [`${name}.h`]: `#define ${name}\n` };
  const list = Object.entries(files).map(([path, content]) => ({ path, content: Buffer.from(content) }));
  return { name, directory: `/src/${name}`, files: list };
}

const LOW = folder('low', 'EXPORT_SYMBOL(low_get);\n');
const HIDDEN = folder('hidden', 'GIVE(hidden_get)\n');
const READS = folder('reads', '#include <low.h>\n');
const LINKS = folder('links', '#include <low.h>\nlow_get();\nEXPORT_SYMBOL(links_get);\n');
const TOP = folder('top', 'links_get();\n');
const ALONE = folder('alone', '');
const GUESSES = folder('guesses', 'hidden_get();\n');

/** A build that is under way. */
interface Begun {
  readonly name: string;
  readonly uses: readonly UsedModule[];
  end(): Promise<void>;
  fail(error: Error): Promise<void>;
}

/** A builder whose builds end when the test says so. */
function prepare(...all: readonly ModuleSources[]): { builder: ModuleBuilder; begun: Begun[]; names(): string[] } {
  const begun: Begun[] = [];
  const builder = new ModuleBuilder(
    all,
    ({ name }, uses) =>
      new Promise<string>((resolve, reject) => {
        const end = async (): Promise<void> => {
          resolve(`/made/${name}`);
          await turn();
        };
        const fail = async (error: Error): Promise<void> => {
          reject(error);
          await turn();
        };
        begun.push({ name, uses, end, fail });
      }),
  );
  return { builder, begun, names: () => begun.map(({ name }) => name) };
}

/** `NAME: HEADER + ARTIFACT` */
function describe({ uses }: Begun): string[] {
  return uses.map(({ sources, headers, artifact }) =>
    [`${sources.name}:`, ...headers.map(({ path }) => path), ...(artifact === undefined ? [] : ['+', artifact])].join(
      ' ',
    ),
  );
}

function undefinedSymbol(name: string): ModuleBuildError {
  return new ModuleBuildError('/src/x', '6.12', `ERROR: modpost: "${name}" [x.ko] undefined!`);
}

t.test('only what a module uses is compiled for it', async (t) => {
  const { builder, begun, names } = prepare(LOW, HIDDEN, READS, LINKS, TOP);
  const reads = builder.provide(READS);
  await turn();
  t.same(names(), ['reads'], 'a header does not have its module compiled');
  t.same(describe(begun[0] as Begun), ['low: low.h']);
  await begun[0]?.end();
  t.equal(await reads, '/made/reads');
  const top = builder.provide(TOP);
  await turn();
  t.same(names(), ['reads', 'low'], 'the module whose symbols are used by that which is used');
  await begun[1]?.end();
  t.same(names(), ['reads', 'low', 'links']);
  t.same(describe(begun[2] as Begun), ['low: low.h + /made/low']);
  await begun[2]?.end();
  t.same(describe(begun[3] as Begun), ['links: + /made/links']);
  await begun[3]?.end();
  t.equal(await top, '/made/top');
});

t.test('what does not wait is compiled at the same time, each once', async (t) => {
  const { builder, begun, names } = prepare(LOW, READS, LINKS, ALONE);
  const all = Promise.all([LOW, READS, LINKS, ALONE, LINKS].map((sources) => builder.provide(sources)));
  await turn();
  t.same(names(), ['low', 'alone', 'reads'], 'all but one');
  await begun[0]?.end();
  t.same(names(), ['low', 'alone', 'reads', 'links']);
  for (const one of begun) await one.end();
  t.same(
    await all,
    ['low', 'reads', 'links', 'alone', 'links'].map((name) => `/made/${name}`),
  );
});

t.test('a module uses only what stands before it', async (t) => {
  const { builder, begun } = prepare(LINKS, LOW);
  const links = builder.provide(LINKS);
  await turn();
  t.same(describe(begun[0] as Begun), []);
  const rejected = t.rejects(links, { message: /low_get/ });
  await begun[0]?.fail(undefinedSymbol('low_get'));
  await rejected;
  t.equal(begun.length, 1);
});

t.test('a symbol that the text does not show is found by the linker', async (t) => {
  const { builder, begun, names } = prepare(ALONE, LOW, HIDDEN, GUESSES);
  const guesses = builder.provide(GUESSES);
  await turn();
  t.same(describe(begun[0] as Begun), []);
  await begun[0]?.fail(undefinedSymbol('hidden_get'));
  t.same(names(), ['guesses', 'hidden']);
  await begun[1]?.end();
  t.same(describe(begun[2] as Begun), ['hidden: + /made/hidden']);
  await begun[2]?.end();
  t.equal(await guesses, '/made/guesses');
});

t.test('a symbol that nobody has, and any other error, is told at once', async (t) => {
  const other = new ModuleBuildError('/src/x', '6.12', 'x.c:1: error: hidden_get undefined!');
  for (const error of [undefinedSymbol('hidden_gett'), other, new Error('hidden_get')]) {
    const { builder, begun } = prepare(LOW, HIDDEN, GUESSES);
    const guesses = builder.provide(GUESSES);
    await turn();
    const rejected = t.rejects(guesses, error);
    await begun[0]?.fail(error);
    await rejected;
    t.equal(begun.length, 1);
  }
  const { builder, begun } = prepare(LOW, LINKS);
  const links = builder.provide(LINKS);
  await turn();
  await begun[0]?.end();
  const rejected = t.rejects(links, { message: /low_get/ });
  await begun[1]?.fail(undefinedSymbol('low_get'));
  await rejected;
  t.equal(begun.length, 2, 'linked already');
});

t.test('a module fails with that whose symbols it uses', async (t) => {
  const { builder, begun } = prepare(LOW, LINKS);
  const links = builder.provide(LINKS);
  await turn();
  const rejected = t.rejects(links, { message: /low\.c:1/ });
  await begun[0]?.fail(new ModuleBuildError('/src/low', '6.12', 'low.c:1: error'));
  await rejected;
  t.equal(begun.length, 1);
});
