// SPDX-License-Identifier: Apache-2.0
/**
 * The language of the control socket: one JSON object a line. A request names the version, an id of the client's choice, a command and its parameters;
 * each gets one answer with the same id, in order: a result, or an error in one sentence. A capture lives as long as its connection.
 */

export const CONTROL_VERSION = 1;
/** A longer request is no request of ours. */
export const REQUEST_MAX_BYTES = 65536;

export interface ControlRequest {
  readonly version: number;
  readonly id: number;
  readonly command: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

export type ControlAnswer =
  | { readonly version: number; readonly id: number; readonly result: unknown }
  | { readonly version: number; readonly id: number; readonly error: string };

/** Reads a line. Returns one sentence when it is no request. */
export function readRequest(line: string): ControlRequest | string {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return 'a request is one line of JSON';
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'a request is a JSON object';
  const { version, id, command, ...parameters } = value as Record<string, unknown>;
  if (version !== CONTROL_VERSION)
    return `this adapter speaks version ${CONTROL_VERSION} of the control protocol, the request has ${JSON.stringify(version) ?? 'none'}`;
  if (typeof id !== 'number' || !Number.isSafeInteger(id)) return 'the id of a request is a whole number';
  if (typeof command !== 'string') return 'the command of a request is a string';
  return { version, id, command, parameters };
}
