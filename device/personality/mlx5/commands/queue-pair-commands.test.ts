// SPDX-License-Identifier: Apache-2.0
/**
 * Commands of queue pairs: each field of each command wrong, transitions from every state, what a
 * QP keeps in use, and that a refused command changes nothing (IBTA 10.3.1, 11.2.5).
 */
import t, { type Test } from 'tap';
import { encodeAds, newAds } from '../../../../protocol/mlx5/gen/ads.gen.ts';
import { CREATE_QP_IN_QPC_OFFSET, CREATE_QP_IN_SIZE } from '../../../../protocol/mlx5/gen/create-qp-in.gen.ts';
import { CREATE_QP_OUT_SIZE } from '../../../../protocol/mlx5/gen/create-qp-out.gen.ts';
import { DESTROY_QP_IN_SIZE } from '../../../../protocol/mlx5/gen/destroy-qp-in.gen.ts';
import { encodeQpc, newQpc, QPC_PRIMARY_ADDRESS_PATH_OFFSET, type Qpc } from '../../../../protocol/mlx5/gen/qpc.gen.ts';
import { QUERY_QP_OUT_SIZE } from '../../../../protocol/mlx5/gen/query-qp-out.gen.ts';
import {
  RST2INIT_QP_IN_QPC_OFFSET,
  RST2INIT_QP_IN_SIZE,
  setRst2initQpInQpn,
} from '../../../../protocol/mlx5/gen/rst2init-qp-in.gen.ts';
import {
  CommandOpcode,
  CommandStatus,
  QpOptional,
  QpService,
  QpState,
  ReceiveQueueType,
} from '../../../../protocol/mlx5/gen/values.gen.ts';
import { DataFixture } from '../../../rig/mlx5/driver/data-fixture.ts';
import type { Mlx5Command } from '../../../rig/mlx5/driver/mlx5-driver.ts';
import type { Mlx5DriverQueuePair } from '../../../rig/mlx5/driver/queue-pair.ts';
import { type FieldRule, type FieldWalk, only, walkFields, walkLengths } from '../../../rig/mlx5/fields/field-walk.ts';
import { writePages } from '../memory/page-list.ts';
import type { Mlx5QueuePair } from '../queues/queue-pair.ts';

const { OK, BAD_PARAMETER, BAD_RESOURCE, BAD_QP_STATE, LIMIT_EXCEEDED, BAD_INPUT_LENGTH, RESOURCE_BUSY } =
  CommandStatus;
const { RESET, INIT, RTR, RTS, SQE, ERROR } = QpState;
const PAGE_BYTES = 4096;
const BLOCK_BYTES = 64;
const LOG_ENTRIES = 4;
const PKEYS = 128;
const NOBODY = 0xffffff;
const BARE_OUT = 0x10;

/** A QP under test, and all that commands about QPs could change. */
class CommandFixture extends DataFixture {
  readonly cq = this.completionQueue().number;
  readonly page = this.driver.allocate(PAGE_BYTES, 16 * PAGE_BYTES);
  readonly record = this.driver.allocate(8, 8);

  get hca() {
    return this.driver.device.hca;
  }

  digest(): unknown {
    const { queuePairs, completionQueues, domains, uars, xrcDomains } = this.hca;
    const each = [...queuePairs.values()].map(({ number, state, context, qp }) => {
      const { attributes, sendPsn, pathMtuBytes } = qp;
      return [number, state, Buffer.from(context).toString('hex'), attributes, sendPsn, pathMtuBytes];
    });
    const users = [...completionQueues.values()].map((queue) => queue.users);
    return [each, users, domains.usersOf(this.pd), uars.usersOf(this.uar), xrcDomains.size];
  }

  /** The QP as the device has it. */
  found({ number }: Mlx5DriverQueuePair): Mlx5QueuePair {
    const found = this.hca.queuePairs.get(number);
    if (found === undefined) throw new Error(`there is no QP ${number}`);
    return found;
  }

