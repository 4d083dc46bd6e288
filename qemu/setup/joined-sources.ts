// SPDX-License-Identifier: Apache-2.0
/**
 * Sources of a kernel module, put together into a few files that include them. The headers of the
 * kernel are most of what the compiler reads, so a module of 80 files costs a fraction when they
 * are read once for each of eight parts. Names that two files of a part define for themselves are
 * kept apart by macros. Called by module-build.ts for the modules of this project.
 *
 * A file whose own includes do not suffice may compile after others. In nested parts it does not:
 * there each file includes all that those before it do, and sees none of their macros.
 */
import { headersOf, type ModuleSources, type SourceFile } from './module-sources.ts';

/** Sources of a part: as much as keeps a change of one line and the last part of a build short. */
const PART_BYTES = 48_000;

/** The objects of a Kbuild, which must be one module. */
const OBJECTS = /^obj-.*$/gm;
const MODULE = /^obj-m\s*:=\s*([\w-]+)\.o\s*$/;
/** Flags for a single file, which a part would lose. */
const FLAGS_OF_FILE = /\b[AC]FLAGS(?:_REMOVE)?_/;
const OBJECT = /^[\w-]+\.o$/;

const MACROS = [/^#\s*define\s+(\w+)/gm];
/** Functions and variables that a file defines for itself. */
const STATICS = [
  /^static\s+(?:[\w*]+[\s*]+)*?(\w*[a-z]\w*)\s*[(=[;]/gm,
  // `static DEFINE_MUTEX(name)`
  /^static\s+(?:\w+\s+)*?[A-Z][A-Z0-9_]*\(\s*(\w+)/gm,
];
const INCLUDES = [/^#\s*include\s*([<"][^>"]*[>"])/gm];
/** Structures, which have names of their own. */
const TAGS = [/^((?:struct|union|enum)\s+\w+)\s*\{/gm];
/** Functions that a header declares. */
const DECLARED = [/^(?!static\b|typedef\b)[a-z][\w *]*?\b(\w+)\(/gm];

/**
 * The same module with few files to compile. Its other files stay, because the parts include them.
 * A Kbuild that is more than one list of C files is left as it is.
 */
export function joinSources(sources: ModuleSources, isNested = false): ModuleSources {
  const kbuild = sources.files.find(({ path }) => path === 'Kbuild');
  const listed = kbuild === undefined ? undefined : readList(kbuild.content.toString(), sources);
  if (kbuild === undefined || listed === undefined) return sources;
  const { module, others, files } = listed;
  const declared = new Set(
    headersOf(sources).flatMap(({ content }) => namesBy([...DECLARED, ...TAGS], content.toString())),
  );
  const parts = (isNested ? nest(files) : divide(files)).map((part, i) => ({
    path: `${module}_part${i + 1}.c`,
    content: Buffer.from(includeAll(part, declared, isNested)),
  }));
  const objects = parts.map(({ path }) => path.replace(/c$/, 'o')).join(' ');
  const content = Buffer.from(`${others.join('\n')}\n${module}-y := ${objects}\n`);
  return {
    ...sources,
    files: [...sources.files.filter((file) => file !== kbuild), { path: 'Kbuild', content }, ...parts],
  };
}

interface Listed {
  readonly module: string;
  /** The lines of Kbuild that list no object files. */
  readonly others: readonly string[];
  readonly files: readonly SourceFile[];
}

function readList(kbuild: string, sources: ModuleSources): Listed | undefined {
  const [objects, ...further] = kbuild.match(OBJECTS) ?? [];
  const module = MODULE.exec(objects ?? '')?.[1];
  if (module === undefined || further.length > 0 || FLAGS_OF_FILE.test(kbuild)) return undefined;
  const list = new RegExp(`^${module}-(?:y|objs)\\s*[:+]?=(.*)$`);
  const lines = kbuild.split('\n').map((line) => ({ line, names: list.exec(line)?.[1] }));
  const parts = lines.flatMap(({ names }) => names?.trim().split(/\s+/) ?? []);
  if (!parts.every((name) => OBJECT.test(name))) return undefined;
  const files = parts.map((name) => sources.files.find(({ path }) => path === name.replace(/o$/, 'c')));
  if (files.length < 2 || files.includes(undefined)) return undefined;
  const others = lines.filter(({ names }) => names === undefined).map(({ line }) => line);
  return { module, others, files: files as SourceFile[] };
}

/** Parts of about the same size, in the order of the list. */
function divide(files: readonly SourceFile[]): SourceFile[][] {
  const total = files.reduce((sum, { content }) => sum + content.length, 1);
  const count = Math.ceil(total / PART_BYTES);
  const parts: SourceFile[][] = Array.from({ length: count }, () => []);
  let before = 0;
  for (const file of files) {
    const middle = before + file.content.length / 2;
    (parts[Math.min(Math.floor((middle / total) * count), count - 1)] as SourceFile[]).push(file);
    before += file.content.length;
  }
  return parts.filter((part) => part.length > 0);
}

/** Few parts, in each of which a file includes all that the one before it does. */
function nest(files: readonly SourceFile[]): SourceFile[][] {
  const chains: { readonly files: SourceFile[]; last: readonly string[] }[] = [];
  const included = files.map((file) => ({ file, includes: namesBy(INCLUDES, file.content.toString()) }));
  for (const { file, includes } of included.sort((a, b) => a.includes.length - b.includes.length)) {
    const [longest] = chains
      .filter(({ last }) => last.every((name) => includes.includes(name)))
      .sort((a, b) => b.last.length - a.last.length);
    longest?.files.push(file);
    if (longest === undefined) chains.push({ files: [file], last: includes });
    else longest.last = includes;
  }
  return chains.map((chain) => chain.files);
}

/**
 * A file that includes the files of a part. A name that a file has for itself gets another one
 * where a file before it has the same, or a header, which the file then does not include. All its
 * macros end with it if `areMacrosOwn`, otherwise those that a later file defines, too.
 */
function includeAll(files: readonly SourceFile[], declared: ReadonlySet<string>, areMacrosOwn: boolean): string {
  const texts = files.map(({ content }) => content.toString());
  const macros = texts.map((text) => namesBy(MACROS, text));
  const own = texts.map((text) => namesBy([...STATICS, ...TAGS], text));
  const lines = files.flatMap(({ path }, i) => {
    const isTaken = (name: string): boolean =>
      declared.has(name) || own.slice(0, i).some((names) => names.includes(name));
    const taken = (own[i] ?? []).filter(isTaken).map((name) => name.replace(/^.*\s/, ''));
    const redefined = (macros[i] ?? []).filter(
      (name) => areMacrosOwn || macros.slice(i + 1).some((names) => names.includes(name)),
    );
    return [
      ...taken.map((name) => `#define ${name} ${name}_of_${path.replace(/\W/g, '_')}`),
      `#include "${path}"`,
      ...[...taken, ...redefined].map((name) => `#undef ${name}`),
    ];
  });
  return `${lines.join('\n')}\n`;
}

/** What the patterns find in the text, each once. */
function namesBy(patterns: readonly RegExp[], text: string): string[] {
  return [...new Set(patterns.flatMap((pattern) => Array.from(text.matchAll(pattern), ([, name]) => name as string)))];
}
