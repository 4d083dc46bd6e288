// SPDX-License-Identifier: Apache-2.0
/**
 * What `vuhca trace show` tells of scripted situations, word for word (IPCOM000010133D par. 1).
 * Each step is one of the message itself, also where another one comes first. Nothing is said that
 * the timeline does not show.
 */
import t from 'tap';
import { type AdapterTrace, findOtherSide } from '../../device/trace/adapter-trace.ts';
import type { TracedMessage } from '../../device/trace/traced-message.ts';
import { newTraceBlock, type TraceBlock } from '../../protocol/layout/gen/trace-block.gen.ts';
import { situations } from './testing/situations.ts';
import { stories } from './testing/stories.ts';

t.same(Object.keys(stories).sort(), Object.keys(situations).sort(), 'each situation has a story');

for (const [name, play] of Object.entries(situations))
  t.test(name, async (t) => {
    t.equal(`${play().trimEnd()}\n`, stories[name]);
  });

t.test('the other side is known by LID, port, QPN and PSN; without it the reason is', async (t) => {
  const message = (fields: Partial<TraceBlock>): TracedMessage => ({
    block: { ...newTraceBlock(), packets: 1, port: 1, qpn: 2, remoteQpn: 5, firstPsn: 7, ...fields },
    packets: [],
    payload: new Uint8Array(0),
  });
  const adapter = (name: string, lid: number, messages: readonly TracedMessage[], traced = true): AdapterTrace => ({
    name,
    ports: [1, 2].map((number) => ({ number, lid: lid + number - 1, lmc: 0 })),
    wallTimeNs: 0,
    queuePairs: [{ qp: 5, functionNumber: 0, traced, overwritten: 0 }],
    messages,
    steps: [],
    stepsSinceNs: undefined,
  });
  const sent = message({ remoteLid: 11, beginTime: 100 });
  const match = { qpn: 5, remoteQpn: 2, remoteLid: 1, receive: 1, beginTime: 900 };
  const near = { ...match, beginTime: 110 };
  const wrong = [{ remoteQpn: 3 }, { qpn: 6 }, { port: 2 }, { remoteLid: 2 }, { firstPsn: 8 }, { receive: 0 }];
  const decoys = wrong.map((fields) => message({ ...near, ...fields }));
  const own = adapter('own', 1, [sent]);
  const stranger = adapter('stranger', 21, [message(near)]);
  const find = (...others: AdapterTrace[]) => findOtherSide({ adapter: own, message: sent }, [own, ...others]);
  const expected = message(match);
  t.equal(find(stranger, adapter('peer', 11, [...decoys, expected])).end?.message, expected);
  t.equal(find(stranger).missing, 'adapter');
  t.match(find(adapter('peer', 11, decoys)), { missing: 'block', adapter: { name: 'peer' } });
  t.equal(find(adapter('peer', 11, [], false)).missing, 'trace');
  t.equal(find({ ...adapter('peer', 11, []), queuePairs: [] }).missing, 'queue pair');
});