  /** A command that creates a QP whose queues fill 2 KiB of one page. */
  creation(context: Partial<Qpc> = {}): Mlx5Command {
    const usual = { pd: this.pd, uarPage: this.uar, cqnSnd: this.cq, cqnRcv: this.cq, dbrAddr: this.record };
    const sizes = { logRqSize: LOG_ENTRIES, logRqStride: 2, logSqSize: LOG_ENTRIES };
    return {
      inputBytes: CREATE_QP_IN_SIZE + 8,
      fill: (view) => {
        encodeQpc(view, CREATE_QP_IN_QPC_OFFSET, { ...newQpc(), ...usual, ...sizes, ...context });
        writePages(view, CREATE_QP_IN_SIZE, [this.page]);
      },
    };
  }

  status(context: Partial<Qpc>): number {
    return this.driver.command(CommandOpcode.CREATE_QP, this.creation(context)).status;
  }

  /** Moves the QP to a state past its commands. */
  place(qp: Mlx5DriverQueuePair, state: QpState): void {
    const found = this.found(qp);
    if (found.state === state) return;
    this.hca.unit?.move(found, RESET);
    for (const next of [INIT, RTR, RTS]) {
      if (found.state === state) return;
      qp.move(COMMANDS[next], { nextRcvPsn: 1 });
    }
    if (state === SQE) this.driver.device.engine.life.failSends(found.qp);
    if (state === ERROR) this.hca.unit?.move(found, ERROR);
    if (found.state !== state) throw new Error(`the QP is in state ${found.state}`);
  }
}

/** Commands that lead to a state from the one before. */
const COMMANDS: Readonly<Record<number, number>> = {
  [INIT]: CommandOpcode.RST2INIT_QP,
  [RTR]: CommandOpcode.INIT2RTR_QP,
  [RTS]: CommandOpcode.RTR2RTS_QP,
};

/** A queue of 2^v units behind or before 1 KiB of the other one must fit the page. */
function fits(unitBytes: number): FieldRule {
  return (value) => (1024 + unitBytes * 2 ** value <= PAGE_BYTES ? OK : BAD_INPUT_LENGTH);
}

t.test('CREATE_QP: each field', (t) => {
  const fixture = new CommandFixture();
  const strides: FieldRule = (value) => (16 * 2 ** value > 256 ? LIMIT_EXCEEDED : fits(2 ** (LOG_ENTRIES + 4))(value));
  const services = [QpService.RC, QpService.UC, QpService.UD, QpService.XRC, QpService.QP0, QpService.QP1];
  walkFields(t, {
    driver: fixture.driver,
    opcode: CommandOpcode.CREATE_QP,
    layouts: { 0: 'create-qp-in', [CREATE_QP_IN_QPC_OFFSET]: 'qpc' },
    prepare: () => {
      for (const qp of [...fixture.hca.queuePairs.values()]) fixture.hca.unit?.destroy(qp);
      return fixture.creation();
    },
    rules: {
      st: only([...services, QpService.UMR]),
      wqSignature: only([0]),
      dbrUmemValid: only([0]),
      wqUmemValid: only([0]),
      dbrAddr: (value) => (value % 8 === 0 ? OK : BAD_PARAMETER),
      rqType: (value) =>
        value === ReceiveQueueType.SHARED ? BAD_RESOURCE : only([ReceiveQueueType.OWN, ReceiveQueueType.NONE])(value),
      logSqSize: fits(BLOCK_BYTES),
      logRqSize: fits(64),
      logRqStride: strides,
      pageOffset: (value) => (2048 + value * BLOCK_BYTES <= PAGE_BYTES ? OK : BAD_INPUT_LENGTH),
      logPageSize: (value) => (fixture.page % (PAGE_BYTES * 2 ** value) === 0 ? OK : BAD_PARAMETER),
      pd: only([fixture.pd], BAD_RESOURCE),
      uarPage: only([fixture.uar], BAD_RESOURCE),
      cqnSnd: only([fixture.cq], BAD_RESOURCE),
      cqnRcv: only([fixture.cq], BAD_RESOURCE),
    },
    digest: () => fixture.digest(),
  });
  t.end();
});

