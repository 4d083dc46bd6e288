// SPDX-License-Identifier: Apache-2.0
/**
 * Finds QEMU arguments of a user that hide guest memory from the adapter process. The vfio-user
 * protocol does not show this: with share=off QEMU still passes a file, and the adapter then reads
 * and writes pages that the guest never sees. So `vuhca run` makes all memory shared itself and
 * refuses arguments that would undo this.
 */
const REMEDY = 'the adapter reaches guest memory only through a shared memory backend';

/** Reason why `extra` is refused, as a sentence; undefined when guest memory stays shared. */
export function findMemoryObjection(extra: readonly string[]): string | undefined {
  const backends = findBackends(extra);
  for (const [option, value] of pairs(extra)) {
    if (option === 'm' && givesSize(value))
      return `-m ${value} would not fit the memory backend that is made; use --memory MIB`;
    if (option === 'mem-path') return `-mem-path makes private memory: ${REMEDY}; use --memory MIB`;
    const used =
      option === 'machine' || option === 'M'
        ? readProperty(value, 'memory-backend')
        : option === 'numa' || option === 'device'
          ? readProperty(value, 'memdev')
          : undefined;
    if (used === undefined || used === 'ram') continue;
    const shared = backends.get(used);
    if (shared === false) return `memory backend ${used} is not shared: ${REMEDY}; add share=on to it`;
    if (shared === undefined) return `-${option} names the memory backend ${used}, which no -object makes: ${REMEDY}`;
  }
  return undefined;
}

/** True if the value of `-m` has a size; QEMU merges all other values, such as slots, with ours. */
function givesSize(value: string): boolean {
  return value.split(',').some((part) => !part.includes('=') || part.startsWith('size='));
}

/** Memory backends by id, and whether each is shared. */
function findBackends(extra: readonly string[]): Map<string, boolean> {
  const backends = new Map<string, boolean>();
  for (const [option, value] of pairs(extra)) {
    const id = readProperty(value, 'id');
    if (option !== 'object' || id === undefined || !/memory-backend-/.test(value)) continue;
    // A memfd backend is shared by default.
    const share = readProperty(value, 'share') ?? (/memory-backend-memfd/.test(value) ? 'on' : 'off');
    backends.set(id, share === 'on' || share === 'true' || share === 'yes');
  }
  return backends;
}

/** Options without their dashes, with the word after each. */
function pairs(extra: readonly string[]): [option: string, value: string][] {
  return extra.flatMap((word, i): [string, string][] =>
    /^--?[a-zA-Z]/.test(word) ? [[word.replace(/^--?/, ''), extra[i + 1] ?? '']] : [],
  );
}

/** A property of a QEMU value, written as `a=b,c=d` or as JSON. */
function readProperty(value: string, name: string): string | undefined {
  if (value.startsWith('{')) {
    try {
      const property = (JSON.parse(value) as Record<string, unknown>)[name];
      return property === undefined ? undefined : String(property);
    } catch {
      return undefined;
    }
  }
  return new RegExp(`(?:^|,)${name}=([^,]*)`).exec(value)?.[1];
}
