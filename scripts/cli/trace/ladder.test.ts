// SPDX-License-Identifier: Apache-2.0
/**
 * The sequence diagram of `vuhca trace show --ladder`: each packet that was sent appears once, with
 * its fate, on links with faults of many seeds; and the picture shows it in words, shapes and both
 * colour schemes.
 */
import { readFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import { PacketLoss } from '../../../device/fabric/port/packet-loss.ts';
import { DropCause } from '../../../device/fabric/switch/drop-causes.ts';
import { Step } from '../../../device/hca/function/timeline.ts';
import { PacketMove } from '../../../device/hca/function/timeline-values.ts';
import { findBlockSteps } from '../../../device/hca/trace/message-life.ts';
import { Random } from '../../../device/random.ts';
import { AdapterFixture } from '../../../device/rig/fixtures/adapter-fixture.ts';
import { connect, SendOpcode } from '../../../device/rig/fixtures/connected-fixture.ts';
import { BthOpcode } from '../../../protocol/infiniband/gen/values.gen.ts';
import { drawExample, playExample } from '../testing/example-ladder.ts';
import { CONNECTION, Play } from '../testing/play.ts';
import { StoryStage } from '../testing/story-stage.ts';
import { type Ladder, makeLadder, pairPackets } from './ladder.ts';
import { drawLadder } from './ladder-picture.ts';
import { chooseMessages } from './message-choice.ts';
import { describeWireStep } from './wire-text.ts';

function ladderOf(play: Play): Ladder {
  const all = play.stage.observers.map((observer, place) => observer.read(`adapter${place}`, 0));
  const [end] = chooseMessages(all, {});
  if (end === undefined) throw new Error('no message is traced');
  return makeLadder(end, all);
}

const summary = ({ packets }: Ladder): string[] =>
  packets.map(({ from, name, psn, isAgain, end, cause }) =>
    [`${from} ${name} ${psn}`, ...(isAgain ? ['again'] : []), end, ...(cause === '' ? [] : [cause])].join(', '),
  );

t.test('a lost packet, a lost answer, a receiver that is not ready', async (t) => {
  const ladder = ladderOf(playExample());
  t.same(summary(ladder), [
    '0 RC_SEND_FIRST 0, dropped, no receive WQE',
    '0 RC_SEND_MIDDLE 1, lost, the link drops it',
    '0 RC_SEND_LAST 2, dropped, an earlier packet is missing',
    '0 RC_SEND_FIRST 0, again, arrives',
    '0 RC_SEND_MIDDLE 1, again, arrives',
    '0 RC_SEND_LAST 2, again, arrives',
    '1 RNR NAK (wait 10.000 us) 0, lost, the link drops it',
    '1 ACK 2, arrives',
  ]);
  t.match(ladder.waits, [{ side: 0, text: 'local ACK timeout' }]);
  t.match(
    ladder.notes.map(({ side, text }) => `${side} ${text}`),
    ['0 sends again; retries left: 2', '0 ends: SUCCESS', '1 ends: SUCCESS'],
  );
  const picture = drawLadder(ladder);
  checkPicture(t, picture);
  t.match(picture, /<desc id="desc">8 packets between QP 2 sends and QP 3 receives, 3 of them sent again, 2 lost /);
  t.match(picture, 'RC_SEND_MIDDLE PSN 1: the link drops it');
  t.equal(picture.match(/class="cross"/g)?.length, 8, 'two strokes for each packet that was lost or not taken');
  t.match(picture, />lost: the link drops it</);
  t.match(picture, />local ACK timeout, \d\.\d{3} us</);
});

t.test('the picture of docs/DEBUGGING.md is up to date', async (t) => {
  const path = new URL('../../../docs/pictures/ladder.svg', import.meta.url);
  t.ok(readFileSync(path, 'utf8') === drawExample(), 'scripts/cli/testing/draw-ladder.ts writes it');
});

t.test('answers of a READ come from the other side; long runs are one arrow', async (t) => {
  const play = new Play();
  const { a, region } = play.connected;
  const [from, to] = [play.fixture.createBuffer(256 * 9), play.fixture.createBuffer(256 * 9)];
  play.stage.begin();
  const remote = { address: from.address, rkey: region.rkey };
  a.post({ header: { opcode: SendOpcode.RDMA_READ }, sges: [play.fixture.sge(to)], remote });
  play.finish();
  const ladder = ladderOf(play);
  t.equal(ladder.packets.filter(({ from }) => from === 1).length, 9);
  t.ok(ladder.packets.every(({ end }) => end === 'arrives'));
  const picture = drawLadder(ladder);
  checkPicture(t, picture);
  t.match(picture, />7 packets, PSN 1 to 7</);
  t.equal(picture.match(/class="packet/g)?.length, 4, 'the request, the first answer, the run, the last one');
});

t.test('a receiver that is not ready, until it is', async (t) => {
  const play = new Play();
  play.stage.begin();
  play.send();
  play.fixture.settle();
  play.receive();
  play.finish();
  const ladder = ladderOf(play);
  t.match(
    ladder.waits.map(({ side, text, from, to }) => `${side} ${text} ${to.timeNs - from.timeNs}`),
    ['0 RNR wait 10000'],
  );
  t.match(drawLadder(ladder), />RNR wait, 10\.000 us</);
});

t.test('what became of a packet belongs to the last one with its PSN', async (t) => {
  const all = playExample().stage.observers.map((observer) => {
    const trace = observer.read('a', 0);
    const isEnd = ({ step }: { step: Step }): boolean =>
      step === Step.PACKET_LOST || step === Step.PACKET_DROPPED || step === Step.NO_RECEIVE_ENTRY;
    return { ...trace, steps: trace.steps.filter((step) => !isEnd(step)) };
  });
  const [end] = chooseMessages(all, {});
  if (end === undefined) throw new Error('no message is traced');
  const ends = makeLadder(end, all)
    .packets.filter(({ from }) => from === 0)
    .map((packet) => packet.end);
  t.same(ends, ['unknown', 'unknown', 'unknown', 'arrives', 'arrives', 'arrives']);
  const step = { functionNumber: 0, object: 2, a: 0, b: 0, c: 0, d: 0, e: 0 };
  const response = { ...step, step: Step.PACKET, b: 5, c: 15 };
  const answers = [
    { ...response, index: 1, timeNs: 10 },
    { ...step, step: Step.ANSWER_SENT, a: 5, index: 2, timeNs: 20 },
  ];
  const arrival = { ...response, e: PacketMove.RECEIVED, index: 3, timeNs: 30 };
  t.match(pairPackets([[arrival], answers], 1), [{ end: 'arrives' }, { end: 'unknown', name: 'ACK' }]);
  const twice = pairPackets([[arrival, { ...arrival, index: 4, timeNs: 40 }], answers], 1);
  t.match(
    twice.filter(({ end: fate }) => fate === 'arrives').map(({ ended }) => ended?.timeNs),
    [30, 40],
    'a duplicate is a second arrow',
  );
});

t.test('each cause for which a switch drops a packet has words, and so has a link that goes down', async (t) => {
  const step = { index: 0, timeNs: 0, functionNumber: 0, object: 2, a: 7, b: 0, c: 0, d: 0, e: BthOpcode.RC_SEND_ONLY };
  const words = Object.values(DropCause).map((cause) =>
    describeWireStep({ ...step, step: Step.PACKET_LOST, b: PacketLoss.SWITCH + cause }),
  );
  for (const one of words) t.match(one, /^packet lost: RC_SEND_ONLY, PSN 7, a switch drops it: (?!undefined)./);
  t.equal(new Set(words).size, words.length);
  t.match(describeWireStep({ ...step, step: Step.LINK_DOWN }), /^the link of port 2 goes down/);
});

t.test('one end only, and no timeline', async (t) => {
  const play = new Play();
  play.stage.begin([play.connected.b.qpn]);
  play.receive();
  play.send(300);
  play.finish();
  const ladder = ladderOf(play);
  t.same(ladder.ends, ['QP 2 sends', 'QP 3 at LID 2 receives']);
  t.same(summary(ladder), ['0 RC_SEND_FIRST 0, unknown', '0 RC_SEND_LAST 1, unknown', '1 ACK 1, arrives']);
  checkPicture(t, drawLadder(ladder));
  const all = play.stage.observers.map((observer) => ({
    ...observer.read('x', 0),
    steps: [],
    stepsSinceNs: undefined,
  }));
  const kept = makeLadder(chooseMessages(all, {})[0] as Parameters<typeof makeLadder>[0], all);
  t.same(summary(kept), ['0 RC_SEND_FIRST 0, unknown'], 'the packet that the block keeps');
  checkPicture(t, drawLadder(kept));
});

t.test('each packet that was sent, with its end, on links of many seeds', async (t) => {
  let lost = 0;
  for (let seed = 1; seed <= 4; seed++) {
    const portLink = { kind: 'faulty', seed, faults: { drop: 0.1, duplicate: 0.05, reorder: 0.05 } } as const;
    const fixture = new AdapterFixture({ seed, adapter: { portLink } });
    const stage = new StoryStage(fixture.machine);
    const { a, b } = connect(fixture, { ...CONNECTION, retryCount: 7, rnrRetry: 7 });
    stage.begin();
    const random = new Random(seed);
    for (let count = 0; count < 4; count++) {
      b.postReceive([fixture.sge(fixture.createBuffer(4096))]);
      a.post({ sges: [fixture.sge(fixture.createBuffer(1 + random.below(4000)))] });
      a.parts.sendCq.take();
      fixture.settle();
    }
    const all = stage.observers.map((observer, place) => observer.read(`adapter${place}`, 0));
    for (const end of chooseMessages(all, {})) {
      const ladder = makeLadder(end, all);
      const sent = findBlockSteps(end).filter(({ step, e }) => step === Step.PACKET && e !== PacketMove.RECEIVED);
      const own = ladder.packets.filter(({ from }) => from === 0);
      const name = `seed ${seed}, message ${end.message.block.index}`;
      for (const { timeNs, index, b: psn } of sent)
        if (!own.some((one) => one.sent.index === index && one.sent.timeNs === timeNs && one.psn === psn))
          t.fail(`${name}: the packet with PSN ${psn} is missing`);
      if (ladder.packets.some(({ sent, ended }) => ended !== undefined && ended.timeNs < sent.timeNs))
        t.fail(`${name}: a packet arrives before it is sent`);
      const psns = new Set(own.filter(({ end }) => end === 'arrives').map(({ psn }) => psn));
      if (psns.size !== end.message.block.packetsTotal) t.fail(`${name}: ${psns.size} of its packets arrive`);
      lost += ladder.packets.filter(({ end }) => end === 'lost').length;
      const picture = drawLadder(ladder);
      if (/NaN|undefined|Infinity/.test(picture)) t.fail(`${name}: ${picture}`);
    }
  }
  t.ok(lost > 10, `${lost} packets were lost`);
});

t.test('words of others cannot end the text of a picture', async (t) => {
  const play = new Play();
  play.stage.begin();
  play.receive();
  play.send(8);
  play.finish();
  const picture = drawLadder({ ...ladderOf(play), title: 'a<b>&"\u0007', ends: ['<x>', 'y&z'] });
  t.match(picture, '<title id="title">a&lt;b&gt;&amp;&quot;');
  t.notMatch(picture, '<x>');
  checkPicture(t, picture);
});

/** Tags are closed, numbers are numbers, and no word begins outside. */
function checkPicture(t: Test, picture: string): void {
  const open: string[] = [];
  for (const [, close, name, , self] of picture.matchAll(/<(\/?)([a-z]+)((?:[^<>"]|"[^"]*")*?)(\/?)>/gi)) {
    if (close === '/') t.equal(open.pop(), name);
    else if (self !== '/') open.push(name as string);
  }
  t.same(open, [], 'all tags are closed');
  t.notMatch(picture, /NaN|undefined|Infinity/);
  t.match(picture, /role="img" aria-labelledby="title desc"/);
  t.match(picture, /@media \(prefers-color-scheme: dark\)/);
  const [, width = 0, height = 0] = (/viewBox="0 0 (\d+) (\d+)"/.exec(picture) ?? []).map(Number);
  for (const [, x, y] of picture.matchAll(/<text[^>]* x="(-?\d+)" y="(-?\d+)"/g))
    t.ok(Number(x) >= 0 && Number(x) <= width && Number(y) > 0 && Number(y) <= height, 'within the picture');
}
