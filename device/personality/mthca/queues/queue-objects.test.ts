// SPDX-License-Identifier: Apache-2.0
/**
 * Completion queues, shared receive queues and queue pairs by command: contexts, states, the fields
 * that transitions take over, and the multicast table.
 */
import t, { type Test } from 'tap';
import { encodeCqContext, newCqContext } from '../../../../protocol/mthca/gen/cq-context.gen.ts';
import { type CqResizing, encodeCqResizing, newCqResizing } from '../../../../protocol/mthca/gen/cq-resizing.gen.ts';
import {
  encodeQpContext,
  getQpContextRetryCount,
  getQpContextSendPsn,
  getQpContextState,
  newQpContext,
  type QpContext,
} from '../../../../protocol/mthca/gen/qp-context.gen.ts';
import { encodeQpPath, getQpPathLid, getQpPathPort, newQpPath } from '../../../../protocol/mthca/gen/qp-path.gen.ts';
import { encodeSrqContext, newSrqContext, type SrqContext } from '../../../../protocol/mthca/gen/srq-context.gen.ts';
import {
  CommandOpcode,
  CommandStatus,
  QpContextState,
  QpParameterFlag,
  QpService,
} from '../../../../protocol/mthca/gen/values.gen.ts';
import { MthcaDriver, makeMthcaMachine } from '../../../rig/mthca/driver/mthca-driver.ts';
import { PD, regionBytes } from '../../../rig/mthca/driver/profile.ts';

const {
  OK,
  BAD_INDEX,
  BAD_OP,
  BAD_PARAM,
  BAD_QP_STATE,
  BAD_RESOURCE,
  BAD_RESOURCE_STATE,
  EXCEED_LIMIT,
  RESOURCE_BUSY,
} = CommandStatus;
const CQN = 130;
const SRQN = 20;
/** Bits above the size of the table. */
const QPN = 0x010014;
const EQN = 2;
const CONTEXT_AT = 8;
const PRIMARY_PATH = CONTEXT_AT + 0x20;

function box(sizeBytes: number, encode: (view: DataView) => void): Uint8Array {
  const bytes = new Uint8Array(sizeBytes);
  encode(new DataView(bytes.buffer));
  return bytes;
}

const cqBox = (key: number, change: object = {}): Uint8Array =>
  box(0x40, (view) =>
    encodeCqContext(view, 0, { ...newCqContext(), logEntries: 5, completionEqn: EQN, pd: PD, key, uar: 1, ...change }),
  );

const srqBox = (key: number, change: Partial<SrqContext> = {}): Uint8Array =>
  box(0x40, (view) =>
    encodeSrqContext(view, 0, { ...newSrqContext(), logEntries: 4, stride: 2, pd: PD, key, ...change }),
  );

const resizeBox = (change: Partial<CqResizing>): Uint8Array =>
  box(0x40, (view) => encodeCqResizing(view, 0, { ...newCqResizing(), ...change }));

/** Input of a transition; `path` goes into the primary path. */
function qpBox(mask: number, context: Partial<QpContext> = {}, path: object = {}): Uint8Array {
  return box(0x200, (view) => {
    view.setUint32(0, mask);
    encodeQpContext(view, CONTEXT_AT, { ...newQpContext(), sendCqn: CQN, receiveCqn: CQN, uar: 1, mtu: 4, ...context });
    encodeQpPath(view, PRIMARY_PATH, { ...newQpPath(), port: 1, ...path });
  });
}

/** A running HCA with a region and a CQ. */
function begin(): { driver: MthcaDriver; key: number } {
  const driver = new MthcaDriver(makeMthcaMachine());
  driver.start();
  const key = driver.createRegion(driver.allocate(0x2000), 0x2000);
  driver.expect(CommandOpcode.SW2HW_CQ, { input: cqBox(key), modifier: CQN });
  return { driver, key };
}

function status(
  t: Test,
  driver: MthcaDriver,
  opcode: number,
  wanted: number,
  input: Uint8Array,
  modifier: number,
): void {
  t.equal(driver.command(opcode, { input, modifier, out: 0x200 }).status, wanted, `0x${opcode.toString(16)}`);
}

