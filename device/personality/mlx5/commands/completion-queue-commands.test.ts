// SPDX-License-Identifier: Apache-2.0
/**
 * Commands of completion and event queues: each field wrong, each size and place, queues in use,
 * and that a refused command changes nothing.
 */
import t, { type Test } from 'tap';
import { VECTOR_COUNT } from '../../../../protocol/layout/gen/constants.gen.ts';
import { type Cqc, decodeCqc, encodeCqc, newCqc } from '../../../../protocol/mlx5/gen/cqc.gen.ts';
import { CREATE_CQ_IN_CQ_CONTEXT_OFFSET, CREATE_CQ_IN_SIZE } from '../../../../protocol/mlx5/gen/create-cq-in.gen.ts';
import { CREATE_EQ_IN_SIZE } from '../../../../protocol/mlx5/gen/create-eq-in.gen.ts';
import { decodeEqc, type Eqc, encodeEqc, newEqc } from '../../../../protocol/mlx5/gen/eqc.gen.ts';
import { MODIFY_CQ_IN_CQ_CONTEXT_OFFSET, MODIFY_CQ_IN_SIZE } from '../../../../protocol/mlx5/gen/modify-cq-in.gen.ts';
import { CommandOpcode, CommandStatus, CqModification } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { PageAccess } from '../../../rig/machine/guest-memory-model.ts';
import { CompletionFixture } from '../../../rig/mlx5/driver/completion-fixture.ts';
import type { CompletionQueueShape, Mlx5DriverCompletionQueue } from '../../../rig/mlx5/driver/completion-queue.ts';
import type { Mlx5Command } from '../../../rig/mlx5/driver/mlx5-driver.ts';
import { LOG_COMPLETION_ENTRIES, LOG_COMPLETION_QUEUES, LOG_EVENT_ENTRIES } from '../hca/capabilities.ts';
import { PageList, writePages } from '../memory/page-list.ts';
import { Mlx5CompletionQueue } from '../queues/completion-queue.ts';

const {
  OK,
  BAD_PARAMETER,
  BAD_RESOURCE,
  BAD_RESOURCE_STATE,
  RESOURCE_BUSY,
  LIMIT_EXCEEDED,
  NO_RESOURCES,
  BAD_SIZE,
  BAD_INPUT_LENGTH,
  BAD_OUTPUT_LENGTH,
} = CommandStatus;
const NUMBER_OFFSET = 8;
const CONTEXT_OFFSET = 0x10;
const UMEM_OFFSET = 0x5c;
const MASK_OFFSET = 0xc;
const QUERY_BYTES = 0x110;
/** All bits of a mask that MODIFY_CQ knows, by its variants. */
const ALL_FIELDS = 0b11111;
const ALL_PLACE = 0b111;

/** Fields of a create command: of the context, and around it. */
interface Creation {
  readonly context?: Partial<Cqc>;
  readonly pages?: readonly number[];
  readonly inputBytes?: number;
  readonly outputBytes?: number;
  readonly umem?: boolean;
}

class CommandFixture extends CompletionFixture {
  readonly page = this.driver.allocate(0x4000, 0x4000);
  readonly record = this.driver.allocate(8, 8);

  status(opcode: number, command: Mlx5Command): number {
    return this.driver.command(opcode, command).status;
  }

  create64({ context, pages = [this.page], umem = false, ...lengths }: Creation = {}): number {
    return this.status(CommandOpcode.CREATE_CQ, {
      inputBytes: CREATE_CQ_IN_SIZE + 8 * pages.length,
      fill: (view) => {
        const common = { logCqSize: 3, uarPage: this.events.uar, cEqnOrApuElement: this.events.number };
        const fields = { ...newCqc(), ...common, dbrAddr: this.record, ...context };
        encodeCqc(view, CREATE_CQ_IN_CQ_CONTEXT_OFFSET, fields);
        if (umem) view.setUint8(UMEM_OFFSET, 0x80);
        if (view.byteLength >= CREATE_CQ_IN_SIZE + 8 * pages.length) writePages(view, CREATE_CQ_IN_SIZE, pages);
      },
      ...lengths,
    });
  }

  change(
    cq: { readonly number: number },
    mask: number,
    context: Partial<Cqc>,
    { variant = CqModification.FIELDS as number, pages = [] as readonly number[] } = {},
  ): number {
    return this.status(CommandOpcode.MODIFY_CQ, {
      modifier: variant,
      inputBytes: MODIFY_CQ_IN_SIZE + 8 * pages.length,
      fill: (view) => {
        view.setUint32(NUMBER_OFFSET, cq.number);
        view.setUint32(MASK_OFFSET, mask);
        encodeCqc(view, MODIFY_CQ_IN_CQ_CONTEXT_OFFSET, { ...newCqc(), ...context });
        writePages(view, MODIFY_CQ_IN_SIZE, pages);
      },
    });
  }

