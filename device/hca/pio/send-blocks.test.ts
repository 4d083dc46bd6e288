// SPDX-License-Identifier: Apache-2.0
/**
 * SendBlocks alone: packets of one to three blocks, filled in any order, through many turns of the
 * ring, and each misuse with its cause (US 2015/0378953 claim 1; docs/DOCUMENTS.md decision 9).
 */
import t from 'tap';
import { SEND_BLOCK_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import { SEND_CONTROL_SIZE, setSendControlLengthDwords } from '../../../protocol/layout/gen/send-control.gen.ts';
import { SendHaltCause } from '../../../protocol/layout/gen/values.gen.ts';
import { PACKET_SLOT_BYTES } from '../../fabric/port/packet-ring.ts';
import { Random } from '../../random.ts';
import { SendBlocks } from './send-blocks.ts';

const WORD = 8;
const DWORD = 4;
const WORDS = SEND_BLOCK_BYTES / WORD;
/** Control word and the shortest datagram. */
const SHORTEST = SEND_CONTROL_SIZE + 28;

/** A store of 8 bytes, in the order of the packet. */
interface Store {
  readonly offset: number;
  readonly at: number;
  readonly start: boolean;
}

/** A packet at a block: its bytes, control word first, and the stores that write whole blocks. */
function makePacket(random: Random, count: number, block: number, lengthBytes: number) {
  const blocks = Math.ceil(lengthBytes / SEND_BLOCK_BYTES);
  const bytes = random.bytes(blocks * SEND_BLOCK_BYTES);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  view.setUint32(0, 0);
  view.setUint32(4, 0);
  setSendControlLengthDwords(view, 0, lengthBytes / DWORD);
  const stores: Store[] = Array.from({ length: blocks * WORDS }, (_, word) => ({
    offset: ((block * WORDS + word) % (count * WORDS)) * WORD,
    at: word * WORD,
    start: word < WORDS,
  }));
  const write = (target: SendBlocks, { offset, at, start }: Store): SendHaltCause =>
    target.store(offset, WORD, view.getInt32(at, true), view.getInt32(at + 4, true), start);
  return { blocks, bytes, stores, write, lengthBytes };
}

t.test('packets are whole with their last word, in any order of words, through the wrap', async (t) => {
  for (const seed of [1, 2, 3]) {
    const random = new Random(seed);
    const count = 5;
    const blocks = new SendBlocks(count);
    const copy = new Uint8Array(count * SEND_BLOCK_BYTES);
    for (let turn = 0, block = 0; turn < 60; turn++) {
      const lengthBytes = SHORTEST + DWORD * random.below((3 * SEND_BLOCK_BYTES - SHORTEST) / DWORD + 1);
      const packet = makePacket(random, count, block, lengthBytes);
      const order = [...packet.stores];
      // A continuation before its start is an error unless the length of all before is known.
      const [first, ...rest] = order;
      random.shuffle(rest);
      for (const [index, store] of [first, ...rest].entries()) {
        t.equal(packet.write(blocks, store), SendHaltCause.NONE, `seed ${seed}, turn ${turn}, store ${index}`);
        t.equal(blocks.takeWhole(store.offset), index === rest.length ? block : -1, `store ${index}`);
      }
      t.equal(blocks.lengthOf(block), packet.blocks);
      t.equal(blocks.packetBytes(block), lengthBytes);
      t.equal(blocks.copyPacket(block, copy), lengthBytes - SEND_CONTROL_SIZE);
      t.same(copy.slice(0, lengthBytes - SEND_CONTROL_SIZE), packet.bytes.slice(SEND_CONTROL_SIZE, lengthBytes));
      t.equal(packet.write(blocks, order[order.length - 1]), SendHaltCause.OVERFLOW, 'it belongs to a whole packet');
      blocks.release(packet.blocks);
      block = (block + packet.blocks) % count;
    }
  }
});

t.test('packets behind each other become whole in any order', async (t) => {
  const random = new Random(4);
  const blocks = new SendBlocks(4);
  const [one, two] = [makePacket(random, 4, 0, SEND_BLOCK_BYTES), makePacket(random, 4, 1, 2 * SEND_BLOCK_BYTES)];
  one.write(blocks, one.stores[0]);
  for (const [index, store] of two.stores.entries()) {
    t.equal(two.write(blocks, store), SendHaltCause.NONE);
    t.equal(blocks.takeWhole(store.offset), index === two.stores.length - 1 ? 1 : -1);
  }
  for (const store of one.stores.slice(1)) t.equal(one.write(blocks, store), SendHaltCause.NONE);
  t.equal(blocks.takeWhole(0), 0);
});

t.test('each misuse has its cause', async (t) => {
  const random = new Random(5);
  const causeOf = (lengthBytes: number, misuse: (blocks: SendBlocks) => SendHaltCause): SendHaltCause => {
    const blocks = new SendBlocks(4);
    const packet = makePacket(random, 4, 0, lengthBytes);
    t.equal(packet.write(blocks, packet.stores[0]), SendHaltCause.NONE);
    return misuse(blocks);
  };
  const two = 2 * SEND_BLOCK_BYTES;
  const { INCONSISTENT_SOP, OVERFLOW, BAD_LENGTH, NONE } = SendHaltCause;
  t.equal(
    causeOf(two, (blocks) => blocks.store(WORD, WORD, 0, 0, false)),
    INCONSISTENT_SOP,
    'start as continuation',
  );
  t.equal(
    causeOf(two, (blocks) => blocks.store(SEND_BLOCK_BYTES, WORD, 0, 0, true)),
    INCONSISTENT_SOP,
    'inside',
  );
  t.equal(
    causeOf(SHORTEST, (blocks) => blocks.store(SEND_BLOCK_BYTES, WORD, 0, 0, false)),
    INCONSISTENT_SOP,
    'no start',
  );
  const follow = (lengthBytes: number) => (blocks: SendBlocks) => {
    const next = makePacket(random, 4, 2, lengthBytes);
    return next.write(blocks, next.stores[0]);
  };
  t.equal(causeOf(two, follow(two)), NONE, 'all four blocks');
  t.equal(causeOf(two, follow(two + DWORD)), OVERFLOW, 'one more than there are');
  t.equal(causeOf(two, follow(SHORTEST)), NONE);
  t.equal(causeOf(two, follow(SHORTEST - DWORD)), BAD_LENGTH);
  t.equal(
    causeOf(SHORTEST, (blocks) => blocks.store(two, WORD, 0, 0, true)),
    BAD_LENGTH,
    'a start behind a gap',
  );
  const cleared = new SendBlocks(4);
  cleared.store(0, WORD, 0x7fffffff, -1, false);
  cleared.clear();
  const packet = makePacket(random, 4, 0, SHORTEST);
  t.equal(packet.write(cleared, packet.stores[0]), NONE, 'a cleared context begins anew');
});

t.test('a whole packet takes no write until its blocks are released, and leaves nothing behind', async (t) => {
  const random = new Random(6);
  const blocks = new SendBlocks(4);
  const copy = new Uint8Array(2 * SEND_BLOCK_BYTES);
  for (const block of [0, 2, 0]) {
    const packet = makePacket(random, 4, block, SEND_BLOCK_BYTES + SHORTEST);
    const [last, ...others] = [...packet.stores].reverse();
    for (const store of others.reverse()) {
      t.equal(packet.write(blocks, store), SendHaltCause.NONE);
      t.equal(blocks.takeWhole(store.offset), -1);
    }
    packet.write(blocks, last);
    t.equal(blocks.takeWhole(last.offset), block);
    for (const store of packet.stores) t.equal(packet.write(blocks, store), SendHaltCause.OVERFLOW);
    t.equal(blocks.copyPacket(block, copy), packet.lengthBytes - SEND_CONTROL_SIZE);
    t.same(copy.slice(0, 80), packet.bytes.slice(SEND_CONTROL_SIZE, SEND_CONTROL_SIZE + 80));
    blocks.release(2);
  }
  blocks.clear();
  const other = makePacket(random, 4, 0, SHORTEST);
  t.equal(other.write(blocks, other.stores[0]), SendHaltCause.NONE);
  t.equal(blocks.takeWhole(0), -1, 'cleared blocks are empty');
});

t.test('a packet around the end of the blocks is copied whole; no other one may start in it', async (t) => {
  const random = new Random(7);
  const blocks = new SendBlocks(4);
  const first = makePacket(random, 4, 0, 3 * SEND_BLOCK_BYTES);
  for (const store of first.stores) first.write(blocks, store);
  t.equal(blocks.takeWhole(0), 0);
  blocks.release(3);
  const packet = makePacket(random, 4, 3, 2 * SEND_BLOCK_BYTES);
  packet.write(blocks, packet.stores[0]);
  const intruder = makePacket(random, 4, 0, SHORTEST);
  t.equal(intruder.write(blocks, intruder.stores[0]), SendHaltCause.INCONSISTENT_SOP);
  for (const store of packet.stores.slice(1)) t.equal(packet.write(blocks, store), SendHaltCause.NONE);
  t.equal(blocks.takeWhole(0), 3);
  const copy = new Uint8Array(packet.lengthBytes).fill(0xee);
  blocks.copyPacket(3, copy);
  t.same(copy.slice(0, -SEND_CONTROL_SIZE), packet.bytes.slice(SEND_CONTROL_SIZE));
  t.same(copy.slice(-SEND_CONTROL_SIZE), new Uint8Array(SEND_CONTROL_SIZE).fill(0xee), 'and no byte behind it');
});

t.test('a packet is as long as the largest one of the link at most', async (t) => {
  for (const [lengthBytes, cause] of [
    [PACKET_SLOT_BYTES, SendHaltCause.NONE],
    [PACKET_SLOT_BYTES + DWORD, SendHaltCause.BAD_LENGTH],
    [SHORTEST, SendHaltCause.NONE],
    [SHORTEST - DWORD, SendHaltCause.BAD_LENGTH],
  ] as const) {
    const packet = makePacket(new Random(8), 80, 0, lengthBytes);
    t.equal(packet.write(new SendBlocks(80), packet.stores[0]), cause, `${lengthBytes} bytes`);
  }
  const long = makePacket(new Random(8), 5, 0, 4 * SEND_BLOCK_BYTES + DWORD);
  t.equal(long.write(new SendBlocks(5), long.stores[0]), SendHaltCause.NONE);
  t.equal(long.write(new SendBlocks(4), long.stores[0]), SendHaltCause.BAD_LENGTH, 'longer than the context');
});

/** Fills a block by words of zeros, without its first ones; the last word may complete a packet. */
function fillBlock(blocks: SendBlocks, block: number, start = false, firstWord = 0): number {
  for (let word = firstWord; word < WORDS; word++)
    blocks.store(block * SEND_BLOCK_BYTES + word * WORD, WORD, 0, 0, start);
  return blocks.takeWhole(block * SEND_BLOCK_BYTES);
}

t.test('a continuation waits for its start, and a start for its control word', async (t) => {
  const blocks = new SendBlocks(4);
  t.equal(fillBlock(blocks, 1), -1, 'no store to the block before');
  t.equal(fillBlock(blocks, 0, true, 1), -1);
  t.equal(blocks.takeWhole(SEND_BLOCK_BYTES), -1);
});

t.test('a packet is whole once, and never with blocks of another one', async (t) => {
  const random = new Random(9);
  const blocks = new SendBlocks(8);
  const one = makePacket(random, 8, 3, SEND_BLOCK_BYTES);
  for (const store of one.stores) one.write(blocks, store);
  t.equal(blocks.takeWhole(3 * SEND_BLOCK_BYTES), 3);
  t.equal(fillBlock(blocks, 4), -1, 'a continuation behind it');
  const other = makePacket(random, 8, 6, SEND_BLOCK_BYTES * 2);
  for (const store of other.stores.slice(0, WORDS)) other.write(blocks, store);
  const over = makePacket(random, 8, 5, 2 * SEND_BLOCK_BYTES);
  for (const store of over.stores.slice(0, WORDS)) over.write(blocks, store);
  t.equal(blocks.takeWhole(5 * SEND_BLOCK_BYTES), -1, 'the block behind it begins another packet');
});
