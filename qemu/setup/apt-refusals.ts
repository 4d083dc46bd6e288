// SPDX-License-Identifier: Apache-2.0
/**
 * Sentences for what apt says about packages that it cannot have: names that do not exist, names
 * that only stand for others, packages that exclude each other. Knows the words of apt 2.6 (Debian
 * 12) and of apt 3.0, which resolves dependencies anew. Called by apt.ts.
 */

const SHOWN_MAX = 6;

/** The sentence for the output of apt; undefined when it is about something else. */
export function describeRefusal(output: string, release: string): string | undefined {
  const all = (pattern: RegExp): string[] => [
    ...new Set(Array.from(output.matchAll(pattern), ([, found]) => found as string)),
  ];
  const providers = /is a virtual package provided by:\n((?: {2}.*\n)+)/.exec(output)?.[1];
  if (providers !== undefined) {
    const [name] = all(/^Package (\S+) is a virtual package/gm);
    const names = Array.from(providers.matchAll(/^ {2}(\S+)/gm), ([, one]) => one).slice(0, SHOWN_MAX);
    return `${name} stands for several packages of Debian ${release}; name one of them: ${names.join(', ')}.`;
  }
  const missing = [
    ...all(/^E: Unable to locate package (\S+)$/gm),
    ...all(/^E: Package '?([^\s']+)'? has no installation candidate$/gm),
  ];
  if (missing.length > 0) {
    const remedy = 'correct the name, or look for newer packages with `vuhca setup distribution --refresh`';
    return `Debian ${release} has no package ${missing.join(', ')}; ${remedy}.`;
  }
  const reasons = readConflict(output);
  if (reasons === undefined) return undefined;
  return `these packages cannot be installed together: ${reasons.slice(0, SHOWN_MAX).join('; ')}; leave one of them out.`;
}

/** What excludes what; undefined when nothing does. */
function readConflict(output: string): string[] | undefined {
  const older = output.split('The following packages have unmet dependencies:\n')[1];
  if (older !== undefined)
    return Array.from(
      older.matchAll(/^ ?(\S+) : (Conflicts|Breaks|Depends|PreDepends): (.*)$/gm),
      ([, name, relation = '', other = '']) => {
        const verb = { Conflicts: 'conflicts with', Breaks: 'breaks' }[relation] ?? 'needs';
        return `${name} ${verb} ${other.replace(/ but .* to be installed$/, '')}`;
      },
    );
  const newer = output.split(/^E: Unable to satisfy dependencies\. .*$/m)[1];
  if (newer === undefined) return undefined;
  return Array.from(newer.matchAll(/^ +(?:\d+\.|-) (.*)$/gm), ([, line = '']) => line.trim());
}
