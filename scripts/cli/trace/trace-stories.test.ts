// SPDX-License-Identifier: Apache-2.0
/**
 * The output of `vuhca trace show` for scripted situations, word for word (IPCOM000010133D par. 1).
 * Each step belongs to the message itself, even where another message comes first. No sentence goes
 * beyond the timeline.
 */
import t from 'tap';
import { type AdapterTrace, findOtherSide } from '../../../device/hca/trace/adapter-trace.ts';
import type { TracedMessage } from '../../../device/hca/trace/traced-message.ts';
import { newTraceBlock, type TraceBlock } from '../../../protocol/layout/gen/trace-block.gen.ts';
import { situations } from '../testing/situations.ts';
import { stories } from '../testing/stories.ts';

t.same(Object.keys(stories).sort(), Object.keys(situations).sort(), 'each situation has a story');

for (const [name, play] of Object.entries(situations))
  t.test(name, async (t) => {
    t.equal(`${play().trimEnd()}\n`, stories[name]);
  });

/** Events of a message in a story, beside packets and their ends. */
const elements: readonly RegExp[] = [
  /ACK up to PSN \d+ sent/,
  /ACK up to PSN \d+ received/,
  /NAK of PSN \d+ \([A-Z_]+\) sent/,
  /NAK of PSN \d+ \([A-Z_]+\) received/,
  /RNR NAK of PSN \d+ \(wait 10.000 us\) received/,
  /waits 10.000 us: the peer is not ready \(RNR\)/,
  /local ACK timeout/,
  /sends again from PSN \d+ on; \d retries are left/,
  /packet sent again: RC_SEND_FIRST, PSN/,
  /SGE: \d+ bytes at 0x[0-9a-f]+, L_Key 0x/,
  /R_Key 0x/,
  /, signaled/,
  /, inline/,
  /, solicited, fence/,
  /no completion: .*unsignaled/,
  /receive WQE \d+ taken/,
  /event of CQ \d+ written to EQ \d+\n/,
  /when software armed the CQ/,
  /with a later completion/,
  /software arms CQ/,
  /is not armed\n/,
  /is not armed again since its last event/,
  /is armed for solicited completions only/,
  /an earlier event of CQ \d+ is pending/,
  /has no EQ/,
  /is full or in error/,
  / primary summary byte/,
  /secondary summary byte \d/,
  /its time stamp lies ahead/,
  /its time stamp has passed: the driver is late/,
  /the event controls of EQ \d+ ask for none/,
  /says that software polls/,
  /interrupt: MSI-X vector \d/,
  /is pending: it is masked/,
  /launched from lane \d+/,
  /enters the scheduler list of level \d/,
  /leaves the scheduler list of level \d/,
  /begins to spill doorbells/,
  /doorbell spilled/,
  /ends spilling/,
  /doorbell read back/,
  /searched \(sweep\)/,
  /cancels its copy of command \d+, in VCB/,
  /cancels its copy of command \d+, which found no PCB/,
  / doorbell for command/,
  /found no PCB: a doorbell takes its place/,
  /cannot be taken: a doorbell takes its place/,
  /share of the function changes/,
  /share of level 1 of the function changes/,
  /lane \d+ changes/,
  /packet lost: RC_SEND_ONLY, PSN \d+, the link drops it/,
  /packet dropped: UD_SEND_ONLY, PSN \d+, wrong Q_Key/,
  /packet refused: RC_SEND_MIDDLE, PSN \d+, RECEIVE_TOO_SHORT at check length/,
  /no receive WQE for PSN \d+/,
  /waits in lane \d+, which lacks a completion credit/,
  /waits at admit: the peer has granted no end-to-end credit/,
  /waits at admit: as many READs and atomics are not answered as the QP may have/,
  /commands from \d+ on return to the send queue/,
  /request with PSN \d+ waits for the page of 0x/,
  /response with PSN \d+ waits for the page of 0x/,
  /page fault of region \d+/,
  /waits no longer: software has answered for the page/,
  /when its moderation time had passed/,
  /when software cleared EQ pending/,
  /request in 1 packet, answer in 3 packets/,
  /64 packets sent: PSN 192 to 255, within/,
];

t.test('each thing that a story can tell stands in one of these', async (t) => {
  const all = Object.values(stories).join('');
  for (const element of elements) t.match(all, element);
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