t.test('completion queues', (t) => {
  const { driver, key } = begin();
  const give = (wanted: number, change: object, modifier = CQN + 1): void =>
    status(t, driver, CommandOpcode.SW2HW_CQ, wanted, cqBox(key, change), modifier);
  give(BAD_RESOURCE, {}, 3);
  give(BAD_RESOURCE, {}, 256 + 3);
  give(BAD_INDEX, {}, 2 ** 24);
  give(BAD_RESOURCE_STATE, {}, CQN);
  give(EXCEED_LIMIT, { logEntries: 18 });
  give(BAD_PARAM, { logEntries: 9 });
  give(BAD_PARAM, { completionEqn: 7 });
  give(BAD_PARAM, { uar: 8 });
  give(BAD_PARAM, { armRecord: 512 });
  give(BAD_PARAM, { start: 8 });
  give(BAD_PARAM, { key: 0x999 });
  t.equal(
    driver.command(CommandOpcode.HW2SW_EQ, { modifier: EQN, out: 0x40 }).status,
    RESOURCE_BUSY,
    'its EQ is in use',
  );
  const { output } = driver.expect(CommandOpcode.QUERY_CQ, { modifier: CQN, out: 0x40 });
  t.equal(output.getUint32(0x30) & 0xffffff, CQN);
  const resize = (wanted: number, change: Partial<CqResizing>, cqn = CQN): void =>
    status(t, driver, CommandOpcode.RESIZE_CQ, wanted, resizeBox({ key, logEntries: 4, ...change }), cqn);
  resize(BAD_PARAM, { logEntries: 9 });
  resize(BAD_RESOURCE_STATE, {}, CQN + 1);
  resize(OK, {});
  const taken = driver.expect(CommandOpcode.HW2SW_CQ, { modifier: CQN, out: 0x40 }).output;
  t.equal(taken.getUint8(0xc), 4, 'the size after resizing');
  t.equal(driver.command(CommandOpcode.QUERY_CQ, { modifier: CQN, out: 0x40 }).status, BAD_RESOURCE_STATE);
  t.end();
});

t.test('the number of a completion queue has bits above the table', (t) => {
  const { driver, key } = begin();
  const give = (cqn: number): number =>
    driver.command(CommandOpcode.SW2HW_CQ, { input: cqBox(key), modifier: cqn }).status;
  const query = (cqn: number): number => driver.command(CommandOpcode.QUERY_CQ, { modifier: cqn, out: 0x40 }).status;
  t.equal(give(CQN + 0x10000), BAD_RESOURCE_STATE, 'the place is taken');
  t.equal(query(CQN + 0x10000), BAD_RESOURCE_STATE, 'by another number');
  driver.expect(CommandOpcode.HW2SW_CQ, { modifier: CQN, out: 0x40 });
  t.equal(give(CQN + 0x10000), OK);
  t.equal(query(CQN + 0x10000), OK);
  t.equal(query(CQN), BAD_RESOURCE_STATE);
  const path = qpBox(0, { sendCqn: CQN, receiveCqn: CQN + 0x10000 });
  status(t, driver, CommandOpcode.RST2INIT_QP, BAD_PARAM, path, QPN);
  const both = qpBox(0, { sendCqn: CQN + 0x10000, receiveCqn: CQN + 0x10000 });
  status(t, driver, CommandOpcode.RST2INIT_QP, OK, both, QPN);
  t.end();
});

