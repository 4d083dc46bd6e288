// SPDX-License-Identifier: Apache-2.0
/**
 * `node --import=#typescript scripts/bench/packets.ts`: the cost of an accessor, a record, a CRC
 * and a whole packet in nanoseconds, each the median of several runs.
 * `protocol/infiniband/crc.ts` has its switch to zlib from here.
 */
import { crc32 } from 'node:zlib';
import { BthOpcode } from '../../protocol/infiniband/gen/values.gen.ts';
import { computeIcrc } from '../../protocol/infiniband/icrc.ts';
import { newParsedPacket, PacketCheck, parsePacket } from '../../protocol/infiniband/packet.ts';
import { buildPacket } from '../../protocol/infiniband/packet-builder.ts';
import { newPacketFields, type PacketFields } from '../../protocol/infiniband/packet-fields.ts';
import { computeVcrc } from '../../protocol/infiniband/vcrc.ts';
import {
  decodeSendCommand,
  encodeSendCommand,
  getSendCommandQpn,
  getSendCommandSgeAddress,
  newSendCommand,
  setSendCommandQpn,
} from '../../protocol/layout/gen/send-command.gen.ts';

const RUNS = 9;
const view = new DataView(new ArrayBuffer(16384));
for (let at = 0; at < 16384; at++) view.setUint8(at, (at * 2654435761) >>> 13);

/** Keeps results alive, so that V8 does not remove the measured code. */
let sink = 0;

/** `loop` runs its step `rounds` times, so that V8 can inline the step as in real callers. */
function measure(name: string, rounds: number, loop: (rounds: number) => number): void {
  const times: number[] = [];
  for (let run = 0; run < RUNS; run++) {
    const start = process.hrtime.bigint();
    sink ^= loop(rounds);
    times.push(Number(process.hrtime.bigint() - start) / rounds);
  }
  times.sort((a, b) => a - b);
  process.stdout.write(`${name.padEnd(44)} ${times[RUNS >> 1].toFixed(1).padStart(8)} ns\n`);
}

function measureAccessors(): void {
  const record = newSendCommand();
  measure('get a 24-bit field', 1e7, (rounds) => {
    let sum = 0;
    for (let round = 0; round < rounds; round++) sum += getSendCommandQpn(view, (round & 63) << 6);
    return sum;
  });
  measure('get a 64-bit field as Number', 1e7, (rounds) => {
    let sum = 0;
    for (let round = 0; round < rounds; round++) sum += getSendCommandSgeAddress(view, (round & 63) << 6);
    return sum;
  });
  measure('set a 24-bit field, neighbours kept', 1e7, (rounds) => {
    for (let round = 0; round < rounds; round++) setSendCommandQpn(view, (round & 63) << 6, round);
    return 0;
  });
  measure('decode a 64-byte record of 18 fields', 3e6, (rounds) => {
    let sum = 0;
    for (let round = 0; round < rounds; round++) sum += decodeSendCommand(view, (round & 63) << 6, record).qpn;
    return sum;
  });
  measure('encode a 64-byte record of 18 fields', 3e6, (rounds) => {
    for (let round = 0; round < rounds; round++) {
      record.qpn = round;
      encodeSendCommand(view, (round & 63) << 6, record);
    }
    return 0;
  });
}

function measureCrcs(): void {
  for (const bytes of [64, 128, 256, 320, 512, 1024, 4096]) {
    const rounds = 1e8 / (bytes + 400);
    measure(`ICRC over ${bytes} bytes behind an LRH and BTH`, rounds, (count) => {
      let sum = 0;
      for (let round = 0; round < count; round++) sum ^= computeIcrc(view, 64, false, 84 + bytes);
      return sum;
    });
    measure('  zlib alone with a fresh view', rounds, (count) => {
      let sum = 0;
      for (let round = 0; round < count; round++) sum ^= crc32(new Uint8Array(view.buffer, 64, bytes));
      return sum;
    });
    measure(`VCRC over ${bytes} bytes`, rounds, (count) => {
      let sum = 0;
      for (let round = 0; round < count; round++) sum ^= computeVcrc(view, 64, 64 + bytes);
      return sum;
    });
  }
}

function measureBuild(what: string, rounds: number, fields: PacketFields, crcs: number): void {
  measure(`build ${what}`, rounds, (count) => {
    let sum = 0;
    for (let round = 0; round < count; round++) {
      fields.psn = round;
      sum += buildPacket(view, 0, fields, crcs);
    }
    return sum;
  });
}

function measureParse(what: string, rounds: number, lengthBytes: number, checks: number): void {
  const parsed = newParsedPacket();
  measure(`parse ${what}`, rounds, (count) => {
    let sum = 0;
    for (let round = 0; round < count; round++) sum += parsePacket(view, 0, lengthBytes, parsed, checks);
    return sum;
  });
}

function measurePackets(): void {
  const fields = newPacketFields();
  fields.opcode = BthOpcode.RC_RDMA_WRITE_ONLY;
  for (const hasGrh of [0, 1]) {
    for (const bytes of [64, 4096]) {
      fields.hasGrh = hasGrh;
      fields.payloadLengthBytes = bytes;
      const rounds = 2e8 / (bytes + 400);
      for (const [name, checks] of Object.entries(PacketCheck)) {
        const what = `WRITE ${bytes} bytes${hasGrh === 1 ? ', GRH' : ''}, CRCs: ${name}`;
        measureBuild(what, rounds, fields, checks);
        const length = buildPacket(view, 0, fields);
        measureParse(what, rounds, length, checks);
      }
    }
  }
}

measureAccessors();
measureCrcs();
measurePackets();
process.stdout.write(sink === 0.5 ? ' ' : '');
