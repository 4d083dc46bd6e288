// SPDX-License-Identifier: Apache-2.0
/**
 * Checks imports against the table of layers with dependency-cruiser, types included, and says
 * which layer uses which. Tests, including long ones, are left out: they may import anything.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { IConfiguration, ICruiseResult, IForbiddenRuleType, IModule } from 'dependency-cruiser';
import type { Layer } from './layer.ts';
import { findCircle, readTsxFiles, type TsxFile } from './tsx-imports.ts';

const CRUISER = fileURLToPath(
  new URL('../../node_modules/dependency-cruiser/bin/dependency-cruise.mjs', import.meta.url),
);
const CIRCLE = 'circle';
const IN_NO_LAYER = 'the file lies in no layer; add its folder to scripts/layers/layers.ts';
/** A source file named by its place beside the file that names it. */
const PROGRAM_BY_PATH = /new URL\(\s*['"]([^'"]+\.(?:ts|mjs))['"],\s*import\.meta\.url\)/g;
const OUTPUT_MAX_BYTES = 64 * 1024 * 1024;

/** One import that the table does not allow, or one circle. */
export interface Violation {
  readonly from: string;
  readonly to: string;
  /** The fault, and its remedy. */
  readonly message: string;
}

export interface Cruise {
  readonly violations: readonly Violation[];
  /** For each layer, the layers from which it imports. */
  readonly used: ReadonlyMap<string, ReadonlySet<string>>;
}

/**
 * Checks all TypeScript files below `folders`, which are relative to `root`. Throws when a file
 * cannot be parsed.
 */
export function cruiseLayers(layers: readonly Layer[], root: string, folders: readonly string[]): Cruise {
  const noCircle: IForbiddenRuleType = { name: CIRCLE, severity: 'error', from: {}, to: { circular: true } };
  const configuration: IConfiguration = {
    forbidden: [noCircle, ...layers.map((layer) => ruleOf(layer, layers))],
    options: {
      parser: 'swc',
      // Imports of types count, although they vanish when the program runs.
      tsPreCompilationDeps: true,
      doNotFollow: { path: 'node_modules' },
      exclude: { path: '\\.(test|long)\\.ts$|\\.mjs$|\\.tsx$' },
    },
  };
  const { modules, summary } = runCruiser(configuration, root, folders);
  const violations = summary.violations.map(({ from, to, rule, cycle }) => ({
    from,
    to,
    message:
      rule.name === CIRCLE
        ? describeCircle([from, ...(cycle ?? []).map(({ name }) => name)])
        : `${rule.name} must not import from ${layerOf(to, layers)?.path ?? 'outside the layers'}: ${to}`,
  }));
  const outside = modules
    .filter(
      ({ source, coreModule, couldNotResolve }) =>
        !coreModule &&
        !couldNotResolve &&
        source.endsWith('.ts') &&
        !source.includes('node_modules') &&
        layerOf(source, layers) === undefined,
    )
    .map(({ source }) => ({
      from: source,
      to: source,
      message: IN_NO_LAYER,
    }));
  const byPath = modules.flatMap(({ source }) => findPaths(source, root, layers));
  const tsx = readTsxFiles(root, folders);
  const circle = findCircle(tsx);
  const ofTsx = [
    ...tsx.flatMap((file) => checkTsxFile(file, layers)),
    ...(circle === undefined ? [] : [{ from: circle[0], to: circle[1], message: describeCircle(circle) }]),
  ];
  return {
    violations: [...violations, ...outside, ...byPath, ...ofTsx],
    used: collectUses([...modules.map(edgesOf), ...tsx], layers),
  };
}

function describeCircle(files: readonly string[]): string {
  return `files import each other in a circle: ${files.join(' -> ')}`;
}

