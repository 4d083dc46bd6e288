// SPDX-License-Identifier: Apache-2.0
/**
 * The host side of the mlx5 command interface for tests in process: starts a device as the Linux
 * driver does, and executes single commands. Tests of the personality use it.
 */
import { highDword, lowDword } from '../../../../protocol/layout/dwords.ts';
import {
  COMMAND_ENTRY_INPUT_OFFSET,
  COMMAND_ENTRY_OUTPUT_OFFSET,
  COMMAND_ENTRY_SIZE,
  getCommandEntryDeliveryStatus,
  getCommandEntryOwner,
  setCommandEntryInputBytes,
  setCommandEntryInputMailbox,
  setCommandEntryOutputBytes,
  setCommandEntryOutputMailbox,
  setCommandEntryOwner,
  setCommandEntryToken,
  setCommandEntryType,
} from '../../../../protocol/mlx5/gen/command-entry.gen.ts';
import {
  ARM_EQ_OFFSET,
  COMMAND_ADDRESS_OFFSET,
  COMMAND_DOORBELL_OFFSET,
  COMMAND_INLINE_BYTES,
  EVENT_BYTES,
  MAILBOX_DATA_BYTES,
  PAGE_COMMAND_ENTRY,
  UAR_PAGE_BYTES,
} from '../../../../protocol/mlx5/gen/constants.gen.ts';
import { getEqeOwner, getEqeSubType, getEqeType } from '../../../../protocol/mlx5/gen/eqe.gen.ts';
import {
  MAILBOX_BLOCK_SIZE,
  setMailboxBlockBlockNumber,
  setMailboxBlockNext,
  setMailboxBlockToken,
} from '../../../../protocol/mlx5/gen/mailbox-block.gen.ts';
import { CommandOpcode, CommandStatus } from '../../../../protocol/mlx5/gen/values.gen.ts';
import type { AdapterClock, HostPort } from '../../../host.ts';
import { Mlx5Adapter } from '../../../personality/mlx5/mlx5-adapter.ts';
import { defaultMlx5Options } from '../../../personality/mlx5/options.ts';
import type { PersonalityOptions } from '../../../personality/shared/options.ts';
import { InProcessMachine, type MachineOptions } from '../../machine/machine.ts';
import { PersonalityDriver, SMALL_MEMORY_BYTES } from '../../machine/personality-driver.ts';

const PAGE_BYTES = 4096;
const PCIE = 7;
const BLOCK_BYTES = 1024;
const INTERFACE_BITS = 0x700;

/** The answer to a command. */
export interface Mlx5Answer {
  /** Delivery status of the entry; 0: the command was executed. */
  readonly delivery: number;
  readonly status: number;
  readonly output: DataView;
}

/** One command; `input` begins with the head, into which `opMod` is written. */
export interface Mlx5Command {
  /** The input behind opcode and modifier, at its offset in the whole input. */
  readonly fill?: (view: DataView) => void;
  readonly modifier?: number;
  readonly inputBytes?: number;
  readonly outputBytes?: number;
  readonly entry?: number;
  /** Changes the entry and the blocks before the doorbell. */
  readonly spoil?: (entry: DataView, input: readonly DataView[], output: readonly DataView[]) => void;
}

/** A machine with an mlx5 device in place of an adapter. */
export function makeMlx5Machine(
  machine: MachineOptions = {},
  options: Partial<PersonalityOptions> = {},
): InProcessMachine {
  const build = (_: unknown, clock: AdapterClock, hosts: HostPort[]): Mlx5Adapter =>
    new Mlx5Adapter({ ...defaultMlx5Options, ...options }, clock, hosts[0]);
  return new InProcessMachine({ memoryBytes: SMALL_MEMORY_BYTES, ...machine, build: build as never });
}

/** A command that must succeed was not executed. */
export class CommandError extends Error {}

/** An event queue as software sees it. */
export interface DriverEventQueue {
  readonly number: number;
  readonly uar: number;
  readonly address: number;
  readonly logEntries: number;
  consumed: number;
}

/** An event as software takes it; the layout of `data` depends on its type. */
export interface DriverEvent {
  readonly type: number;
  readonly subType: number;
  readonly data: DataView;
}

export class Mlx5Driver extends PersonalityDriver {
  readonly device: Mlx5Adapter;
  readonly entries: number;
  #token = 0;
  /** Blocks of mailboxes of commands that have ended. */
  readonly #spareBlocks: number[] = [];

  /** `index`: that of the device's function and host among those of the machine. */
  constructor(
    machine: InProcessMachine = makeMlx5Machine(),
    index = 0,
    device: Mlx5Adapter = machine.core as unknown as Mlx5Adapter,
  ) {
    super(machine, index);
    this.device = device;
    this.entries = this.allocate(PAGE_BYTES);
  }

