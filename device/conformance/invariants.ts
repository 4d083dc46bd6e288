// SPDX-License-Identifier: Apache-2.0
/** What holds after every step of an adapter, whatever software did: read from its registers alone, so that it holds for any backend. */
import { CSR } from '../../protocol/layout/gen/registers.gen.ts';
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
  const shared = read(CSR.PCB_SHARED_FUNCTION);
  let sharedUsed = 0;
  for (let level = 0; level < LEVELS; level++) {
    sharedUsed += Math.max(0, read(CSR.PCB_IN_USE, level) - read(CSR.PCB_ALLOCATED, level));
  }
  for (let level = 0; level < LEVELS; level++) {
    const inUse = read(CSR.PCB_IN_USE, level);
    const available = read(CSR.PCB_AVAILABLE, level);
    const expected = Math.max(0, read(CSR.PCB_ALLOCATED, level) - inUse) + shared - sharedUsed;
    if (available > 0x7fff_ffff || inUse > 0x7fff_ffff)
      return `level ${level}: ${inUse} PCBs in use, ${available} available`;
    // A level may hold shared PCBs while guaranteed ones have come back: it can bind at least what is computed here.
    if (available < expected)
      return `level ${level}: ${available} PCBs available, ${expected} must be; ${inUse} in use`;
  }
  for (const [name, total, used] of [
    ['execution', CSR.EXECUTION_CREDITS, CSR.EXECUTION_CREDITS_USED],
    ['completion', CSR.COMPLETION_CREDITS, CSR.COMPLETION_CREDITS_USED],
  ] as const) {
    if (read(used) > read(total)) return `${read(used)} of ${read(total)} ${name} credits are in use`;
  }
  return undefined;
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
