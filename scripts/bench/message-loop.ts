// SPDX-License-Identifier: Apache-2.0
/**
 * A guest that sends 64-byte datagrams from port to port of an adapter in this process and
 * allocates nothing itself: all commands are built beforehand, one for each sequence number, and
 * posting copies them. Called by in-process-worker.ts.
 */

import { commandChecksum } from '../../device/rig/driver/checksum.ts';
import type { DriverCompletionQueue } from '../../device/rig/driver/completion-queue.ts';
import type { DriverQueueBuffer } from '../../device/rig/driver/queue-buffer.ts';
import type { DriverQueuePair } from '../../device/rig/driver/queue-pair.ts';
import { AdapterFixture } from '../../device/rig/fixtures/adapter-fixture.ts';
import { getCompletionEntrySequence } from '../../protocol/layout/gen/completion-entry.gen.ts';
import {
  COMPLETION_QUEUE_RECORD_SIZE,
  setCompletionQueueRecordConsumed,
} from '../../protocol/layout/gen/completion-queue-record.gen.ts';
import { COMMAND_HEADER_BYTES, DOORBELL_OFFSET } from '../../protocol/layout/gen/constants.gen.ts';
import {
  QUEUE_PAIR_RECORD_SIZE,
  setQueuePairRecordReceiveTail,
  setQueuePairRecordSendTail,
} from '../../protocol/layout/gen/queue-pair-record.gen.ts';
import { setReceiveEntrySequence } from '../../protocol/layout/gen/receive-entry.gen.ts';
import {
  SEND_COMMAND_CHECKSUM_OFFSET,
  setSendCommandChecksum,
  setSendCommandSequence,
} from '../../protocol/layout/gen/send-command.gen.ts';
import { BATCH, MESSAGE_BYTES } from './messages.ts';

export type PostBy = 'collect' | 'doorbell';

const COMMAND_BYTES = COMMAND_HEADER_BYTES + MESSAGE_BYTES;
const RECEIVE_BYTES = 128;
const SEQUENCES = 0x10000;
const QUEUE_LOG2 = 6;
const WORD_BYTES = 8;

/** Sends batch after batch. */
export class MessageLoop {
  readonly #fixture: AdapterFixture;
  readonly #sender: DriverQueuePair;
  readonly #senderRecord: DataView;
  readonly #receiverRecord: DataView;
  readonly #sendSlots: readonly Uint8Array[];
  readonly #receiveSlots: readonly DataView[];
  readonly #sent: CompletionWatch;
  readonly #received: CompletionWatch;
  /** All commands, by sequence number. */
  readonly #commands: Uint8Array;
  readonly #commandView: DataView;
  #count = 0;