  query(number: number): Cqc {
    const fill = (view: DataView): void => view.setUint32(NUMBER_OFFSET, number);
    const output = this.driver.expect(CommandOpcode.QUERY_CQ, { outputBytes: QUERY_BYTES, fill });
    return decodeCqc(output, CONTEXT_OFFSET, newCqc());
  }

  queryEvents(number: number): { context: Eqc; mask: bigint } {
    const fill = (view: DataView): void => view.setUint32(NUMBER_OFFSET, number);
    const output = this.driver.expect(CommandOpcode.QUERY_EQ, { outputBytes: QUERY_BYTES, fill });
    return { context: decodeEqc(output, CONTEXT_OFFSET, newEqc()), mask: output.getBigUint64(0x58) };
  }

  destroy(number: number, opcode: number = CommandOpcode.DESTROY_CQ): number {
    return this.status(opcode, { fill: (view) => view.setUint32(NUMBER_OFFSET, number) });
  }

  /** What commands about CQs can change. */
  get state(): unknown {
    const { completionQueues, events, retired } = this.driver.device.hca;
    return {
      queues: [...completionQueues.values()].map(({ number, users, context }) => ({ number, users, ...context })),
      events: [...events.values()].map(({ number, users, producerIndex }) => ({ number, users, producerIndex })),
      retired: { ...retired },
    };
  }

  /** Each case has its status, and changes nothing unless it is OK. */
  judge(t: Test, cases: readonly (readonly [string, number, () => number])[]): void {
    for (const [what, wanted, run] of cases) {
      const before = this.state;
      t.equal(run(), wanted, what);
      if (wanted !== OK) t.same(this.state, before, `${what}: nothing changes`);
    }
  }
}

t.test('CREATE_CQ with each field wrong', async (t) => {
  const fixture = new CommandFixture();
  const { page, record } = fixture;
  const create = (what: string, status: number, creation: Creation): readonly [string, number, () => number] => [
    what,
    status,
    () => fixture.create64(creation),
  ];
  fixture.judge(t, [
    create('as it should be', OK, {}),
    create('entries of 128 bytes', OK, { context: { cqeSz: 1 } }),
    create('entries of 128 bytes, padded', OK, { context: { cqeSz: 2 } }),
    create('another size', BAD_PARAMETER, { context: { cqeSz: 3 } }),
    create('the last size', BAD_PARAMETER, { context: { cqeSz: 7 } }),
    create('collapsed', BAD_PARAMETER, { context: { cc: 1 } }),
    create('compressed', BAD_PARAMETER, { context: { cqeCompEn: 1 } }),
    create('solicited ends moderation', BAD_PARAMETER, { context: { scqeBreakModerationEn: 1 } }),
    create('another start of the period', BAD_PARAMETER, { context: { cqPeriodMode: 1 } }),
    create('record in user memory', BAD_PARAMETER, { context: { dbrUmemValid: 1 } }),
    create('queue in user memory', BAD_PARAMETER, { umem: true }),
    create('record that is not aligned', BAD_PARAMETER, { context: { dbrAddr: record + 4 } }),
    create('too many entries', LIMIT_EXCEEDED, { context: { logCqSize: LOG_COMPLETION_ENTRIES + 1 } }),
    create('far too many entries', LIMIT_EXCEEDED, { context: { logCqSize: 31 } }),
    create('most entries, one page', BAD_INPUT_LENGTH, { context: { logCqSize: LOG_COMPLETION_ENTRIES } }),
    create('no such EQ', BAD_RESOURCE, { context: { cEqnOrApuElement: 63 } }),
    create('an EQ beyond 8 bits', BAD_RESOURCE, { context: { cEqnOrApuElement: 256 + fixture.events.number } }),
    create('no such UAR page', BAD_RESOURCE, { context: { uarPage: fixture.events.uar + 1 } }),
    create('the page of the segment', BAD_RESOURCE, { context: { uarPage: 0 } }),
    create('page that begins between pages', BAD_PARAMETER, { pages: [page + 0x800] }),
    create('large page that is not aligned', BAD_PARAMETER, { pages: [page + 0x1000], context: { logPageSize: 1 } }),
    create('large page', OK, { context: { logPageSize: 2 } }),
    create('largest page', OK, { context: { logPageSize: 31 }, pages: [0] }),
    create('no page', BAD_INPUT_LENGTH, { pages: [] }),
    create('one page of two', BAD_INPUT_LENGTH, { context: { logCqSize: 7 } }),
    create('two pages', OK, { context: { logCqSize: 7 }, pages: [page, page + 0x1000] }),
    create('it just fits', OK, { context: { logCqSize: 5, pageOffset: 32 } }),
    create('it does not fit', BAD_INPUT_LENGTH, { context: { logCqSize: 5, pageOffset: 33 } }),
    create('offset of a large page', OK, { context: { logCqSize: 6, pageOffset: 32, logPageSize: 1 } }),
    create('offset beyond it', BAD_INPUT_LENGTH, { context: { logCqSize: 6, pageOffset: 33, logPageSize: 1 } }),
    create('entries of 128 bytes across pages', BAD_PARAMETER, { context: { cqeSz: 1, pageOffset: 1 } }),
    create('entries of 128 bytes with an offset', OK, { context: { cqeSz: 1, pageOffset: 2 } }),
    create('128 bytes: one page of two', BAD_INPUT_LENGTH, { context: { cqeSz: 1, logCqSize: 6 } }),
    create('short input', BAD_INPUT_LENGTH, { inputBytes: CREATE_CQ_IN_SIZE - 1 }),
    create('short output', BAD_OUTPUT_LENGTH, { outputBytes: 0xc }),
  ]);
});

