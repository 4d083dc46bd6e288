// SPDX-License-Identifier: Apache-2.0
/**
 * The registers of collect buffers (US 8,484,392 par. 49, 55, 57-58, 88-89): shares and use of VCBs
 * and PCBs, dedicated buffers and their lock, and the counters of the collect unit.
 */
import { highDword, joinDwords, lowDword } from '../../../protocol/layout/dwords.ts';
import { PAGE_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  CSR,
  getCsrCollectControlChoke,
  setCsrDedicatedStateCollecting,
  setCsrDedicatedStateExecuting,
  setCsrDedicatedStateLocked,
} from '../../../protocol/layout/gen/registers.gen.ts';
import { FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import type { DedicatedCollectBuffer } from '../collect/dedicated-collect-buffer.ts';
import type { PcbAllocator } from '../collect/pcb-allocator.ts';
import { PcbState } from '../collect/physical-collect-buffer.ts';
import { NO_OBJECT } from '../function/fault-log.ts';
import { PHYSICAL_FUNCTION } from '../function/underlying-function.ts';
import type { RegisterParts } from './register-parts.ts';

const VCBS_PER_WORD = 32;

export function attachCollectRegisters(parts: RegisterParts): void {
  const { registers, collect } = parts;
  const { vcbSpace } = parts.shared;
  registers.attach(CSR.VCB_COUNT, { read: () => collect.vcbCount });
  registers.attach(CSR.VCB_BASE, { read: () => vcbSpace.getBase(parts.underlying.number) * PAGE_BYTES });
  registers.attach(CSR.QOS_DIVIDER, {
    write: (_index, low, high) => {
      collect.qosDivider = joinDwords(low, high);
    },
  });
  const wide = (value: number): number => {
    registers.high = highDword(value);
    return lowDword(value);
  };
  const { number } = parts.underlying;
  registers.attach(CSR.VCB_LEVEL_BASE, { read: () => wide(vcbSpace.getLevelAddress(number, collect.qosDivider)) });
  registers.attach(CSR.VCB_END, { read: () => wide(vcbSpace.getEndAddress(number)) });
  registers.attach(CSR.COLLECT_CONTROL, {
    read: () => Number(collect.choke.active),
    write: (_index, low) => {
      collect.choke.active = getCsrCollectControlChoke(low) === 1;
    },
  });
  registers.attach(CSR.VCB_IN_USE, {
    read: (word) => {
      let bits = 0;
      for (let bit = 0; bit < VCBS_PER_WORD; bit++) if (collect.isInUse(word * VCBS_PER_WORD + bit)) bits |= 1 << bit;
      return bits;
    },
  });
  registers.attach(CSR.PCB_REFUSALS, { read: (level) => collect.levelRefusals[level] });
  storeDivider(parts);
  attachBufferRegisters(parts);
  attachDedicated(parts);
  const counters: [number, () => number][] = [
    [CSR.COLLECT_KICKS, () => collect.kicks],
    [CSR.COLLECT_REFUSALS, () => collect.refusals],
    [CSR.COLLECT_CANCELS, () => collect.cancels],
    [CSR.COLLECT_CHOKED, () => collect.choke.commands],
  ];
  for (const [offset, read] of counters) registers.attach(offset, { read });
}

/** Updates QOS_DIVIDER after a reset, or after a resource request moved the sub-BAR. */
export function storeDivider({ registers, collect }: RegisterParts): void {
  registers.setStored(CSR.QOS_DIVIDER, lowDword(collect.qosDivider), highDword(collect.qosDivider));
}

/** Locks and states of the dedicated buffers, and the scheduler's dedicated buffers. */
function attachDedicated(parts: RegisterParts): void {
  const { registers, collect, underlying, shared } = parts;
  const { number } = underlying;
  const { schedulerBuffers } = shared;
  registers.attach(CSR.DEDICATED_LOCK, {
    read: () => {
      const index = collect.dedicated.findIndex(({ locked }) => !locked);
      if (index >= 0) collect.dedicated[index].locked = true;
      return index + 1;
    },
    write: (_index, low) => {
      const buffer = collect.dedicated[low === 0 ? 0 : low - 1];
      if (buffer === undefined) underlying.faults.report(FaultKind.REGISTER_RESERVED, NO_OBJECT, CSR.DEDICATED_LOCK);
      else buffer.locked = false;
    },
  });
  registers.attach(CSR.DEDICATED_STATE, { read: (index) => describeDedicated(collect.dedicated.at(index)) });
  registers.attach(CSR.SCHEDULER_BUFFERS, { read: () => schedulerBuffers.getTotal(number) });
  registers.attach(CSR.SCHEDULER_BUFFERS_SHARED, { read: () => schedulerBuffers.deviceShared });
  registers.attach(CSR.SCHEDULER_BUFFERS_IN_USE, { read: () => schedulerBuffers.getInUse(number, 0) });
  registers.attach(CSR.SCHEDULER_BUFFERS_AVAILABLE, { read: () => getAvailable(schedulerBuffers, number, 0) });
}

/** DEDICATED_STATE of a buffer, 0 for one that the function does not have. */
function describeDedicated(buffer: DedicatedCollectBuffer | undefined): number {
  let state = setCsrDedicatedStateLocked(0, Number(buffer?.locked ?? false));
  state = setCsrDedicatedStateCollecting(state, Number(buffer?.state === PcbState.COLLECTING));
  return setCsrDedicatedStateExecuting(state, Number(buffer?.state === PcbState.KICKED));
}

function attachBufferRegisters({ registers, underlying, shared }: RegisterParts): void {
  const { number } = underlying;
  const { collectBuffers } = shared;
  registers.attach(CSR.PCB_COUNT, { read: () => collectBuffers.getTotal(number) });
  registers.attach(CSR.PCB_ALLOCATED, { read: (level) => collectBuffers.getGuaranteed(number, level) });
  registers.attach(CSR.PCB_IN_USE, { read: (level) => collectBuffers.getInUse(number, level) });
  registers.attach(CSR.PCB_AVAILABLE, { read: (level) => getAvailable(collectBuffers, number, level) });
  registers.attach(CSR.PCB_SHARED_FUNCTION, { read: () => collectBuffers.getShared(number) });
  registers.attach(CSR.PCB_SHARED_DEVICE, { read: () => collectBuffers.deviceShared });
  registers.attach(CSR.PCB_IN_USE_FUNCTION, { read: () => collectBuffers.getInUseFunctionShared(number) });
  registers.attach(CSR.PCB_IN_USE_DEVICE, { read: () => collectBuffers.getInUseDevice(number) });
}

/** A virtual function does not see what the others use of the shared buffers. */
function getAvailable(buffers: PcbAllocator, functionNumber: number, qosLevel: number): number {
  return functionNumber === PHYSICAL_FUNCTION
    ? buffers.getAvailable(functionNumber, qosLevel)
    : buffers.getAvailableAlone(functionNumber, qosLevel);
}
