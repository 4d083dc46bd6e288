// SPDX-License-Identifier: Apache-2.0
/**
 * Commands of shared receive queues in their three forms: each field of each command wrong, what a
 * queue keeps in use, and that a refused command changes nothing (IBTA 11.2.3).
 */
import t from 'tap';
import { CREATE_RMP_IN_CTX_OFFSET } from '../../../../protocol/mlx5/gen/create-rmp-in.gen.ts';
import { CREATE_RMP_OUT_SIZE } from '../../../../protocol/mlx5/gen/create-rmp-out.gen.ts';
import {
  CREATE_SRQ_IN_SIZE,
  CREATE_SRQ_IN_SRQ_CONTEXT_ENTRY_OFFSET,
} from '../../../../protocol/mlx5/gen/create-srq-in.gen.ts';
import { DESTROY_SRQ_IN_SIZE } from '../../../../protocol/mlx5/gen/destroy-srq-in.gen.ts';
import { MODIFY_RMP_IN_CTX_OFFSET } from '../../../../protocol/mlx5/gen/modify-rmp-in.gen.ts';
import { QUERY_SRQ_OUT_SIZE } from '../../../../protocol/mlx5/gen/query-srq-out.gen.ts';
import { RMPC_WQ_OFFSET } from '../../../../protocol/mlx5/gen/rmpc.gen.ts';
import { CommandOpcode, CommandStatus } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { DataFixture } from '../../../rig/mlx5/driver/data-fixture.ts';
import {
  ENTRY_BYTES,
  LOG_SHARED,
  Mlx5DriverSharedQueue,
  type SharedQueueSetup,
  sharedArming,
  sharedCreation,
  sharedOpcodes,
} from '../../../rig/mlx5/driver/shared-queue.ts';
import { type FieldRule, type FieldWalk, only, walkFields, walkLengths } from '../../../rig/mlx5/fields/field-walk.ts';
import { SharedForm } from '../queues/shared-receive-queue.ts';

const { OK, BAD_PARAMETER, BAD_RESOURCE, BAD_INPUT_LENGTH, LIMIT_EXCEEDED, RESOURCE_BUSY } = CommandStatus;
const forms = [SharedForm.PLAIN, SharedForm.XRC, SharedForm.POOL] as const;
const PAGE_BYTES = 4096;
const NUMBER_AT = 8;
const BARE_OUT = 0x10;
const ENTRIES = 2 ** LOG_SHARED;

class CommandFixture extends DataFixture {
  readonly cq = this.completionQueue().number;
  readonly xrcd = this.driver.expect(CommandOpcode.ALLOC_XRCD).getUint32(NUMBER_AT);
  readonly place = { queue: this.driver.allocate(PAGE_BYTES, 16 * PAGE_BYTES), record: this.driver.allocate(8, 8) };

  get hca() {
    return this.driver.device.hca;
  }

  setup(form: SharedForm): SharedQueueSetup {
    return form === SharedForm.XRC ? { form, pd: this.pd, xrcd: this.xrcd, cqn: this.cq } : { form, pd: this.pd };
  }

  make(form: SharedForm): Mlx5DriverSharedQueue {
    return new Mlx5DriverSharedQueue(this.driver, this.setup(form));
  }

  digest(): unknown {
    const { sharedReceiveQueues, domains, xrcDomains, completionQueues } = this.hca;
    const each = [...sharedReceiveQueues.values()].map(({ number, form, limit, references, ring }) => {
      return [number, form, limit, references, ring.head, ring.taken, ring.known];
    });
    const users = [...completionQueues.values()].map((queue) => queue.users);
    return [each, users, domains.usersOf(this.pd), xrcDomains.usersOf(this.xrcd)];
  }

  free(opcode: number, number: number): number {
    return this.driver.command(opcode, { fill: (view) => view.setUint32(NUMBER_AT, number) }).status;
  }
}

const fits = (bytes: number): CommandStatus => (bytes <= PAGE_BYTES ? OK : BAD_INPUT_LENGTH);
const upTo =
  (most: number, otherwise: CommandStatus): FieldRule =>
  (value) =>
    value <= most ? OK : otherwise;

