// SPDX-License-Identifier: Apache-2.0
/**
/**
 * Counts what messages of 64 bytes allocate and prints a JSON list: `allocation-worker.ts
 * [INLINED_BYTES]`, the bytes of bytecode that V8 may inline into one function, by default those of
 * a live process. Guest memory lies below 2 GiB first, then above 4 GiB. The last entry allocates
 * an object for each message: it shows that the count works. Called by allocation.test.ts.
 */
import { raiseInliningBudget } from '../../device/process/host/inlining-budget.ts';
import { SendOpcode, ServiceType } from '../../protocol/layout/gen/values.gen.ts';
import { GuestMemory, PROTECTION } from '../../protocol/vfio-user/index.ts';
import { allocateNative } from '../../protocol/vfio-user/native.ts';
import { type AllocationCount, countAllocation } from './allocation-count.ts';
import { HIGH_MEMORY, LOW_MEMORY } from './in-process.ts';
import { MessageLoop } from './message-loop.ts';
import { BATCH, MESSAGE_KINDS, sendBatches } from './messages.ts';
import { Mlx5Messages } from './mlx5-messages.ts';
import { TransportTraffic } from './transport-traffic.ts';

export interface NamedCount extends AllocationCount {
  readonly name: string;
}

const ROUND_MESSAGES = 4096;
const MEMORY_BYTES = 1 << 22;
const SMALL_WRITES = {
  serviceType: ServiceType.RC,
  opcode: SendOpcode.RDMA_WRITE,
  size: 64,
  queuePairs: 4,
  batch: BATCH,
  inFlight: 64,
};
const SMALL_DATAGRAMS = { ...SMALL_WRITES, serviceType: ServiceType.UD, opcode: SendOpcode.SEND };

/** Accesses alternate between them, so that each one finds another region than the last. */
const MEMORY_BASES = Float64Array.of(LOW_MEMORY, HIGH_MEMORY);
const RECORD_BYTES = 64;
const record = new Uint8Array(RECORD_BYTES);
const recordWords = new Int32Array(record.buffer);

const inlinedBytes = process.argv[2] === undefined ? undefined : Number(process.argv[2]);
const counts: NamedCount[] = [];
/** Where V8 must assume that another function looks at it. */
let kept: object | undefined;

for (const [where, base] of [
  ['below 2 GiB', LOW_MEMORY],
  ['above 4 GiB', HIGH_MEMORY],
] as const) {
  const loop = new MessageLoop(base);
  const datagrams = new TransportTraffic(SMALL_DATAGRAMS, {}, MEMORY_BYTES, base);
  const writes = new TransportTraffic({ ...SMALL_WRITES, paged: true }, {}, MEMORY_BYTES, base);
  const mlx5 = MESSAGE_KINDS.map((kind) => ({ kind, messages: new Mlx5Messages(kind, base) }));
  // The machines have set the budget of a live process.
  raiseInliningBudget(inlinedBytes);
  count(`datagram by collect, memory ${where}`, () => loop.run(ROUND_MESSAGES / BATCH, 'collect'));
  count(`datagram by doorbell, memory ${where}`, () => loop.run(ROUND_MESSAGES / BATCH, 'doorbell'));
  count(`datagram from an element, memory ${where}`, () => sendRounds(datagrams));
  count(`RC WRITE, memory ${where}`, () => sendRounds(writes));
  for (const { kind, messages } of mlx5)
    count(`RC ${kind.toUpperCase()} of mlx5, memory ${where}`, () => sendBatches(messages, ROUND_MESSAGES / BATCH));
}
const memory = createGuestMemory();
count('memory of a live process', () => {
  for (let message = 0; message < ROUND_MESSAGES; message++) accessMemory(memory, message);
});
count('an object for each message', () => {
  for (let message = 0; message < ROUND_MESSAGES; message++) kept = { message };
});
if (kept === undefined) throw new Error('nothing was kept');
process.stdout.write(`${JSON.stringify(counts)}\n`);

function count(name: string, sendRound: () => void): void {
  counts.push({ name, ...countAllocation(sendRound, ROUND_MESSAGES) });
}

function sendRounds(traffic: TransportTraffic): void {
  const before = traffic.messages;
  while (traffic.messages - before < ROUND_MESSAGES) traffic.round();
}

function createGuestMemory(): GuestMemory {
  const created = new GuestMemory();
  for (const address of MEMORY_BASES) {
    const { address: hostAddress } = allocateNative(MEMORY_BYTES);
    const protection = PROTECTION.read | PROTECTION.write;
    created.register({ address, sizeBytes: MEMORY_BYTES, hostAddress, protection });
  }
  return created;
}

/** The accesses of the host of a live process (device/process/host/vfio-user-host.ts). */
function accessMemory(guest: GuestMemory, message: number): void {
  const address = MEMORY_BASES[message & 1] + (message >> 1) * RECORD_BYTES;
  const whole =
    guest.at(address).covers(RECORD_BYTES, true) &&
    guest.at(address).read(record, 0, RECORD_BYTES) &&
    guest.at(address).readWords(recordWords, 0, RECORD_BYTES) &&
    guest.at(address).writeWords(recordWords, 0, RECORD_BYTES) &&
    guest.at(address).publishWords(recordWords, RECORD_BYTES) &&
    guest.at(address).write(record, 0, RECORD_BYTES) &&
    guest.at(address).writeU32(-1);
  if (!whole) throw new Error(`no memory at 0x${address.toString(16)}`);
}
