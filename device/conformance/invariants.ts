// SPDX-License-Identifier: Apache-2.0
/** What holds after every step of an adapter, whatever software did: read from its registers alone, so that it holds for any backend. */
import { CSR } from '../../protocol/layout/gen/registers.gen.ts';
import type { Adapter } from '../adapter.ts';
import { PcbState } from '../collect/physical-collect-buffer.ts';
import type { HardwareAccess } from '../hosts/in-process/driver/hardware-access.ts';

const LEVELS = 2;
const DWORD_BYTES = 4;

/** PCBs and credits as the registers show them. */
interface Holdings {
  readonly inUse: number[];
  readonly executionUsed: number;
  readonly completionUsed: number;
}

/** Returns a sentence about the first invariant that is broken, or undefined. */
export function findBrokenInvariant(access: HardwareAccess): string | undefined {
  const read = (offset: number, index = 0): number => access.readRegister(offset + index * DWORD_BYTES, DWORD_BYTES);
  for (const [name, own, shared, used] of [
    ['execution', CSR.EXECUTION_CREDITS, CSR.EXECUTION_CREDITS_SHARED, CSR.EXECUTION_CREDITS_USED],
    ['completion', CSR.COMPLETION_CREDITS, CSR.COMPLETION_CREDITS_SHARED, CSR.COMPLETION_CREDITS_USED],
  ] as const) {
    const total = read(own) + read(shared);
    if (read(used) > total) return `${read(used)} of ${total} ${name} credits are in use`;
  }
  return findLostCollectBuffer(read);
}

/**
 * PCBs are conserved. Each level could bind its free guaranteed ones and the free shared ones: from the sums of both follows how many of each kind are
 * free, and every one of these numbers must lie between none and all.
 */
function findLostCollectBuffer(read: (offset: number, index?: number) => number): string | undefined {
  const levels = Array.from({ length: LEVELS }, (_, level) => ({
    guaranteed: read(CSR.PCB_ALLOCATED, level),
    inUse: read(CSR.PCB_IN_USE, level),
    available: read(CSR.PCB_AVAILABLE, level),
  }));
  const shared = read(CSR.PCB_SHARED_FUNCTION);
  const free = levels.reduce((sum, { guaranteed, inUse }) => sum + guaranteed - inUse, shared);
  const sharedFree = levels.reduce((sum, { available }) => sum + available, -free);
  const sound =
    sharedFree >= 0 &&
    sharedFree <= shared &&
    levels.every(({ guaranteed, inUse, available }) => {
      const guaranteedFree = available - sharedFree;
      return guaranteedFree >= 0 && guaranteedFree <= guaranteed && guaranteed - guaranteedFree <= inUse;
    });
  return sound ? undefined : `PCBs are not conserved: ${JSON.stringify({ shared, levels })}`;
}

/** Returns a sentence about what is still held although nothing is going on, or undefined. `halfWritten`: commands left half-written on purpose. */
export function findLeak(access: HardwareAccess, halfWritten = 0): string | undefined {
  const holdings = readHoldings(access);
  const inUse = holdings.inUse.reduce((sum, count) => sum + count, 0);
  if (inUse !== halfWritten) return `${inUse} PCBs are in use, ${halfWritten} should be`;
  if (holdings.executionUsed !== 0) return `${holdings.executionUsed} execution credits are in use`;
  if (holdings.completionUsed !== 0) return `${holdings.completionUsed} completion credits are in use`;
  const collecting = countCollecting(access);
  return collecting === halfWritten ? undefined : `${collecting} VCBs are in use, ${halfWritten} should be`;
}

/** VCBs that are collecting a command. */
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

/** Inside the adapter: every PCB that collects is bound to one VCB that knows of it, no VCB to two, and free and used ones add up. */
export function findBadBinding(adapter: Adapter): string | undefined {
  const { collectBuffers, functions } = adapter;
  const bound = new Set<number>();
  let inUse = 0;
  for (const buffer of collectBuffers.buffers) {
    if (buffer.state !== PcbState.FREE) inUse++;
    if (buffer.state !== PcbState.COLLECTING) continue;
    if (bound.has(buffer.vcb)) return `VCB ${buffer.vcb} is bound to two PCBs`;
    if (!functions[0]?.collect.isInUse(buffer.vcb))
      return `PCB ${buffer.index} is bound to VCB ${buffer.vcb}, which is free`;
    bound.add(buffer.vcb);
  }
  const total = collectBuffers.buffers.length;
  return inUse + collectBuffers.freeCount === total
    ? undefined
    : `${inUse} PCBs in use and ${collectBuffers.freeCount} free of ${total}`;
}
