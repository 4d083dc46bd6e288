// SPDX-License-Identifier: Apache-2.0
/**
 * The command queue: 32 entries in one guest page, each with 16 bytes of input and output, and
 * blocks of mailboxes for what is longer. A doorbell names entries by their bits; the next passes
 * execute them. Results become visible before the owner bit, and the owner bit before the event.
 */

import {
  COMMAND_ENTRY_INPUT_OFFSET,
  COMMAND_ENTRY_OUTPUT_OFFSET,
  COMMAND_ENTRY_SIZE,
  getCommandEntryInputBytes,
  getCommandEntryInputMailbox,
  getCommandEntryOutputBytes,
  getCommandEntryOutputMailbox,
  getCommandEntryOwner,
  getCommandEntryToken,
  getCommandEntryType,
  setCommandEntryDeliveryStatus,
  setCommandEntryOwner,
} from '../../../../protocol/mlx5/gen/command-entry.gen.ts';
import { COMMAND_INLINE_BYTES, MAILBOX_DATA_BYTES } from '../../../../protocol/mlx5/gen/constants.gen.ts';
import {
  getMailboxBlockBlockNumber,
  getMailboxBlockNext,
  getMailboxBlockToken,
  MAILBOX_BLOCK_NEXT_OFFSET,
  MAILBOX_BLOCK_SIZE,
} from '../../../../protocol/mlx5/gen/mailbox-block.gen.ts';
import { CommandStatus, DeliveryStatus } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { Firmware } from '../../shared/firmware.ts';
import type { Hca } from '../hca/hca.ts';
import { CommandContext } from './command-context.ts';
import { executeCommand } from './command-table.ts';

/** Kind of transport of every entry: PCIe. */
const PCIE = 7;
/** The longest input: a list of pages of 1 GiB in pages of 4 KiB. */
const INPUT_MAX_BYTES = 2 ** 21 + 4096;
const OUTPUT_MAX_BYTES = 2 ** 16;
/** Least lengths: opcode and modifier, status and syndrome. */
const HEAD_BYTES = 8;
/** Bytes at the end of an entry that become visible last, with the owner bit. */
const OWNER_BYTES = 4;
const SYNDROME_OFFSET = 4;

export class CommandQueue {
  /** Commands executed, and those refused, since power-on. */
  executed = 0;
  refused = 0;
  readonly context: CommandContext;
  readonly #hca: Hca;
  /** Bus address of the entries; undefined before software has told it. */
  #address: number | undefined;
  /** A bit for each entry that a doorbell named. */
  #waiting = 0;
  readonly #entry = new Uint8Array(COMMAND_ENTRY_SIZE);
  readonly #entryView = new DataView(this.#entry.buffer);
  /** The part that the device writes. */
  readonly #answer = this.#entry.subarray(COMMAND_ENTRY_OUTPUT_OFFSET);
  readonly #block = new Uint8Array(MAILBOX_BLOCK_SIZE);
  readonly #blockView = new DataView(this.#block.buffer);

  constructor(hca: Hca) {
    this.#hca = hca;
    this.context = new CommandContext(hca);
  }

  get waiting(): number {
    return this.#waiting >>> 0;
  }

  /** Software tells where the entries lie. */
  place(address: number): void {
    this.#address = address;
  }

  /** A doorbell: `mask` has a bit for each entry that software has filled. */
  ring(mask: number): void {
    this.#waiting |= mask;
  }

  reset(): void {
    this.#address = undefined;
    this.#waiting = 0;
  }