/** Imports of a file with JSX from layers that it may not use. */
function checkTsxFile({ source, targets }: TsxFile, layers: readonly Layer[]): Violation[] {
  const layer = layerOf(source, layers);
  const outside = { from: source, to: source, message: IN_NO_LAYER };
  if (layer === undefined) return [outside];
  return targets.flatMap((to) => {
    const other = layerOf(to, layers);
    if (other === layer || (other !== undefined && layer.uses.includes(other.path))) return [];
    const message = `${layer.path} must not import from ${other?.path ?? 'outside the layers'}: ${to}`;
    return [{ from: source, to, message }];
  });
}

function edgesOf({ source, dependencies }: IModule): TsxFile {
  return { source, targets: dependencies.map(({ resolved }) => resolved) };
}

/**
 * Programs that a file starts by their path, in layers that it may not import from. The cruiser
 * does not see them.
 */
function findPaths(source: string, root: string, layers: readonly Layer[]): Violation[] {
  const layer = layerOf(source, layers);
  if (layer === undefined || !existsSync(join(root, source))) return [];
  const paths = [...readFileSync(join(root, source), 'utf8').matchAll(PROGRAM_BY_PATH)];
  return paths.flatMap(([, relative]) => {
    const to = normalize(join(dirname(source), relative));
    const other = layerOf(to, layers);
    if (other === undefined || other === layer || layer.uses.includes(other.path)) return [];
    return [{ from: source, to, message: `${layer.path} must not reach ${to} by its path` }];
  });
}

/**
 * Runs the cruiser in a process of its own: its parser does not load behind a TypeScript loader.
 */
function runCruiser(configuration: IConfiguration, root: string, folders: readonly string[]): ICruiseResult {
  const directory = mkdtempSync(join(tmpdir(), 'vuhca-layers-'));
  try {
    const path = join(directory, 'configuration.json');
    writeFileSync(path, JSON.stringify(configuration));
    const args = [CRUISER, '--config', path, '--output-type', 'json', ...folders];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: OUTPUT_MAX_BYTES,
    });
    if (!stdout.startsWith('{')) throw new Error(`dependency-cruiser ended with ${status}: ${stderr}`);
    return JSON.parse(stdout) as ICruiseResult;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** The layer that a file belongs to: that with the longest path. */
export function layerOf(file: string, layers: readonly Layer[]): Layer | undefined {
  return layers
    .filter(({ path }) => file === path || file.startsWith(`${path}/`))
    .reduce<Layer | undefined>(
      (best, layer) => (best && best.path.length > layer.path.length ? best : layer),
      undefined,
    );
}

/** Forbids imports of our own files that are neither in the layer nor in one that it may use. */
function ruleOf(layer: Layer, layers: readonly Layer[]): IForbiddenRuleType {
  const allowed = [layer.path, ...layer.uses];
  const inner = (path: string): string[] =>
    layers.map((other) => other.path).filter((other) => other.startsWith(`${path}/`));
  const forbidden = layers.map(({ path }) => path).filter((path) => !allowed.includes(path));
  return {
    name: layer.path,
    severity: 'error',
    from: { path: patternOf(layer.path), pathNot: inner(layer.path).map(patternOf) },
    to: { path: forbidden.map((path) => exactly(path, inner(path))) },
  };
}

/** Files below `path`, but in none of the layers inside it. */
function exactly(path: string, inside: readonly string[]): string {
  const not = inside.map((other) => `(?!${escapeDots(other)}(/|$))`).join('');
  return `^${not}${escapeDots(path)}(/|$)`;
}

function patternOf(path: string): string {
  return `^${escapeDots(path)}(/|$)`;
}

function escapeDots(path: string): string {
  return path.replace(/[.]/g, '\\.');
}

function collectUses(modules: readonly TsxFile[], layers: readonly Layer[]): Map<string, Set<string>> {
  const used = new Map(layers.map(({ path }) => [path, new Set<string>()]));
  for (const { source, targets } of modules) {
    const from = layerOf(source, layers)?.path;
    if (from === undefined) continue;
    for (const target of targets) {
      const to = layerOf(target, layers)?.path;
      if (to !== undefined && to !== from) used.get(from)?.add(to);
    }
  }
  return used;
}