t.test('MODIFY_CQ with each field wrong', async (t) => {
  const fixture = new CommandFixture();
  const cq = fixture.create();
  const other = fixture.driver.createEventQueue(fixture.events.uar, 0n);
  const { page } = fixture;
  const RESIZE = { variant: CqModification.RESIZE, pages: [page] };
  fixture.judge(t, [
    ['no such CQ', BAD_RESOURCE, () => fixture.change({ number: cq.number + 1 }, 0, {})],
    ['an old number', BAD_RESOURCE, () => fixture.change({ number: cq.number + 0x10000 }, 0, {})],
    ['another variant', BAD_PARAMETER, () => fixture.change(cq, 0, {}, { variant: 2 })],
    ['unknown field', BAD_PARAMETER, () => fixture.change(cq, ALL_FIELDS + 1, {})],
    ['unknown high field', BAD_PARAMETER, () => fixture.change(cq, 0x80000000, {})],
    ['another start of the period', BAD_PARAMETER, () => fixture.change(cq, ALL_FIELDS, { cqPeriodMode: 1 })],
    ['no such EQ', BAD_RESOURCE, () => fixture.change(cq, ALL_FIELDS, { cEqnOrApuElement: 63, cqPeriod: 1 })],
    ['unknown field of the place', BAD_PARAMETER, () => fixture.change(cq, ALL_PLACE + 1, {}, RESIZE)],
    ['entries of another size', BAD_PARAMETER, () => fixture.change(cq, ALL_PLACE, { cqeSz: 1 }, RESIZE)],
    ['too many entries', LIMIT_EXCEEDED, () => fixture.change(cq, ALL_PLACE, { logCqSize: 21 }, RESIZE)],
    ['no page', BAD_INPUT_LENGTH, () => fixture.change(cq, ALL_PLACE, {}, { ...RESIZE, pages: [] })],
    ['one page of two', BAD_INPUT_LENGTH, () => fixture.change(cq, ALL_PLACE, { logCqSize: 7 }, RESIZE)],
    ['bad page', BAD_PARAMETER, () => fixture.change(cq, ALL_PLACE, {}, { ...RESIZE, pages: [page + 64] })],
    ['bad offset', BAD_INPUT_LENGTH, () => fixture.change(cq, ALL_PLACE, { logCqSize: 6, pageOffset: 1 }, RESIZE)],
    ['nothing', OK, () => fixture.change(cq, 0, { oi: 1, cqPeriod: 1, cqMaxCount: 1, cEqnOrApuElement: 63 })],
    ['everything', OK, () => fixture.change(cq, ALL_FIELDS, { cEqnOrApuElement: other.number, oi: 1 })],
  ]);
  t.match(fixture.query(cq.number), { oi: 1, cEqnOrApuElement: other.number, cqPeriod: 0 });
});