  /** Gives the device the address of its command queue. */
  connect(): void {
    this.writeRegister(COMMAND_ADDRESS_OFFSET, highDword(this.entries));
    this.writeRegister(COMMAND_ADDRESS_OFFSET + 4, lowDword(this.entries));
  }

  /**
   * Fills an entry without ringing for it; returns how to read the answer. `release`: lets other
   * commands reuse the blocks of its mailboxes.
   */
  post(opcode: number, command: Mlx5Command = {}): { entry: number; read: () => Mlx5Answer; release: () => void } {
    const { fill, modifier = 0, inputBytes = 0x10, outputBytes = 0x10, entry = 0, spoil } = command;
    const token = ++this.#token & 0xff;
    const input = new Uint8Array(Math.max(inputBytes, 0x10));
    const head = new DataView(input.buffer);
    head.setUint16(0, opcode);
    head.setUint16(6, modifier);
    fill?.(head);
    const place = this.entries + entry * COMMAND_ENTRY_SIZE;
    const bytes = this.bytes(place, COMMAND_ENTRY_SIZE).fill(0);
    const view = this.memory.view(place, COMMAND_ENTRY_SIZE);
    setCommandEntryType(view, 0, PCIE);
    setCommandEntryInputBytes(view, 0, inputBytes);
    setCommandEntryOutputBytes(view, 0, outputBytes);
    setCommandEntryToken(view, 0, token);
    bytes.set(input.subarray(0, COMMAND_INLINE_BYTES), COMMAND_ENTRY_INPUT_OFFSET);
    const inputBlocks = this.#chain(inputBytes, token);
    const outputBlocks = this.#chain(outputBytes, token);
    for (const [index, address] of inputBlocks.addresses.entries())
      this.bytes(address, MAILBOX_DATA_BYTES).set(mailboxPart(input, index));
    setCommandEntryInputMailbox(view, 0, inputBlocks.addresses[0] ?? 0);
    setCommandEntryOutputMailbox(view, 0, outputBlocks.addresses[0] ?? 0);
    setCommandEntryOwner(view, 0, 1);
    spoil?.(view, inputBlocks.views, outputBlocks.views);
    const read = (): Mlx5Answer => {
      const output = new Uint8Array(Math.max(outputBytes, COMMAND_INLINE_BYTES));
      output.set(bytes.subarray(COMMAND_ENTRY_OUTPUT_OFFSET, COMMAND_ENTRY_OUTPUT_OFFSET + COMMAND_INLINE_BYTES));
      for (const [index, address] of outputBlocks.addresses.entries()) {
        const part = mailboxPart(output, index);
        part.set(this.bytes(address, part.length));
      }
      return {
        delivery: getCommandEntryDeliveryStatus(view, 0),
        status: output[0],
        output: new DataView(output.buffer),
      };
    };
    const release = () => void this.#spareBlocks.push(...inputBlocks.addresses, ...outputBlocks.addresses);
    return { entry, read, release };
  }

  /** Executes a command and waits for its owner bit. */
  command(opcode: number, command: Mlx5Command = {}): Mlx5Answer {
    const { entry, read, release } = this.post(opcode, command);
    const view = this.memory.view(this.entries + entry * COMMAND_ENTRY_SIZE, COMMAND_ENTRY_SIZE);
    this.writeRegister(COMMAND_DOORBELL_OFFSET, (1 << entry) >>> 0);
    this.machine.runUntil(() => getCommandEntryOwner(view, 0) === 0, 'the end of a command');
    const answer = read();
    release();
    return answer;
  }

  /** Executes a command that must succeed. */
  expect(opcode: number, command: Mlx5Command = {}): DataView {
    const { delivery, status, output } = this.command(opcode, command);
    if (delivery !== 0 || status !== CommandStatus.OK)
      throw new CommandError(`command 0x${opcode.toString(16)}: delivery 0x${delivery.toString(16)}, status ${status}`);
    return output;
  }

  /** Gives the pages that the device wants; `when` is 1 for boot, 2 for start. */
  givePages(when: number): number {
    const count = this.expect(CommandOpcode.QUERY_PAGES, { modifier: when }).getInt32(0xc);
    if (count <= 0) return count;
    const pages = Array.from({ length: count }, () => this.allocate(PAGE_BYTES));
    this.expect(CommandOpcode.MANAGE_PAGES, {
      modifier: 1,
      entry: PAGE_COMMAND_ENTRY,
      inputBytes: 0x10 + 8 * count,
      fill: (view) => {
        view.setUint32(0xc, count);
        for (const [index, page] of pages.entries()) view.setBigUint64(0x10 + 8 * index, BigInt(page));
      },
    });
    return count;
  }

