// SPDX-License-Identifier: Apache-2.0
/**
 * The reset column of docs/REGISTERS.md against a fresh adapter: every register, read by the
 * offset that the document gives.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { InProcessMachine } from '../../device/hosts/in-process/machine.ts';
import { IDENTITY_MAGIC } from '../../protocol/layout/gen/constants.gen.ts';
import { csrRegisters } from '../../protocol/layout/gen/registers.gen.ts';

const DOCUMENT = readFileSync(fileURLToPath(new URL('../../docs/REGISTERS.md', import.meta.url)), 'utf8');
/** `| 0x0000 | 32 | **NAME** | ro | 0x0 | ...`, and of arrays `0x0210..0x0217` and `**NAME[2]**`. */
const ROW =
  /^\| (0x[0-9a-f]{4})(?:\.\.0x[0-9a-f]{4})? \| (32|64) \| \*\*(\w+)(?:\[(\d+)\])?\*\* \| \w+ \| ([^|]+) \|/gm;

t.test('every register of a fresh adapter reads what the document says', async (t) => {
  const port = new InProcessMachine({ memoryBytes: 1 << 20 }).functionAt(0);
  port.setBusMaster(false);
  const read = (at: number): bigint => BigInt(port.readRegister(at, 4) >>> 0);
  let rows = 0;
  for (const [, offset, bits, name, count = '1', reset] of DOCUMENT.matchAll(ROW)) {
    const bytes = Number(bits) / 8;
    const values = Array.from({ length: Number(count) }, (_, index) => {
      const at = Number(offset) + index * bytes;
      return `0x${(read(at) | (bytes === 8 ? read(at + 4) << 32n : 0n)).toString(16)}`;
    });
    const shown =
      new Set(values).size === 1
        ? values[0]
        : reset.includes('..')
          ? `${values[0]}..${values.at(-1)}`
          : values.join(', ');
    t.equal(shown, reset, name);
    rows++;
  }
  t.equal(rows, csrRegisters.length, 'every register');
});

t.test('identities are hexadecimal', async (t) => {
  const magic = `0x${IDENTITY_MAGIC.toString(16)}`;
  t.match(DOCUMENT, `| 0x0000 | 32 | **IDENTITY** | ro | ${magic} |`);
  t.match(DOCUMENT, `| IDENTITY_MAGIC | ${magic} |`);
  t.match(DOCUMENT, '| VENDOR_ID | 0x1af4 |');
});
