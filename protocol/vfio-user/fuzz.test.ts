// SPDX-License-Identifier: Apache-2.0
/**
 * Seeded random messages: every command with random fields, lengths, truncations and descriptors.
 * After each round the device must serve a correct client on another socket and a new one on the
 * same socket. FUZZ_SEED repeats a failure; FUZZ_ROUNDS sets the number of rounds.
 */
import t from 'tap';
import { closeAll, type VfioUserClient } from './client/client.ts';
import { EventFd, makePipe, SharedMemory } from './client/unix-socket.ts';
import { COMMAND, concat, encodeMessage, encodeMessageHeader, encodeVersion, FLAG, pack } from './client/wire.ts';
import { DeviceProgram, readCounter } from './test-support/device-program.ts';
import { PROBE } from './test-support/probe-layout.ts';

const ROUNDS = Number(process.env.FUZZ_ROUNDS ?? 60);
const MESSAGES_PER_ROUND = 60;

/** Random generator mulberry32: equal seeds give equal numbers. */
class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) % limit;
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)];
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.below(256));
  }
}

const INTERESTING = [
  0n,
  1n,
  4n,
  16n,
  4095n,
  4096n,
  65535n,
  65536n,
  2n ** 20n,
  2n ** 31n,
  2n ** 32n - 1n,
  2n ** 63n,
  2n ** 64n - 1n,
];

function number(random: Random): bigint {
  return random.below(3) === 0 ? BigInt(random.below(0x10000)) : random.pick(INTERESTING);
}

function body(random: Random, command: number): Uint8Array {
  const n = () => number(random);
  switch (command) {
    case COMMAND.version:
      return random.below(2)
        ? encodeVersion({ json: Buffer.from(random.bytes(20)).toString('latin1') })
        : encodeVersion();
    case COMMAND.dmaMap:
      return pack('wwqqq', random.pick([32, n()]), random.below(8), n(), n() & ~4095n, n() & ~4095n);
    case COMMAND.dmaUnmap:
      return pack('wwqqqq', random.pick([24, 48, n()]), random.below(4), n(), n(), n(), n());
    case COMMAND.getRegionInfo:
      return pack('wwwwqq', random.pick([32, n()]), n(), random.below(12), n(), n(), n());
    case COMMAND.setIrqs:
      return concat(
        pack(
          'wwwww',
          random.pick([20, n()]),
          (1 << random.below(3)) | (8 << random.below(3)),
          random.below(6),
          n(),
          n(),
        ),
        random.bytes(random.below(20)),
      );
    case COMMAND.regionRead:
      return pack('qww', n(), random.below(12), n());
    case COMMAND.regionWrite: {
      const data = random.bytes(random.below(64));
      const offset = random.below(2) ? BigInt(random.below(0x2000)) : n();
      return concat(pack('qww', offset, random.pick([0, 2, 4, 7, 7, 7, n()]), data.length), data);
    }
    default:
      return pack('wwwwqq', random.pick([16, 8, n()]), n(), n(), n(), n(), n());
  }
}

function sendOne(client: VfioUserClient, random: Random, fds: readonly number[]): void {
  const command = random.pick([
    ...Object.values(COMMAND),
    COMMAND.dmaMap,
    COMMAND.setIrqs,
    COMMAND.regionWrite,
    15,
    999,
  ]);
  let message = encodeMessage(random.below(65536), command, body(random, command), random.pick([0, 0, FLAG.noReply]));
  const change = random.below(12);
  if (change === 0) message = message.subarray(0, 16 + random.below(message.length - 15));
  if (change === 1) message = concat(message, random.bytes(random.below(50)));
  if (change === 2) {
    const sizeBytes = Number(number(random) & 0xffffffffn);
    message.set(encodeMessageHeader({ id: 1, command, sizeBytes, flags: random.below(256), errno: 0 }));
  }
  const attached = Array.from({ length: random.pick([0, 0, 1, 1, 2, 9, 30]) }, () => random.pick(fds));
  const cut = random.below(4) === 0 ? random.below(message.length) : message.length;
  client.socket.send(message.subarray(0, Math.max(1, cut)), attached);
  if (cut < message.length) client.socket.send(message.subarray(Math.max(1, cut)));
}

/** Reads pending replies, so that the device does not stop at a full socket. */
function drain(client: VfioUserClient): void {
  try {
    for (;;) {
      const { bytes, fds } = client.socket.receive(65536, 0);
      closeAll(fds);
      if (bytes.length === 0) return;
    }
  } catch {
    // No reply is pending, or the device has closed the connection.
  }
}

function round(device: DeviceProgram, random: Random, fds: readonly number[]): void {
  const client = device.connect(0);
  try {
    for (let i = 0; i < MESSAGES_PER_ROUND; i++) {
      sendOne(client, random, fds);
      if (i % 8 === 0) drain(client);
    }
    drain(client);
  } catch {
    // The device has closed the connection, which is a valid answer.
  }
  client.close();
}

t.test('random messages', async (t) => {
  const seed = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31);
  const random = new Random(seed);
  await using device = await DeviceProgram.start({ sockets: 2 });
  const honest = device.connect(1);
  t.teardown(() => honest.close());
  const fds = [new SharedMemory(65536).fd, new SharedMemory(2 ** 20).fd, new EventFd().fd, ...makePipe()];
  const before = device.descriptors();
  for (let i = 0; i < ROUNDS; i++) {
    const what = `round ${i}; repeat with FUZZ_SEED=${seed}`;
    try {
      round(device, random, fds);
      if (honest.read32(0, 0) !== PROBE.identityValue) t.fail(`the other client reads nonsense in ${what}`);
      const next = device.connect(0);
      if (next.read32(0, 0) !== PROBE.identityValue) t.fail(`the next client reads nonsense in ${what}`);
      next.close();
    } catch (error) {
      t.fail(`${(error as Error).message} in ${what}`);
      break;
    }
  }
  t.equal(readCounter(honest, 'exceptions'), 0);
  t.equal(readCounter(honest, 'detached'), 0);
  await device.waitFor(`no descriptor is left (seed ${seed})`, () => device.descriptors() <= before);
  t.notOk(device.exited);
});