  /** Everything up to a running function. */
  start(): void {
    this.connect();
    this.expect(CommandOpcode.ENABLE_HCA, { outputBytes: 0xc });
    this.expect(CommandOpcode.SET_ISSI, { fill: (view) => view.setUint16(0xa, 1) });
    this.givePages(1);
    this.givePages(2);
    this.expect(CommandOpcode.INIT_HCA, { inputBytes: 0x20 });
  }

  /** Sets the state of the interface as the Linux driver does: to stop or to reset the function. */
  setInterface(state: number): void {
    this.writeRegister(
      COMMAND_ADDRESS_OFFSET + 4,
      ((this.readRegister(COMMAND_ADDRESS_OFFSET + 4) & ~INTERFACE_BITS) | (state << 8)) >>> 0,
    );
  }

  /** State of the interface, as the Linux driver reads it. */
  get interfaceState(): number {
    return (this.readRegister(COMMAND_ADDRESS_OFFSET + 4) & INTERFACE_BITS) >>> 8;
  }

  allocateUar(): number {
    return this.expect(CommandOpcode.ALLOC_UAR).getUint32(8) & 0xffffff;
  }

  /** Makes an event queue for the types whose bits `mask` has. */
  createEventQueue(uar: number, mask: bigint, logEntries = 4, vector = 0): DriverEventQueue {
    const address = this.allocate(EVENT_BYTES * 2 ** logEntries);
    for (let index = 0; index < 2 ** logEntries; index++)
      this.memory.view(address + index * EVENT_BYTES, EVENT_BYTES).setUint8(EVENT_BYTES - 1, 1);
    const pages = Math.ceil((EVENT_BYTES * 2 ** logEntries) / PAGE_BYTES);
    const output = this.expect(CommandOpcode.CREATE_EQ, {
      inputBytes: 0x110 + 8 * pages,
      fill: (view) => {
        view.setUint32(0x10 + 0xc, (logEntries << 24) | uar);
        view.setUint32(0x10 + 0x14, vector);
        view.setBigUint64(0x58, mask);
        for (let index = 0; index < pages; index++)
          view.setBigUint64(0x110 + 8 * index, BigInt(address + index * PAGE_BYTES));
      },
    });
    return { number: output.getUint32(8) & 0xff, uar, address, logEntries, consumed: 0 };
  }

  /** Copies of the events that software has not taken. */
  takeEvents(queue: DriverEventQueue): DriverEvent[] {
    const events: DriverEvent[] = [];
    for (;;) {
      const at = queue.address + (queue.consumed % 2 ** queue.logEntries) * EVENT_BYTES;
      const view = this.memory.view(at, EVENT_BYTES);
      if (getEqeOwner(view, 0) !== ((queue.consumed >>> queue.logEntries) & 1)) return events;
      const copy = new Uint8Array(view.buffer, view.byteOffset, EVENT_BYTES).slice();
      events.push({
        type: getEqeType(view, 0),
        subType: getEqeSubType(view, 0),
        data: new DataView(copy.buffer, 0x20),
      });
      queue.consumed++;
    }
  }

  /** Gives the device the consumer counter, and arms the queue. */
  arm({ number, uar, consumed }: DriverEventQueue): void {
    this.writeRegister(uar * UAR_PAGE_BYTES + ARM_EQ_OFFSET, ((number << 24) | (consumed & 0xffffff)) >>> 0);
  }

  #chain(lengthBytes: number, token: number): { addresses: readonly number[]; views: DataView[] } {
    const count = Math.max(Math.ceil((lengthBytes - COMMAND_INLINE_BYTES) / MAILBOX_DATA_BYTES), 0);
    const addresses = Array.from(
      { length: count },
      () => this.#spareBlocks.pop() ?? this.allocate(BLOCK_BYTES, BLOCK_BYTES),
    );
    const views = addresses.map((address, index) => {
      this.bytes(address, MAILBOX_BLOCK_SIZE).fill(0);
      const view = this.memory.view(address, MAILBOX_BLOCK_SIZE);
      setMailboxBlockNext(view, 0, addresses[index + 1] ?? 0);
      setMailboxBlockBlockNumber(view, 0, index);
      setMailboxBlockToken(view, 0, token);
      return view;
    });
    return { addresses, views };
  }
}

/** The part of a command, or of its answer, in block `index` of its mailbox. */
function mailboxPart(whole: Uint8Array, index: number): Uint8Array {
  const from = COMMAND_INLINE_BYTES + index * MAILBOX_DATA_BYTES;
  return whole.subarray(from, from + MAILBOX_DATA_BYTES);
}