/** The walk over a transition of a QP of RC, from a state. */
function transition(fixture: CommandFixture, opcode: number, from: QpState, rules: FieldWalk['rules']): FieldWalk {
  // Only an unreliable QP can be in SQE.
  const service = from === SQE ? QpService.UC : QpService.RC;
  const qp = fixture.queuePair({ service, cq: fixture.completionQueue() });
  const path = RST2INIT_QP_IN_QPC_OFFSET + QPC_PRIMARY_ADDRESS_PATH_OFFSET;
  const known = Object.values(QpOptional)
    .filter((bit) => bit !== QpOptional.SRQN && bit !== QpOptional.RECEIVE_CQN)
    .reduce<number>((mask, bit) => mask | (1 << bit), 0);
  const context = { ...newQpc(), mtu: 3, logRraMax: 2, logSraMax: 2 };
  return {
    driver: fixture.driver,
    opcode,
    layouts: { 0: 'rst2init-qp-in', [RST2INIT_QP_IN_QPC_OFFSET]: 'qpc', [path]: 'ads' },
    prepare: () => {
      fixture.place(qp, from);
      return {
        inputBytes: RST2INIT_QP_IN_SIZE,
        fill: (view) => {
          setRst2initQpInQpn(view, 0, qp.number);
          encodeQpc(view, RST2INIT_QP_IN_QPC_OFFSET, context);
          encodeAds(view, path, { ...newAds(), vhcaPortNum: 1 });
        },
      };
    },
    rules: {
      qpn: only([qp.number], BAD_RESOURCE),
      optParamMask: (value) => ((value & ~known) === 0 ? OK : BAD_PARAMETER),
      ...rules,
    },
    digest: () => fixture.digest(),
  };
}

const mtus = only([1, 2, 3, 4, 5]);
const reads: FieldRule = (value) => (value <= 4 ? OK : LIMIT_EXCEEDED);

t.test('transitions: each field', (t) => {
  const { RST2INIT_QP, INIT2INIT_QP, INIT2RTR_QP, RTR2RTS_QP, RTS2RTS_QP, SQERR2RTS_QP } = CommandOpcode;
  const pkeyIndex: FieldRule = (value) => (value < PKEYS ? OK : BAD_PARAMETER);
  for (const [opcode, from, rules] of [
    [RST2INIT_QP, RESET, { vhcaPortNum: only([1]), pkeyIndex }],
    [INIT2INIT_QP, INIT, {}],
    [INIT2RTR_QP, INIT, { mtu: mtus, logRraMax: reads, srcAddrIndex: () => OK }],
    [RTR2RTS_QP, RTR, { logSraMax: reads }],
    [RTS2RTS_QP, RTS, {}],
    [SQERR2RTS_QP, SQE, {}],
  ] as const) {
    const walk = transition(new CommandFixture(), opcode, from, rules);
    walkFields(t, walk);
    walkLengths(t, walk, RST2INIT_QP_IN_SIZE, BARE_OUT);
  }
  t.end();
});

t.test('commands that name a QP alone', (t) => {
  const { QP_2ERR, QP_2RST, QUERY_QP, DESTROY_QP } = CommandOpcode;
  for (const [opcode, outputBytes] of [
    [QP_2ERR, BARE_OUT],
    [QP_2RST, BARE_OUT],
    [QUERY_QP, QUERY_QP_OUT_SIZE],
    [DESTROY_QP, BARE_OUT],
  ]) {
    const fixture = new CommandFixture();
    const cq = fixture.completionQueue();
    let qp = fixture.queuePair({ cq });
    const walk: FieldWalk = {
      driver: fixture.driver,
      opcode,
      layouts: { 0: 'destroy-qp-in' },
      prepare: () => {
        if (fixture.hca.queuePairs.get(qp.number) === undefined) qp = fixture.queuePair({ cq });
        fixture.place(qp, INIT);
        return { outputBytes, fill: (view) => setRst2initQpInQpn(view, 0, qp.number) };
      },
      rules: { qpn: (value) => (value === qp.number ? OK : BAD_RESOURCE) },
      digest: () => fixture.digest(),
    };
    walkFields(t, walk);
    walkLengths(t, walk, DESTROY_QP_IN_SIZE, outputBytes);
  }
  t.end();
});

