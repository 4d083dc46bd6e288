// SPDX-License-Identifier: Apache-2.0
/**
 * Checks documents of the Chrome trace format for the rules that Perfetto needs. Used by tests of
 * exports.
 */
import type { ChromeEvent } from '../../process/trace/perfetto-export.ts';

/**
 * One sentence about the first fault: a track without a name, times that decrease, a begin without
 * its end. Undefined for a correct document.
 */
export function findTraceFault(document: { readonly traceEvents: readonly ChromeEvent[] }): string | undefined {
  const { traceEvents } = JSON.parse(JSON.stringify(document)) as { traceEvents: ChromeEvent[] };
  const named = new Set(
    traceEvents.filter(({ ph }) => ph === 'M').map(({ name, pid, tid }) => `${name} ${pid} ${tid}`),
  );
  const last = new Map<string, number>();
  const open = new Set<string>();
  for (const event of traceEvents.filter(({ ph }) => ph !== 'M')) {
    const { name, ph, ts, pid, tid, id = '' } = event;
    const what = JSON.stringify(event);
    if (name === '' || !Number.isFinite(ts) || ts < 0) return `no name or no time: ${what}`;
    if (!named.has(`process_name ${pid} 0`) || !named.has(`thread_name ${pid} ${tid}`))
      return `no name of its track: ${what}`;
    const track = `${pid} ${tid}`;
    if (ts < (last.get(track) ?? 0)) return `before the one before it: ${what}`;
    last.set(track, ts);
    if (ph === 'b' && open.has(id)) return `begun twice: ${what}`;
    if (ph === 'b') open.add(id);
    if (ph === 'e' && !open.delete(id)) return `an end without a begin: ${what}`;
    if (ph === 'i' && event.s !== 't') return `an instant of no track: ${what}`;
  }
  return open.size > 0 ? `never ended: ${[...open].join(', ')}` : undefined;
}
