// SPDX-License-Identifier: Apache-2.0
/**
 * Component masks (IBTA 15.2.3.1): bit n of the mask of a query stands for component n of the
 * record, and reserved fields count. The components come from the tables of
 * `protocol/infiniband/mad`, so every record is compared in the same way.
 */
import { administrationRecords } from '../../../../protocol/infiniband/mad/administration-records.ts';
import { widthOf } from '../../../../protocol/layout/table-rows.ts';

interface Component {
  /** Empty for reserved fields. */
  readonly name: string;
  readonly offsetBits: number;
  readonly bits: number;
}

/** A mask of 64 bits in two halves. */
export interface ComponentMask {
  readonly high: number;
  readonly low: number;
}

const HALF_BITS = 32;

/** Fields that count as several components: the width of each in bits. */
const PARTS: Readonly<Record<string, readonly number[]>> = {
  'path-record.serviceId': [HALF_BITS, HALF_BITS],
  'multi-path-record.independence': [2, 6],
  'guid-info-record.entries': Array.from({ length: 8 }, () => 64),
  'service-record.data': [
    ...Array.from({ length: 16 }, () => 8),
    ...Array.from({ length: 8 }, () => 16),
    ...Array.from({ length: 4 }, () => 32),
    ...Array.from({ length: 2 }, () => 64),
  ],
};

const known = new Map<string, readonly Component[]>();

/** Components of a record, in the order of their bits. */
export function componentsOf(recordName: string): readonly Component[] {
  const before = known.get(recordName);
  if (before !== undefined) return before;
  const table = administrationRecords.find(({ name }) => name === recordName);
  const components: Component[] = [];
  let offsetBits = 0;
  const rows = (table?.fields ?? []).flatMap((row) =>
    'element' in row ? Array.from({ length: row.count }, () => row.element).flat() : [row],
  );
  for (const row of rows) {
    const { name = '' } = row;
    for (const part of PARTS[`${recordName}.${name}`] ?? [widthOf(row)]) {
      components.push({ name, offsetBits, bits: part });
      offsetBits += part;
    }
  }
  known.set(recordName, components);
  return components;
}

export function hasBit({ high, low }: ComponentMask, bit: number): boolean {
  return bit < HALF_BITS ? ((low >>> bit) & 1) === 1 : ((high >>> (bit - HALF_BITS)) & 1) === 1;
}

/** True if the mask names the component `name` of a record. */
export function asksFor(recordName: string, mask: ComponentMask, name: string): boolean {
  return componentsOf(recordName).some((component, bit) => component.name === name && hasBit(mask, bit));
}

/**
 * True if a record has the values of a query in all components that the mask names. Components in
 * `except` are compared by the caller.
 */
export function matches(
  recordName: string,
  mask: ComponentMask,
  query: Uint8Array,
  record: Uint8Array,
  except: readonly string[] = [],
): boolean {
  return componentsOf(recordName).every((component, bit) => {
    if (component.name === '' || !hasBit(mask, bit) || except.includes(component.name)) return true;
    return sameBits(query, record, component);
  });
}

function sameBits(one: Uint8Array, other: Uint8Array, { offsetBits, bits }: Component): boolean {
  const end = offsetBits + bits;
  for (let byte = offsetBits >>> 3; byte << 3 < end; byte++) {
    const first = Math.max(offsetBits - byte * 8, 0);
    const last = Math.min(end - byte * 8, 8);
    const bitMask = (0xff >>> first) & (0xff << (8 - last));
    if (((one[byte] ^ other[byte]) & bitMask) !== 0) return false;
  }
  return true;
}
