// SPDX-License-Identifier: Apache-2.0
/**
 * Work requests on keys: local invalidate, fast registration and binding of memory windows (IBTA
 * 10.6.5, 10.6.3.2, 10.6.7), and those of a personality. The requester executes them in order with
 * other messages, without packets.
 */

import { KEY_BYTE_MASK } from '../../../../protocol/infiniband/memory-keys.ts';
import { joinDwords } from '../../../../protocol/layout/dwords.ts';
import {
  getBindTargetAccess,
  getBindTargetKeyByte,
  getBindTargetRkey,
} from '../../../../protocol/layout/gen/bind-target.gen.ts';
import {
  getRegisterTargetAccess,
  getRegisterTargetPageCount,
  getRegisterTargetPageListAddress,
  getRegisterTargetPageShift,
} from '../../../../protocol/layout/gen/register-target.gen.ts';
import {
  getSendCommandSgeAddressHigh,
  getSendCommandSgeAddressLow,
  getSendCommandSgeLength,
  getSendCommandSgeLkey,
  SEND_COMMAND_TARGET_OFFSET,
} from '../../../../protocol/layout/gen/send-command.gen.ts';
import { AccessFlag, FaultKind, MrKind, SendOpcode } from '../../../../protocol/layout/gen/values.gen.ts';
import { CHANGE_KEY } from '../../function/request-opcodes.ts';
import { arePagesAligned, PAGE_SHIFT_MAX, PAGE_SHIFT_MIN, readPageList } from '../../memory/page-list.ts';
import type { BindRequest, KeyLookup } from '../../protection/key-lookup.ts';
import { ALL_ACCESS, REMOTE_CHANGES } from '../../protection/memory-region.ts';
import { foldHigh } from '../../protection/virtual-address.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';
import type { SendRecord } from '../state/send-record.ts';

const LIST_ALIGNMENT = 8;
/** A registration by work request names its pages. */
const FAST_ACCESS = ALL_ACCESS & ~AccessFlag.ON_DEMAND;

export class RequesterKeys {
  readonly #keys: KeyLookup;
  readonly #bind: BindRequest = { windowKey: 0, regionKey: 0, address: 0, lengthBytes: 0, access: 0, keyByte: 0 };

  constructor(keys: KeyLookup) {
    this.#keys = keys;
  }

  /** Executes the request. Returns NONE or the fault, which has been reported. */
  perform(qp: QueuePair, record: SendRecord): FaultKind {
    const fault = this.#execute(qp, record);
    // An unreadable page list was reported where it was read.
    if (fault !== FaultKind.NONE && fault !== FaultKind.DMA_READ) qp.owner.faults.report(fault, qp, record.sequence);
    return fault;
  }

  #execute(qp: QueuePair, record: SendRecord): FaultKind {
    switch (record.opcode) {
      case SendOpcode.NOP:
        return FaultKind.NONE;
      case SendOpcode.LOCAL_INVALIDATE:
        return this.#keys.invalidate(qp, record.immediate) ? FaultKind.NONE : FaultKind.KEY_STATE;
      case SendOpcode.FAST_REGISTER:
        return this.#register(qp, record.headerView);
      case SendOpcode.BIND_WINDOW:
        return this.#bindWindow(qp, record.headerView);
      case CHANGE_KEY:
        return this.#keys.perform?.(qp, record.sequence) ?? FaultKind.COMMAND_OPCODE;
      default:
        return FaultKind.COMMAND_OPCODE;
    }
  }

  #bindWindow(qp: QueuePair, command: DataView): FaultKind {
    const bind = this.#bind;
    bind.windowKey = getBindTargetRkey(command, SEND_COMMAND_TARGET_OFFSET);
    bind.access = getBindTargetAccess(command, SEND_COMMAND_TARGET_OFFSET);
    bind.keyByte = getBindTargetKeyByte(command, SEND_COMMAND_TARGET_OFFSET);
    bind.regionKey = getSendCommandSgeLkey(command, 0);
    bind.address = addressOf(command);
    bind.lengthBytes = getSendCommandSgeLength(command, 0);
    return this.#keys.bind(qp, bind);
  }

  /** Checks everything before the region changes. */
  #register(qp: QueuePair, command: DataView): FaultKind {
    // The page list names guest addresses: a process could map memory of others.
    if (qp.creation.userQueue === 1) return FaultKind.COMMAND_OPCODE;
    const key = getSendCommandSgeLkey(command, 0);
    const region = this.#keys.findRegistrable(qp, key);
    if (region === undefined) return this.#keys.fault;
    const fault = findRegistrationFault(command, region.maxPages);
    if (fault !== FaultKind.NONE) return fault;
    const pageShift = getRegisterTargetPageShift(command, SEND_COMMAND_TARGET_OFFSET);
    const pageCount = getRegisterTargetPageCount(command, SEND_COMMAND_TARGET_OFFSET);
    const list = getRegisterTargetPageListAddress(command, SEND_COMMAND_TARGET_OFFSET);
    const pages = readPageList(qp.owner.dma, list, pageCount);
    if (pages === undefined) return FaultKind.DMA_READ;
    if (!arePagesAligned(pages, pageShift)) return FaultKind.KEY_BOUNDS;
    region.kind = MrKind.FAST;
    region.access = getRegisterTargetAccess(command, SEND_COMMAND_TARGET_OFFSET);
    region.startAddress = addressOf(command);
    region.length = getSendCommandSgeLength(command, 0);
    region.pageShift = pageShift;
    region.pages = pages;
    region.keyByte = key & KEY_BYTE_MASK;
    region.valid = true;
    return FaultKind.NONE;
  }
}

function addressOf(command: DataView): number {
  return joinDwords(getSendCommandSgeAddressLow(command, 0), foldHigh(getSendCommandSgeAddressHigh(command, 0)));
}

/**
 * Checks the fields of a fast registration as create MR does: rights, pages, and that the range
 * lies within the pages. Returns NONE or the fault.
 */
function findRegistrationFault(command: DataView, maxPages: number): FaultKind {
  const access = getRegisterTargetAccess(command, SEND_COMMAND_TARGET_OFFSET);
  if ((access & ~FAST_ACCESS) !== 0) return FaultKind.KEY_ACCESS;
  if ((access & REMOTE_CHANGES) !== 0 && (access & AccessFlag.LOCAL_WRITE) === 0) return FaultKind.KEY_ACCESS;
  const pageShift = getRegisterTargetPageShift(command, SEND_COMMAND_TARGET_OFFSET);
  const pageCount = getRegisterTargetPageCount(command, SEND_COMMAND_TARGET_OFFSET);
  if (pageShift < PAGE_SHIFT_MIN || pageShift > PAGE_SHIFT_MAX) return FaultKind.KEY_BOUNDS;
  if (pageCount === 0 || pageCount > maxPages) return FaultKind.KEY_BOUNDS;
  const address = addressOf(command);
  const length = getSendCommandSgeLength(command, 0);
  const pageBytes = 2 ** pageShift;
  // Virtual addresses must be exact Numbers.
  const fits = length <= pageCount * pageBytes - (address % pageBytes) && address + length <= Number.MAX_SAFE_INTEGER;
  const list = getRegisterTargetPageListAddress(command, SEND_COMMAND_TARGET_OFFSET);
  return length > 0 && fits && list % LIST_ALIGNMENT === 0 ? FaultKind.NONE : FaultKind.KEY_BOUNDS;
}
