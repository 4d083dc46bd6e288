// SPDX-License-Identifier: Apache-2.0
/**
 * Fast registration alone (IBTA 10.6.3.2): the bounds of its fields, and that nothing changes when
 * one of them is wrong.
 */
import t from 'tap';
import { COMMAND_HEADER_BYTES } from '../../../../protocol/layout/gen/constants.gen.ts';
import {
  setRegisterTargetAccess,
  setRegisterTargetPageCount,
  setRegisterTargetPageListAddress,
  setRegisterTargetPageShift,
} from '../../../../protocol/layout/gen/register-target.gen.ts';
import {
  setSendCommandSgeAddress,
  setSendCommandSgeLength,
  setSendCommandSgeLkey,
  SEND_COMMAND_TARGET_OFFSET as TARGET,
} from '../../../../protocol/layout/gen/send-command.gen.ts';
import { AccessFlag, FaultKind, SendOpcode } from '../../../../protocol/layout/gen/values.gen.ts';
import { CHANGE_KEY } from '../../function/request-opcodes.ts';
import { PAGE_SHIFT_MAX, PAGE_SHIFT_MIN } from '../../memory/page-list.ts';
import type { KeyLookup } from '../../protection/key-lookup.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';
import type { SendRecord } from '../state/send-record.ts';
import { RequesterKeys } from './requester-keys.ts';

const MOST_PAGES = 4;
const PAGE_BYTES = 2 ** PAGE_SHIFT_MIN;
const KEY = 0x1234;

const good = {
  access: AccessFlag.LOCAL_WRITE as number,
  pageShift: PAGE_SHIFT_MIN,
  pageCount: 2,
  list: 64,
  address: 3 * PAGE_BYTES + 100,
  length: 2 * PAGE_BYTES - 100,
};

/** Executes a fast registration; the page list has zeros. */
function register(fields: Partial<typeof good>) {
  const { access, pageShift, pageCount, list, address, length } = { ...good, ...fields };
  const view = new DataView(new ArrayBuffer(COMMAND_HEADER_BYTES));
  setSendCommandSgeLkey(view, 0, KEY);
  setSendCommandSgeAddress(view, 0, address);
  setSendCommandSgeLength(view, 0, length);
  setRegisterTargetAccess(view, TARGET, access);
  setRegisterTargetPageShift(view, TARGET, pageShift);
  setRegisterTargetPageCount(view, TARGET, pageCount);
  setRegisterTargetPageListAddress(view, TARGET, list);
  const region = { maxPages: MOST_PAGES, valid: false, length: 0, startAddress: 0, access: 0, keyByte: 0 };
  const { fault, reported } = perform(SendOpcode.FAST_REGISTER, view, region);
  return { fault, reported, region };
}

function perform(opcode: number, headerView: DataView, region: object | undefined, more: Partial<KeyLookup> = {}) {
  const reported: FaultKind[] = [];
  // The page list is all zeros.
  const read = (_subject: unknown, bytes: number, into: Uint8Array, at: number) => into.fill(0, at, at + bytes);
  const dma = { at: () => dma, read };
  const faults = { report: (fault: FaultKind) => reported.push(fault) };
  const invalidate = () => region !== undefined;
  const keys = { fault: FaultKind.KEY_STATE, findRegistrable: () => region, invalidate, ...more };
  const qp = { owner: { dma, faults }, creation: { userQueue: 0 } } as unknown as QueuePair;
  const record = { opcode, headerView, sequence: 1, immediate: KEY } as unknown as SendRecord;
  const fault = new RequesterKeys(keys as unknown as KeyLookup).perform(qp, record);
  return { fault, reported };
}

t.test('a registration at the bounds of its fields is accepted', async (t) => {
  for (const fields of [
    {},
    { length: 1 },
    { pageCount: MOST_PAGES, length: MOST_PAGES * PAGE_BYTES - 100 },
    { pageShift: PAGE_SHIFT_MAX, address: 0, length: 2 },
    { address: 2 ** 53 - PAGE_BYTES, length: PAGE_BYTES - 1 },
    { access: 0 },
    { access: AccessFlag.REMOTE_READ },
    { access: AccessFlag.REMOTE_WRITE | AccessFlag.LOCAL_WRITE },
    { access: AccessFlag.REMOTE_ATOMIC | AccessFlag.LOCAL_WRITE },
  ]) {
    const { fault, reported, region } = register(fields);
    const { address, length, access } = { ...good, ...fields };
    t.equal(fault, FaultKind.NONE, JSON.stringify(fields));
    t.same(reported, []);
    t.match(region, { valid: true, startAddress: address, length, access, keyByte: KEY & 0xff });
  }
});

t.test('a wrong field is reported and changes nothing', async (t) => {
  const { KEY_ACCESS, KEY_BOUNDS } = FaultKind;
  for (const [fields, wanted] of [
    [{ access: 0xff }, KEY_ACCESS],
    [{ access: AccessFlag.REMOTE_WRITE }, KEY_ACCESS],
    [{ access: AccessFlag.REMOTE_ATOMIC }, KEY_ACCESS],
    [{ pageShift: PAGE_SHIFT_MIN - 1, length: 1 }, KEY_BOUNDS],
    [{ pageShift: PAGE_SHIFT_MAX + 1 }, KEY_BOUNDS],
    [{ pageCount: 0, length: 0 }, KEY_BOUNDS],
    [{ pageCount: MOST_PAGES + 1 }, KEY_BOUNDS],
    [{ length: 2 * PAGE_BYTES - 99 }, KEY_BOUNDS],
    [{ length: 0 }, KEY_BOUNDS],
    [{ list: 4 }, KEY_BOUNDS],
    [{ address: 2 ** 53 - PAGE_BYTES, length: PAGE_BYTES }, KEY_BOUNDS],
  ] as const) {
    const { fault, reported, region } = register(fields);
    t.equal(fault, wanted, JSON.stringify(fields));
    t.same(reported, [wanted]);
    t.notOk(region.valid);
  }
});

t.test('a key that cannot be registered or invalidated is reported; a NOP reports nothing', async (t) => {
  const view = new DataView(new ArrayBuffer(COMMAND_HEADER_BYTES));
  for (const opcode of [SendOpcode.FAST_REGISTER, SendOpcode.LOCAL_INVALIDATE])
    t.same(perform(opcode, view, undefined), { fault: FaultKind.KEY_STATE, reported: [FaultKind.KEY_STATE] });
  for (const opcode of [SendOpcode.NOP, SendOpcode.LOCAL_INVALIDATE])
    t.same(perform(opcode, view, {}), { fault: FaultKind.NONE, reported: [] });
});

t.test('a request of a personality goes to its front end, by QP and number', async (t) => {
  const view = new DataView(new ArrayBuffer(COMMAND_HEADER_BYTES));
  const asked: number[] = [];
  const answer = (fault: FaultKind) => ({
    perform: (_qp: unknown, sequence: number) => {
      asked.push(sequence);
      return fault;
    },
  });
  t.same(perform(CHANGE_KEY, view, {}, answer(FaultKind.NONE)), { fault: FaultKind.NONE, reported: [] });
  const refused = { fault: FaultKind.KEY_PD, reported: [FaultKind.KEY_PD] };
  t.same(perform(CHANGE_KEY, view, {}, answer(FaultKind.KEY_PD)), refused);
  t.same(asked, [1, 1]);
  const unknown = { fault: FaultKind.COMMAND_OPCODE, reported: [FaultKind.COMMAND_OPCODE] };
  t.same(perform(CHANGE_KEY, view, {}), unknown, 'there are none without such a front end');
});
