// SPDX-License-Identifier: Apache-2.0
/**
 * The limits that QUERY_DEV_LIM tells are those that hold: tables of exactly that size are placed,
 * their last entry can be used and none behind it, and queues and depths of exactly that size are
 * taken.
 */
import t, { type Test } from 'tap';
import { ICM_PAGE_BYTES } from '../../../../protocol/mthca/gen/constants.gen.ts';
import { CQ_CONTEXT_SIZE, encodeCqContext, newCqContext } from '../../../../protocol/mthca/gen/cq-context.gen.ts';
import type { DeviceLimits } from '../../../../protocol/mthca/gen/device-limits.gen.ts';
import { type HcaSetup, newHcaSetup } from '../../../../protocol/mthca/gen/hca-setup.gen.ts';
import { encodeQpContext, newQpContext, type QpContext } from '../../../../protocol/mthca/gen/qp-context.gen.ts';
import { encodeQpPath, newQpPath } from '../../../../protocol/mthca/gen/qp-path.gen.ts';
import { encodeSrqContext, newSrqContext } from '../../../../protocol/mthca/gen/srq-context.gen.ts';
import { CommandOpcode, CommandStatus, QpParameterFlag } from '../../../../protocol/mthca/gen/values.gen.ts';
import { type DriverCommand, MthcaDriver, makeMthcaMachine } from '../../../rig/mthca/driver/mthca-driver.ts';
import { eventQueueBytes, PD, regionBytes, setupBytes } from '../../../rig/mthca/driver/profile.ts';
import { LOG_EQ_ENTRIES } from './limits.ts';

const { OK, BAD_INDEX, BAD_PARAM, EXCEED_LIMIT } = CommandStatus;
const BASE_UNIT = 0x100;
const LOG_GROUP_BYTES = 8;
/** Context memory, every MiB of which is the same MiB of the host: objects live in the device. */
const ICM_BYTES = 2 ** 26;
const PIECE_BYTES = 2 ** 20;
const CONTEXT_AT = 8;
const PRIMARY_PATH = CONTEXT_AT + 0x20;
const QP_BOX_BYTES = 0x200;
/** Numbers of the objects that others need. */
const [EQN, CQN] = [2, 128];
/** A physical region of all memory. */
const REGION = 16;
const KEY = REGION << 8;

function box(sizeBytes: number, encode: (view: DataView) => void): Uint8Array {
  const bytes = new Uint8Array(sizeBytes);
  encode(new DataView(bytes.buffer));
  return bytes;
}

/** Tables of the largest size, one behind the other. */
function largestSetup(limits: DeviceLimits): HcaSetup {
  let end = 0;
  const place = (sizeBytes: number): number => {
    const base = end;
    end += Math.max(sizeBytes, ICM_PAGE_BYTES);
    return base;
  };
  return {
    ...newHcaSetup(),
    shortKeys: 1,
    qpcBaseLow: place(limits.qpcBytes * 2 ** limits.logQps) / BASE_UNIT,
    logQpcEntries: limits.logQps,
    srqcBaseLow: place(limits.srqcBytes * 2 ** limits.logSrqs) / BASE_UNIT,
    logSrqcEntries: limits.logSrqs,
    cqcBaseLow: place(limits.cqcBytes * 2 ** limits.logCqs) / BASE_UNIT,
    logCqcEntries: limits.logCqs,
    eqcBaseLow: place(limits.eqcBytes * 2 ** limits.logEqs) / BASE_UNIT,
    logEqcEntries: limits.logEqs,
    mptBase: place(limits.mptBytes * 2 ** limits.logMpts),
    logMpts: limits.logMpts,
    groupBase: place(2 ** (limits.logGroups + LOG_GROUP_BYTES)),
    logGroupBytes: LOG_GROUP_BYTES,
    logGroups: limits.logGroups,
    groupHashSize: 2 ** (limits.logGroups - 1),
    uarContextBase: place(2 ** 3 * ICM_PAGE_BYTES),
    logUars: 3,
  };
}

/** A running HCA with the largest tables, an EQ and a CQ. */
function begin(change: Partial<HcaSetup> = {}): { driver: MthcaDriver; status: number } {
  const driver = new MthcaDriver(makeMthcaMachine({}, { memoryBytes: 16 * PIECE_BYTES }));
  driver.startFirmware();
  const { value } = driver.expect(CommandOpcode.SET_ICM_SIZE, { input: ICM_BYTES });
  const auxiliary = driver.allocate(value * ICM_PAGE_BYTES);
  driver.expect(CommandOpcode.MAP_ICM_AUX, driver.backContextMemory(0, auxiliary, value));
  const piece = driver.allocate(PIECE_BYTES, PIECE_BYTES);
  for (let at = 0; at < ICM_BYTES; at += PIECE_BYTES)
    driver.expect(CommandOpcode.MAP_ICM, driver.backContextMemory(at, piece, PIECE_BYTES / ICM_PAGE_BYTES));
  const input = setupBytes({ ...largestSetup(driver.limits), ...change });
  const { status } = driver.command(CommandOpcode.INIT_HCA, { input });
  if (status !== OK) return { driver, status };
  driver.expect(CommandOpcode.SW2HW_MPT, region(REGION));
  driver.expect(CommandOpcode.SW2HW_EQ, { input: eventQueueBytes(KEY, 0), modifier: EQN });
  driver.expect(CommandOpcode.SW2HW_CQ, completionQueue(CQN));
  return { driver, status };
}

