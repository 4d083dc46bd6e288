// SPDX-License-Identifier: Apache-2.0
/**
 * Starts the program `vuhca` (main.ts) from compiled JavaScript: a process is ready in 0.15 s,
 * while tsx, which translates each source as it is loaded, takes 1.1 s of processor time. A clone
 * compiles into build/program when a source has changed; an archive has dist/program. With a
 * debugger tsx runs the sources, one script for each, so that breakpoints refer to the sources.
 * Called by scripts/vuhca and by code that starts an adapter process.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SOURCE = join(ROOT, 'scripts/cli/main.ts');
const PACKED = join(ROOT, 'dist/program/main.js');
/** Only a clone has it. */
const BOOTSTRAP = join(ROOT, 'scripts/bootstrap.mjs');
const BUILD = join(ROOT, 'build/program');
/** The present compiled copy: its folder, and the state of each input. */
const CURRENT = join(BUILD, 'current.json');
/** Inputs of compiled code beside its sources. */
const TOOLS = ['scripts/setup/compile.mjs', 'package-lock.json'];
/** A process may still load parts of an older program. */
const KEPT_MS = 24 * 3600 * 1000;

const program = wantsDebugger() ? undefined : existsSync(BOOTSTRAP) ? await provideProgram() : PACKED;
if (program === undefined) await import('../../protocol/system/typescript.mjs');
// Stacks of errors name the sources.
else process.setSourceMapsEnabled(true);
await import(pathToFileURL(program ?? SOURCE).href);

/** True if the command line or Node's options name the inspector. */
function wantsDebugger() {
  const options = [...process.execArgv, ...(process.env.NODE_OPTIONS ?? '').split(' '), ...process.argv.slice(2)];
  return options.some((option) => option.startsWith('--inspect'));
}

/**
 * The path of the program, compiled anew when a source has changed; undefined when the clone cannot
 * be written to.
 */
async function provideProgram() {
  const current = readCurrent();
  if (current !== undefined) return join(BUILD, current.folder, 'main.js');
  const began = Date.now();
  const folder = `${began}-${randomUUID()}`;
  try {
    mkdirSync(join(BUILD, folder), { recursive: true });
  } catch {
    return undefined;
  }
  const { compile } = await import('../setup/compile.mjs');
  const sources = await compile(join(BUILD, folder));
  publish({ folder, states: [...sources, ...TOOLS].map((path) => [path, stateOf(path, began)]) });
  return join(BUILD, folder, 'main.js');
}

/** The compiled program, or undefined when there is none or a source has changed. */
function readCurrent() {
  try {
    const current = JSON.parse(readFileSync(CURRENT, 'utf8'));
    const isFresh = current.states.every(([path, state]) => stateOf(path) === state);
    return isFresh && existsSync(join(BUILD, current.folder)) ? current : undefined;
  } catch {
    return undefined;
  }
}

/** The state of an input; a state that no file has if the input was changed at `began` or later. */
function stateOf(path, began = Number.POSITIVE_INFINITY) {
  const { mtimeMs, size } = statSync(join(ROOT, path));
  return mtimeMs >= began && mtimeMs <= Date.now() ? 'changed while it was read' : `${mtimeMs} ${size}`;
}

function publish(current) {
  const temporary = `${CURRENT}.${randomUUID()}`;
  writeFileSync(temporary, JSON.stringify(current));
  renameSync(temporary, CURRENT);
  for (const name of readdirSync(BUILD)) {
    const began = Number(name.split('-')[0]);
    if (name !== current.folder && began < Date.now() - KEPT_MS) {
      rmSync(join(BUILD, name), { recursive: true, force: true });
    }
  }
}