  constructor(memoryBase: number) {
    const fixture = new AdapterFixture({ memoryBase });
    this.#fixture = fixture;
    // Tests check the invariants; here they would cost time.
    fixture.machine.onStep = () => {};
    const { sender, receiver, to } = fixture.createPair({
      sender: { sendEntriesLog2: QUEUE_LOG2 },
      receiver: { receiveEntriesLog2: QUEUE_LOG2 },
    });
    this.#sender = sender;
    this.#senderRecord = fixture.access.view(sender.parts.recordAddress, QUEUE_PAIR_RECORD_SIZE);
    this.#receiverRecord = fixture.access.view(receiver.parts.recordAddress, QUEUE_PAIR_RECORD_SIZE);
    this.#sendSlots = slotsOf(sender.parts.sendBuffer).map((view) => new Uint8Array(view.buffer, view.byteOffset));
    this.#receiveSlots = slotsOf(receiver.parts.receiveBuffer);
    this.#sent = new CompletionWatch(fixture, sender.parts.sendCq);
    this.#received = new CompletionWatch(fixture, receiver.parts.receiveCq);
    const template = sender.fill(to({ inline: fixture.random.bytes(MESSAGE_BYTES) }));
    if (template.length !== COMMAND_BYTES) throw new Error(`a command of ${template.length} bytes`);
    this.#commands = buildCommands(template, sender.parts.checksumKey);
    this.#commandView = new DataView(this.#commands.buffer);
    for (const _slot of this.#receiveSlots) fixture.postReceive(receiver, RECEIVE_BYTES);
  }

  /** Sends `batches` batches. Throws when a completion is missing. */
  run(batches: number, by: PostBy): void {
    for (let batch = 0; batch < batches; batch++) {
      for (let index = 0; index < BATCH; index++) this.#post(this.#count + index, by);
      if (by === 'doorbell') this.#ring();
      this.#fixture.machine.runUntilIdle();
      this.#count += BATCH;
      this.#sent.consume(BATCH);
      this.#received.consume(BATCH);
      this.#repostReceives();
    }
  }

  /**
   * Commands go to their slot first, and then, by `collect`, to the collect buffer
   * (docs/PROGRAMMING.md).
   */
  #post(number: number, by: PostBy): void {
    const from = (number % SEQUENCES) * COMMAND_BYTES;
    const slot = this.#sendSlots[number % this.#sendSlots.length];
    for (let index = 0; index < COMMAND_BYTES; index++) slot[index] = this.#commands[from + index];
    setQueuePairRecordSendTail(this.#senderRecord, 0, (number + 1) % SEQUENCES);
    if (by === 'doorbell') return;
    const { page } = this.#sender.parts;
    for (let word = 0; word < COMMAND_BYTES; word += WORD_BYTES) this.#writeCollect(page + word, from + word);
  }

  #ring(): void {
    // A doorbell is the first 8 bytes of the command.
    this.#writeCollect(this.#sender.parts.page + DOORBELL_OFFSET, (this.#count % SEQUENCES) * COMMAND_BYTES);
  }

  #writeCollect(offset: number, from: number): void {
    const low = this.#commandView.getInt32(from, true);
    const high = this.#commandView.getInt32(from + 4, true);
    this.#fixture.access.port.writeCollect(offset, WORD_BYTES, low, high);
  }

  #repostReceives(): void {
    const posted = this.#receiveSlots.length;
    for (let number = this.#count - BATCH + posted; number < this.#count + posted; number++)
      setReceiveEntrySequence(this.#receiveSlots[number % posted], 0, number % SEQUENCES);
    setQueuePairRecordReceiveTail(this.#receiverRecord, 0, (this.#count + posted) % SEQUENCES);
  }
}

/** Takes completions and frees their entries. */
class CompletionWatch {
  readonly #slots: readonly DataView[];
  readonly #record: DataView;
  #consumed = 0;

  constructor(fixture: AdapterFixture, queue: DriverCompletionQueue) {
    this.#slots = slotsOf(queue.buffer);
    this.#record = fixture.access.view(queue.recordAddress, COMPLETION_QUEUE_RECORD_SIZE);
  }

  /** Takes `count` completions; throws when one is missing. */
  consume(count: number): void {
    this.#consumed += count;
    const last = this.#slots[(this.#consumed - 1) % this.#slots.length];
    if (getCompletionEntrySequence(last, 0) !== this.#consumed)
      throw new Error(`completion ${this.#consumed} is missing`);
    setCompletionQueueRecordConsumed(this.#record, 0, this.#consumed);
  }
}

function slotsOf(buffer: DriverQueueBuffer): DataView[] {
  return Array.from({ length: buffer.entries }, (_, index) => buffer.slot(index));
}

function buildCommands(template: Uint8Array, checksumKey: number): Uint8Array {
  const commands = new Uint8Array(SEQUENCES * COMMAND_BYTES);
  for (let sequence = 0; sequence < SEQUENCES; sequence++) {
    commands.set(template, sequence * COMMAND_BYTES);
    const view = new DataView(commands.buffer, sequence * COMMAND_BYTES, COMMAND_BYTES);
    setSendCommandSequence(view, 0, sequence);
    setSendCommandChecksum(view, 0, 0);
    setSendCommandChecksum(view, 0, commandChecksum(view, SEND_COMMAND_CHECKSUM_OFFSET, checksumKey));
  }
  return commands;
}
