// SPDX-License-Identifier: Apache-2.0
/**
 * The largest queue of each kind that the capabilities promise can be made, and none that is larger
 * (hca/capabilities.ts). Its pages are as large as lists have them, so that one page is enough.
 */
import t from 'tap';
import { encodeCqc, newCqc } from '../../../../protocol/mlx5/gen/cqc.gen.ts';
import { CREATE_CQ_IN_CQ_CONTEXT_OFFSET } from '../../../../protocol/mlx5/gen/create-cq-in.gen.ts';
import { CREATE_EQ_IN_EQ_CONTEXT_ENTRY_OFFSET } from '../../../../protocol/mlx5/gen/create-eq-in.gen.ts';
import { CREATE_QP_IN_QPC_OFFSET, CREATE_QP_IN_SIZE } from '../../../../protocol/mlx5/gen/create-qp-in.gen.ts';
import { encodeEqc, newEqc } from '../../../../protocol/mlx5/gen/eqc.gen.ts';
import { encodeQpc, newQpc, type Qpc } from '../../../../protocol/mlx5/gen/qpc.gen.ts';
import { CommandOpcode, CommandStatus, ReceiveQueueType } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { DataFixture } from '../../../rig/mlx5/driver/data-fixture.ts';
import { type SharedQueueSetup, sharedCreation, sharedOpcodes } from '../../../rig/mlx5/driver/shared-queue.ts';
import {
  LOG_COMPLETION_ENTRIES,
  LOG_EVENT_ENTRIES,
  LOG_QUEUE_PAIR_BLOCKS,
  LOG_SHARED_ENTRIES,
} from '../hca/capabilities.ts';
import { writePages } from '../memory/page-list.ts';
import { SharedForm } from '../queues/shared-receive-queue.ts';

const { OK, LIMIT_EXCEEDED } = CommandStatus;
/** Pages of 128 MiB, and an address where one can begin. Nothing is read there. */
const LOG_PAGE = 15;
const PAGE = 2 ** 27;
/** The list lies behind the input, which is as long for each of these commands. */
const LIST_AT = CREATE_QP_IN_SIZE;
const { CREATE_CQ, CREATE_EQ, CREATE_QP } = CommandOpcode;

class LargestFixture extends DataFixture {
  readonly cq = this.completionQueue().number;
  readonly xrcd = this.driver.expect(CommandOpcode.ALLOC_XRCD).getUint32(8);
  readonly record = this.driver.allocate(8, 8);

  create(opcode: number, encode: (view: DataView) => void): number {
    const fill = (view: DataView): void => {
      encode(view);
      writePages(view, LIST_AT, [PAGE]);
    };
    return this.driver.command(opcode, { inputBytes: LIST_AT + 8, fill }).status;
  }

  queuePairStatus(context: Partial<Qpc>): number {
    const usual = { pd: this.pd, uarPage: this.uar, cqnSnd: this.cq, cqnRcv: this.cq, dbrAddr: this.record };
    return this.create(CREATE_QP, (view) =>
      encodeQpc(view, CREATE_QP_IN_QPC_OFFSET, { ...newQpc(), ...usual, logPageSize: LOG_PAGE, ...context }),
    );
  }

  shared(setup: Partial<SharedQueueSetup> & Pick<SharedQueueSetup, 'form'>): number {
    const whole = { pd: this.pd, xrcd: this.xrcd, cqn: this.cq, ...setup };
    const command = sharedCreation(whole, { queue: PAGE, record: this.record });
    return this.driver.command(sharedOpcodes[setup.form].create, command).status;
  }
}

/** The largest size that fields of 4 bits can hold, as 2^n. */
const LOG_WIDEST = 15;

/** Each kind with the largest size, as 2^n, and how a queue of a size is made. */
const kinds: readonly (readonly [string, number, (fixture: LargestFixture, log: number) => number])[] = [
  [
    'CQ',
    LOG_COMPLETION_ENTRIES,
    (fixture, logCqSize) =>
      fixture.create(CREATE_CQ, (view) => {
        const usual = { uarPage: fixture.uar, dbrAddr: fixture.record, cEqnOrApuElement: fixture.completions.number };
        encodeCqc(view, CREATE_CQ_IN_CQ_CONTEXT_OFFSET, { ...newCqc(), ...usual, logCqSize, logPageSize: LOG_PAGE });
      }),
  ],
  [
    'EQ',
    LOG_EVENT_ENTRIES,
    (fixture, logEqSize) =>
      fixture.create(CREATE_EQ, (view) => {
        const context = { ...newEqc(), uarPage: fixture.uar, logEqSize, logPageSize: LOG_PAGE };
        encodeEqc(view, CREATE_EQ_IN_EQ_CONTEXT_ENTRY_OFFSET, context);
      }),
  ],
  ['send queue', LOG_QUEUE_PAIR_BLOCKS, (fixture, logSqSize) => fixture.queuePairStatus({ logSqSize })],
  ['receive queue', LOG_QUEUE_PAIR_BLOCKS, (fixture, logRqSize) => fixture.queuePairStatus({ logRqSize })],
  ['size of a receive', 4, (fixture, logRqStride) => fixture.queuePairStatus({ logRqStride })],
  [
    'SRQ',
    LOG_SHARED_ENTRIES,
    (fixture, logSrqSize) => fixture.shared({ form: SharedForm.PLAIN, plain: { logSrqSize, logPageSize: LOG_PAGE } }),
  ],
  [
    'XRC SRQ',
    LOG_SHARED_ENTRIES,
    (fixture, logXrcSrqSize) => fixture.shared({ form: SharedForm.XRC, xrc: { logXrcSrqSize, logPageSize: LOG_PAGE } }),
  ],
  [
    'pool',
    LOG_SHARED_ENTRIES,
    (fixture, logWqSz) => fixture.shared({ form: SharedForm.POOL, pool: { logWqSz, logWqPgSz: LOG_PAGE } }),
  ],
];

for (const [what, most, create] of kinds)
  t.test(`${what}: 2^${most}, and no more`, async (t) => {
    const fixture = new LargestFixture();
    t.equal(create(fixture, most), OK);
    if (most !== LOG_WIDEST || what === 'pool') t.equal(create(fixture, most + 1), LIMIT_EXCEEDED);
  });

t.test('a command that finds no number left is refused, and leaves nothing in use', async (t) => {
  for (const [what, log, create] of kinds) {
    const fixture = new LargestFixture();
    const { hca } = fixture.driver.device;
    const users = () => [
      hca.domains.usersOf(fixture.pd),
      hca.xrcDomains.usersOf(fixture.xrcd),
      hca.uars.usersOf(fixture.uar),
      hca.completionQueues.get(fixture.cq)?.users,
    ];
    for (const table of [hca.completionQueues, hca.sharedReceiveQueues, hca.queuePairs])
      Object.assign(table, { add: () => undefined });
    hca.events.findNumber = () => undefined;
    const before = users();
    t.equal(create(fixture, log), CommandStatus.NO_RESOURCES, what);
    t.same(users(), before, what);
  }
});

t.test('a QP without receives names neither their size nor their CQ', async (t) => {
  const fixture = new LargestFixture();
  const rqType = ReceiveQueueType.NONE;
  t.equal(fixture.queuePairStatus({ rqType, logRqStride: 5, cqnRcv: 0xffffff }), OK);
  t.equal(fixture.queuePairStatus({ rqType, cqnSnd: 0xffffff }), CommandStatus.BAD_RESOURCE);
});
