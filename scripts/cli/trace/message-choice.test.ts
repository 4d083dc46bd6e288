// SPDX-License-Identifier: Apache-2.0
/**
 * Messages that `vuhca trace show` chooses, and the list of them: those sent again, failed, slow,
 * each once, and the filters together.
 */
import t from 'tap';
import { SendOpcode } from '../../../device/rig/fixtures/connected-fixture.ts';
import { checkTrace } from '../commands/trace-action.ts';
import { Play } from '../testing/play.ts';
import { chooseMessages, durationNs, isFiltered, type MessageFilter } from './message-choice.ts';
import { describeRows, renderList } from './message-list.ts';

/**
 * Three messages of QP 2: the first loses its second packet, the last one names a wrong R_Key. QP 3
 * receives those before.
 */
function play() {
  const one = new Play([{ fault: 'drop', direction: 0, packet: 1 }]);
  const { fixture, connected, stage } = one;
  stage.begin();
  for (const length of [300, 8]) {
    one.receive();
    one.send(length);
    one.finish();
  }
  const { a } = connected;
  const sges = [fixture.sge(fixture.createBuffer(8))];
  a.post({ header: { opcode: SendOpcode.RDMA_WRITE }, sges, remote: { address: 0, rkey: 0x7700 } });
  fixture.settle();
  const all = stage.observers.map((observer, place) => observer.read(`adapter${place}`, 0));
  const names = (filter: MessageFilter): string[] =>
    chooseMessages(all, filter).map(({ message: { block } }) => `${block.qpn}.${block.index}`);
  return { all, names };
}

t.test('filters, alone and together', async (t) => {
  const { all, names } = play();
  t.same(names({}), ['2.0', '2.1', '2.2'], 'each by the end that sent it');
  t.same(names({ qp: [3] }), ['3.0', '3.1', '3.2'], 'those that a QP received');
  t.same(names({ retried: true }), ['2.0']);
  t.same(names({ failed: true }), ['2.2']);
  t.same(names({ slowest: 1 }), ['2.0']);
  t.same(names({ slowest: 9 }).length, 3);
  t.same(names({ retried: true, failed: true }), []);
  t.same(names({ slowest: 1, failed: true }), ['2.2'], 'the slowest of those that failed');
  t.same(names({ message: 1 }), ['2.1']);
  t.same(names({ message: 1, retried: true }), []);
  t.same(names({ adapter: 'adapter0' }).length, 3);
  t.same(names({ adapter: 'adapter1' }), []);
  const durations = chooseMessages(all, { slowest: 9 }).map(durationNs);
  t.same(
    durations,
    durations.toSorted((one, other) => other - one),
  );
  t.same([{}, { qp: [1] }, { retried: true }, { failed: true }, { slowest: 1 }].map(isFiltered), [
    false,
    false,
    true,
    true,
    true,
  ]);
});

t.test('a message that was only flushed has not failed by itself', async (t) => {
  const one = new Play();
  const { fixture, connected, stage } = one;
  stage.begin();
  const sges = [fixture.sge(fixture.createBuffer(8))];
  const bad = { header: { opcode: SendOpcode.RDMA_WRITE }, sges, remote: { address: 0, rkey: 0x7700 } };
  for (let count = 0; count < 3; count++) connected.a.post(bad);
  fixture.settle();
  const all = stage.observers.map((observer) => observer.read('a', 0));
  const statuses = describeRows(chooseMessages(all, {})).map(({ status }) => status);
  t.same(statuses, ['REMOTE_ACCESS_ERROR', 'FLUSHED', 'FLUSHED']);
  t.match(describeRows(chooseMessages(all, { failed: true })), [{ status: 'REMOTE_ACCESS_ERROR' }]);
  t.equal(chooseMessages(all, { failed: true }).length, 1);
});

t.test('the list, as a text and as data', async (t) => {
  const { all } = play();
  const ends = chooseMessages(all, {});
  const text = renderList(ends, all);
  t.match(text, /^QP +message +operation +bytes +PSNs +begin s +took us +tries +status\n/);
  t.match(text, /^ *2 +0 +SEND +300 +0-1 +\d\.\d{6} +\d+\.\d{3} +2 +SUCCESS$/m);
  t.match(text, /^ *2 +1 +SEND +8 +2 +\d\.\d{6} +\d+\.\d{3} +1 +SUCCESS$/m);
  t.match(text, /^ *2 +2 +RDMA_WRITE +8 +3 +\d\.\d{6} +\d+\.\d{3} +1 +REMOTE_ACCESS_ERROR$/m);
  t.match(describeRows(ends), [
    {
      ...{ adapter: 'adapter0', qp: 2, message: 0, side: 'send', service: 'RC', operation: 'SEND', bytes: 300 },
      ...{ firstPsn: 0, lastPsn: 1, packetsSentAgain: 2, tries: 2, status: 'SUCCESS', wallTime: /^1970-/ },
    },
    { tries: 1, packetsSentAgain: 0 },
    { status: 'REMOTE_ACCESS_ERROR' },
  ]);
  const [adapter] = all;
  const received = chooseMessages(all, { qp: [3] });
  t.match(
    renderList(received, [...all, ...(adapter ? [adapter] : [])]),
    /^adapter +QP .*\nadapter0 +3 +0 +SEND received/,
  );
  const untimed = all.map((one) => ({ ...one, steps: [], stepsSinceNs: undefined }));
  t.match(describeRows(chooseMessages(untimed, { retried: true })), [{ tries: 2 }], 'without a timeline');
});

t.test('options that do not fit are refused', async (t) => {
  const mistakes: [Parameters<typeof checkTrace>, RegExp][] = [
    [['read', undefined, { retried: true }], /--retried, --failed, --slowest and --ladder belong to show/],
    [['export', 'x', { format: 'erf', slowest: 1 }], /belong to show/],
    [['show', undefined, { messages: true, ladder: 'x' }], /give --messages or --ladder, not both/],
    [['show', undefined, { json: true, ladder: 'x' }], /give --json or --ladder, not both/],
    [['show', 'x.rec', { last: 1 }], /--control, --with and --last are for running adapters, not for a recording/],
    [['read', 'x.rec', {}], /x\.rec is one argument too many/],
  ];
  for (const [words, message] of mistakes) t.throws(() => checkTrace(...words), { message });
  for (const given of [
    { messages: true, retried: true, failed: true, slowest: 3 },
    { ladder: 'x', message: 3 },
  ])
    t.doesNotThrow(() => checkTrace('show', 'x.rec', given));
});