t.test('shared receive queues', (t) => {
  const { driver, key } = begin();
  const give = (wanted: number, change: Partial<SrqContext>, modifier = SRQN): void =>
    status(t, driver, CommandOpcode.SW2HW_SRQ, wanted, srqBox(key, change), modifier);
  give(BAD_RESOURCE, {}, 0);
  give(EXCEED_LIMIT, { logEntries: 15 });
  give(BAD_PARAM, { record: 4096 });
  give(BAD_PARAM, { logEntries: 9 });
  give(OK, {});
  // With fewer than 7 entries the event would come at once, and disarm the limit.
  driver.setRecord(0, 0, 8);
  t.equal(driver.command(CommandOpcode.ARM_SRQ, { input: 7, modifier: SRQN }).status, OK);
  t.equal(driver.command(CommandOpcode.ARM_SRQ, { input: 0x10000, modifier: SRQN }).status, BAD_PARAM);
  t.equal(driver.command(CommandOpcode.ARM_SRQ, { input: 7, modifier: SRQN + 1 }).status, BAD_RESOURCE_STATE);
  const { output } = driver.expect(CommandOpcode.QUERY_SRQ, { modifier: SRQN, out: 0x30 });
  t.equal(output.getUint16(0x1c), 7, 'the limit');
  t.equal(output.getUint16(0x1e), 8, 'entries that are posted');
  const qp = qpBox(0, { hasSrq: 1, srqn: SRQN });
  driver.expect(CommandOpcode.RST2INIT_QP, { input: qp, modifier: QPN });
  t.equal(driver.command(CommandOpcode.HW2SW_SRQ, { modifier: SRQN, out: 0x30 }).status, RESOURCE_BUSY);
  driver.expect(CommandOpcode.ANY2RST_QP, { modifier: QPN, opcodeModifier: 3 });
  driver.expect(CommandOpcode.HW2SW_SRQ, { modifier: SRQN, out: 0x30 });
  t.end();
});

t.test('a queue pair goes through its states, in order only', (t) => {
  const { driver } = begin();
  const move = (opcode: number, wanted: number): void => status(t, driver, opcode, wanted, qpBox(0), QPN);
  const stateOf = (): number =>
    getQpContextState(driver.expect(CommandOpcode.QUERY_QP, { modifier: QPN, out: 0x108 }).output, CONTEXT_AT);
  for (const opcode of [CommandOpcode.INIT2RTR_QP, CommandOpcode.ANY2ERR_QP, CommandOpcode.QUERY_QP])
    move(opcode, BAD_QP_STATE);
  const path = [
    [CommandOpcode.RST2INIT_QP, QpContextState.INIT],
    [CommandOpcode.INIT2INIT_QP, QpContextState.INIT],
    [CommandOpcode.INIT2RTR_QP, QpContextState.RTR],
    [CommandOpcode.RTR2RTS_QP, QpContextState.RTS],
    [CommandOpcode.RTS2RTS_QP, QpContextState.RTS],
    [CommandOpcode.RTS2SQD_QP, QpContextState.SQD],
    [CommandOpcode.SQD2SQD_QP, QpContextState.SQD],
    [CommandOpcode.SQD2RTS_QP, QpContextState.RTS],
    [CommandOpcode.ANY2ERR_QP, QpContextState.ERR],
  ] as const;
  for (const [opcode, state] of path) {
    move(opcode, OK);
    t.equal(stateOf(), state);
  }
  for (const [opcode] of path.slice(0, -1)) move(opcode, BAD_QP_STATE);
  t.equal(
    driver.command(CommandOpcode.HW2SW_CQ, { modifier: CQN, out: 0x40 }).status,
    RESOURCE_BUSY,
    'its CQ is in use',
  );
  t.equal(driver.command(CommandOpcode.ANY2RST_QP, { modifier: QPN, opcodeModifier: 1 }).status, BAD_OP);
  const { output } = driver.expect(CommandOpcode.ANY2RST_QP, { modifier: QPN, opcodeModifier: 2, out: 0x108 });
  t.equal(output.getUint32(CONTEXT_AT + 0x10), QPN, 'the context that it had');
  driver.expect(CommandOpcode.ANY2RST_QP, { modifier: QPN, opcodeModifier: 3 });
  driver.expect(CommandOpcode.HW2SW_CQ, { modifier: CQN, out: 0x40 });
  t.end();
});

