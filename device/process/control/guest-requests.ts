// SPDX-License-Identifier: Apache-2.0
/**
 * Answers what a guest asks of its adapter, over the control socket: `objects`, and `inject
 * FAULT...` of personalities. `adapter=NAME` among the words chooses one of several adapters.
 * `vuhca test` and tests give it to guests.
 */
import type { ControlClient } from './control-client.ts';

const ADAPTER = 'adapter=';

/** A function that answers the words of a request; it rejects with what is wrong with them. */
export function answerGuest(client: ControlClient): (words: readonly string[]) => Promise<string> {
  return async ([command = '', ...given]) => {
    const adapter = given.find((word) => word.startsWith(ADAPTER))?.slice(ADAPTER.length);
    const words = given.filter((word) => !word.startsWith(ADAPTER));
    if (command === 'inject') return (await client.request('inject', { words, adapter })).text;
    if (command !== 'objects') throw new Error(`no request ${command}; there are inject, objects`);
    const counts = await client.request('objects', { adapter });
    return Object.entries(counts)
      .map(([name, count]) => `${name}=${count}`)
      .join(' ');
  };
}
