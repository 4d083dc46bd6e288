// SPDX-License-Identifier: Apache-2.0
/**
 * Makes JavaScript of the program `vuhca` and all its sources, in one folder. Plain JavaScript,
 * because it runs before anything can translate TypeScript. Called by launch.mjs in a clone, and by
 * `npm pack` (`node scripts/cli/compile.mjs FOLDER`).
 */
import { readFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const ENTRY = 'scripts/cli/main.ts';

/**
 * Compiles into the folder `target`, whose `main.js` is the program, and returns the paths of the
 * sources from the root. Throws the error of esbuild, which has printed what is wrong.
 */
export async function compile(target) {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [ENTRY],
    outdir: target,
    entryNames: '[name]',
    bundle: true,
    // A command loads only what it needs.
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    packages: 'external',
    sourcemap: 'linked',
    sourcesContent: false,
    metafile: true,
    logLevel: 'warning',
    plugins: [keepPlaces(target)],
  });
  return Object.keys(metafile.inputs);
}

/** Has each source find the files beside it, although its code lies in the folder `target`. */
function keepPlaces(target) {
  return {
    name: 'places',
    setup: ({ onLoad }) => {
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const place = JSON.stringify(relative(target, path).replaceAll('\\', '/'));
        const text = readFileSync(path, 'utf8').replaceAll(
          'import.meta.url',
          `new URL(${place}, import.meta.url).href`,
        );
        return { contents: text, loader: 'ts', resolveDir: dirname(path) };
      });
    },
  };
}

const [, program, folder] = process.argv;
if (folder !== undefined && import.meta.url === pathToFileURL(program).href) await compile(resolve(folder));
