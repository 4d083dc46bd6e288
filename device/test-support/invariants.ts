// SPDX-License-Identifier: Apache-2.0
/**
 * Invariants of an adapter after every step, whatever software does: PCBs, credits, doorbells and
 * bus reads, read from registers alone so that they apply to every host; and, inside the adapter,
 * the bindings of VCBs and PCBs (US 8,484,392 par. 53-56) and the PSNs of requesters (IBTA 9.7.1).
 * Called by fixtures, simulations and hosts' suites.
 */
import { CSR, getCsrOverflowControlEntriesLog2 } from '../../protocol/layout/gen/registers.gen.ts';
import { QpState } from '../../protocol/layout/gen/values.gen.ts';
import type { Adapter } from '../adapter/adapter.ts';
import { PcbState } from '../collect/physical-collect-buffer.ts';
import type { HardwareAccess } from '../hosts/in-process/driver/hardware-access.ts';
import type { TranslationHolder } from '../queues/object-tables.ts';
import { FailureCause } from '../queues/queue-pair-failure.ts';
import { requesterOf } from '../transport/connected-states.ts';

const LEVELS = 2;
const DWORD_BYTES = 4;

/** PCBs by level and credits in use, from the registers. */
interface Holdings {
  readonly inUse: number[];
  readonly executionUsed: number;
  readonly completionUsed: number;
}

/**
 * Describes the first violated invariant; undefined if there is none. `steady`: the function's
 * share does not shrink while it is in use.
 */
export function findBrokenInvariant(access: HardwareAccess, steady = true): string | undefined {
  const read = (offset: number, index = 0): number => access.readRegister(offset + index * DWORD_BYTES, DWORD_BYTES);
  for (const [name, own, shared, used] of [
    ['execution', CSR.EXECUTION_CREDITS, CSR.EXECUTION_CREDITS_SHARED, CSR.EXECUTION_CREDITS_USED],
    ['completion', CSR.COMPLETION_CREDITS, CSR.COMPLETION_CREDITS_SHARED, CSR.COMPLETION_CREDITS_USED],
  ] as const) {
    const total = read(own) + read(shared);
    if (steady && read(used) > total) return `${read(used)} of ${total} ${name} credits are in use`;
  }
  return findOverfull(read) ?? (steady ? findLostCollectBuffer(read) : undefined);
}

/** Doorbells, bus reads and overflow entries never exceed their limits. */
function findOverfull(read: (offset: number, index?: number) => number): string | undefined {
  const ring = 2 ** getCsrOverflowControlEntriesLog2(read(CSR.OVERFLOW_CONTROL));
  const pending = (read(CSR.OVERFLOW_WRITTEN) - read(CSR.OVERFLOW_READ)) >>> 0;
  for (const [name, used, limit] of [
    ['scheduler buffer entries', read(CSR.DOORBELL_BUFFER_USED), read(CSR.DOORBELL_BUFFER_ENTRIES)],
    ['bus reads', read(CSR.BUS_READS), read(CSR.BUS_READS_LIMIT)],
    ['overflow entries', pending, ring],
  ] as const) {
    if (used > limit) return `${used} of ${limit} ${name} are in use`;
  }
  return undefined;
}

/**
 * PCBs are conserved: a function binds at most its own and the shared ones. The number it may still
 * bind lies between its own free ones and those plus all free shared ones. Holds while no share
 * shrinks; `findBadBinding` holds always.
 */
function findLostCollectBuffer(read: (offset: number, index?: number) => number): string | undefined {
  const levels = Array.from({ length: LEVELS }, (_, level) => ({
    guaranteed: read(CSR.PCB_ALLOCATED, level),
    inUse: read(CSR.PCB_IN_USE, level),
    available: read(CSR.PCB_AVAILABLE, level),
  }));
  const shared = read(CSR.PCB_SHARED_FUNCTION);
  const sharedUsed = read(CSR.PCB_IN_USE_FUNCTION);
  const device = read(CSR.PCB_SHARED_DEVICE);
  const deviceUsed = read(CSR.PCB_IN_USE_DEVICE);
  const inUse = levels.reduce((sum, level) => sum + level.inUse, 0);
  const guaranteedUsed = inUse - sharedUsed - deviceUsed;
  const sound =
    sharedUsed <= shared &&
    deviceUsed <= device &&
    guaranteedUsed >= 0 &&
    guaranteedUsed <= levels.reduce((sum, level) => sum + level.guaranteed, 0) &&
    levels.every(
      ({ guaranteed, inUse: used, available }) =>
        available >= Math.max(0, guaranteed - used) + shared - sharedUsed &&
        available <= guaranteed + shared - sharedUsed + device - deviceUsed,
    );
  const total = read(CSR.PCB_COUNT);
  return sound && total === shared + levels.reduce((sum, level) => sum + level.guaranteed, 0)
    ? undefined
    : `PCBs are not conserved: ${JSON.stringify({ total, shared, sharedUsed, device, deviceUsed, levels })}`;
}

/**
 * At rest: describes a PCB, credit or VCB that is still in use; undefined if there is none.
 * `halfWritten`: commands left half-written on purpose.
 */