/** Rules of the fields of a context: the names of the forms differ. */
function creationRules(fixture: CommandFixture, form: SharedForm): FieldWalk['rules'] {
  const { pd, place, xrcd, cq } = fixture;
  const isPool = form === SharedForm.POOL;
  const sizes: FieldRule = (value) => (value > 15 ? LIMIT_EXCEEDED : fits(ENTRY_BYTES * 2 ** value));
  const strides: FieldRule = (value) => {
    const bytes = isPool ? 2 ** value : 16 * 2 ** value;
    return bytes < 32 || bytes > 256 ? LIMIT_EXCEEDED : fits(ENTRIES * bytes);
  };
  const pageSizes: FieldRule = (value) => (place.queue % (PAGE_BYTES * 2 ** value) === 0 ? OK : BAD_PARAMETER);
  const no = only([0]);
  return {
    pd: only([pd], BAD_RESOURCE),
    wqSignature: no,
    pageOffset: (value) => fits(value * ENTRY_BYTES + ENTRIES * ENTRY_BYTES),
    lwm: upTo(ENTRIES, BAD_PARAMETER),
    ...{ contSrq: no, basicCyclicRcvWqe: no, dbrUmemValid: no, wqUmemValid: no, xrcSrqUmemValid: no, wqType: no },
    ...(form === SharedForm.XRC ? { xrcd: only([xrcd], BAD_RESOURCE), cqn: only([cq], BAD_RESOURCE) } : {}),
    ...{ logSrqSize: sizes, logXrcSrqSize: sizes, logWqSz: sizes, logRqStride: strides, logWqStride: strides },
    ...{ logPageSize: pageSizes, logWqPgSz: pageSizes },
    dbrAddr: (value) => (value % 4 === 0 ? OK : BAD_PARAMETER),
  };
}

const layouts: Readonly<Record<SharedForm, FieldWalk['layouts']>> = {
  [SharedForm.PLAIN]: { 0: 'create-srq-in', [CREATE_SRQ_IN_SRQ_CONTEXT_ENTRY_OFFSET]: 'srqc' },
  [SharedForm.XRC]: { 0: 'create-xrc-srq-in', [CREATE_SRQ_IN_SRQ_CONTEXT_ENTRY_OFFSET]: 'xrc-srqc' },
  [SharedForm.POOL]: {
    0: 'create-rmp-in',
    [CREATE_RMP_IN_CTX_OFFSET]: 'rmpc',
    [CREATE_RMP_IN_CTX_OFFSET + RMPC_WQ_OFFSET]: 'wq',
  },
};

