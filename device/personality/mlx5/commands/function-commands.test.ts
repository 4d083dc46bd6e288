// SPDX-License-Identifier: Apache-2.0
/**
 * Commands that start and stop the function and give it pages: their variants, their limits, and
 * the states in which they are refused.
 */
import t from 'tap';
import { CommandOpcode, CommandStatus } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { type Mlx5Command, Mlx5Driver } from '../../../rig/mlx5/driver/mlx5-driver.ts';
import { CAPABILITY_BYTES } from '../hca/capabilities.ts';
import { BOOT_PAGES, HcaState, START_PAGES } from '../hca/hca.ts';

const { OK, BAD_PARAMETER, BAD_SYSTEM_STATE, BAD_INPUT_LENGTH, LIMIT_EXCEEDED, NO_RESOURCES } = CommandStatus;
const { ENABLE_HCA, DISABLE_HCA, INIT_HCA, QUERY_PAGES, MANAGE_PAGES, SET_ISSI, QUERY_ISSI, SET_HCA_CAP } =
  CommandOpcode;
const BODY = 0x10;
const PAGE_BYTES = 4096;
const [CANNOT_GIVE, GIVE, TAKE] = [0, 1, 2];
/** Page of atomics, and of a kind that there is not. */
const [ATOMICS, NO_KIND] = [3, 9];

class FunctionFixture {
  readonly driver = new Mlx5Driver();

  constructor() {
    this.driver.connect();
    this.driver.expect(ENABLE_HCA, { outputBytes: 0xc });
  }

  get hca() {
    return this.driver.device.hca;
  }

  status(opcode: number, command: Mlx5Command = {}): number {
    return this.driver.command(opcode, command).status;
  }

  /** Gives pages; `inputBytes`: unless the list is whole. */
  give(pages: readonly number[], inputBytes = BODY + 8 * pages.length): number {
    return this.status(MANAGE_PAGES, {
      modifier: GIVE,
      inputBytes,
      fill: (view) => {
        view.setUint32(0xc, pages.length);
        for (const [index, page] of pages.entries())
          if (BODY + 8 * index + 8 <= view.byteLength) view.setBigUint64(BODY + 8 * index, BigInt(page));
      },
    });
  }

  /** Takes up to `count` pages, with room for `room`. */
  take(count: number, room: number): number[] {
    const output = this.driver.expect(MANAGE_PAGES, {
      modifier: TAKE,
      outputBytes: BODY + 8 * room,
      fill: (view) => view.setUint32(0xc, count),
    });
    return Array.from({ length: output.getUint32(8) }, (_, index) => Number(output.getBigUint64(BODY + 8 * index)));
  }

  wanted(modifier: number): number {
    return this.driver.expect(QUERY_PAGES, { modifier }).getInt32(0xc);
  }
}

/** Addresses of pages; nothing reads them. */
const pagesOf = (count: number): number[] => Array.from({ length: count }, (_, index) => (index + 1) * PAGE_BYTES);

t.test('the firmware wants pages for boot and for start, as many as it has not', async (t) => {
  const fixture = new FunctionFixture();
  const wanted = () => [fixture.wanted(1), fixture.wanted(2)];
  t.same(wanted(), [BOOT_PAGES, BOOT_PAGES + START_PAGES]);
  t.equal(fixture.give(pagesOf(3)), OK);
  t.same(wanted(), [BOOT_PAGES - 3, BOOT_PAGES + START_PAGES - 3]);
  t.equal(fixture.give(pagesOf(BOOT_PAGES)), OK);
  t.same(wanted(), [0, START_PAGES - 3]);
  for (const modifier of [0, 3]) t.equal(fixture.status(QUERY_PAGES, { modifier }), BAD_PARAMETER, `${modifier}`);
});

t.test('pages are given whole, aligned and no more than are wanted, or not at all', async (t) => {
  const fixture = new FunctionFixture();
  const most = pagesOf(BOOT_PAGES + START_PAGES);
  t.equal(fixture.give(most, BODY + 8 * most.length - 1), BAD_INPUT_LENGTH);
  t.equal(fixture.give([...most, PAGE_BYTES]), LIMIT_EXCEEDED);
  t.equal(fixture.give([PAGE_BYTES, PAGE_BYTES + 8]), BAD_PARAMETER);
  t.equal(fixture.hca.pages.length, 0);
  t.equal(fixture.give(most), OK);
  t.equal(fixture.give([PAGE_BYTES]), LIMIT_EXCEEDED);
  t.equal(fixture.status(MANAGE_PAGES, { modifier: CANNOT_GIVE, fill: (view) => view.setUint32(0xc, 5) }), OK);
  t.equal(fixture.status(MANAGE_PAGES, { modifier: 3 }), BAD_PARAMETER);
  t.same(fixture.hca.pages, most, 'what it has stays');
});