t.test('a queue pair with a context that is not valid', (t) => {
  const { driver } = begin();
  const give = (wanted: number, context: Partial<QpContext>, qpn = QPN): void =>
    status(t, driver, CommandOpcode.RST2INIT_QP, wanted, qpBox(0, context), qpn);
  give(BAD_RESOURCE, {}, 0x010003);
  give(BAD_PARAM, { service: QpService.RD });
  give(BAD_PARAM, { sendCqn: CQN + 1 });
  give(BAD_PARAM, { receiveCqn: 0xfff });
  give(BAD_PARAM, { logSendEntries: 15 });
  give(BAD_PARAM, { logReceiveEntries: 31 });
  give(BAD_PARAM, { uar: 8 });
  give(BAD_PARAM, { hasSrq: 1, srqn: SRQN });
  give(BAD_PARAM, { receiveRecord: 512 });
  for (const port of [0, 3]) status(t, driver, CommandOpcode.RST2INIT_QP, BAD_PARAM, qpBox(0, {}, { port }), QPN);
  give(OK, { service: QpService.UD });
  give(BAD_QP_STATE, {});
  give(BAD_QP_STATE, {}, 0x020014);
  t.equal(
    driver.command(CommandOpcode.QUERY_QP, { modifier: 0x020014, out: 0x108 }).status,
    BAD_QP_STATE,
    'same index',
  );
  t.end();
});

t.test('a transition with values that are not valid changes nothing', (t) => {
  const { driver } = begin();
  const { PRIMARY_PATH: PATH, READS_IN, READS_OUT, PORT } = QpParameterFlag;
  driver.expect(CommandOpcode.RST2INIT_QP, { input: qpBox(0), modifier: QPN });
  const query = (): Uint8Array => {
    const { output } = driver.expect(CommandOpcode.QUERY_QP, { modifier: QPN, out: 0x108 });
    return new Uint8Array(output.buffer, output.byteOffset, 0x108).slice();
  };
  const before = query();
  for (const [wanted, input] of [
    [BAD_PARAM, qpBox(0, { mtu: 0 })],
    [BAD_PARAM, qpBox(0, { mtu: 5 })],
    [EXCEED_LIMIT, qpBox(READS_IN, { logReadsIn: 5 })],
    [EXCEED_LIMIT, qpBox(READS_OUT, { logReadsOut: 7, sendsReads: 1 })],
    [EXCEED_LIMIT, qpBox(READS_OUT, { logReadsOut: 5, sendsAtomics: 1 })],
    [BAD_PARAM, qpBox(PORT, {}, { port: 3 })],
    [BAD_PARAM, qpBox(PATH, {}, { hasRoute: 1, gidIndex: 200 })],
  ] as const) {
    status(t, driver, CommandOpcode.INIT2RTR_QP, wanted, input, QPN);
    t.same(query(), before);
  }
  driver.expect(CommandOpcode.INIT2RTR_QP, { input: qpBox(PATH, {}, { hasRoute: 1, gidIndex: 0 }), modifier: QPN });
  t.end();
});

t.test('fields that the object does not use are not checked', (t) => {
  const { driver, key } = begin();
  const { PRIMARY_PATH: PATH, READS_IN, READS_OUT } = QpParameterFlag;
  const reset = (): void => void driver.expect(CommandOpcode.ANY2RST_QP, { modifier: QPN, opcodeModifier: 3 });
  driver.expect(CommandOpcode.SW2HW_SRQ, { input: srqBox(key), modifier: SRQN });
  for (const service of [QpService.RC, QpService.UC, QpService.UD]) {
    const receives = { hasSrq: 1, srqn: SRQN, logReceiveEntries: 31, receiveStride: 7, receiveRecord: 0x3ffffff };
    status(t, driver, CommandOpcode.RST2INIT_QP, OK, qpBox(0, { service, ...receives }), QPN);
    reset();
    status(t, driver, CommandOpcode.RST2INIT_QP, OK, qpBox(0, { service, hasSrq: 0, srqn: 0xffffff }), QPN);
    reset();
  }
  const toReceive = (service: QpService, input: Uint8Array): void => {
    driver.expect(CommandOpcode.RST2INIT_QP, { input: qpBox(0, { service }), modifier: QPN });
    status(t, driver, CommandOpcode.INIT2RTR_QP, OK, input, QPN);
    reset();
  };
  toReceive(QpService.RC, qpBox(READS_OUT, { logReadsOut: 7 }));
  toReceive(QpService.RC, qpBox(PATH, {}, { hasRoute: 0, gidIndex: 255, hopLimit: 0 }));
  toReceive(QpService.RC, qpBox(0, { logReadsIn: 7, logReadsOut: 7, sendsReads: 1 }, { port: 3 }));
  const reads = { logReadsIn: 7, logReadsOut: 7, sendsReads: 1, sendsAtomics: 1 };
  toReceive(QpService.UC, qpBox(READS_IN | READS_OUT, reads));
  toReceive(QpService.UD, qpBox(READS_IN | READS_OUT | PATH, { mtu: 0, ...reads }, { hasRoute: 1, gidIndex: 255 }));
  const region = { key: 200, physical: 1, logPageSize: 31, translation: 4, length: 2 ** 60 };
  status(t, driver, CommandOpcode.SW2HW_MPT, OK, regionBytes(region), 200);
  t.end();
});

