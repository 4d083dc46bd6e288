// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run check -- style`: the rules of `docs/CONTRIBUTING.md` that a machine can check, over
 * every file that git knows or would add. Prints `path:line: message` for each finding and fails
 * when there is one.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { checkFfi, checkImports, checkPurity, checkTsx } from './layers.ts';
import { registryHosts } from './registry-hosts.ts';
import type { Finding, SourceFile } from './source-file.ts';
import {
  checkAccessors,
  checkCitations,
  checkClauses,
  checkCommentWidth,
  checkHeader,
  checkLength,
  checkLicence,
  checkPostponed,
  checkRegistries,
  isTidy,
  TIDY_FOLDERS,
} from './text-rules.ts';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../..');

const EVERYWHERE = [
  checkLicence,
  checkImports,
  checkFfi,
  checkTsx,
  checkPurity,
  checkLength,
  checkPostponed,
  checkAccessors,
  checkClauses,
];
const WHERE_TIDY = [checkCommentWidth, checkHeader, checkCitations];

/** Every rule on one file; those of comments only in `tidyFolders`. */
export function checkFile(
  file: SourceFile,
  hosts: readonly string[],
  tidyFolders: readonly string[] = TIDY_FOLDERS,
): Finding[] {
  const rules = isTidy(file, tidyFolders) ? [...EVERYWHERE, ...WHERE_TIDY] : EVERYWHERE;
  return [...rules.flatMap((rule) => rule(file)), ...checkRegistries(file, hosts)];
}

/** Every rule on every file of the working tree at `root`. */
export function checkTree(root = ROOT): Finding[] {
  const hosts = registryHosts();
  return listFiles(root).flatMap((path) => {
    const bytes = readFileSync(join(root, path));
    return bytes.includes(0) ? [] : checkFile({ path, text: bytes.toString('utf8') }, hosts);
  });
}

/** `path:line: message` */
export function formatFinding({ path, line, message }: Finding): string {
  return line === 0 ? `${path}: ${message}` : `${path}:${line}: ${message}`;
}

function listFiles(root: string): string[] {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const paths = execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\0');
  return [...new Set(paths)].filter((path) => path !== '' && existsSync(join(root, path)));
}

function main(args: readonly string[]): number {
  if (args.length > 0) {
    process.stdout.write('Usage: npm run check -- style    checks the mechanical rules of docs/CONTRIBUTING.md\n');
    return args[0] === '--help' ? 0 : 2;
  }
  const findings = checkTree();
  for (const finding of findings) process.stderr.write(`${formatFinding(finding)}\n`);
  return findings.length === 0 ? 0 : 1;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  process.exitCode = main(process.argv.slice(2));
}