  /** Executes up to `limit` waiting commands; returns how many. */
  serve(limit: number): number {
    if (this.#hca.health.firmware === Firmware.SILENT) return 0;
    let done = 0;
    for (; done < limit && this.#waiting !== 0; done++) {
      const index = 31 - Math.clz32(this.#waiting & -this.#waiting);
      this.#waiting &= ~(1 << index);
      this.#serveEntry(index);
    }
    return done;
  }

  #serveEntry(index: number): void {
    const { dma } = this.#hca.underlying;
    if (this.#address === undefined) return;
    const at = this.#address + index * COMMAND_ENTRY_SIZE;
    const entry = this.#entryView;
    if (!dma.at(at).read(this.context, COMMAND_ENTRY_SIZE, this.#entry, 0)) return;
    // Software fills an entry before it rings for it.
    if (getCommandEntryOwner(entry, 0) === 0) return;
    if (this.#hca.planted.takesCommand(entry.getUint16(COMMAND_ENTRY_INPUT_OFFSET))) return;
    // A queue that this command makes has no event of it: software still waits for the owner bit.
    const queues = this.#hca.events.commandQueues;
    dma.loans.end();
    const delivery = this.#execute();
    setCommandEntryDeliveryStatus(entry, 0, delivery);
    setCommandEntryOwner(entry, 0, 0);
    const answer = this.#answer;
    if (!dma.at(at + COMMAND_ENTRY_OUTPUT_OFFSET).publish(this.context, answer, answer.length, OWNER_BYTES)) return;
    this.#hca.events.postCommand(queues, index);
  }

  /** Executes the command of the entry, and puts the answer into it and its mailbox. */
  #execute(): DeliveryStatus {
    const entry = this.#entryView;
    const { context } = this;
    const inputBytes = getCommandEntryInputBytes(entry, 0);
    const outputBytes = getCommandEntryOutputBytes(entry, 0);
    if (getCommandEntryType(entry, 0) !== PCIE) return DeliveryStatus.BAD_TYPE;
    if (inputBytes < HEAD_BYTES || inputBytes > INPUT_MAX_BYTES) return DeliveryStatus.BAD_INPUT_LENGTH;
    if (outputBytes < HEAD_BYTES || outputBytes > OUTPUT_MAX_BYTES) return DeliveryStatus.BAD_OUTPUT_LENGTH;
    context.begin(inputBytes, outputBytes);
    const delivery = this.#gather(inputBytes);
    if (delivery !== DeliveryStatus.OK) return delivery;
    const status = executeCommand(context);
    this.executed++;
    if (status !== CommandStatus.OK) this.#refuse(status);
    return this.#scatter(outputBytes);
  }

  #refuse(status: CommandStatus): void {
    const { output, outputView, opcode, outputBytes } = this.context;
    this.refused++;
    output.fill(0, 0, outputBytes);
    output[0] = status;
    // Software logs it; it tells which command was refused.
    outputView.setUint32(SYNDROME_OFFSET, opcode);
  }

  #gather(inputBytes: number): DeliveryStatus {
    const { input } = this.context;
    const { dma } = this.#hca.underlying;
    const inline = Math.min(inputBytes, COMMAND_INLINE_BYTES);
    for (let index = 0; index < inline; index++) input[index] = this.#entry[COMMAND_ENTRY_INPUT_OFFSET + index];
    let block = getCommandEntryInputMailbox(this.#entryView, 0);
    for (let number = 0, at = inline; at < inputBytes; number++) {
      if (!dma.at(block).read(this.context, MAILBOX_BLOCK_SIZE, this.#block, 0))
        return DeliveryStatus.BAD_INPUT_POINTER;
      const wrong = this.#checkBlock(number);
      if (wrong !== DeliveryStatus.OK) return wrong;
      const lengthBytes = Math.min(MAILBOX_DATA_BYTES, inputBytes - at);
      for (let index = 0; index < lengthBytes; index++) input[at + index] = this.#block[index];
      at += lengthBytes;
      block = getMailboxBlockNext(this.#blockView, 0);
    }
    return DeliveryStatus.OK;
  }

  #scatter(outputBytes: number): DeliveryStatus {
    const { output } = this.context;
    const { dma } = this.#hca.underlying;
    for (let index = 0; index < COMMAND_INLINE_BYTES; index++)
      this.#entry[COMMAND_ENTRY_OUTPUT_OFFSET + index] = index < outputBytes ? output[index] : 0;
    let block = getCommandEntryOutputMailbox(this.#entryView, 0);
    for (let number = 0, at = COMMAND_INLINE_BYTES; at < outputBytes; number++) {
      const control = MAILBOX_BLOCK_SIZE - MAILBOX_BLOCK_NEXT_OFFSET;
      if (
        !dma.at(block + MAILBOX_BLOCK_NEXT_OFFSET).read(this.context, control, this.#block, MAILBOX_BLOCK_NEXT_OFFSET)
      )
        return DeliveryStatus.BAD_OUTPUT_POINTER;
      const wrong = this.#checkBlock(number);
      if (wrong !== DeliveryStatus.OK) return wrong;
      const lengthBytes = Math.min(MAILBOX_DATA_BYTES, outputBytes - at);
      if (!dma.at(block).write(this.context, output, at, lengthBytes)) return DeliveryStatus.BAD_OUTPUT_POINTER;
      at += lengthBytes;
      block = getMailboxBlockNext(this.#blockView, 0);
    }
    return DeliveryStatus.OK;
  }

  #checkBlock(number: number): DeliveryStatus {
    const view = this.#blockView;
    if (getMailboxBlockToken(view, 0) !== getCommandEntryToken(this.#entryView, 0)) return DeliveryStatus.BAD_TOKEN;
    if (getMailboxBlockBlockNumber(view, 0) !== number) return DeliveryStatus.BAD_BLOCK_NUMBER;
    return DeliveryStatus.OK;
  }
}
