// SPDX-License-Identifier: Apache-2.0
/**
 * Requests of a peer that meet absent pages (IBTA 9.7.5.2.8; docs/FEATURES.md, On-demand
 * paging): how the RNR timer grows, and how much of that growth a later request with the same PSN
 * meets.
 */
import t from 'tap';
import { AethKind, BthOpcode, NakCode } from '../../../protocol/infiniband/gen/values.gen.ts';
import type { PacketFields } from '../../../protocol/infiniband/packet-fields.ts';
import { addPsn, PSN_MASK } from '../../../protocol/infiniband/psn.ts';
import { highDword, lowDword } from '../../../protocol/layout/dwords.ts';
import { QpState } from '../../../protocol/layout/gen/values.gen.ts';
import { responderOf } from '../../hca/transport/state/connected-states.ts';
import type { ResponderState } from '../../hca/transport/state/responder-state.ts';
import { DemandPager, PAGE } from '../fixtures/demand-pager.ts';
import { ledger } from '../fixtures/ledger.ts';
import { PacketPeer } from '../fixtures/packet-peer.ts';

const MIN_TIMER = 5;
const PAGES = 8;
const BYTES = Uint8Array.of(1, 2, 3, 4);
/** Most PSNs that pass at once: less than half of all. */
const STRIDE = 0x400000;

class PagedPeer extends PacketPeer {
  readonly pager = new DemandPager(this.fixture, { pages: PAGES });

  /** A READ of bytes from `offset` of the pager on, which takes `packets` PSNs. */
  read(offset: number, lengthBytes: number, packets = 1): void {
    this.request(BthOpcode.RC_RDMA_READ_REQUEST, this.#targetAt(offset, lengthBytes));
    this.psn = addPsn(this.psn, packets - 1);
  }

  /** A WRITE of one packet to a page; its answer may follow another one. */
  send(page: number, fields: Partial<PacketFields> = {}): void {
    this.request(BthOpcode.RC_RDMA_WRITE_ONLY, { ...this.#targetAt(page * PAGE, BYTES.length), ...fields }, BYTES);
  }

  /** A WRITE of one packet to a page, with the next PSN or `psn`. Returns the answer. */
  write(page: number, psn?: number): string {
    this.send(page, psn === undefined ? {} : { psn });
    const { syndromeKind, syndromeValue, psn: answered } = this.takeOne();
    if (syndromeKind === AethKind.ACK) return `ACK ${answered}`;
    return `${syndromeKind === AethKind.NAK ? 'NAK' : 'RNR'} ${syndromeValue} ${answered}`;
  }

  /** Lets `count` PSNs pass, as requests of that many packets would. */
  pass(count: number): void {
    for (let left = count; left > 0; left -= STRIDE) {
      this.psn = addPsn(this.psn, Math.min(left, STRIDE));
      this.responder.expect(this.psn);
    }
  }

  get responder(): ResponderState {
    const qp = this.adapter.tables.queuePairs.get(this.qp.qpn);
    return responderOf(qp as NonNullable<typeof qp>) as ResponderState;
  }

  #targetAt(offset: number, dmaLength: number): Partial<PacketFields> {
    const address = this.pager.at(offset);
    const target = { virtualAddressHigh: highDword(address), virtualAddressLow: lowDword(address) };
    return { ...target, rKey: this.pager.region.rkey, dmaLength };
  }
}

t.test('the RNR timer grows with each repetition of a request, and begins anew with the next one', async (t) => {
  ledger(
    t,
    '9.7.5.2.8',
    'The RNR timer of an absent page grows while one request is repeated, and is short for the next',
  );
  const peer = new PagedPeer({ minRnrTimer: MIN_TIMER });
  t.equal(peer.write(0), `RNR ${MIN_TIMER} 500`);
  for (const timer of [9, 13, 17, 21, 25, 29, 31, 31]) t.equal(peer.write(0, 500), `RNR ${timer} 500`);
  peer.pager.resolve(0);
  t.equal(peer.write(0, 500), 'ACK 500');
  t.equal(peer.write(1), `RNR ${MIN_TIMER} 501`, 'another request');
  t.equal(peer.write(1, 501), `RNR ${MIN_TIMER + 4} 501`);
  t.equal(peer.write(2, 501), `RNR ${MIN_TIMER + 8} 501`, 'another page of the same request');
  for (const page of [1, 2]) peer.pager.resolve(page);
  t.equal(peer.write(1, 501), 'ACK 501');
  t.equal(peer.write(3), `RNR ${MIN_TIMER} 502`);
  peer.pager.resolve(3);
  t.equal(peer.write(3, 502), 'ACK 502');
  peer.pass(PSN_MASK);
  t.equal(peer.psn, 502);
  t.equal(peer.write(4), `RNR ${MIN_TIMER} 502`, 'the same PSN, 2^24 PSNs later');
});

t.test('a refused page fails the request that missed it, and none 2^24 PSNs later', async (t) => {
  const peer = new PagedPeer({ minRnrTimer: MIN_TIMER });
  t.equal(peer.write(0), `RNR ${MIN_TIMER} 500`);
  peer.pager.refuse(0);
  peer.pager.resolve(0);
  t.equal(peer.write(0, 500), 'ACK 500', 'the page could come after all');
  peer.pass(PSN_MASK);
  t.equal(peer.write(1), `RNR ${MIN_TIMER} 500`);
  peer.pager.refuse(1);
  t.equal(peer.write(1, 500), `NAK ${NakCode.REMOTE_OPERATIONAL_ERROR} 500`);
  t.equal(peer.qp.query().state, QpState.ERR);
});

t.test('READ data and a request wait for pages at once: that whose page is refused fails', async (t) => {
  const fatal = NakCode.REMOTE_OPERATIONAL_ERROR;
  const [first, last] = ['RDMA_READ_RESPONSE_FIRST', 'RDMA_READ_RESPONSE_LAST'];
  /** The data of packet 501 waits for page 1, and the request behind the READ for page 3. */
  const start = (lengthBytes: number, packets: number): PagedPeer => {
    const peer = new PagedPeer({ minRnrTimer: MIN_TIMER });
    peer.pager.resolve(0);
    peer.read(PAGE - 256, lengthBytes, packets);
    peer.send(3);
    t.same(peer.takeAnswers(), [`${first} 500`], 'the RNR NAK is behind the data');
    return peer;
  };
  const data = start(512, 2);
  data.pager.refuse(1);
  t.same(data.takeAnswers(), [`NAK ${fatal} 501`]);

  const request = start(512, 2);
  request.pager.refuse(3);
  request.pager.resolve(1);
  t.same(request.takeAnswers(), [`${last} 501`, 'RNR 502']);
  t.equal(request.write(3, 502), `NAK ${fatal} 502`);

  // Data of a later packet has begun to wait behind the request.
  const later = start(256 + PAGE + 256, 18);
  later.pager.resolve(1);
  t.equal(later.takeAnswers().at(-1), 'RDMA_READ_RESPONSE_MIDDLE 516');
  later.pager.refuse(3);
  later.pager.resolve(2);
  t.same(later.takeAnswers(), [`${last} 517`, 'RNR 518']);
  t.equal(later.write(3, 518), `NAK ${fatal} 518`);
});