t.test('transitions take over what their mask names', (t) => {
  const { driver } = begin();
  const query = (): DataView => driver.expect(CommandOpcode.QUERY_QP, { modifier: QPN, out: 0x108 }).output;
  const move = (opcode: number, input: Uint8Array): void => {
    driver.expect(opcode, { input, modifier: QPN });
  };
  move(CommandOpcode.RST2INIT_QP, qpBox(0, { retryCount: 3 }, { port: 1, pkeyIndex: 4, lid: 9 }));
  move(CommandOpcode.INIT2RTR_QP, qpBox(QpParameterFlag.PRIMARY_PATH, { retryCount: 5, remoteQpn: 77 }, { lid: 22 }));
  let view = query();
  t.equal(getQpPathPort(view, PRIMARY_PATH), 1, 'the port was not named');
  t.equal(getQpPathLid(view, PRIMARY_PATH), 22);
  t.equal(getQpContextRetryCount(view, CONTEXT_AT), 3, 'retries were not named');
  t.equal(view.getUint32(CONTEXT_AT + 0x14), 77, 'the other QP always is');
  move(CommandOpcode.RTR2RTS_QP, qpBox(QpParameterFlag.RETRY_COUNT, { retryCount: 6, sendPsn: 0x123456 }, { lid: 1 }));
  view = query();
  t.equal(getQpContextRetryCount(view, CONTEXT_AT), 6);
  t.equal(getQpContextSendPsn(view, CONTEXT_AT), 0x123456);
  t.equal(getQpPathLid(view, PRIMARY_PATH), 22, 'the path was not named');
  move(
    CommandOpcode.RTS2RTS_QP,
    qpBox(QpParameterFlag.PORT | QpParameterFlag.QKEY, { qkey: 0x8000_0001 }, { port: 2 }),
  );
  view = query();
  t.equal(getQpPathPort(view, PRIMARY_PATH), 2);
  t.equal(view.getUint32(CONTEXT_AT + 0xa8), 0x8000_0001);
  t.end();
});

t.test('the multicast table keeps what software writes', (t) => {
  const { driver } = begin();
  const gid = Uint8Array.from({ length: 16 }, (_, index) => 0xff - index);
  const { value } = driver.expect(CommandOpcode.MGID_HASH, { input: gid });
  t.ok(value < 8, 'the hash is in the lower half');
  t.equal(driver.expect(CommandOpcode.MGID_HASH, { input: gid }).value, value, 'and always the same');
  const entry = new Uint8Array(0x100);
  entry.set(gid, 16);
  driver.expect(CommandOpcode.WRITE_MGM, { input: entry, modifier: value });
  const read = (index: number): Uint8Array => {
    const { output } = driver.expect(CommandOpcode.READ_MGM, { modifier: index, out: 0x100 });
    return new Uint8Array(output.buffer, output.byteOffset, 0x100).slice();
  };
  t.same(read(value), entry);
  t.same(read(15), new Uint8Array(0x100));
  driver.expect(CommandOpcode.WRITE_MGM, { input: new Uint8Array(0x100), modifier: value });
  t.same(read(value), new Uint8Array(0x100));
  t.end();
});
