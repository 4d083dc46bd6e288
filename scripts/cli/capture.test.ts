// SPDX-License-Identifier: Apache-2.0
/**
 * Captures of an adapter's ports: the file holds the packets that passed, and Wireshark's dissector
 * agrees.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { CaptureFile, type CaptureOptions } from '../../device/main/capture-file.ts';
import { AdapterFixture, type Pair } from '../../device/test-support/adapter-fixture.ts';
import { readPcap } from '../../protocol/infiniband/pcap.ts';
import { findTshark } from '../../qemu/setup/tshark.ts';
import { makeDirectory } from './testing/directory.ts';

const START_NS = 1_700_000_000e9;
const QKEY = 0x1234;
const tshark = findTshark();

interface CaptureFixture {
  readonly fixture: AdapterFixture;
  readonly pair: Pair;
  readonly path: string;
  capture(options?: Partial<CaptureOptions>): CaptureFile;
}

function prepare(t: Test): CaptureFixture {
  const fixture = new AdapterFixture({ seed: 3, memoryBytes: 64 * 1024 * 1024 });
  const pair = fixture.createPair({
    sender: { sendPsn: 500, sendEntriesLog2: 8 },
    receiver: { receiveEntriesLog2: 8 },
  });
  const path = join(makeDirectory(t), 'ports.pcap');
  const { ports } = fixture.machine.device;
  const capture = (options: Partial<CaptureOptions> = {}) =>
    new CaptureFile({ path, ...options }, ports, () => START_NS + fixture.machine.clock.now());
  return { fixture, pair, path, capture };
}

/** Sends `count` datagrams of 0xee, a millisecond apart. */
function send({ fixture, pair }: CaptureFixture, count: number, lengthBytes = 64): void {
  const payload = fixture.createBuffer(new Uint8Array(lengthBytes).fill(0xee));
  const target = fixture.createBuffer(40 + lengthBytes);
  for (let i = 0; i < count; i++) {
    fixture.machine.clock.advance(1e6);
    pair.receiver.postReceive([fixture.sge(target)]);
    pair.sender.post(pair.to({ sges: [fixture.sge(payload)] }), 'doorbell');
    pair.sender.parts.sendCq.take();
    pair.receiver.parts.receiveCq.take();
  }
}

/** A table of fields as tshark reads the file. */
function dissect(path: string, fields: readonly string[]): string[][] {
  const args = ['-r', path, '-T', 'fields', ...fields.flatMap((field) => ['-e', field])];
  const { stdout, status, stderr } = spawnSync(tshark as string, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return stdout
    .trim()
    .split('\n')
    .map((line) => line.split('\t'));
}

t.test('tshark reads what passed', { skip: tshark === undefined && 'tshark is not installed' }, async (t) => {
  const setting = prepare(t);
  send(setting, 2);
  const capture = setting.capture();
  send(setting, 5);
  await capture.stop();
  send(setting, 2);
  t.match(capture.progress, { packets: 10, lost: 0, active: false, closed: true, error: undefined });
  t.equal(capture.progress.bytes, readFileSync(setting.path).length);
  const fields = ['lrh.dlid', 'bth.opcode', 'bth.psn', 'bth.destqp', 'deth.q_key', 'deth.srcqp'];
  const table = dissect(setting.path, [
    ...fields.map((field) => `infiniband.${field}`),
    'frame.time_epoch',
    '_ws.malformed',
  ]);
  const { sender, receiver } = setting.pair;
  t.equal(table.length, 10, 'each packet is sent by port 1 and received by port 2');
  table.forEach(([dlid, opcode, psn, destination, qkey, source, time, malformed], i) => {
    t.same([dlid, opcode, psn].map(Number), [2, 100, 502 + (i >> 1)]);
    t.same([destination, qkey, source].map(Number), [receiver.qpn, QKEY, sender.qpn]);
    t.equal(Math.round((Number(time) - START_NS / 1e9) * 1000), 3 + (i >> 1), 'milliseconds');
    t.notOk(malformed);
  });
});

t.test('port, direction and number can be chosen', async (t) => {
  const setting = prepare(t);
  const count = async (options: Partial<CaptureOptions>): Promise<number> => {
    const capture = setting.capture(options);
    send(setting, 4);
    await capture.stop();
    const bytes = readFileSync(setting.path);
    return readPcap(new DataView(bytes.buffer, bytes.byteOffset, bytes.length)).records.length;
  };
  t.equal(await count({}), 8);
  t.equal(await count({ port: 1 }), 4);
  t.equal(await count({ direction: 'sent' }), 4);
  t.equal(await count({ port: 1, direction: 'received' }), 0);
  t.equal(await count({ count: 3 }), 3);
});

t.test('a capture costs nothing when it is off, and only one runs', async (t) => {
  const setting = prepare(t);
  const { ports } = setting.fixture.machine.device;
  const capture = setting.capture();
  t.throws(() => setting.capture(), { message: 'a capture is running already' });
  await capture.stop();
  t.ok(ports.every((port) => port.observer === undefined));
  t.throws(() => setting.capture({ path: '/nowhere/x' }), {
    message: 'the capture /nowhere/x cannot be written (ENOENT)',
  });
  t.ok(ports.every((port) => port.observer === undefined));
});

t.test('packets the file cannot take in time are counted, the rest is whole', async (t) => {
  const setting = prepare(t);
  const capture = setting.capture();
  // Nothing is written without a turn of the event loop; two buffers of 1 MiB hold some 500 packets
  // of 4 KiB.
  send(setting, 400, 4096);
  await capture.stop();
  const { packets, lost } = capture.progress;
  t.equal(packets + lost, 800);
  t.ok(lost > 0 && packets > 400);
  const bytes = readFileSync(setting.path);
  t.equal(readPcap(new DataView(bytes.buffer, bytes.byteOffset, bytes.length)).records.length, packets);
});

t.test('a disk that is full ends the capture with a sentence', async (t) => {
  const setting = prepare(t);
  const capture = setting.capture({ path: '/dev/full' });
  send(setting, 1);
  await capture.stop();
  t.match(capture.progress, { active: false, closed: true, error: 'the capture /dev/full cannot be written (ENOSPC)' });
  const { ports } = setting.fixture.machine.device;
  t.ok(ports.every((port) => port.observer === undefined));
});