t.test('MODIFY_CQ changes the fields that it selects, and no others', async (t) => {
  const fixture = new CommandFixture();
  const other = fixture.driver.createEventQueue(fixture.events.uar, 0n);
  const wanted = { cqPeriod: 0xfff, cqMaxCount: 0xffff, oi: 1, cEqnOrApuElement: other.number };
  const names = ['cqPeriod', 'cqMaxCount', 'oi', 'cEqnOrApuElement'] as const;
  for (let mask = 0; mask < 16; mask++) {
    const cq = fixture.create({ logCqSize: 2, cqPeriod: 7, cqMaxCount: 9 });
    const before = fixture.query(cq.number);
    t.equal(fixture.change(cq, mask, wanted), OK);
    const expected = { ...before };
    for (const [bit, name] of names.entries()) if ((mask >>> bit) & 1) expected[name] = wanted[name];
    t.same(fixture.query(cq.number), expected, `fields ${mask}`);
    t.equal(fixture.destroy(cq.number), OK);
  }
  t.equal(fixture.deviceEvents(other).users + fixture.deviceEvents().users, 0, 'each EQ has lost its users');
});

t.test('a resizing keeps what it does not select', async (t) => {
  const page = 0x40;
  for (let mask = 0; mask < 8; mask++) {
    const fixture = new CommandFixture();
    const shape: CompletionQueueShape = { logCqSize: 2, pageOffset: 5, logPageSize: 1 };
    const cq = fixture.create(shape);
    const wanted = { logCqSize: 3, pageOffset: 9, logPageSize: 2 };
    const options = { variant: CqModification.RESIZE, pages: [fixture.page] };
    t.equal(fixture.change(cq, mask, wanted, options), OK);
    const place = {
      logCqSize: mask & 1 ? 3 : 2,
      pageOffset: mask & 2 ? 9 : 5,
      logPageSize: mask & 4 ? 2 : 1,
    };
    t.match(fixture.query(cq.number), place, `fields ${mask}`);
    fixture.post(cq, 0x1234);
    const at = place.pageOffset * page * 2 ** place.logPageSize + 64;
    t.equal(fixture.driver.memory.view(fixture.page + at, 64).getUint32(0x2c), 0x1234, `entry 1, fields ${mask}`);
  }
});

t.test('queues in use stay', async (t) => {
  const fixture = new CommandFixture();
  const cq = fixture.create();
  const { hca } = fixture.driver.device;
  const freeUar = (): number =>
    fixture.status(CommandOpcode.DEALLOC_UAR, { fill: (view) => view.setUint32(NUMBER_OFFSET, fixture.events.uar) });
  const destroyEvents = (number: number): number => fixture.destroy(number, CommandOpcode.DESTROY_EQ);
  fixture.deviceQueue(cq).users = 1;
  fixture.judge(t, [
    ['a QP uses the CQ', RESOURCE_BUSY, () => fixture.destroy(cq.number)],
    ['the CQ uses the EQ', RESOURCE_BUSY, () => destroyEvents(fixture.events.number)],
    ['both use the UAR page', RESOURCE_BUSY, freeUar],
    ['no such CQ', BAD_RESOURCE, () => fixture.destroy(cq.number + 1)],
    ['no CQ', BAD_RESOURCE, () => fixture.destroy(0)],
    ['no such EQ', BAD_RESOURCE, () => destroyEvents(63)],
  ]);
  fixture.deviceQueue(cq).users = 0;
  fixture.post(cq, 1);
  fixture.judge(t, [
    ['nothing uses the CQ', OK, () => fixture.destroy(cq.number)],
    ['it is gone', BAD_RESOURCE, () => fixture.destroy(cq.number)],
    ['an EQ uses the UAR page', RESOURCE_BUSY, freeUar],
    ['nothing uses the EQ', OK, () => destroyEvents(fixture.events.number)],
    ['nor the other', OK, () => destroyEvents(fixture.errors.number)],
    ['nothing uses the UAR page', OK, freeUar],
    ['it is free', BAD_RESOURCE, freeUar],
  ]);
  t.same(hca.retired, { completions: 1 });
});

t.test('a number is not used again soon, and all numbers can be in use', async (t) => {
  const fixture = new CommandFixture();
  const first = fixture.create().number;
  t.equal(fixture.destroy(first), OK);
  t.not(fixture.create().number, first);
  const { hca } = fixture.driver.device;
  const [{ context, eventQueue }] = hca.completionQueues.values();
  const pages = new PageList(Float64Array.of(fixture.page), 0x1000);
  const add = (): Mlx5CompletionQueue | undefined =>
    hca.completionQueues.add(
      hca.underlying,
      (number) => new Mlx5CompletionQueue(number, context, pages, eventQueue, hca),
    );
  while (add() !== undefined) hca.uars.use(context.uarPage);
  t.equal(hca.completionQueues.size, 2 ** LOG_COMPLETION_QUEUES, 'as many as the capabilities promise');
  t.equal(fixture.create64(), NO_RESOURCES, 'one more');
  fixture.driver.port.reset('software');
  t.equal(hca.completionQueues.size, 0);
});

