// SPDX-License-Identifier: Apache-2.0
/**
 * Answers of the host to the near one of two guests: the packets that tshark reads in a dump since
 * the capture began, those that it calls malformed, and failures for a filter that matches nothing
 * or is invalid.
 */
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { findTshark } from '../../qemu/setup/tshark.ts';
import { PeerHost } from './peer-host.ts';

/** A record of pcap: an Ethernet frame with IPv4, whose payload is that of `protocol`. */
function record(protocol: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(16);
  const frame = Buffer.concat([Buffer.alloc(34), payload]);
  header.writeUInt32LE(frame.length, 8);
  header.writeUInt32LE(frame.length, 12);
  frame.writeUInt16BE(0x0800, 12);
  frame.set([0x45, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0, 10, 2, 0, 1, 10, 2, 0, 2], 14);
  frame.writeUInt16BE(20 + payload.length, 16);
  return Buffer.concat([header, frame]);
}

function echoRecord(): Buffer {
  return record(1, Buffer.from([8, 0, 0, 0, 0, 0, 0, 0]));
}

function fileHeader(): Buffer {
  const header = Buffer.alloc(24);
  header.writeUInt32LE(0xa1b2c3d4, 0);
  header.writeUInt16LE(2, 4);
  header.writeUInt16LE(4, 6);
  header.writeUInt32LE(65536, 16);
  header.writeUInt32LE(1, 20);
  return header;
}

t.test('packets since the capture began', { skip: findTshark() === undefined && 'no tshark' }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'vuhca-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const dump = join(folder, 'dump.pcap');
  writeFileSync(dump, Buffer.concat([fileHeader(), echoRecord()]));
  const answers: string[] = [];
  let whenAnswered = (): void => {};
  const host = new PeerHost({ dump }, (line) => {
    answers.push(line);
    if (line.includes(' = ')) whenAnswered();
  });
  t.teardown(() => host.close());
  const ask = async (line: string): Promise<readonly string[]> => {
    answers.length = 0;
    const answered = new Promise<void>((done) => {
      whenAnswered = done;
    });
    host.take(line);
    await answered;
    return [...answers];
  };
  host.take('a line of a test');
  t.same(await ask('@host a capture'), ['a | capturing', 'a = 0']);
  appendFileSync(dump, Buffer.concat([echoRecord(), echoRecord()]));
  const read = await ask('@host b read icmp && ip');
  t.same(read, ['b | tshark reads 2 packets as icmp && ip, and 0 as malformed', 'b = 0']);
  appendFileSync(dump, record(17, Buffer.alloc(4)));
  const broken = await ask('@host m read icmp');
  t.match(broken, ['m | tshark reads 2 packets as icmp, and 1 as malformed', /udp.*Malformed/, 'm = 1']);
  t.equal((await ask('@host c read tcp')).at(-1), 'c = 1', 'there is none');
  t.equal((await ask('@host d read no such filter')).at(-1), 'd = 1', 'tshark refuses it');
});