t.test('the function starts when it has all pages', async (t) => {
  const fixture = new FunctionFixture();
  const start = (): number => fixture.status(INIT_HCA, { inputBytes: 0x20 });
  t.equal(start(), NO_RESOURCES);
  fixture.give(pagesOf(BOOT_PAGES + START_PAGES - 1));
  t.equal(start(), NO_RESOURCES);
  fixture.give([PAGE_BYTES]);
  t.equal(start(), OK);
});

t.test('pages come back, the newest first, as many as are asked for and have room', async (t) => {
  const fixture = new FunctionFixture();
  const pages = pagesOf(10);
  fixture.give(pages);
  t.same(fixture.take(3, 8), pages.slice(7));
  t.same(fixture.take(8, 2), pages.slice(5, 7));
  t.same(fixture.take(0, 8), []);
  t.same(fixture.take(8, 0), []);
  t.same(fixture.take(100, 100), pages.slice(0, 5));
  t.same(fixture.take(1, 1), []);
});

t.test('versions of the interface: those that there are, and no other', async (t) => {
  const fixture = new FunctionFixture();
  const set = (issi: number): number => fixture.status(SET_ISSI, { fill: (view) => view.setUint16(0xa, issi) });
  const inUse = (): number => fixture.driver.expect(QUERY_ISSI, { outputBytes: 0x70 }).getUint16(0xa);
  for (const [issi, status] of [
    [1, OK],
    [2, BAD_PARAMETER],
    [31, BAD_PARAMETER],
    [32, BAD_PARAMETER],
    [33, BAD_PARAMETER],
    [0xffff, BAD_PARAMETER],
  ]) {
    t.equal(set(issi), status, `${issi}`);
    t.equal(inUse(), 1, `${issi}`);
  }
  t.same([set(0), inUse()], [OK, 0]);
});

t.test('the function is enabled once, starts once, and is disabled', async (t) => {
  const fixture = new FunctionFixture();
  const { driver, hca } = fixture;
  t.equal(fixture.status(ENABLE_HCA), BAD_SYSTEM_STATE);
  driver.givePages(1);
  driver.givePages(2);
  driver.expect(INIT_HCA, { inputBytes: 0x20 });
  for (const opcode of [ENABLE_HCA, INIT_HCA])
    t.equal(fixture.status(opcode, { inputBytes: 0x20 }), BAD_SYSTEM_STATE, `0x${opcode.toString(16)}`);
  driver.allocateUar();
  t.equal(fixture.status(DISABLE_HCA), OK);
  t.same([hca.state, hca.objectCounts.uars], [HcaState.DISABLED, 0]);
  t.equal(fixture.status(DISABLE_HCA), BAD_SYSTEM_STATE);
  t.equal(fixture.status(ENABLE_HCA), OK);
});

t.test('capabilities are chosen before the function runs, of the kinds that there are', async (t) => {
  const fixture = new FunctionFixture();
  const { driver, hca } = fixture;
  const choose = (kind: number): number =>
    fixture.status(SET_HCA_CAP, {
      modifier: kind << 1,
      inputBytes: 0x1010,
      fill: (view) => new Uint8Array(view.buffer, BODY).fill(kind + 1),
    });
  t.equal(choose(NO_KIND), BAD_PARAMETER);
  t.notOk(hca.current.has(NO_KIND));
  t.same([choose(0), choose(ATOMICS)], [OK, OK]);
  t.same(hca.current.get(0), new Uint8Array(CAPABILITY_BYTES).fill(1), 'the whole page');
  const chosen = hca.current.get(0);
  driver.givePages(1);
  driver.givePages(2);
  driver.expect(INIT_HCA, { inputBytes: 0x20 });
  t.equal(choose(0), BAD_SYSTEM_STATE);
  t.equal(hca.current.get(0), chosen);
});