export function findLeak(access: HardwareAccess, halfWritten = 0): string | undefined {
  const holdings = readHoldings(access);
  const inUse = holdings.inUse.reduce((sum, count) => sum + count, 0);
  if (inUse !== halfWritten) return `${inUse} PCBs are in use, ${halfWritten} should be`;
  if (holdings.executionUsed !== 0) return `${holdings.executionUsed} execution credits are in use`;
  if (holdings.completionUsed !== 0) return `${holdings.completionUsed} completion credits are in use`;
  const collecting = countCollecting(access);
  return collecting === halfWritten ? undefined : `${collecting} VCBs are in use, ${halfWritten} should be`;
}

/** Number of VCBs that collect a command. */
export function countCollecting(access: HardwareAccess): number {
  let count = 0;
  const words = Math.ceil(access.readRegister(CSR.VCB_COUNT, DWORD_BYTES) / 32);
  for (let word = 0; word < words; word++) {
    for (
      let bits = access.readRegister(CSR.VCB_IN_USE + word * DWORD_BYTES, DWORD_BYTES);
      bits !== 0;
      bits &= bits - 1
    ) {
      count++;
    }
  }
  return count;
}

function readHoldings(access: HardwareAccess): Holdings {
  return {
    inUse: [access.readRegister(CSR.PCB_IN_USE, DWORD_BYTES), access.readRegister(CSR.PCB_IN_USE + 4, DWORD_BYTES)],
    executionUsed: access.readRegister(CSR.EXECUTION_CREDITS_USED, DWORD_BYTES),
    completionUsed: access.readRegister(CSR.COMPLETION_CREDITS_USED, DWORD_BYTES),
  };
}

/**
 * Inside the adapter: describes a PCB and VCB whose binding is not exclusive both ways, or a count
 * of an allocator that disagrees; undefined if there is none.
 */
export function findBadBinding(adapter: Adapter): string | undefined {
  const { collectBuffers, schedulerBuffers, functions, vcbSpace } = adapter;
  const collecting = new Map<number, number>();
  for (const { collect, underlying } of functions) {
    const { number } = underlying;
    let inUse = 0;
    for (let page = 0; page < collect.pageCount; page++) {
      if (!collect.isInUse(page)) continue;
      inUse++;
      const vcb = collect.getCollecting(page)?.vcb ?? -1;
      if (vcb < 0) continue;
      if (collecting.has(vcb)) return `two pages collect under VCB ${vcb}`;
      collecting.set(vcb, number);
    }
    if (inUse !== collect.inUseCount)
      return `function ${number} counts ${collect.inUseCount} VCBs in use, not ${inUse}`;
    if (vcbSpace.getReserved(number) > inUse) return `function ${number} has more VCBs reserved than in use`;
  }
  for (const { state, vcb, index, functionNumber } of collectBuffers.buffers) {
    if (state !== PcbState.COLLECTING) continue;
    if (collecting.get(vcb) !== functionNumber)
      return `PCB ${index} is bound to VCB ${vcb} of function ${functionNumber}, which does not collect into it`;
    collecting.delete(vcb);
  }
  for (const [vcb] of collecting) return `VCB ${vcb} collects without a PCB`;
  return collectBuffers.findError() ?? schedulerBuffers.findError();
}

/** Describes a requester of which a rule of `RequesterState` does not hold; undefined if all do. */
export function findBadRequester({ tables }: Adapter): string | undefined {
  let found: string | undefined;
  tables.queuePairs.forEach((qp) => {
    const error = requesterOf(qp)?.findError();
    if (error !== undefined) found = `QP ${qp.number}: ${error}`;
  });
  return found;
}

/**
 * Translation entries of each function are those of its objects; undefined, or what is wrong. No
 * management command may be in execution.
 */
export function findLostTranslations({ tables, functions }: Adapter): string | undefined {
  const held = functions.map(() => 0);
  const note = ({ owner, translationEntries }: TranslationHolder): void => {
    held[owner.number] += translationEntries;
  };
  tables.memoryRegions.forEach(note);
  tables.queuePairs.forEach(note);
  tables.completionQueues.forEach(note);
  tables.eventQueues.forEach(note);
  tables.sharedReceiveQueues.forEach(note);
  for (const [index, { underlying }] of functions.entries()) {
    const { used, quota } = underlying.translations;
    if (used !== held[index])
      return `function ${index} counts ${used} translation entries, objects hold ${held[index]}`;
    if (used > quota) return `function ${index} has ${used} of ${quota} translation entries`;
  }
  return undefined;
}

/** A QP in an error state says why it is there. */
export function findUnexplained({ tables }: Adapter): string | undefined {
  let found: string | undefined;
  tables.queuePairs.forEach(({ number, state, failure }) => {
    const failed = state === QpState.ERR || state === QpState.SQE;
    if (failed && failure.cause === FailureCause.NONE) found = `QP ${number} does not say why it failed`;
    if (state === QpState.INIT && failure.cause !== FailureCause.NONE)
      found = `QP ${number} says why it failed in INIT`;
  });
  return found;
}
