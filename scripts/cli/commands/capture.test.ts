// SPDX-License-Identifier: Apache-2.0
/**
 * Captures of an adapter's ports: the file holds the packets that passed, and Wireshark's dissector
 * agrees.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, constants, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { CaptureFile, type CaptureOptions } from '../../../device/process/control/capture-file.ts';
import { AdapterFixture, type Pair } from '../../../device/rig/fixtures/adapter-fixture.ts';
import { CaptureDirection, erfInterface, readErfRecord } from '../../../protocol/infiniband/erf.ts';
import { PCAP_FILE_HEADER_SIZE, readPcap } from '../../../protocol/infiniband/pcap.ts';
import { viewOf } from '../../../protocol/layout/view.ts';
import { findTshark } from '../../../qemu/setup/tshark.ts';
import { makeDirectory } from '../testing/directory.ts';

const START_NS = 1_700_000_000e9;
const QKEY = 0x1234;
const tshark = findTshark();

interface CaptureFixture {
  readonly fixture: AdapterFixture;
  readonly pair: Pair;
  readonly path: string;
  capture(options?: Partial<CaptureOptions>, onEarlyEnd?: (sentence: string) => void): CaptureFile;
}

function prepare(t: Test): CaptureFixture {
  const fixture = new AdapterFixture({ seed: 3, memoryBytes: 64 * 1024 * 1024 });
  const pair = fixture.createPair({
    sender: { sendPsn: 500, sendEntriesLog2: 8 },
    receiver: { receiveEntriesLog2: 8 },
  });
  const path = join(makeDirectory(t), 'ports.pcap');
  const { ports } = fixture.machine.device;
  const capture = (options: Partial<CaptureOptions> = {}, onEarlyEnd?: (sentence: string) => void) =>
    new CaptureFile({ path, ...options }, ports, () => START_NS + fixture.machine.clock.now(), onEarlyEnd);
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
  t.match(capture.progress, { packets: 10, lost: 0, active: false, closed: true, early: undefined });
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

t.test('ports may have other numbers in the file', async (t) => {
  const setting = prepare(t);
  const { ports } = setting.fixture.machine.device;
  const numberOf = ({ number }: { readonly number: number }) => 3 - number;
  const options = { path: setting.path, port: 1 };
  const capture = new CaptureFile(options, ports, () => START_NS, undefined, numberOf);
  send(setting, 4);
  await capture.stop();
  const bytes = readFileSync(setting.path);
  const view = viewOf(bytes);
  t.same(
    readPcap(view).records.map(({ offset, lengthBytes }) => readErfRecord(view, offset, lengthBytes)?.interfaceNumber),
    new Array(4).fill(erfInterface(1, CaptureDirection.RECEIVED)),
  );
});

t.test('a capture costs nothing when it is off, and only one runs', async (t) => {
  const setting = prepare(t);
  const { ports } = setting.fixture.machine.device;
  const capture = setting.capture();
  t.throws(() => setting.capture(), { message: 'a capture is running already' });
  await capture.stop();
  t.ok(ports.every((port) => port.observer === undefined));
  t.throws(() => setting.capture({ path: '/nowhere/x' }), {
    message: /^the capture \/nowhere\/x cannot be written \(ENOENT\): it does not exist, or its folder/,
  });
  t.ok(ports.every((port) => port.observer === undefined));
});

t.test('packets the file cannot take in time are counted, the rest is whole', async (t) => {
  const setting = prepare(t);
  const capture = setting.capture();
  // Nothing is written without a turn of the event loop; two buffers of 1 MiB hold about 500
  // packets of 4 KiB.
  send(setting, 400, 4096);
  await capture.stop();
  const { packets, lost } = capture.progress;
  t.equal(packets + lost, 800);
  t.ok(lost > 0 && packets > 400);
  const bytes = readFileSync(setting.path);
  t.equal(readPcap(new DataView(bytes.buffer, bytes.byteOffset, bytes.length)).records.length, packets);
});

/** The packets of a file, all of them whole. */
function countWhole(bytes: Uint8Array): number {
  const { records } = readPcap(viewOf(bytes));
  const last = records.at(-1);
  const end = last === undefined ? PCAP_FILE_HEADER_SIZE : last.offset + last.lengthBytes;
  return end === bytes.length ? records.length : Number.NaN;
}

