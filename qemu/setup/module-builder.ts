// SPDX-License-Identifier: Apache-2.0
/**
 * Decides which modules are compiled for others, and in which order: a module waits for those whose
 * symbols it uses, and for no other one. Called by kernel-modules.ts.
 */
import { ModuleBuildError } from './compiler-messages.ts';
import type { ModuleSources, SourceFile } from './module-sources.ts';
import { findUses, hasWord, type ModuleUse } from './module-uses.ts';

/** A use of another module. */
export interface UsedModule {
  readonly sources: ModuleSources;
  readonly headers: readonly SourceFile[];
  /** The artifact of the other module; absent where only headers are used. */
  readonly artifact?: string;
}

/** Makes the artifact of a module and returns its folder. */
export type Build = (sources: ModuleSources, uses: readonly UsedModule[]) => Promise<string>;

/** The linker's message about a symbol that nothing exports. */
const UNDEFINED = /modpost: "(\w+)" \[.*\] undefined!/g;

/** Compiles modules, each once, and those first whose symbols another one uses. */
export class ModuleBuilder {
  readonly #all: readonly ModuleSources[];
  readonly #build: Build;
  readonly #started = new Map<ModuleSources, Promise<string>>();

  /** `all`: a module may use those before it. `build` makes an artifact and returns its folder. */
  constructor(all: readonly ModuleSources[], build: Build) {
    this.#all = all;
    this.#build = build;
  }

  /** The artifact of a module, which is built when the cache lacks it. */
  provide(sources: ModuleSources): Promise<string> {
    const started = this.#started.get(sources) ?? this.#provideOnce(sources);
    this.#started.set(sources, started);
    return started;
  }

  async #provideOnce(sources: ModuleSources): Promise<string> {
    const others = this.#all.slice(0, this.#all.indexOf(sources));
    const uses = findUses(sources, others);
    try {
      return await this.#buildWith(sources, uses);
    } catch (error) {
      const missing = error instanceof ModuleBuildError ? readUndefined(error.messages) : [];
      const linked = uses.filter(({ symbols }) => symbols).map(({ other }) => other);
      const givers = others.filter(
        (other) => !linked.includes(other) && missing.some((symbol) => hasWord(other, symbol)),
      );
      if (givers.length === 0) throw error;
      // A macro may export a symbol, and a function in a header may use one.
      return await this.#buildWith(sources, linkAlso(uses, givers));
    }
  }

  async #buildWith(sources: ModuleSources, uses: readonly ModuleUse[]): Promise<string> {
    const provideUsed = async ({ other, headers, symbols }: ModuleUse): Promise<UsedModule> => ({
      sources: other,
      headers,
      ...(symbols ? { artifact: await this.provide(other) } : {}),
    });
    return this.#build(sources, await Promise.all(uses.map(provideUsed)));
  }
}

/** The same uses with the symbols of `givers`. */
function linkAlso(uses: readonly ModuleUse[], givers: readonly ModuleSources[]): ModuleUse[] {
  const others = [...new Set([...uses.map(({ other }) => other), ...givers])];
  return others.map((other) => {
    const use = uses.find((one) => one.other === other);
    return { other, headers: use?.headers ?? [], symbols: use?.symbols === true || givers.includes(other) };
  });
}

/** The symbols that the linker of modules did not find. */
function readUndefined(messages: string): string[] {
  return Array.from(messages.matchAll(UNDEFINED), ([, symbol]) => symbol as string);
}
