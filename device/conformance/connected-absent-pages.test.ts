// SPDX-License-Identifier: Apache-2.0
/**
 * Requests of a peer that meet absent pages (IBTA 9.7.5.2.8; docs/PROGRAMMING.md, On-demand
 * paging): how the RNR timer grows, and what of it a later request with the same PSN finds.
 */
import t from 'tap';
import { AethKind, BthOpcode, NakCode } from '../../protocol/infiniband/gen/values.gen.ts';
import { addPsn, PSN_MASK } from '../../protocol/infiniband/psn.ts';
import { highDword, lowDword } from '../../protocol/layout/dwords.ts';
import { QpState } from '../../protocol/layout/gen/values.gen.ts';
import { DemandPager, PAGE } from '../test-support/demand-pager.ts';
import { ledger } from '../test-support/ledger.ts';
import { PacketPeer } from '../test-support/packet-peer.ts';
import { responderOf } from '../transport/connected-states.ts';
import type { ResponderState } from '../transport/responder-state.ts';

const MIN_TIMER = 5;
const PAGES = 8;
const BYTES = Uint8Array.of(1, 2, 3, 4);
/** At most so many PSNs pass at once: less than half of all. */
const STRIDE = 0x400000;

class PagedPeer extends PacketPeer {
  readonly pager = new DemandPager(this.fixture, { pages: PAGES });

  /** A WRITE of one packet to a page, with the next PSN or `psn`. Returns the answer. */
  write(page: number, psn?: number): string {
    const { pager } = this;
    const address = pager.at(page * PAGE);
    const target = { virtualAddressHigh: highDword(address), virtualAddressLow: lowDword(address) };
    const fields = {
      ...target,
      rKey: pager.region.rkey,
      dmaLength: BYTES.length,
      ...(psn === undefined ? {} : { psn }),
    };
    this.request(BthOpcode.RC_RDMA_WRITE_ONLY, fields, BYTES);
    const { syndromeKind, syndromeValue, psn: answered } = this.takeOne();
    if (syndromeKind === AethKind.ACK) return `ACK ${answered}`;
    return `${syndromeKind === AethKind.NAK ? 'NAK' : 'RNR'} ${syndromeValue} ${answered}`;
  }

  /** So many PSNs pass, as with requests of that many packets. */
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