t.test('a disk that is full ends the capture with a sentence', async (t) => {
  const setting = prepare(t);
  const sentences: string[] = [];
  const capture = setting.capture({ path: '/dev/full' }, (sentence) => sentences.push(sentence));
  send(setting, 1);
  await capture.stop();
  const early =
    'the capture /dev/full ends with 0 packets: it cannot be written any more (ENOSPC): ' +
    'the disk is full; free some space, or choose another one';
  t.match(capture.progress, { active: false, closed: true, failed: true, packets: 0, bytes: 0, early });
  t.same(sentences, [early]);
  const { ports } = setting.fixture.machine.device;
  t.ok(ports.every((port) => port.observer === undefined));
});

t.test('a disk that fills up keeps whole packets', async (t) => {
  const program = fileURLToPath(new URL('../testing/capture-until-full.ts', import.meta.url));
  const limits = [10, 24, 100, 300_000, 1_500_000];
  const words = ['--import=#typescript', program, makeDirectory(t), ...limits.map(String)];
  const captures = JSON.parse(execFileSync(process.execPath, words, { encoding: 'utf8' }));
  for (const [index, limitBytes] of limits.entries()) {
    const { path, packets, bytes, early, failed, sentences } = captures[index];
    const file = readFileSync(path);
    t.equal(file.length, bytes, `${limitBytes} bytes`);
    t.ok(bytes <= limitBytes && (limitBytes < 300_000 || bytes > limitBytes - 5000));
    t.equal(bytes === 0 ? 0 : countWhole(file), packets);
    t.match(early, `ends with ${packets} packets: it cannot be written any more (EFBIG): no file may become so long`);
    t.same(sentences, [early]);
    t.ok(failed);
  }
});

t.test('a capture ends at its limit of size', async (t) => {
  for (const limitBytes of [24, 1000, 50_000]) {
    const setting = prepare(t);
    const sentences: string[] = [];
    const capture = setting.capture({ limitBytes }, (sentence) => sentences.push(sentence));
    send(setting, 40, 1024);
    await capture.whenEnded;
    const { packets, failed, bytes } = capture.progress;
    t.notOk(failed);
    t.match(sentences, [/ends with \d+ packets: it has reached its limit of size$/]);
    t.equal(countWhole(readFileSync(setting.path)), packets);
    t.ok(bytes <= limitBytes && bytes > limitBytes - 1200);
    t.ok(setting.fixture.machine.device.ports.every((port) => port.observer === undefined));
  }
});

t.test('a FIFO never stops the adapter', async (t) => {
  const setting = prepare(t);
  execFileSync('mkfifo', [setting.path]);
  const early = setting.capture();
  send(setting, 5);
  await early.stop();
  t.match(early.progress, { failed: true, early: /ends with 0 packets: it cannot be written any more \(ENXIO\): / });

  const capture = setting.capture();
  send(setting, 5);
  const reader = openSync(setting.path, constants.O_RDONLY | constants.O_NONBLOCK);
  t.teardown(() => closeSync(reader));
  send(setting, 150, 4096);
  const ended = capture.stop();
  const parts: Buffer[] = [];
  for (let read = -1; !capture.progress.closed || read !== 0; ) {
    const part = Buffer.alloc(65536);
    read = readSome(reader, part);
    parts.push(part.subarray(0, Math.max(0, read)));
    await new Promise((done) => setTimeout(done, 1));
  }
  await ended;
  t.match(capture.progress, { failed: false, early: undefined, packets: 310 });
  t.equal(countWhole(Buffer.concat(parts)), 310, 'a slow reader gets all');

  const unread = setting.capture();
  send(setting, 300, 4096);
  await unread.stop();
  t.match(unread.progress, { failed: true, early: /\(EAGAIN\)/ }, 'one that reads nothing is not waited for');
});

/** Bytes that can be read at once; 0 when there is no writer left, -1 when there are none. */
function readSome(fd: number, into: Buffer): number {
  try {
    return readSync(fd, into);
  } catch {
    return -1;
  }
}
