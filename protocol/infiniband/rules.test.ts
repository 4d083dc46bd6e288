// SPDX-License-Identifier: Apache-2.0
/** The small rules: sequence numbers, keys, addresses, MTU codes, coded times and credits. */
import t from 'tap';
import { seededRandom, testSeed } from '../testing/random.ts';
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
import { effectiveQKey, GSI_QKEY, pKeysMatch } from './keys.ts';
import { mtuBytes, mtuCode, packetCount } from './mtu.ts';
import { addPsn, isPsnWithin, psnDistance } from './psn.ts';
import { ackTimeoutNs, creditField, creditsOf, rnrTimerNs } from './syndrome.ts';

t.test('PSNs wrap at 24 bits', async (test) => {
  test.equal(addPsn(0xffffff, 1), 0);
  test.equal(addPsn(0, -1), 0xffffff);
  test.equal(psnDistance(0xfffffe, 3), 5);
  test.equal(psnDistance(3, 0xfffffe), -5);
  test.equal(psnDistance(0, 0x800000), -0x800000, 'half the circle counts as behind');
  test.ok(isPsnWithin(1, 0xffffff, 3));
  test.notOk(isPsnWithin(2, 0xffffff, 3));
  const random = seededRandom(testSeed());
  for (let round = 0; round < 1000; round++) {
    const psn = random.below(1 << 24);
    const count = random.below(1 << 24) - (1 << 23);
    if (psnDistance(psn, addPsn(psn, count)) !== count) test.fail(`${psn} + ${count}, seed ${testSeed()}`);
  }
});

t.test('P_Keys: same partition, at least one full member', async (test) => {
  test.ok(pKeysMatch(0xffff, 0xffff));
  test.ok(pKeysMatch(0xffff, 0x7fff));
  test.ok(pKeysMatch(0x7fff, 0xffff));
  test.notOk(pKeysMatch(0x7fff, 0x7fff), 'two limited members');
  test.notOk(pKeysMatch(0x8001, 0x8002));
  test.notOk(pKeysMatch(0x8000, 0x8000), 'the invalid P_Key');
});

t.test('a controlled Q_Key is replaced by that of the QP', async (test) => {
  test.equal(effectiveQKey(0x11111111, 5), 0x11111111);
  test.equal(effectiveQKey(GSI_QKEY, 5), 5);
  test.equal(effectiveQKey(0x80000000, GSI_QKEY), GSI_QKEY);
});

t.test('LIDs and GIDs', async (test) => {
  test.same([0, 1, 0xbfff, 0xc000, 0xfffe, 0xffff].map(isUnicastLid), [false, true, true, false, false, false]);
  test.same([0, 1, 0xbfff, 0xc000, 0xfffe, 0xffff].map(isMulticastLid), [false, false, false, true, true, false]);
  test.same(
    [15, 16, 19, 20].map((lid) => isLidOfPort(lid, 16, 2)),
    [false, true, true, false],
  );
  test.notOk(isLidOfPort(0, 0, 0), 'a port without a LID owns none');
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

t.test('MTU codes', async (test) => {
  test.same([0, 1, 2, 3, 4, 5, 6].map(mtuBytes), [0, 256, 512, 1024, 2048, 4096, 0]);
  test.same([255, 256, 1500, 4096, 9000].map(mtuCode), [0, 1, 3, 5, 5]);
  test.same(
    [0, 1, 256, 257, 1024].map((bytes) => packetCount(bytes, 256)),
    [1, 1, 1, 2, 4],
  );
});

t.test('coded times and credits', async (test) => {
  test.same([0, 1, 14, 31].map(rnrTimerNs), [655_360_000, 10_000, 1_280_000, 491_520_000]);
  test.same([1, 14].map(ackTimeoutNs), [8192, 67_108_864]);
  test.equal(ackTimeoutNs(0), Number.POSITIVE_INFINITY);
  test.same([0, 1, 2, 3, 4, 5, 6, 7, 8, 29, 30].map(creditsOf), [0, 1, 2, 3, 4, 6, 8, 12, 16, 24576, 32768]);
  test.same([0, 5, 6, 11, 12, 100000].map(creditField), [0, 4, 5, 6, 7, 30]);
});
