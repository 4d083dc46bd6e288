// SPDX-License-Identifier: Apache-2.0
/** Requests of guests reach the adapter that they name. */
import t from 'tap';
import type { ControlClient } from './control-client.ts';
import { answerGuest } from './guest-requests.ts';

t.test('a word names one of several adapters', async (t) => {
  const asked: unknown[] = [];
  const request = async (command: string, parameters: unknown) => {
    asked.push([command, parameters]);
    return command === 'objects' ? { qps: 2, cqs: 0 } : { text: 'planted' };
  };
  const answer = answerGuest({ request } as unknown as ControlClient);
  t.equal(await answer(['objects']), 'qps=2 cqs=0');
  t.equal(await answer(['objects', 'adapter=b']), 'qps=2 cqs=0');
  t.equal(await answer(['inject', 'link-flap', 'adapter=b', 'port=1']), 'planted');
  t.same(asked, [
    ['objects', { adapter: undefined }],
    ['objects', { adapter: 'b' }],
    ['inject', { words: ['link-flap', 'port=1'], adapter: 'b' }],
  ]);
  await t.rejects(answer(['ports']), { message: 'no request ports; there are inject, objects' });
});
