// SPDX-License-Identifier: Apache-2.0
/** Results of `vuhca cluster test` from the states of nodes, and as JUnit XML. */
import t from 'tap';
import type { NodeReport } from '../cluster-client/cluster-protocol.ts';
import { judgeNodes, toJunit } from './cluster-test.ts';

const node = (name: string, more: Partial<NodeReport> = {}): NodeReport => ({
  name,
  state: 'up',
  address: '10.77.0.1',
  personality: 'mlx5',
  sockets: [],
  log: '',
  ...more,
});

t.test('a node that has failed or complained is a failure, a stopped one is none', async (t) => {
  const nodes = [
    node('a'),
    node('b', { state: 'stopped' }),
    node('c', { state: 'failed', why: 'it powered off' }),
    node('d', { complaint: 'BUG: x' }),
  ];
  t.same(judgeNodes({ nodes }), [
    { name: 'node a' },
    { name: 'node b' },
    { name: 'node c', failure: 'it powered off' },
    { name: 'node d', failure: 'its kernel complained: BUG: x' },
  ]);
  t.match(judgeNodes({ nodes: [], failure: 'gone' }), [{ name: 'adapters', failure: 'gone' }]);
});

t.test('JUnit has each result, without what XML or terminals obey', async (t) => {
  const text = toJunit('c', [
    { name: 'good' },
    { name: 'bad<\u001b[31m', failure: 'a\u0007' },
    { name: 's', skipped: 'x' },
  ]);
  t.match(text, /<testsuite name="c" tests="3" failures="1" errors="0" skipped="1">/);
  t.match(text, /name="bad&lt;"/);
  for (const control of ['\u0007', '\u001b']) t.notOk(text.includes(control));
});
