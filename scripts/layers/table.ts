// SPDX-License-Identifier: Apache-2.0
/**
 * Checks the table of layers itself, and writes it for docs/ARCHITECTURE.md: a list for each part,
 * and a picture.
 */
import type { Layer } from './layer.ts';
import { shortName } from './names.ts';

/** Parts of the repository, with a title each. */
const parts = [
  { folder: 'protocol', title: 'protocol/' },
  { folder: 'device', title: 'device/' },
  { folder: 'qemu', title: 'qemu/' },
  { folder: 'guest-tests', title: 'guest-tests/' },
  { folder: 'scripts', title: 'scripts/' },
];

/**
 * Sentences about rows that are wrong in themselves: a use that points up, or of a layer for tests.
 */
export function checkTable(layers: readonly Layer[]): string[] {
  const above = new Set<string>();
  return layers.flatMap((layer) => {
    const wrong = layer.uses
      .filter((path) => !above.has(path))
      .map((path) => `${layer.path} uses ${path}, which does not stand above it`);
    const tests = layer.forTests
      ? []
      : layer.uses
          .filter((path) => layers.some((other) => other.path === path && other.forTests))
          .map((path) => `${layer.path} uses ${path}, which is for tests`);
    above.add(layer.path);
    return [...wrong, ...tests];
  });
}

/**
 * Sentences about wings (folders that hold several layers) whose rows are not adjacent: only
 * adjacent rows give wings an order, too.
 */
export function checkWings(layers: readonly Layer[], folder: string): string[] {
  const wings = layers.map(({ path }) => wingOf(path, folder)).filter((wing) => wing !== undefined);
  const runs = wings.filter((wing, index) => wing !== wings[index - 1]);
  return runs
    .filter((wing, index) => runs.indexOf(wing) !== index)
    .map((wing) => `the rows of ${wing} do not stand together`);
}

/**
 * Sentences about uses that the table allows and no file makes: the table must match the imports.
 */
export function checkUnused(layers: readonly Layer[], used: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  return layers.flatMap(({ path, uses }) =>
    uses
      .filter((other) => !used.get(path)?.has(other))
      .map((other) => `${path} may use ${other}, but does not; take it out of the table`),
  );
}

/** The rows as a Markdown table: folder, what it holds, what it may use. */
export function renderTable(rows: readonly Layer[], layers: readonly Layer[]): string {
  const paths = layers.map(({ path }) => path);
  const lines = rows.map(({ path, holds, uses }) => {
    const names = uses.map((other) => `\`${shortName(other, paths)}\``).join(', ');
    return `| \`${path}\` | ${holds} | ${names || 'nothing'} |`;
  });
  return ['| folder | what it holds | may use |', '|---|---|---|', ...lines].join('\n');
}

/**
 * A flow chart of the wings of `folder` and of the folders below it: an arrow means that some layer
 * of the one uses some layer of the other.
 */
export function renderWings(layers: readonly Layer[], folder: string, below: readonly string[]): string {
  const wingsOf = (path: string): string | undefined =>
    wingOf(path, folder) ?? below.find((other) => path.startsWith(`${other}/`));
  const wings = new Map<string, Set<string>>();
  for (const { path, uses } of layers) {
    const wing = wingsOf(path);
    if (wing === undefined) continue;
    const used = wings.get(wing) ?? new Set();
    wings.set(wing, used);
    for (const other of uses) {
      const target = wingsOf(other);
      if (target !== undefined && target !== wing) used.add(target);
    }
  }
  return renderChart(wings, folder);
}

/** A flow chart of the layers of one wing, those for tests left out. */
export function renderPicture(layers: readonly Layer[], folder: string): string {
  const inside = layers.filter(({ path, forTests }) => path.startsWith(`${folder}/`) && !forTests);
  const names = new Set(inside.map(({ path }) => path));
  return renderChart(
    new Map(inside.map(({ path, uses }) => [path, new Set(uses.filter((other) => names.has(other)))])),
    folder,
  );
}

/**
 * A Mermaid flow chart, the highest on top: an arrow from each node to those that it uses, without
 * the arrows that follow from others (transitive reduction), so that the order can be seen.
 */
function renderChart(uses: ReadonlyMap<string, ReadonlySet<string>>, folder: string): string {
  const paths = [...uses.keys()];
  const nodes = paths.map((path) => `  ${idOf(path)}["${path.replace(`${folder}/`, '')}"]`);
  const arrows = paths.flatMap((path) =>
    [...(uses.get(path) ?? [])]
      .filter((target) => !isImplied(path, target, uses))
      .map((target) => `  ${idOf(path)} --> ${idOf(target)}`),
  );
  return ['```mermaid', 'flowchart TD', ...nodes.reverse(), ...arrows, '```'].join('\n');
}

/** Titles and tables of all parts. */
export function renderParts(layers: readonly Layer[]): string {
  return parts
    .map(({ folder, title }) => {
      const rows = layers.filter(({ path }) => path === folder || path.startsWith(`${folder}/`));
      return `### ${title}\n\n${renderTable(rows, layers)}`;
    })
    .join('\n\n');
}

/**
 * The document with its generated sections: each between a line `<!-- NAME: begin ... -->` and one
 * `<!-- NAME: end -->`.
 */
export function fillIn(document: string, sections: Readonly<Record<string, string>>): string {
  return Object.entries(sections).reduce((text, [name, content]) => {
    const section = new RegExp(`(<!-- ${name}: begin[^\\n]*-->\\n)[^]*?(<!-- ${name}: end -->)`);
    if (!section.test(text)) throw new Error(`the document has no section "${name}"; add its two marks`);
    return text.replace(section, (_, begin, end) => `${begin}\n${content}\n\n${end}`);
  }, document);
}

/** True if `target` is reached through another node that `from` uses. */
function isImplied(from: string, target: string, uses: ReadonlyMap<string, ReadonlySet<string>>): boolean {
  const reaches = (start: string): boolean =>
    [...(uses.get(start) ?? [])].some((next) => next === target || reaches(next));
  return [...(uses.get(from) ?? [])].some((other) => other !== target && reaches(other));
}

/** The folder or file directly in `folder` that holds `path`. */
function wingOf(path: string, folder: string): string | undefined {
  if (!path.startsWith(`${folder}/`)) return undefined;
  return path.split('/').slice(0, 2).join('/');
}

function idOf(path: string): string {
  return path.replace(/[^a-z]/g, '_');
}
