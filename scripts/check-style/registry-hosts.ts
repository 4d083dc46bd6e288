// SPDX-License-Identifier: Apache-2.0
/**
 * The hosts of the package registries that this machine uses, read from apt's and npm's own
 * configuration.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/**
 * Host names, without duplicates; local ones are left out, since they appear in code for other
 * reasons.
 */
export function registryHosts(
  environment: NodeJS.ProcessEnv = process.env,
  etc = '/etc/apt',
  home = homedir(),
): string[] {
  const npmFiles = [
    join(home, '.npmrc'),
    '/etc/npmrc',
    environment.npm_config_userconfig,
    environment.npm_config_globalconfig,
  ];
  const texts = [
    environment.npm_config_registry ?? '',
    environment.NPM_CONFIG_REGISTRY ?? '',
    ...npmFiles.map((path) => (path === undefined ? '' : read(path))),
    ...aptFiles(etc).map(read),
  ];
  const hosts = texts.flatMap((text) =>
    [...withoutComments(text).matchAll(/\b(?:https?|ftp):\/\/([^/\s:@]+)/g)].map((match) => match[1]),
  );
  return [...new Set(hosts)].filter((host) => host !== 'localhost' && !/^[\d.]+$/.test(host));
}

function aptFiles(etc: string): string[] {
  const folder = join(etc, 'sources.list.d');
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => /\.(list|sources)$/.test(name)) : [];
  return [join(etc, 'sources.list'), ...names.map((name) => join(folder, name))];
}

function withoutComments(text: string): string {
  return text.replace(/^\s*[#;].*$/gm, '');
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
