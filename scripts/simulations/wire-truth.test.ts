// SPDX-License-Identifier: Apache-2.0
/**
 * An independent judge of the packets on the wire: tshark reads captures of the whole suite of two
 * ends, and of every opcode of RC, UC and UD, between two ports. It must find each opcode of these
 * services and no malformed packet.
 */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { Adapter } from '../../device/hca/adapter/adapter.ts';
import { runTwoEndsCase, twoEndsCases } from '../../device/rig/conformance/two-ends/suite.ts';
import type { SendRequest } from '../../device/rig/driver/send-request.ts';
import { AdapterFixture } from '../../device/rig/fixtures/adapter-fixture.ts';
import { type Connected, connect, FULL_ACCESS, rdma } from '../../device/rig/fixtures/connected-fixture.ts';
import { InProcessAccess } from '../../device/rig/machine/access.ts';
import { InProcessMachine } from '../../device/rig/machine/machine.ts';
import {
  CaptureDirection,
  erfInterface,
  erfRecordBytes,
  writeErfFileHeader,
  writeErfRecord,
} from '../../protocol/infiniband/erf.ts';
import { BthOpcode, bthOpcodeNames } from '../../protocol/infiniband/gen/values.gen.ts';
import { opcodeFlags, TRANSPORT_MASK, Transport } from '../../protocol/infiniband/opcodes.ts';
import { buildPacket } from '../../protocol/infiniband/packet-builder.ts';
import { newPacketFields } from '../../protocol/infiniband/packet-fields.ts';
import { AccessFlag, MrKind, PlacementType, SendOpcode, ServiceType } from '../../protocol/layout/gen/values.gen.ts';
import { viewOf } from '../../protocol/layout/view.ts';
import { findTshark } from '../../qemu/setup/tshark.ts';

const FILE_HEADER_BYTES = 64;
/** Messages of one packet (ONLY) and of three (FIRST, MIDDLE, LAST), at a path MTU of 1024. */
const SIZES = [60, 2600];

/** Records the packets that both ports send. */
class Recording {
  readonly #records: Uint8Array[] = [];

  constructor(adapter: Adapter) {
    for (const port of adapter.ports)
      port.observer = (from, outgoing, bytes, offset, lengthBytes) => {
        if (!outgoing) return;
        const record = new Uint8Array(erfRecordBytes(lengthBytes));
        const side = erfInterface(from.number, CaptureDirection.SENT);
        writeErfRecord(
          new DataView(record.buffer),
          0,
          this.#records.length * 1000,
          side,
          0,
          viewOf(bytes),
          offset,
          lengthBytes,
        );
        this.#records.push(record);
      };
  }

