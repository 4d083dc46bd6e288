// SPDX-License-Identifier: Apache-2.0
/**
 * The first step in a fresh clone, in plain JavaScript because nothing is installed yet: checks
 * Node's version, installs packages of package-lock.json, then runs a TypeScript file with tsx.
 * `node scripts/bootstrap.mjs [--tools|--tests] [NODE-OPTION...] [FILE [ARGUMENT...]]`: without an
 * option it installs what the adapter needs at run time, with --tools also the packages for
 * development, and --tests also builds tap, without its TypeScript plugin (see .taprc).
 * `--prepare`, which `npm ci` calls, only builds tap. Called by the npm scripts, and by
 * scripts/vuhca in a clone. No archive contains it.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { printableLines } from '../protocol/system/printable.mjs';
import { cacheFolder, findStrangersPart, makeFolder } from '../protocol/system/private-folder.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const OLDEST_NODE = [20, 15];
const LOCKED = 'VUHCA_BOOTSTRAP_LOCKED';
/** Needs of a run beyond the packages of run time. */
const NEEDS = ['--tools', '--tests'];

const words = process.argv.slice(2);
const need = NEEDS.includes(words[0]) ? words.shift() : undefined;
const isPrepare = words[0] === '--prepare';
const fileAt = words.findIndex((word) => !word.startsWith('--'));
const nodeOptions = fileAt < 0 ? [] : words.slice(0, fileAt);
const [file, ...args] = fileAt < 0 ? [] : words.slice(fileAt);

checkNode();
if (isPrepare) {
  if (existsSync(join(ROOT, 'node_modules', 'tap')) && !isTapBuilt()) buildTap();
} else {
  if (!isReady()) {
    if (args.includes('--help')) describeFile();
    installUnderLock();
  }
  if (file !== undefined) runTypeScript();
}

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1])) return;
  const oldest = OLDEST_NODE.join('.');
  fail(`Node ${process.versions.node} is too old; install Node ${oldest} or newer and run the command again.`);
}

function isReady() {
  return areModulesCurrent() && (need !== '--tests' || isTapBuilt());
}

/**
 * True if node_modules holds the needed packages in the versions of package-lock.json; npm writes
 * its own list last.
 */
function areModulesCurrent() {
  const installed = readInstalled();
  const wanted = readJson(join(ROOT, 'package-lock.json'))?.packages;
  if (installed === undefined || wanted === undefined) return false;
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === '' || (need === undefined && isTool(entry))) return true;
    const found = installed[path];
    return found === undefined ? entry.optional === true : found.version === entry.version;
  });
}

function readInstalled() {
  return readJson(join(ROOT, 'node_modules', '.package-lock.json'))?.packages;
}

/** True if only development needs the package. */
function isTool(entry) {
  return entry.dev === true || entry.devOptional === true;
}

/** A hash of the inputs of a built tap: its version and the list of plugins. */
function tapKey() {
  const version = readJson(join(ROOT, 'node_modules', 'tap', 'package.json'))?.version;
  return createHash('sha256')
    .update(`${version}\n`)
    .update(readFileSync(join(ROOT, '.taprc')))
    .digest('hex');
}

function tapMark() {
  return join(ROOT, 'node_modules', '.vuhca-tap-built');
}

function isTapBuilt() {
  return (
    existsSync(tapMark()) && readFileSync(tapMark(), 'utf8') === tapKey() && existsSync(join(ROOT, '.tap', 'plugins'))
  );
}

/**
 * Installs in a child that holds a lock, so that two first runs do not write node_modules at the
 * same time.
 */
function installUnderLock() {
  if (process.env[LOCKED] === ROOT) return install();
  const locks = join(cacheFolder(), 'locks');
  const remedy = 'set XDG_CACHE_HOME to a folder of yours';
  const part = findStrangersPart(locks);
  if (part !== undefined) fail(`the cache ${locks}: ${part} belongs to another user; ${remedy}.`);
  try {
    makeFolder(locks);
  } catch (error) {
    fail(`the cache ${locks} cannot be made (${error.code}); ${remedy}.`);
  }
  const lock = join(locks, `npm-${createHash('sha256').update(ROOT).digest('hex').slice(0, 16)}.lock`);
  const command = ['--exclusive', lock, process.execPath, fileURLToPath(import.meta.url)];
  if (need !== undefined) command.push(need);
  const child = spawnSync('flock', command, { stdio: 'inherit', env: { ...process.env, [LOCKED]: ROOT } });
  if (child.error !== undefined) fail(`cannot run flock (${child.error.message}); install the package util-linux.`);
  if (child.status !== 0) process.exit(child.status ?? 1);
}

function install() {
  if (!areModulesCurrent()) {
    const modules = join(ROOT, 'node_modules');
    if (lstatSync(modules, { throwIfNoEntry: false })?.isSymbolicLink())
      fail(`${modules} is a link, and npm would empty the folder that it leads to; remove the link and run again.`);
    // `npm ci` removes what it does not install, so a developer's tools are not left out. No
    // package needs its scripts: they compile what has a prebuilt form, or one in JavaScript.
    const tools = need !== undefined || Object.values(readInstalled() ?? {}).some(isTool);
    const choice = tools ? '--include=dev' : '--omit=dev';
    step(tools ? 'installing npm packages, with those for development' : 'installing npm packages', 'npm', [
      'ci',
      choice,
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      '--loglevel=error',
    ]);
  }
  if (need === '--tests' && !isTapBuilt()) buildTap();
}

function buildTap() {
  step('building tap without its TypeScript plugin', process.execPath, [join(ROOT, 'node_modules/.bin/tap'), 'build']);
  writeFileSync(tapMark(), tapKey());
}

function step(label, command, args) {
  const start = performance.now();
  process.stderr.write(`set-up: ${label} ...\n`);
  // The output is shown only after a failure; npm asks no questions without a terminal.
  const child = spawnSync(command, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'], encoding: 'utf8' });
  if (child.status !== 0) {
    process.stderr.write(printableLines(`${child.stdout ?? ''}${child.stderr ?? ''}`));
    fail(
      `\`${[command, ...args].join(' ')}\` failed (${child.error?.message ?? child.status}); correct the cause and run again.`,
    );
  }
  process.stderr.write(`set-up: ${label}: done in ${((performance.now() - start) / 1000).toFixed(1)} s\n`);
}

/**
 * Help before anything is installed: the header of the file. The packages that know the options are
 * not installed yet.
 */
function describeFile() {
  const about = /\/\*\*\n([\s\S]*?)\n \*\//.exec(readFileSync(join(ROOT, file), 'utf8'))?.[1] ?? '';
  process.stdout.write(
    `${about.replaceAll(/^ \* ?/gm, '')}\n\nThe list of options needs packages: run npm ci first.\n`,
  );
  process.exit(0);
}

function runTypeScript() {
  const child = spawn(process.execPath, [...nodeOptions, '--import=#typescript', join(ROOT, file), ...args], {
    cwd: ROOT,
    stdio: 'inherit',
    // Reports of time count the installation of packages, too.
    env: { ...process.env, VUHCA_BEGAN_MS: String(Date.now() - process.uptime() * 1000) },
  });
  // A terminal sends signals to the whole group; kill(1) and supervisors send them to this process.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.once('exit', (status, signal) => {
    if (signal === null) process.exit(status ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

function fail(text) {
  process.stderr.write(`vuhca: ${text}\n`);
  process.exit(1);
}