t.test('each command in each state', (t) => {
  const fixture = new CommandFixture();
  const qp = fixture.queuePair({ cq: fixture.completionQueue() });
  const leads: readonly (readonly [opcode: number, from: readonly QpState[], to: QpState])[] = [
    [CommandOpcode.RST2INIT_QP, [RESET], INIT],
    [CommandOpcode.INIT2INIT_QP, [INIT], INIT],
    [CommandOpcode.INIT2RTR_QP, [INIT], RTR],
    [CommandOpcode.RTR2RTS_QP, [RTR], RTS],
    [CommandOpcode.RTS2RTS_QP, [RTS], RTS],
    [CommandOpcode.SQERR2RTS_QP, [SQE], RTS],
    [CommandOpcode.QP_2ERR, [INIT, RTR, RTS, SQE, ERROR], ERROR],
    [CommandOpcode.QP_2RST, [RESET, INIT, RTR, RTS, SQE, ERROR], RESET],
  ];
  const service = fixture.queuePair({ service: QpService.UC, cq: fixture.completionQueue() });
  for (const [opcode, from, to] of leads)
    for (const state of [RESET, INIT, RTR, RTS, SQE, ERROR]) {
      // Only an unreliable QP can be in SQE.
      const subject = state === SQE ? service : qp;
      fixture.place(subject, state);
      const { status } = subject.move(opcode);
      const isAllowed = from.includes(state);
      const what = `command 0x${opcode.toString(16)} in state ${state}`;
      t.equal(status, isAllowed ? OK : BAD_QP_STATE, what);
      t.equal(fixture.found(subject).state, isAllowed ? to : state, what);
      t.equal(subject.query().state, isAllowed ? to : state, `${what}: as a query shows it`);
    }
  t.end();
});

t.test('limits and objects count only where they mean something', (t) => {
  const fixture = new CommandFixture();
  const none = { rqType: ReceiveQueueType.NONE };
  t.equal(fixture.status({ ...none, cqnRcv: NOBODY }), OK, 'no receives, no CQ for them');
  t.equal(fixture.status({ st: QpService.UMR, pd: 0 }), OK, 'a QP of the keys of all domains');
  t.equal(fixture.status({ st: QpService.XRC, noSq: 1, pd: 0 }), BAD_RESOURCE, 'a target without a domain');
  const xrcd = fixture.driver.expect(CommandOpcode.ALLOC_XRCD).getUint32(8);
  const target = { st: QpService.XRC, noSq: 1, xrcd, pd: 0, uarPage: 0, cqnSnd: NOBODY, cqnRcv: NOBODY };
  t.equal(fixture.status(target), OK, 'a target has neither CQs nor a domain of protection');
  t.equal(fixture.status({ ...target, st: QpService.RC }), BAD_RESOURCE);
  t.equal(fixture.status({ st: QpService.QP0 }), OK);
  t.equal(fixture.status({ st: QpService.QP0 }), RESOURCE_BUSY);
  t.equal(fixture.status({ st: QpService.QP1 }), OK, 'the other one');
  t.equal(fixture.status({ rqType: 2 }), BAD_PARAMETER, 'a type that does not exist');
  t.end();
});

/** Status of the command that frees a number. */
function free(fixture: CommandFixture, opcode: number, number: number): number {
  return fixture.driver.command(opcode, { fill: (view) => view.setUint32(8, number) }).status;
}

/** Destroys the QPs from the first on; the number is free only after the last one. */
function checkUse(t: Test, fixture: CommandFixture, opcode: number, number: number, what: string): void {
  for (const qp of [...fixture.hca.queuePairs.values()]) {
    t.equal(free(fixture, opcode, number), RESOURCE_BUSY, what);
    fixture.hca.unit?.destroy(qp);
  }
  t.equal(free(fixture, opcode, number), OK, what);
}