  write(path: string): number {
    const header = new Uint8Array(FILE_HEADER_BYTES);
    const used = writeErfFileHeader(new DataView(header.buffer), 0);
    writeFileSync(path, Buffer.concat([header.subarray(0, used), ...this.#records]));
    return this.#records.length;
  }
}

/** Runs one request to its completion, with a receive entry ready at the other side. */
function perform(fixture: AdapterFixture, { a, b }: Connected, request: SendRequest): void {
  b.postReceive([fixture.sge(fixture.createBuffer(4096))]);
  a.post(request);
  a.parts.sendCq.take();
  fixture.settle();
  b.parts.receiveCq.drain();
}

function runConnected(fixture: AdapterFixture, serviceType: ServiceType): void {
  const connected = connect(fixture, { serviceType, pathMtu: 3, receiveEntriesLog2: 6 });
  const { region } = connected;
  for (const size of SIZES) {
    const local = fixture.createBuffer(fixture.random.bytes(size));
    const remote = fixture.createBuffer(size);
    const send = { sges: [fixture.sge(local)] };
    perform(fixture, connected, send);
    perform(fixture, connected, { ...send, immediate: 7 });
    perform(fixture, connected, rdma(fixture, SendOpcode.RDMA_WRITE, local, remote, region));
    perform(fixture, connected, {
      ...rdma(fixture, SendOpcode.RDMA_WRITE_IMMEDIATE, local, remote, region),
      immediate: 9,
    });
    if (serviceType !== ServiceType.RC) continue;
    perform(fixture, connected, rdma(fixture, SendOpcode.RDMA_READ, local, remote, region));
  }
  if (serviceType === ServiceType.RC) runReliable(fixture);
}

/**
 * Atomics, FLUSH, ATOMIC WRITE, which tshark 4.0 does not name but reads as InfiniBand, and SENDs
 * that invalidate; these end in an error here, because the key cannot be
 * invalidated, but the packet is sent.
 */
function runReliable(fixture: AdapterFixture): void {
  const access = FULL_ACCESS | AccessFlag.FLUSH_GLOBAL;
  const connected = connect(fixture, { pathMtu: 3, access });
  const cell = fixture.createBuffer(8);
  const local = fixture.createBuffer(8);
  const atomic = rdma(fixture, SendOpcode.FETCH_ADD, local, cell, connected.region);
  perform(fixture, connected, { ...atomic, atomic: { swapOrAdd: 1n } });
  perform(fixture, connected, { ...atomic, opcode: SendOpcode.COMPARE_SWAP, atomic: { swapOrAdd: 1n, compare: 1n } });
  const { rkey } = fixture.driver.createDmaRegion(fixture.pd, access);
  const remote = { address: cell.address, rkey };
  const flush = { placementType: PlacementType.GLOBAL_VISIBILITY, lengthBytes: 8 };
  perform(fixture, connected, { opcode: SendOpcode.FLUSH, remote, flush });
  perform(fixture, connected, { opcode: SendOpcode.ATOMIC_WRITE, remote, inline: new Uint8Array(8) });
  for (const size of SIZES) {
    const { pd } = fixture;
    const victim = fixture.driver.createMemoryRegion({
      pd,
      kind: MrKind.FAST,
      access: AccessFlag.LOCAL_WRITE,
      pageCount: 1,
    });
    const content = fixture.createBuffer(fixture.random.bytes(size));
    const request = { opcode: SendOpcode.SEND_INVALIDATE, sges: [fixture.sge(content)], immediate: victim.rkey };
    perform(fixture, connect(fixture, { pathMtu: 3 }), request);
  }
}

function runDatagrams(fixture: AdapterFixture): void {
  const { sender, receiver, to } = fixture.createPair();
  for (const immediate of [undefined, 5]) {
    fixture.postReceive(receiver, 200);
    const content = { inline: fixture.random.bytes(100) };
    sender.post(to(immediate === undefined ? content : { ...content, immediate }));
    sender.parts.sendCq.take();
    fixture.settle();
  }
}

/** The opcodes of the adapter's services, without reserved ones. */
function expectedOpcodes(): number[] {
  const services: number[] = [Transport.RC, Transport.UC, Transport.UD];
  return Array.from({ length: 256 }, (_, opcode) => opcode).filter(
    (opcode) => opcodeFlags[opcode] !== 0 && services.includes(opcode & TRANSPORT_MASK),
  );
}

/**
 * tshark's mark of a malformed InfiniBand packet. Other marks belong to protocols that it guesses
 * in random payload.
 */
const MALFORMED = 'Malformed Packet: IB]';

/** tshark's reading of a capture: the opcode of each frame, and the malformed frames. */
function readCapture(tshark: string, path: string): { opcodes: number[]; malformed: number[] } {
  const fields = ['frame.number', 'infiniband.bth.opcode', '_ws.malformed'].flatMap((field) => ['-e', field]);
  const options = { encoding: 'utf8', maxBuffer: 2 ** 28 } as const;
  const { stdout, stderr, status } = spawnSync(tshark, ['-r', path, '-T', 'fields', ...fields], options);
  if (status !== 0) throw new Error(`tshark ended with ${status}: ${stderr}`);
  const rows = stdout
    .trimEnd()
    .split('\n')
    .map((row) => row.split('\t'));
  const malformed = rows.filter(([, opcode = '', mark = '']) => opcode === '' || mark.includes(MALFORMED));
  return { opcodes: rows.map(([, opcode]) => Number(opcode)), malformed: malformed.map(([number]) => Number(number)) };
}

/** Captures the packets of `run` and returns the path of the capture. */
function capture(t: Test, adapter: Adapter, run: () => void): { path: string; packets: number } {
  const directory = mkdtempSync(join(tmpdir(), 'vuhca-wire-'));
  t.teardown(() => rmSync(directory, { recursive: true }));
  const path = join(directory, 'all.pcap');
  const recording = new Recording(adapter);
  run();
  return { path, packets: recording.write(path) };
}

const tshark = findTshark() ?? '';
const skip = tshark === '' ? 'tshark is not installed' : false;

t.test('tshark knows every opcode', { skip }, async (t) => {
  const fixture = new AdapterFixture();
  const { path, packets } = capture(t, fixture.machine.device, () => {
    runConnected(fixture, ServiceType.RC);
    runConnected(fixture, ServiceType.UC);
    runDatagrams(fixture);
  });
  const { opcodes, malformed } = readCapture(tshark, path);
  t.equal(opcodes.length, packets, 'every packet is a frame');
  const seen = new Set(opcodes);
  for (const opcode of expectedOpcodes()) t.ok(seen.has(opcode), `${bthOpcodeNames[opcode]} was sent and read`);
  t.same(malformed, [], 'no packet is malformed');
});

t.test('tshark reads the whole suite of two ends', { skip }, async (t) => {
  const machine = new InProcessMachine();
  const access = new InProcessAccess(machine);
  const { path, packets } = capture(t, machine.device, () => {
    for (const twoEnds of twoEndsCases) runTwoEndsCase(twoEnds, { access, port: 1 }, { access, port: 2 });
  });
  const { opcodes, malformed } = readCapture(tshark, path);
  t.comment(`${packets} packets`);
  t.equal(opcodes.length, packets, 'every packet is a frame');
  t.same(malformed, [], 'no packet is malformed');
});

t.test('tshark finds a malformed packet', { skip }, async (t) => {
  const adapter = new AdapterFixture().machine.core as Adapter;
  const [port] = adapter.ports;
  const { path, packets } = capture(t, adapter, () => {
    const view = new DataView(new ArrayBuffer(100));
    const fields = { ...newPacketFields(), opcode: BthOpcode.RC_RDMA_WRITE_ONLY, dlid: 1, slid: 2 };
    const whole = buildPacket(view, 0, fields);
    // The second one ends in the middle of its RETH.
    for (const length of [whole, whole - 16]) port.observer?.(port, true, new Uint8Array(view.buffer), 0, length);
  });
  t.equal(packets, 2);
  t.same(readCapture(tshark, path).malformed, [2]);
});
