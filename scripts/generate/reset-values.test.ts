// SPDX-License-Identifier: Apache-2.0
/**
 * The reset column of docs/REGISTERS.md against a fresh adapter: every register, read by the
 * offset that the document gives. And the list in docs/PROGRAMMING.md of what a reset leaves,
 * against an adapter that has worked.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import type { FunctionPort, ResetKind } from '../../device/host.ts';
import { encodeRequest, readResourceWords } from '../../device/process/reports/resource-syntax.ts';
import { AdapterFixture } from '../../device/rig/fixtures/adapter-fixture.ts';
import { InProcessMachine } from '../../device/rig/machine/machine.ts';
import { IDENTITY_MAGIC } from '../../protocol/layout/gen/constants.gen.ts';
import { CSR, csrRegisters } from '../../protocol/layout/gen/registers.gen.ts';

const PROGRAMMING = readFileSync(fileURLToPath(new URL('../../docs/PROGRAMMING.md', import.meta.url)), 'utf8');
const DOCUMENT = readFileSync(fileURLToPath(new URL('../../docs/REGISTERS.md', import.meta.url)), 'utf8');
/**
 * `| 0x0000 | 32 | **NAME** | ro | 0x0 | ...`, and of arrays `0x0210..0x0217` and `**NAME[2]**`.
 */
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

/** All registers by name, except the lock, which reading takes. */
function readAll(port: FunctionPort): Map<string, string> {
  const registers = csrRegisters.filter(({ access }) => access !== 'rc');
  return new Map(
    registers.map(({ name, offset, bits, count }) => {
      const dwords = Array.from({ length: (count * bits) / 32 }, (_, index) =>
        port.readRegister(offset + index * 4, 4),
      );
      return [name, dwords.join()];
    }),
  );
}

/** An adapter with traffic, faults, changed registers and another share. */
function makeUsed(): AdapterFixture {
  const fixture = new AdapterFixture();
  const port = fixture.machine.functionAt(0);
  fixture.machine.clock.advance(1e6);
  const { sender, receiver, to } = fixture.createPair();
  fixture.postReceive(receiver, 104);
  sender.post(to({ inline: new Uint8Array(8) }), 'collect');
  sender.post(to({ inline: new Uint8Array(8), qkey: 77 }), 'doorbell');
  fixture.settle();
  port.writeRegister(CSR.ADAPTER_CONTROL, 4, 6, 0);
  for (const { name, offset, bits, count, access } of csrRegisters) {
    if (access !== 'rw' || /_CONTROL$/.test(name)) continue;
    for (let at = offset; at < offset + (count * bits) / 8; at += 4) port.writeRegister(at, 4, 8, 0);
  }
  const words = 'function 0 pcbs=200 vcbs=50 tvls=10 lane 3 execution=4'.split(' ');
  t.equal(port.requestResources(encodeRequest(readResourceWords(words, 128))).status, 0);
  return fixture;
}

t.test('a reset leaves what the document lists, and nothing else', async (t) => {
  const left = new Set<string>();
  for (const kind of ['device', 'function', 'lost', 'software'] as const satisfies readonly ResetKind[]) {
    const fresh = new InProcessMachine({ memoryBytes: 1 << 20 }).functionAt(0);
    fresh.setBusMaster(false);
    const before = readAll(fresh);
    const fixture = makeUsed();
    const port = fixture.machine.functionAt(0);
    if (kind === 'software') fixture.driver.reset();
    else fixture.machine.reset(0, kind);
    for (const [name, value] of readAll(port)) if (value !== before.get(name)) left.add(name);
  }
  const [, table = ''] = /^What a reset leaves .*?\n\n(.*?)\n\n/ms.exec(PROGRAMMING) ?? [];
  const listed = [...table.matchAll(/^\| ([^|]*) \|/gm)].flatMap(([, names]) =>
    [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name),
  );
  t.same([...left].sort(), listed.sort());
});