t.test('a QP keeps what it names in use, and nothing else', (t) => {
  const { DEALLOC_PD, DESTROY_CQ, DEALLOC_UAR, DEALLOC_XRCD } = CommandOpcode;
  const kinds: readonly (readonly [string, number, (fixture: CommandFixture) => [number, Partial<Qpc>]])[] = [
    ['domain', DEALLOC_PD, ({ pd }) => [pd, {}]],
    ['CQ of sends', DESTROY_CQ, (fixture) => [fixture.cq, { cqnRcv: fixture.completionQueue().number }]],
    ['CQ of receives', DESTROY_CQ, (fixture) => [fixture.cq, { cqnSnd: fixture.completionQueue().number }]],
    ['both CQs', DESTROY_CQ, ({ cq }) => [cq, {}]],
    [
      'page',
      DEALLOC_UAR,
      ({ driver }) => {
        const uarPage = driver.allocateUar();
        return [uarPage, { uarPage }];
      },
    ],
    [
      'domain of XRC',
      DEALLOC_XRCD,
      ({ driver }) => {
        const xrcd = driver.expect(CommandOpcode.ALLOC_XRCD).getUint32(8);
        return [xrcd, { xrcd, st: QpService.XRC, noSq: 1 }];
      },
    ],
  ];
  for (const [what, opcode, prepare] of kinds) {
    const fixture = new CommandFixture();
    const [number, context] = prepare(fixture);
    for (let count = 0; count < 2; count++) t.equal(fixture.status(context), OK, what);
    checkUse(t, fixture, opcode, number, what);
  }
  const fixture = new CommandFixture();
  const spare = fixture.completionQueue().number;
  t.equal(fixture.status({ rqType: ReceiveQueueType.NONE, cqnRcv: spare }), OK);
  t.equal(free(fixture, DESTROY_CQ, spare), OK, 'a CQ for receives of a QP that has none');
  t.end();
});

t.test('a QP of no domain leaves the users of one that comes later', (t) => {
  const fixture = new CommandFixture();
  const coming = fixture.pd + 1;
  t.equal(fixture.status({ st: QpService.UMR, pd: coming }), OK);
  const [local] = [...fixture.hca.queuePairs.values()];
  t.equal(fixture.driver.expect(CommandOpcode.ALLOC_PD).getUint32(8), coming);
  t.equal(fixture.status({ pd: coming }), OK);
  fixture.hca.unit?.destroy(local);
  t.equal(free(fixture, CommandOpcode.DEALLOC_PD, coming), RESOURCE_BUSY);
  t.end();
});

t.test('what a QP has not takes no place and needs no object', (t) => {
  const fixture = new CommandFixture();
  t.equal(fixture.status({ logSqSize: 10 }), BAD_INPUT_LENGTH);
  t.equal(fixture.status({ logSqSize: 10, noSq: 1 }), OK, 'no send queue');
  const shared = { rqType: ReceiveQueueType.SHARED, srqnRmpnXrqn: 0x999 };
  t.equal(fixture.status(shared), BAD_RESOURCE);
  t.equal(fixture.status({ ...shared, st: QpService.XRC }), OK, 'queues of XRC are those of the request');
  t.end();
});

t.test('a port has one QP0 and one QP1', (t) => {
  const fixture = new CommandFixture();
  for (const st of [QpService.QP1, QpService.QP0]) {
    t.same([fixture.status({ st }), fixture.status({ st })], [OK, RESOURCE_BUSY], `service ${st}`);
    t.equal(fixture.status({ st: QpService.RC }), OK, 'others are not concerned');
  }
  t.end();
});

t.test('CREATE_QP: lengths', (t) => {
  const fixture = new CommandFixture();
  const walk: FieldWalk = {
    driver: fixture.driver,
    opcode: CommandOpcode.CREATE_QP,
    layouts: {},
    prepare: () => fixture.creation(),
    rules: {},
    digest: () => fixture.digest(),
  };
  walkLengths(t, walk, CREATE_QP_IN_SIZE + 8, CREATE_QP_OUT_SIZE);
  t.end();
});
