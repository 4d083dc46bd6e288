// SPDX-License-Identifier: Apache-2.0
/**
 * The protocol of the control socket: one JSON object in each line. A request names the version, an
 * id that the client chooses, a command and its parameters; each gets one answer with the same id,
 * in order: a result, or an error in one sentence. A capture lives as long as its connection.
 */

export const CONTROL_VERSION = 1;
/**
 * The id of an answer to no request: the server refuses the connection and ends it. Clients begin
 * at 1.
 */
export const CONNECTION_ID = 0;
/** Longest request in bytes; the server drops the client of a longer one. */
export const REQUEST_MAX_BYTES = 65536;

/** A request, decoded. */
export interface ControlRequest {
  readonly version: number;
  readonly id: number;
  readonly command: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** The answer to a request: a result, or an error in one sentence. */
export type ControlAnswer = AnswerHead & ({ readonly result: unknown } | { readonly error: string });

interface AnswerHead {
  readonly version: number;
  readonly id: number;
  /**
   * Time that the adapter's event loop has spent on all requests of the connection so far, by which
   * a client that asks again and again keeps its share small.
   */
  readonly spentNs?: number;
}

/** Decodes one line. Returns one sentence when it is not a request. */
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