for (const form of forms) {
  const opcodes = sharedOpcodes[form];

  t.test(`${form}: creation, each field`, (t) => {
    const fixture = new CommandFixture();
    const walk: FieldWalk = {
      driver: fixture.driver,
      opcode: opcodes.create,
      layouts: layouts[form],
      prepare: () => {
        for (const queue of [...fixture.hca.sharedReceiveQueues.values()])
          fixture.hca.sharedReceiveQueues.remove(queue);
        return sharedCreation(fixture.setup(form), fixture.place);
      },
      rules: creationRules(fixture, form),
      digest: () => fixture.digest(),
    };
    walkFields(t, walk);
    walkLengths(t, walk, CREATE_SRQ_IN_SIZE + 8, CREATE_RMP_OUT_SIZE);
    t.end();
  });

  t.test(`${form}: destruction and query, each field, and queues of other forms`, (t) => {
    for (const [opcode, outputBytes] of [
      [opcodes.query, QUERY_SRQ_OUT_SIZE],
      [opcodes.destroy, BARE_OUT],
    ]) {
      const fixture = new CommandFixture();
      for (const other of forms) if (other !== form) fixture.make(other);
      let queue = fixture.make(form);
      const walk: FieldWalk = {
        driver: fixture.driver,
        opcode,
        layouts: { 0: 'destroy-srq-in' },
        prepare: () => {
          if (fixture.hca.sharedReceiveQueues.get(queue.number) === undefined) queue = fixture.make(form);
          return { outputBytes, fill: (view) => view.setUint32(NUMBER_AT, queue.number) };
        },
        rules: { srqn: (value) => (value === queue.number ? OK : BAD_RESOURCE) },
        digest: () => fixture.digest(),
      };
      walkFields(t, walk);
      walkLengths(t, walk, DESTROY_SRQ_IN_SIZE, outputBytes);
    }
    t.end();
  });

  t.test(`${form}: the limit, each field`, (t) => {
    const fixture = new CommandFixture();
    for (const other of forms) if (other !== form) fixture.make(other);
    const queue = fixture.make(form);
    const isPool = form === SharedForm.POOL;
    const number = only([queue.number], BAD_RESOURCE);
    const walk: FieldWalk = {
      driver: fixture.driver,
      opcode: opcodes.arm,
      layouts: isPool ? { 0: 'modify-rmp-in', [MODIFY_RMP_IN_CTX_OFFSET + RMPC_WQ_OFFSET]: 'wq' } : { 0: 'arm-rq-in' },
      prepare: () => sharedArming(form, queue.number, 0),
      rules: {
        ...(isPool ? {} : { opMod: only([1]) }),
        ...{ srqNumber: number, rmpn: number, bitmask: only([1]) },
        lwm: upTo(ENTRIES, BAD_PARAMETER),
      },
      digest: () => fixture.digest(),
    };
    walkFields(t, walk);
    const { inputBytes = 0 } = walk.prepare();
    walkLengths(t, walk, inputBytes, BARE_OUT);
    t.end();
  });

  t.test(`${form}: a context has its own length, whatever the command before was`, async (t) => {
    const fixture = new CommandFixture();
    fixture.driver.expect(CommandOpcode.NOP, { inputBytes: 40_000 });
    const queue = fixture.make(form);
    t.match(queue.query(), { limit: 0 });
    const contexts = [...fixture.hca.sharedReceiveQueues.values()].map(({ context }) => context.length);
    t.ok(contexts.length === 1 && contexts[0] < QUERY_SRQ_OUT_SIZE, `${contexts}`);
  });

  t.test(`${form}: a queue keeps what it names in use, and is itself in use`, (t) => {
    const fixture = new CommandFixture();
    const kinds: [number, number][] = [[CommandOpcode.DEALLOC_PD, fixture.pd]];
    if (form === SharedForm.XRC)
      kinds.push([CommandOpcode.DEALLOC_XRCD, fixture.xrcd], [CommandOpcode.DESTROY_CQ, fixture.cq]);
    const queues = [fixture.make(form), fixture.make(form)];
    for (const queue of queues) {
      for (const [opcode, number] of kinds) t.equal(fixture.free(opcode, number), RESOURCE_BUSY);
      t.equal(queue.destroy(), OK);
      t.equal(queue.destroy(), BAD_RESOURCE, 'twice');
    }
    for (const [opcode, number] of kinds) t.equal(fixture.free(opcode, number), OK);
    t.end();
  });
}

t.test('a queue that QPs use stays, and QPs take none of XRC', (t) => {
  for (const form of [SharedForm.PLAIN, SharedForm.POOL]) {
    const fixture = new CommandFixture();
    const queue = fixture.make(form);
    const users = [0, 1].map(() => fixture.queuePair({ context: { rqType: 1, srqnRmpnXrqn: queue.number } }));
    for (const qp of users) {
      t.equal(queue.destroy(), RESOURCE_BUSY, form);
      t.equal(qp.command(CommandOpcode.DESTROY_QP).status, OK);
    }
    t.equal(queue.destroy(), OK, form);
  }
  const fixture = new CommandFixture();
  const { number } = fixture.make(SharedForm.XRC);
  t.throws(() => fixture.queuePair({ context: { rqType: 1, srqnRmpnXrqn: number } }), /status 5/);
  t.end();
});
