// SPDX-License-Identifier: Apache-2.0
/** Ranges of LIDs and forms of GIDs. */
import t from 'tap';
import {
  formatGid,
  gidsEqual,
  isLidOfPort,
  isLinkLocalGid,
  isMulticastGid,
  isMulticastLid,
  isUnicastLid,
  writeGid,
  writeIpv4Gid,
} from './addresses.ts';

t.test('LIDs and GIDs', async (test) => {
  test.same([0, 1, 0xbfff, 0xc000, 0xfffe, 0xffff].map(isUnicastLid), [false, true, true, false, false, false]);
  test.same([0, 1, 0xbfff, 0xc000, 0xfffe, 0xffff].map(isMulticastLid), [false, false, false, true, true, false]);
  test.same(
    [15, 16, 19, 20].map((lid) => isLidOfPort(lid, 16, 2)),
    [false, true, true, false],
  );
  test.notOk(isLidOfPort(0, 0, 0), 'a port without a LID owns no LID');
  const gid = new Uint8Array(20);
  writeGid(gid, 2, Uint8Array.of(0xfe, 0x80, 0, 0, 0, 0, 0, 0), Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8));
  test.equal(formatGid(gid, 2), 'fe80:0000:0000:0000:0102:0304:0506:0708');
  test.ok(isLinkLocalGid(gid, 2));
  test.notOk(isMulticastGid(gid, 2));
  test.ok(isMulticastGid(Uint8Array.of(0xff, 0x12), 0));
  const ipv4 = new Uint8Array(16).fill(9);
  writeIpv4Gid(ipv4, 0, 0xc0a80102);
  test.equal(formatGid(ipv4), '0000:0000:0000:0000:0000:ffff:c0a8:0102');
  test.ok(gidsEqual(gid, 2, gid.slice(2), 0));
  test.notOk(gidsEqual(gid, 2, ipv4, 0));
});
