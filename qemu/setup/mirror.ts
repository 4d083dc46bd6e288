// SPDX-License-Identifier: Apache-2.0
/**
 * Finds the Debian archive mirror of this machine's own apt, so that set-up works wherever apt does
 * and names no host itself. Reads both formats of sources.list(5): one-line (`*.list`) and deb822
 * (`*.sources`). The environment variable VUHCA_DEBIAN_MIRROR overrides. Called by apt.ts.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SetupError } from './tools/errors.ts';

/** One source of packages: the cross product of its members, as in deb822. */
export interface AptSource {
  readonly uris: readonly string[];
  readonly suites: readonly string[];
  readonly components: readonly string[];
}

/** The URI of the Debian archive. Throws SetupError when apt's configuration names none. */
export function findMirror(etcApt = '/etc/apt', environment: NodeJS.ProcessEnv = process.env): string {
  const chosen = environment.VUHCA_DEBIAN_MIRROR;
  if (chosen) return chosen;
  const found = pickArchive(readSources(etcApt));
  if (found !== undefined) return found;
  throw new SetupError(
    `no entry of the Debian archive in ${etcApt}/sources.list or ${etcApt}/sources.list.d; ` +
      'set VUHCA_DEBIAN_MIRROR to the URI of a Debian mirror.',
  );
}

/** The first URI whose suites and components are those of the main Debian archive, or undefined. */
export function pickArchive(sources: readonly AptSource[]): string | undefined {
  const candidates = sources.filter(
    ({ components, suites }) => components.includes('main') && suites.some((suite) => ARCHIVE_SUITE.test(suite)),
  );
  const uris = candidates.flatMap((source) => source.uris).filter((uri) => !/^cdrom:|security/.test(uri));
  return uris.find((uri) => /\/debian\/?$/.test(uri)) ?? uris[0];
}

/** Parses one-line format: `deb [options] uri suite component...`. */
export function parseOneLine(text: string): AptSource[] {
  const sources: AptSource[] = [];
  for (const raw of text.split('\n')) {
    const line = raw.replace(/#.*/, '').trim();
    const match = /^deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(\S+)\s*(.*)$/.exec(line);
    if (match === null) continue;
    const [, uri, suite, components] = match as unknown as [string, string, string, string];
    sources.push({ uris: [uri], suites: [suite], components: words(components) });
  }
  return sources;
}

/**
 * Parses deb822 format; stanzas with `Enabled: no` and those without binary packages are left out.
 */
export function parseDeb822(text: string): AptSource[] {
  const sources: AptSource[] = [];
  for (const stanza of text.replace(/^#.*\n?/gm, '').split(/\n\s*\n/)) {
    const fields = parseStanza(stanza);
    if (!words(fields.get('types')).includes('deb')) continue;
    if (/^(no|false|0|off)$/i.test(fields.get('enabled') ?? 'yes')) continue;
    sources.push({
      uris: words(fields.get('uris')),
      suites: words(fields.get('suites')),
      components: words(fields.get('components')),
    });
  }
  return sources;
}

// The code names of releases that can run this project; another archive needs the variable.
const ARCHIVE_SUITE = /^(bookworm|trixie|forky|duke|sid|stable|oldstable|testing|unstable)\/?$/;

function readSources(etcApt: string): AptSource[] {
  const parts = join(etcApt, 'sources.list.d');
  const names = existsSync(parts) ? readdirSync(parts).sort() : [];
  const files = [join(etcApt, 'sources.list'), ...names.map((name) => join(parts, name))];
  return files.flatMap((file) => {
    if (!existsSync(file)) return [];
    if (file.endsWith('.sources')) return parseDeb822(readFileSync(file, 'utf8'));
    return file.endsWith('.list') ? parseOneLine(readFileSync(file, 'utf8')) : [];
  });
}

function parseStanza(stanza: string): Map<string, string> {
  const fields = new Map<string, string>();
  let name = '';
  for (const line of stanza.split('\n')) {
    const match = /^([A-Za-z0-9-]+):\s*(.*)$/.exec(line);
    if (match !== null) {
      name = (match[1] as string).toLowerCase();
      fields.set(name, match[2] as string);
    } else if (/^\s/.test(line) && name !== '') {
      fields.set(name, `${fields.get(name)} ${line.trim()}`);
    }
  }
  return fields;
}

function words(text: string | undefined): string[] {
  return (text ?? '').split(/\s+/).filter((word) => word !== '');
}