t.test('resizing is refused while more entries wait than the new ring has room for', async (t) => {
  for (const [waiting, logCqSize, wanted] of [
    [0, 0, OK],
    [1, 0, OK],
    [2, 0, BAD_SIZE],
    [2, 1, OK],
    [3, 1, BAD_SIZE],
    [7, 3, OK],
    [7, 5, OK],
    // The entry that ends the old ring has no room in it.
    [8, 5, BAD_SIZE],
  ]) {
    const fixture = new CommandFixture();
    const cq = fixture.create({ logCqSize: 3 });
    for (let value = 0; value < waiting; value++) fixture.post(cq, value);
    const before = fixture.state;
    const { answer } = cq.resize({ logCqSize });
    t.equal(answer.status, wanted, `${waiting} wait, 2^${logCqSize} entries`);
    if (wanted !== OK) t.same(fixture.state, before);
    cq.take();
    cq.tell();
    if (wanted !== OK) t.equal(cq.resize({ logCqSize }).answer.status, OK, 'software has taken them');
  }
});

t.test('a queue in error is not resized', async (t) => {
  const fixture = new CommandFixture();
  const cq = fixture.create({ logCqSize: 1 });
  for (let value = 0; value < 3; value++) fixture.post(cq, value);
  cq.take();
  cq.tell();
  t.equal(cq.resize({ logCqSize: 4 }).answer.status, BAD_RESOURCE_STATE);
  const next: Mlx5DriverCompletionQueue = fixture.create({ logCqSize: 1 });
  fixture.driver.memory.protect(next.pages[0], 0x1000, PageAccess.READ_ONLY);
  t.equal(next.resize({ logCqSize: 4 }).answer.status, BAD_RESOURCE_STATE, 'its last entry cannot be written');
  t.notOk(fixture.post(next, 1));
});

t.test('CREATE_EQ with each field wrong, and what QUERY_EQ tells', async (t) => {
  const fixture = new CommandFixture();
  const { page } = fixture;
  const mask = 0x8000000000000f13n;
  const create = (context: Partial<Eqc>, pages: readonly number[] = [page]): number =>
    fixture.status(CommandOpcode.CREATE_EQ, {
      inputBytes: CREATE_EQ_IN_SIZE + 8 * pages.length,
      fill: (view) => {
        encodeEqc(view, CONTEXT_OFFSET, { ...newEqc(), logEqSize: 3, uarPage: fixture.events.uar, ...context });
        view.setBigUint64(0x58, mask);
        writePages(view, CREATE_EQ_IN_SIZE, pages);
      },
    });
  fixture.judge(t, [
    ['collapsed', BAD_PARAMETER, () => create({ ec: 1 })],
    ['too many entries', LIMIT_EXCEEDED, () => create({ logEqSize: LOG_EVENT_ENTRIES + 1 })],
    ['no such vector', BAD_PARAMETER, () => create({ intr: VECTOR_COUNT })],
    ['no such UAR page', BAD_RESOURCE, () => create({ uarPage: fixture.events.uar + 1 })],
    ['no page', BAD_INPUT_LENGTH, () => create({}, [])],
    ['one page of two', BAD_INPUT_LENGTH, () => create({ logEqSize: 7 })],
    ['it does not fit', BAD_INPUT_LENGTH, () => create({ logEqSize: 5, pageOffset: 33 })],
    ['bad page', BAD_PARAMETER, () => create({}, [page + 1])],
    ['large page that is not aligned', BAD_PARAMETER, () => create({ logPageSize: 1 }, [page + 0x1000])],
    ['as it should be', OK, () => create({ logPageSize: 2, pageOffset: 7, intr: VECTOR_COUNT - 1, oi: 1 })],
  ]);
  const [last] = [...fixture.driver.device.hca.events.values()].slice(-1);
  const told = fixture.queryEvents(last.number);
  t.equal(told.mask, mask);
  t.match(told.context, { logEqSize: 3, logPageSize: 2, pageOffset: 7, intr: VECTOR_COUNT - 1, oi: 1 });
});
