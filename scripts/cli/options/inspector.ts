// SPDX-License-Identifier: Apache-2.0
/**
 * The debugger's port of a process of ours: Node's inspector, opened by an option of the command
 * line (docs/DEBUGGING.md). Called by `vuhca device` and `vuhca replay`.
 */
import inspector from 'node:inspector';
import { Option } from 'commander';
import { UsageError } from './usage-error.ts';

const PORT_MAX = 65535;
const DEFAULT_PLACE = '127.0.0.1:9229';

/** The option with the place of the port. */
export function inspectOption(name: string, description: string): Option {
  const option = new Option(`${name} [HOST:PORT]`, description).preset(DEFAULT_PLACE);
  return option.argParser((text) => {
    if (readPlace(text) !== undefined) return text;
    throw new UsageError(`option ${option.long} is ${text}; it must be PORT or HOST:PORT`);
  });
}

/**
 * Opens the port when `text` gives one; with `wait` the process waits until a debugger attaches.
 * Throws UsageError.
 */
export function openInspector(text: string | undefined, wait = false): void {
  const place = text === undefined ? undefined : readPlace(text);
  if (place === undefined) return;
  try {
    inspector.open(place.port, place.host, wait);
  } catch (error) {
    throw new UsageError(`the debugger's port ${text} cannot be opened: ${(error as Error).message}`);
  }
}

function readPlace(text: string): { host: string; port: number } | undefined {
  const [, host = '127.0.0.1', port] = /^(?:(.*):)?(\d+)$/.exec(text) ?? [];
  return port === undefined || Number(port) > PORT_MAX ? undefined : { host, port: Number(port) };
}
