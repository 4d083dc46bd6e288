// SPDX-License-Identifier: Apache-2.0
/**
 * The options `--link` and `--link-key`, which `vuhca device` and `vuhca run` share: links of ports
 * to those of other processes (docs/TOPOLOGY.md). socket-links.ts reads their values.
 */
import { Option } from 'commander';
import { PORT_MAX } from '../../../protocol/layout/gen/constants.gen.ts';
import { ADDRESS_SYNTAX, type LinkEndpoint, parseEndpoint } from '../../../protocol/system/socket-address.ts';
import { UsageError } from './usage-error.ts';

/** Syntax of a link. */
export const LINK_SYNTAX = `PORT=listen:ADDRESS or PORT=connect:ADDRESS, where an address is ${ADDRESS_SYNTAX}`;
/** Syntax of the option for a key. */
export const KEY_NAME = '--link-key <FILE>';
const LINK_PATTERN = /^([1-4])=(listen|connect):(.+)$/;

export function linkOption(): Option {
  return new Option(
    '--link <LINK>',
    `Links a port to one of another process: ${LINK_SYNTAX}; LIDs and node GUIDs of the two must differ. May be given for each port`,
  ).argParser((text, before: readonly string[] = []) => {
    splitLink(text);
    return [...before, text];
  });
}

/** The option with the key of the links. */
export function linkKeyOption(): Option {
  return new Option(
    KEY_NAME,
    'Encrypts the links at tcp:// addresses, and proves to each end who the other is; docs/TOPOLOGY.md says what is in the file',
  );
}

/** Port, role and endpoint of a link. Throws UsageError. */
export function splitLink(text: string): { number: number; role: 'listen' | 'connect'; endpoint: LinkEndpoint } {
  const [, digits, word, address = ''] = LINK_PATTERN.exec(text) ?? [];
  const role = word as 'listen' | 'connect';
  const endpoint = word === undefined ? undefined : parseEndpoint(address);
  if (endpoint === undefined)
    throw new UsageError(`option --link is ${text}; it must be ${LINK_SYNTAX}, with port 1 to ${PORT_MAX}`);
  return { number: Number(digits), role, endpoint };
}