function region(number: number): DriverCommand {
  return { input: regionBytes({ key: number, physical: 1, length: 2 ** 52 }), modifier: number };
}

function completionQueue(modifier: number, logEntries = 1): DriverCommand {
  const context = { ...newCqContext(), logEntries, completionEqn: EQN, pd: PD, key: KEY, uar: 1 };
  return { input: box(CQ_CONTEXT_SIZE, (view) => encodeCqContext(view, 0, context)), modifier };
}

function sharedQueue(modifier: number, logEntries = 1): DriverCommand {
  const context = { ...newSrqContext(), logEntries, stride: 2, pd: PD, key: KEY };
  return { input: box(0x40, (view) => encodeSrqContext(view, 0, context)), modifier };
}

function queuePair(modifier: number, context: Partial<QpContext> = {}, mask = 0): DriverCommand {
  const fields = { ...newQpContext(), sendCqn: CQN, receiveCqn: CQN, uar: 1, mtu: 4, ...context };
  const input = box(QP_BOX_BYTES, (view) => {
    view.setUint32(0, mask);
    encodeQpContext(view, CONTEXT_AT, fields);
    encodeQpPath(view, PRIMARY_PATH, { ...newQpPath(), port: 1 });
  });
  return { input, modifier };
}

/** The limit is taken, and what is beyond it has another status. */
function judge(t: Test, what: string, run: (value: number) => number, limit: number, beyond: number): void {
  t.same([run(limit), run(limit + 1)], [OK, beyond], what);
}

t.test('tables of the largest size have a last entry, and none behind it', (t) => {
  const { driver } = begin();
  const { limits } = driver;
  const give =
    (opcode: number, make: (number: number) => DriverCommand) =>
    (number: number): number =>
      driver.command(opcode, make(number)).status;
  judge(t, 'regions', give(CommandOpcode.SW2HW_MPT, region), 2 ** limits.logMpts - 1, BAD_INDEX);
  judge(t, 'SRQs', give(CommandOpcode.SW2HW_SRQ, sharedQueue), 2 ** limits.logSrqs - 1, BAD_INDEX);
  const eventQueue = (modifier: number): DriverCommand => ({ input: eventQueueBytes(KEY, 0), modifier });
  judge(t, 'EQs', give(CommandOpcode.SW2HW_EQ, eventQueue), 2 ** limits.logEqs - 1, BAD_INDEX);
  const group = (modifier: number): DriverCommand => ({ modifier, out: 0x100 });
  judge(t, 'groups', give(CommandOpcode.READ_MGM, group), 2 ** limits.logGroups - 1, BAD_INDEX);
  // Bits above the tables of CQs and QPs tell a new object from an old one.
  t.equal(give(CommandOpcode.SW2HW_CQ, completionQueue)(2 ** limits.logCqs - 1), OK, 'CQs');
  t.equal(give(CommandOpcode.RST2INIT_QP, queuePair)(2 ** limits.logQps - 1), OK, 'QPs');
  t.end();
});

t.test('tables that are larger are refused', (t) => {
  const { limits } = begin().driver;
  for (const [field, log] of [
    ['logQpcEntries', limits.logQps],
    ['logSrqcEntries', limits.logSrqs],
    ['logCqcEntries', limits.logCqs],
    ['logEqcEntries', limits.logEqs],
    ['logMpts', limits.logMpts],
    ['logGroups', limits.logGroups],
  ] as const)
    t.equal(begin({ [field]: log + 1 }).status, EXCEED_LIMIT, field);
  t.end();
});

t.test('queues of the largest length, and the greatest depth of READs', (t) => {
  const { driver } = begin();
  const { limits } = driver;
  let next = 200;
  const status = (opcode: number, command: DriverCommand): number => driver.command(opcode, command).status;
  const cq = (log: number): number => status(CommandOpcode.SW2HW_CQ, completionQueue(next++, log));
  judge(t, 'CQ', cq, limits.logCqEntries, EXCEED_LIMIT);
  const srq = (log: number): number => status(CommandOpcode.SW2HW_SRQ, sharedQueue(next++, log));
  judge(t, 'SRQ', srq, limits.logSrqEntries, EXCEED_LIMIT);
  const eq = (log: number): number =>
    status(CommandOpcode.SW2HW_EQ, { input: eventQueueBytes(KEY, 0, log), modifier: 3 + log - LOG_EQ_ENTRIES });
  judge(t, 'EQ', eq, LOG_EQ_ENTRIES, EXCEED_LIMIT);
  const qp = (context: Partial<QpContext>): number => status(CommandOpcode.RST2INIT_QP, queuePair(next++, context));
  judge(t, 'send queue', (log) => qp({ logSendEntries: log }), limits.logQpEntries, BAD_PARAM);
  judge(t, 'receive queue', (log) => qp({ logReceiveEntries: log }), limits.logQpEntries, BAD_PARAM);
  const { READS_IN, READS_OUT } = QpParameterFlag;
  const toReceive = (mask: number, context: Partial<QpContext>): number => {
    driver.expect(CommandOpcode.RST2INIT_QP, queuePair(next));
    return status(CommandOpcode.INIT2RTR_QP, queuePair(next++, context, mask));
  };
  judge(t, 'READs served', (logReadsIn) => toReceive(READS_IN, { logReadsIn }), limits.logReadsIn, EXCEED_LIMIT);
  judge(
    t,
    'READs begun',
    (logReadsOut) => toReceive(READS_OUT, { logReadsOut, sendsReads: 1 }),
    limits.logReadsOut,
    EXCEED_LIMIT,
  );
  t.end();
});
