// SPDX-License-Identifier: Apache-2.0
/**
 * CREATE_MKEY, QUERY_MKEY and DESTROY_MKEY: what they tell, what they refuse and with which status,
 * and that thousands of keys are cheap.
 */
import t from 'tap';
import { FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import { setCommandEntryInputBytes } from '../../../../protocol/mlx5/gen/command-entry.gen.ts';
import { CommandOpcode, CommandStatus, KeyAccessMode } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { KeyFixture, PAGE_BYTES } from '../../../rig/mlx5/driver/key-fixture.ts';
import { type KeyAttributes, newAttributes, readAttributes } from '../memory/key-attributes.ts';
import { LOG_KEYS } from '../memory/memory-keys.ts';

const ENTRY = 0x10;
const { BAD_PARAMETER, BAD_RESOURCE, BAD_INPUT_LENGTH, NO_RESOURCES, OK } = CommandStatus;

function command(fixture: KeyFixture, opcode: number, key: number) {
  const outputBytes = opcode === CommandOpcode.QUERY_MKEY ? 0x130 : 0x10;
  return fixture.driver.command(opcode, { outputBytes, fill: (view) => view.setUint32(8, key >>> 8) });
}

t.test('a key is told as it was made, and is gone when it was destroyed', async (t) => {
  const fixture = new KeyFixture();
  const given: Partial<KeyAttributes> = {
    ...{ relaxedOrderingWrite: 1, relaxedOrderingRead: 1, a: 0, rr: 0, lw: 0, enRinval: 1, mkey70: 0xab, qpn: 0x1234 },
    ...{ startAddr: 0x40fff, startHigh: 0xffff8888, len: 2 * PAGE_BYTES, logPageSize: 12 },
  };
  const pages = fixture.pages(3);
  const key = fixture.key(given, pages);
  const told = readAttributes(command(fixture, CommandOpcode.QUERY_MKEY, key).output, ENTRY, newAttributes());
  const startAddr = (0xf8888 | 0x100000) * 2 ** 32 + 0x40fff;
  t.same(told, { ...fixture.attributes(given), startAddr, translationsOctwordSize: 4 });
  t.equal(command(fixture, CommandOpcode.DESTROY_MKEY, key).status, OK);
  t.equal(fixture.localFault(key, 0x40fff, 1), FaultKind.KEY_INVALID);
  for (const opcode of [CommandOpcode.QUERY_MKEY, CommandOpcode.DESTROY_MKEY])
    t.equal(command(fixture, opcode, key).status, BAD_RESOURCE);
  t.equal(fixture.keys.size, 0);
});

t.test('numbers that drivers use otherwise are never given', async (t) => {
  const fixture = new KeyFixture();
  const keys = Array.from({ length: 20 }, () => fixture.key({ free: 1 }));
  t.equal(new Set(keys).size, keys.length);
  t.ok(keys.every((key) => key >>> 8 > 1));
});

t.test('each field that is wrong is refused, and no key comes into being', async (t) => {
  const fixture = new KeyFixture();
  const pages = fixture.pages(2);
  const usual = { startAddr: 0x1000, len: 2 * PAGE_BYTES };
  const listed = { ...usual, translationsOctwordSize: 4 };
  const fixed = { accessMode10: KeyAccessMode.FIXED_KEYS };
  const cases: readonly [string, Partial<KeyAttributes>, CommandStatus][] = [
    ['a mode that is not offered', { ...usual, accessMode42: 1 }, BAD_PARAMETER],
    ['signatures', { ...usual, bsfEn: 1 }, BAD_PARAMETER],
    ['a signature block', { ...usual, bsfOctwordSize: 4 }, BAD_PARAMETER],
    ['small pages', { ...usual, logPageSize: 11 }, BAD_PARAMETER],
    ['huge pages', { ...usual, logPageSize: 32 }, BAD_PARAMETER],
    ['small pieces', { ...usual, ...fixed, logPageSize: 11 }, BAD_PARAMETER],
    ['huge pieces', { ...usual, ...fixed, logPageSize: 32 }, BAD_PARAMETER],
    ['a list that is longer than it may be', { ...usual, translationsOctwordSize: 0 }, BAD_PARAMETER],
    ['a list in a mode without one', { ...listed, accessMode10: KeyAccessMode.PHYSICAL }, BAD_PARAMETER],
    ['more bytes than pages', { ...usual, len: 8 * PAGE_BYTES + 1 }, BAD_PARAMETER],
    ['more bytes than pages, because of the start', { ...usual, startAddr: 1, len: 8 * PAGE_BYTES }, BAD_PARAMETER],
    ['more bytes than pieces', { ...usual, ...fixed, len: 4 * PAGE_BYTES + 1 }, BAD_PARAMETER],
    ['all addresses in pages', { ...usual, length64: 1 }, BAD_PARAMETER],
    ['all addresses in pieces', { ...usual, accessMode10: KeyAccessMode.KEYS, length64: 1 }, BAD_PARAMETER],
    ['a length that is not exact', { ...usual, len: 2 ** 53 }, BAD_PARAMETER],
    ['no such domain', { ...usual, pd: 0xffff }, BAD_RESOURCE],
  ];
  for (const [name, given, status] of cases) {
    t.equal(fixture.create(given, pages).status, status, name);
    t.equal(fixture.keys.size, 0, name);
  }
  t.equal(fixture.create({ ...usual, len: 8 * PAGE_BYTES }, pages).status, OK, 'as many as there are');
  t.equal(fixture.create({ ...usual, ...fixed, len: 4 * PAGE_BYTES }, pages).status, OK);
  t.equal(fixture.create({ ...usual, logPageSize: 31 }, pages).status, OK);
  for (const { number } of [fixture.qp.pd, fixture.stranger.pd])
    t.equal(fixture.driver.device.hca.domains.usersOf(number), number === fixture.pd ? 3 : 0);
});

t.test('the end of a key is an exact Number, or it has none', async (t) => {
  const fixture = new KeyFixture();
  const physical = { accessMode10: KeyAccessMode.PHYSICAL, logPageSize: 0, startAddr: 2 ** 52 };
  t.equal(fixture.create({ ...physical, len: 2 ** 52 - 1 }).status, OK);
  t.equal(fixture.create({ ...physical, len: 2 ** 52 }).status, BAD_PARAMETER);
  t.equal(fixture.create({ ...physical, len: 2 ** 53, length64: 1 }).status, OK);
  t.equal(fixture.create({ ...physical, len: 2 ** 52, free: 1 }).status, OK, 'a free key has no end yet');
  t.equal([...fixture.keys.values()].length, 3);
});

t.test('a list that the input cuts off, and what is not offered in the command', async (t) => {
  const fixture = new KeyFixture();
  const pages = fixture.pages(2);
  const make = (inputBytes: number, fill = (_view: DataView): void => undefined) => {
    const spoil = (entry: DataView): void => setCommandEntryInputBytes(entry, 0, inputBytes);
    return fixture.create({ len: 8 }, pages, { fill, spoil }).status;
  };
  t.equal(make(0x110 + 63), BAD_INPUT_LENGTH);
  t.equal(make(0x10f), BAD_INPUT_LENGTH);
  t.equal(
    make(0x150, (view) => view.setUint32(0x60, 0xffffffff)),
    BAD_INPUT_LENGTH,
  );
  for (const byte of [0x80, 0x40])
    t.equal(
      make(0x150, (view) => view.setUint8(0xc, byte)),
      BAD_PARAMETER,
    );
  t.equal(fixture.keys.size, 0);
  t.equal(make(0x150), OK);
});

t.test('there are as many keys as the capabilities say, and memory for lists has an end', async (t) => {
  const fixture = new KeyFixture();
  const { keys } = fixture;
  t.equal(keys.indexEnd, 2 ** LOG_KEYS);
  const first = fixture.key({ free: 1 });
  keys.indexEnd = (first >>> 8) + 3;
  fixture.key({ free: 1 });
  const last = fixture.key({ free: 1 });
  for (let again = 0; again < 2; again++) t.equal(fixture.create({ free: 1 }).status, NO_RESOURCES);
  t.equal(command(fixture, CommandOpcode.DESTROY_MKEY, last).status, OK);
  keys.listBytesMax = 63;
  t.equal(fixture.create({ len: 8 }, fixture.pages(1)).status, NO_RESOURCES);
  t.equal(keys.size, 2);
  keys.listBytesMax = 64;
  t.equal(fixture.create({ len: 8 }, fixture.pages(1)).status, OK);
});

t.test('a reset takes all keys, and keys need a running function', async (t) => {
  const fixture = new KeyFixture();
  fixture.region(fixture.pages(1));
  fixture.driver.port.reset('function');
  t.same([fixture.keys.size, fixture.keys.listBytes], [0, 0]);
  fixture.driver.port.setBusMaster(true);
  fixture.driver.connect();
  t.equal(fixture.create({ free: 1 }).status, CommandStatus.BAD_SYSTEM_STATE);
});
