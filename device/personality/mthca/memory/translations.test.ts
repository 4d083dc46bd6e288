// SPDX-License-Identifier: Apache-2.0
/**
 * Translation entries that a region remembers: a driver that has written them anew says so by
 * SYNC_TPT, by WRITE_MTT, or by giving the region again; pages of the table may go away.
 */
import t from 'tap';
import { ICM_PAGE_BYTES } from '../../../../protocol/mthca/gen/constants.gen.ts';
import { CommandOpcode, CompletionSyndrome, WorkOpcode } from '../../../../protocol/mthca/gen/values.gen.ts';
import type { Piece } from '../../../rig/machine/personality-driver.ts';
import { DataFixture } from '../../../rig/mthca/driver/data-fixture.ts';

const PAGES = 40;
const PRESENT = 1;

/** A connection and a region of many pages, which the far end may write. */
function makeFixture() {
  const fixture = new DataFixture();
  const [a] = fixture.connect();
  const source = fixture.memory(8);
  const target = fixture.memory(PAGES * ICM_PAGE_BYTES);
  const { hca } = fixture.driver.device;
  const table = hca.regions.find(target.key)?.entry.translation ?? 0;
  /** Guest address of the entry of a page, as the processor writes it. */
  const entryOf = (page: number): number => hca.icm.resolve(table + page * 8);
  /** Writes a byte to the start of a page of the region; returns the syndrome. */
  const write = (page: number, value: number): number | undefined => {
    fixture.bytes(source)[0] = value;
    const remote: Piece = { ...target, address: target.address + page * ICM_PAGE_BYTES };
    a.post({ opcode: WorkOpcode.RDMA_WRITE, pieces: [{ ...source, byteCount: 1 }], remote });
    fixture.run();
    return a.take()[0]?.syndrome;
  };
  return { fixture, hca, target, table, entryOf, write, driver: fixture.driver };
}

/** Lets the entry of page 1 name another page; returns that one. */
function moveSecondPage({ fixture, entryOf }: ReturnType<typeof makeFixture>): Uint8Array {
  const other = fixture.driver.allocate(ICM_PAGE_BYTES);
  const entry = fixture.driver.bytes(entryOf(1), 8);
  new DataView(entry.buffer, entry.byteOffset).setUint32(4, other | PRESENT);
  return fixture.driver.bytes(other, ICM_PAGE_BYTES);
}

t.test('each page of a region is found, also when more are used than it remembers', (t) => {
  const { fixture, target, write } = makeFixture();
  for (let round = 0; round < 2; round++)
    for (let page = 0; page < PAGES; page++) t.equal(write(page, page + round + 1), 0);
  const bytes = fixture.bytes(target);
  for (let page = 0; page < PAGES; page++) t.equal(bytes[page * ICM_PAGE_BYTES], page + 2, `page ${page}`);
  t.end();
});

for (const [name, opcode] of [
  ['SYNC_TPT', CommandOpcode.SYNC_TPT],
  ['WRITE_MTT', CommandOpcode.WRITE_MTT],
] as const) {
  t.test(`entries count anew from ${name} on`, (t) => {
    const setup = makeFixture();
    const { fixture, driver, target, table, write } = setup;
    write(1, 7);
    const other = moveSecondPage(setup);
    const input = new Uint8Array(24);
    // The entry of page 0, as it is.
    new DataView(input.buffer).setUint32(4, table);
    input.set(driver.bytes(setup.entryOf(0), 8), 16);
    driver.expect(opcode, { input, modifier: 1 });
    t.equal(write(1, 8), 0);
    t.equal(fixture.bytes(target)[ICM_PAGE_BYTES], 7);
    t.equal(other[0], 8);
    t.end();
  });
}

t.test('a region that is given again has the entries of then', (t) => {
  const setup = makeFixture();
  const { driver, hca, target, write } = setup;
  const modifier = target.key >>> 8;
  write(1, 7);
  const region = new Uint8Array(0x40);
  const box = driver.command(CommandOpcode.HW2SW_MPT, { modifier, out: region.length });
  for (let at = 0; at < region.length; at++) region[at] = box.output.getUint8(at);
  const other = moveSecondPage(setup);
  driver.expect(CommandOpcode.SW2HW_MPT, { modifier, input: region });
  t.ok(hca.regions.find(target.key));
  t.equal(write(1, 9), 0);
  t.equal(other[0], 9);
  t.end();
});

t.test('pages of the table that are unmapped are not used any more', (t) => {
  const { driver, table, write } = makeFixture();
  t.equal(write(1, 7), 0);
  const input = Math.floor(table / ICM_PAGE_BYTES) * ICM_PAGE_BYTES;
  driver.expect(CommandOpcode.UNMAP_ICM, { input, modifier: 1 });
  t.not(write(1, 8), 0, 'the queue itself is not found, or the target');
  t.end();
});

t.test('a page whose entry is not present fails the access', (t) => {
  const setup = makeFixture();
  const { driver, write } = setup;
  const entry = driver.bytes(setup.entryOf(1), 8);
  entry[7] &= ~PRESENT;
  t.equal(write(1, 1), CompletionSyndrome.REMOTE_OPERATION);
  t.end();
});
