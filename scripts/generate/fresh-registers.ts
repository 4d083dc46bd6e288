// SPDX-License-Identifier: Apache-2.0
/**
 * The registers of a fresh adapter, for the reset column of docs/REGISTERS.md: most are not kept in
 * the register file but read from units, so the tables do not know their values. The adapter is
 * loaded late, because it is built from files that `npm run generate` writes before. Called by
 * main.ts.
 */
const DWORD_BYTES = 4;
const DWORD_BITS = 32;
/** Different values that one row of the table names. */
const SHOWN_MAX = 3;

interface Descriptor {
  readonly name: string;
  readonly offset: number;
  readonly bits: number;
  readonly count: number;
}

/** Values by register name: `0x40`, or several where the registers of an array differ. */
export async function readFreshRegisters(): Promise<Map<string, string>> {
  const { InProcessMachine } = await import('../../device/rig/machine/machine.ts');
  const { csrRegisters } = await import('../../protocol/layout/gen/registers.gen.ts');
  const port = new InProcessMachine({ memoryBytes: 1 << 20 }).functionAt(0);
  // The machine enables the function, as software does.
  port.setBusMaster(false);
  const read = (offset: number): number => port.readRegister(offset, DWORD_BYTES) >>> 0;
  return new Map(csrRegisters.map((register) => [register.name, describe(register, read)]));
}

function describe({ offset, bits, count }: Descriptor, read: (offset: number) => number): string {
  const dwords = bits / DWORD_BITS;
  const values = Array.from({ length: count }, (_, index) => {
    const at = offset + index * dwords * DWORD_BYTES;
    const high = dwords === 2 ? BigInt(read(at + DWORD_BYTES)) << BigInt(DWORD_BITS) : 0n;
    return `0x${(high | BigInt(read(at))).toString(16)}`;
  });
  const different = [...new Set(values)];
  if (different.length === 1) return different[0];
  return different.length <= SHOWN_MAX ? values.join(', ') : `${values[0]}..${values[values.length - 1]}`;
}
