// SPDX-License-Identifier: Apache-2.0
/**
 * Everything that a function does to the outside during a script of uses, as lines of text: stores
 * and interrupts with their bytes and times, packets, and all registers after each use. Two
 * adapters in the same state give the same lines. Lines of one use are sorted, and the bytes of
 * packets left out, which count messages executed so far: which unit has the next turn is no state
 * of a function.
 */
import { crc32 } from 'node:zlib';
import { newParsedPacket, PacketCheck, parsePacket } from '../../../protocol/infiniband/packet.ts';
import { CSR, csrRegisters } from '../../../protocol/layout/gen/registers.gen.ts';
import { AccessKind } from '../../hosts/in-process/access-log.ts';
import type { InProcessHost } from '../../hosts/in-process/host.ts';
import type { InProcessMachine } from '../../hosts/in-process/machine.ts';
import type { Port } from '../../port/port.ts';
import { Random } from '../../random.ts';
import type { AdapterFixture } from '../adapter-fixture.ts';
import { run, type Use } from './use.ts';

const STORES: ReadonlySet<number> = new Set([AccessKind.WRITE, AccessKind.BODY, AccessKind.VALIDITY, AccessKind.SWAP]);
/** Reading them changes them, or they show the time of the process. */
const UNREAD: ReadonlySet<number> = new Set([CSR.DEDICATED_LOCK]);
/** Registers with more items are read at the end only. */
const SHORT_ARRAY = 64;

/** How names of registers are compared. */
export interface RegisterRules {
  /** They count on from before: their growth is compared. */
  readonly lasting: ReadonlySet<string>;
  /** They are not compared. */
  readonly ignored?: ReadonlySet<string>;
}

/** Runs the script and returns what was seen. */
export function watchSession(
  fixture: AdapterFixture,
  uses: readonly Use[],
  seed: number,
  { lasting, ignored }: RegisterRules,
): string[] {
  const seen: string[] = [];
  const effects: string[] = [];
  const stop = watchEffects(fixture.machine, fixture.host, fixture.machine.device.ports, effects);
  const before = readRegisters(fixture);
  const random = new Random(seed);
  for (const use of uses) {
    run(use, fixture, random);
    fixture.settle();
    seen.push(use.name, ...effects.splice(0).sort());
    // Long arrays take most of the time, and show at the end what was left in them.
    const limit = use === uses.at(-1) ? Number.POSITIVE_INFINITY : SHORT_ARRAY;
    for (const [register, values] of readRegisters(fixture, limit)) {
      if (ignored?.has(register)) continue;
      const start = lasting.has(register) ? before.get(register) : undefined;
      seen.push(`${register} is ${values.map((value, index) => (value - (start?.[index] ?? 0)) >>> 0).join(' ')}`);
    }
  }
  stop();
  return seen;
}

/** Appends stores, interrupts and packets to `seen` until the returned function is called. */
export function watchEffects(
  machine: InProcessMachine,
  host: InProcessHost,
  ports: readonly Port[],
  seen: string[],
): () => void {
  const { clock, onStep } = machine;
  const startNs = clock.now();
  let mark = host.log.count;
  machine.onStep = () => {
    onStep();
    for (const { kind, address, lengthBytes } of host.log.since(mark)) {
      const content = STORES.has(kind) ? digest(host.memory.view(address, lengthBytes)) : '';
      seen.push(`${clock.now() - startNs} ns: access ${kind} at ${address}, ${lengthBytes} bytes ${content}`);
    }
    mark = host.log.count;
  };
  const parsed = newParsedPacket();
  for (const port of ports)
    port.observer = (_end, outgoing, bytes, offset, length) => {
      const fault = parsePacket(new DataView(bytes.buffer), offset, length, parsed, PacketCheck.NONE);
      const { opcode, dlid, slid, destQpn, psn, pKey } = parsed;
      const packet = [fault, opcode, dlid, slid, destQpn, psn, pKey, length].join(' ');
      seen.push(`port ${port.number} ${outgoing ? 'sends' : 'receives'} ${packet}`);
    };
  return () => {
    machine.onStep = onStep;
    for (const port of ports) port.observer = undefined;
  };
}

/** The dwords of each register whose array has at most `limit` items. */
function readRegisters(fixture: AdapterFixture, limit = Number.POSITIVE_INFINITY): Map<string, number[]> {
  const values = new Map<string, number[]>();
  for (const { name, offset, bits, count, access } of csrRegisters) {
    if (access === 'wo' || UNREAD.has(offset) || count > limit) continue;
    const dwords = (count * bits) / 32;
    values.set(
      name,
      Array.from({ length: dwords }, (_, index) => fixture.read(offset, index)),
    );
  }
  return values;
}

function digest({ buffer, byteOffset, byteLength }: DataView): string {
  return crc32(new Uint8Array(buffer, byteOffset, byteLength)).toString(16);
}
