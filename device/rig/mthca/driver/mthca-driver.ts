// SPDX-License-Identifier: Apache-2.0
/**
 * The host side of the command interface for tests in process: starts an mthca device as the Linux
 * driver does, with a small profile, and executes single commands. Tests of the personality use it.
 */
import { highDword, joinDwords, lowDword } from '../../../../protocol/layout/dwords.ts';
import { ADAPTER_INFO_SIZE } from '../../../../protocol/mthca/gen/adapter-info.gen.ts';
import {
  EQ_ARM_OFFSET,
  EQ_CONSUMER_OFFSET,
  EVENT_BYTES,
  HCR_OFFSET,
  ICM_PAGE_BYTES,
  RESET_OFFSET,
} from '../../../../protocol/mthca/gen/constants.gen.ts';
import {
  type DeviceLimits,
  decodeDeviceLimits,
  newDeviceLimits,
} from '../../../../protocol/mthca/gen/device-limits.gen.ts';
import { DOORBELL_RECORD_SIZE } from '../../../../protocol/mthca/gen/doorbell-record.gen.ts';
import type { HcaSetup } from '../../../../protocol/mthca/gen/hca-setup.gen.ts';
import type { MptEntry } from '../../../../protocol/mthca/gen/mpt-entry.gen.ts';
import { CommandOpcode, CommandStatus, EventKind } from '../../../../protocol/mthca/gen/values.gen.ts';
import type { AdapterClock, AdapterPort, HostPort } from '../../../host.ts';
import { MthcaAdapter } from '../../../personality/mthca/mthca-adapter.ts';
import { defaultMthcaOptions } from '../../../personality/mthca/options.ts';
import type { PersonalityOptions } from '../../../personality/shared/options.ts';
import { InProcessMachine, type MachineOptions } from '../../machine/machine.ts';
import { PersonalityDriver } from '../../machine/personality-driver.ts';
import {
  eventQueueBytes,
  ICM_BYTES,
  LOG_EQ_ENTRIES,
  MTT_BASE,
  profile,
  regionBytes,
  setupBytes,
  UARC_BASE,
} from './profile.ts';

/** One command; absent parameters are 0. `out`: bytes of the output mailbox. */
export interface DriverCommand {
  readonly input?: Uint8Array | number;
  readonly modifier?: number;
  readonly opcodeModifier?: number;
  readonly out?: number;
  /** Address in place of the driver's own output mailbox. */
  readonly outAddress?: number;
  readonly byEvent?: boolean;
}

/** The answer to a command. */
interface DriverAnswer {
  readonly status: number;
  readonly value: number;
  readonly output: DataView;
}

const GO = 1 << 23;
const BY_EVENT = 1 << 22;
const OPCODE_MODIFIER_SHIFT = 12;
const TOKEN = 0x1234;
const OWNED_BY_HARDWARE = 0x80;

/** A machine with an mthca device in place of an adapter. */
export function makeMthcaMachine(
  options: Partial<PersonalityOptions> = {},
  machine: MachineOptions = {},
): InProcessMachine {
  const build = (_: unknown, clock: AdapterClock, hosts: HostPort[]): MthcaAdapter =>
    new MthcaAdapter({ ...defaultMthcaOptions, ...options }, clock, hosts[0]);
  return new InProcessMachine({ ...machine, build });
}

export class MthcaDriver extends PersonalityDriver {
  readonly device: MthcaAdapter;
  limits: DeviceLimits = newDeviceLimits();
  readonly #inbox: number;
  readonly #outbox: number;
  #nextTranslation = MTT_BASE + 0x100;
  #nextKey = 16;

  /** `index`: that of the device's function, when the machine has a whole fabric. */
  constructor(machine: InProcessMachine, index = 0, device: AdapterPort = machine.core) {
    super(machine, index);
    this.device = device as MthcaAdapter;
    this.#inbox = this.allocate(ICM_PAGE_BYTES);
    this.#outbox = this.allocate(ICM_PAGE_BYTES);
  }

  /** Sets the counter of a doorbell record. */
  setRecord(uar: number, record: number, counter: number): void {
    const at = this.device.hca.icm.resolve(UARC_BASE + uar * ICM_PAGE_BYTES + record * DOORBELL_RECORD_SIZE);
    this.memory.view(at, DOORBELL_RECORD_SIZE).setUint32(0, counter);
  }

  reset(): void {
    this.writeRegister(RESET_OFFSET, 1);
  }

  /** Executes a command and waits for its end in the command register. */
  command(opcode: number, command: DriverCommand = {}): DriverAnswer {
    const {
      input = 0,
      modifier = 0,
      opcodeModifier = 0,
      out = 0,
      outAddress = this.#outbox,
      byEvent = false,
    } = command;
    if (typeof input !== 'number') this.bytes(this.#inbox, input.length).set(input);
    const inParameter = typeof input === 'number' ? input : this.#inbox;
    const outParameter = out > 0 ? outAddress : 0;
    this.bytes(this.#outbox, ICM_PAGE_BYTES).fill(0);
    const words = [highDword(inParameter), lowDword(inParameter), modifier, highDword(outParameter)];
    words.push(lowDword(outParameter), TOKEN << 16);
    for (const [index, word] of words.entries()) this.writeRegister(HCR_OFFSET + index * 4, word);
    const flags = GO | (byEvent ? BY_EVENT : 0);
    this.writeRegister(HCR_OFFSET + 0x18, flags | (opcodeModifier << OPCODE_MODIFIER_SHIFT) | opcode);
    this.machine.runUntil(() => (this.readRegister(HCR_OFFSET + 0x18) & GO) === 0, 'the end of a command');
    return {
      status: this.readRegister(HCR_OFFSET + 0x18) >>> 24,
      value: joinDwords(this.readRegister(HCR_OFFSET + 0x10), this.readRegister(HCR_OFFSET + 0xc)),
      output: this.memory.view(this.#outbox, ICM_PAGE_BYTES),
    };
  }

  /** Executes a command that must succeed. */
  expect(opcode: number, command: DriverCommand = {}): DriverAnswer {
    const answer = this.command(opcode, command);
    if (answer.status !== CommandStatus.OK)
      throw new Error(`command 0x${opcode.toString(16)} returned status 0x${answer.status.toString(16)}`);
    return answer;
  }

  /** Starts the firmware and reads the limits. */
  startFirmware(): void {
    const { output } = this.expect(CommandOpcode.QUERY_FW, { out: 0x100 });
    const pages = output.getUint16(0);
    this.expect(CommandOpcode.MAP_FA, this.#mapping([[0, this.allocate(pages * ICM_PAGE_BYTES, 0x10000), pages]]));
    this.expect(CommandOpcode.RUN_FW);
    this.limits = decodeDeviceLimits(
      this.expect(CommandOpcode.QUERY_DEV_LIM, { out: 0x100 }).output,
      0,
      newDeviceLimits(),
    );
  }

  /** Backs context memory by guest pages. */
  startContextMemory(): void {
    const { value } = this.expect(CommandOpcode.SET_ICM_SIZE, { input: ICM_BYTES });
    this.expect(CommandOpcode.MAP_ICM_AUX, this.#mapping([[0, this.allocate(value * ICM_PAGE_BYTES), value]]));
    this.expect(CommandOpcode.MAP_ICM, this.mapContextMemory(0, ICM_BYTES / ICM_PAGE_BYTES));
  }

  /** Input of MAP_ICM for pages of new memory; `pages` is a power of two. */
  mapContextMemory(icmAddress: number, pages: number): DriverCommand {
    const sizeBytes = pages * ICM_PAGE_BYTES;
    return this.backContextMemory(icmAddress, this.allocate(sizeBytes, sizeBytes), pages);
  }

  /** As `mapContextMemory`, with existing memory. */
  backContextMemory(icmAddress: number, address: number, pages: number): DriverCommand {
    return this.#mapping([[icmAddress, address, pages]]);
  }

  startHca(setup: Readonly<HcaSetup> = profile): void {
    this.expect(CommandOpcode.INIT_HCA, { input: setupBytes(setup) });
    this.expect(CommandOpcode.QUERY_ADAPTER, { out: ADAPTER_INFO_SIZE });
  }

  /** Everything up to a running HCA with an event queue for commands and ports. */
  start(): MthcaDriverEventQueue {
    this.startFirmware();
    this.startContextMemory();
    this.startHca();
    const queue = this.createEventQueue(2, 1);
    this.expect(CommandOpcode.MAP_EQ, {
      input: 2 ** EventKind.COMMAND + 2 ** EventKind.PORT_CHANGE,
      modifier: queue.number,
    });
    queue.arm();
    return queue;
  }

  /** Registers memory; returns its key. Entries go into context memory by WRITE_MTT. */
  createRegion(address: number, lengthBytes: number, entry: Partial<MptEntry> = {}): number {
    const pages = lengthBytes / ICM_PAGE_BYTES;
    const translation = this.#nextTranslation;
    this.#nextTranslation += pages * 8;
    const list = new DataView(new ArrayBuffer(16 + pages * 8));
    list.setUint32(4, translation);
    for (let page = 0; page < pages; page++) {
      const at = address + page * ICM_PAGE_BYTES;
      list.setUint32(16 + page * 8, highDword(at));
      list.setUint32(20 + page * 8, lowDword(at) | 1);
    }
    this.expect(CommandOpcode.WRITE_MTT, { input: new Uint8Array(list.buffer), modifier: pages });
    const number = this.#nextKey++;
    this.expect(CommandOpcode.SW2HW_MPT, {
      input: regionBytes({ key: number, length: lengthBytes, translation, ...entry }),
      modifier: number,
    });
    return ((number << 8) | (number >>> 24)) >>> 0;
  }

  createEventQueue(number: number, vector: number): MthcaDriverEventQueue {
    const sizeBytes = EVENT_BYTES * 2 ** LOG_EQ_ENTRIES;
    const address = this.allocate(Math.max(sizeBytes, ICM_PAGE_BYTES));
    for (let at = EVENT_BYTES - 1; at < sizeBytes; at += EVENT_BYTES)
      this.bytes(address, sizeBytes)[at] = OWNED_BY_HARDWARE;
    const key = this.createRegion(address, ICM_PAGE_BYTES);
    this.expect(CommandOpcode.SW2HW_EQ, { input: eventQueueBytes(key, vector), modifier: number });
    return new MthcaDriverEventQueue(this, number, address, 2 ** LOG_EQ_ENTRIES);
  }

  #mapping(entries: readonly (readonly [icmAddress: number, address: number, pages: number])[]): DriverCommand {
    const view = new DataView(new ArrayBuffer(entries.length * 16));
    for (const [index, [icmAddress, address, pages]] of entries.entries()) {
      view.setUint32(index * 16, highDword(icmAddress));
      view.setUint32(index * 16 + 4, lowDword(icmAddress));
      view.setUint32(index * 16 + 8, highDword(address));
      view.setUint32(index * 16 + 12, lowDword(address) + Math.log2(pages));
    }
    return { input: new Uint8Array(view.buffer), modifier: entries.length };
  }
}

/** The driver's side of an event queue. */
export class MthcaDriverEventQueue {
  readonly number: number;
  readonly address: number;
  readonly entries: number;
  readonly #driver: MthcaDriver;
  #consumer = 0;

  constructor(driver: MthcaDriver, number: number, address: number, entries: number) {
    this.#driver = driver;
    this.number = number;
    this.address = address;
    this.entries = entries;
  }

  arm(): void {
    this.#driver.writeRegister(EQ_ARM_OFFSET + 4, 1 << this.number);
  }

  /** Copies of the entries that are valid; tells the device that they are taken. */
  take(): DataView[] {
    const found: DataView[] = [];
    for (;;) {
      const bytes = this.#driver.bytes(this.address + (this.#consumer % this.entries) * EVENT_BYTES, EVENT_BYTES);
      if (bytes[EVENT_BYTES - 1] & OWNED_BY_HARDWARE) break;
      found.push(new DataView(bytes.slice().buffer));
      bytes[EVENT_BYTES - 1] = OWNED_BY_HARDWARE;
      this.#consumer++;
    }
    this.#driver.writeRegister(EQ_CONSUMER_OFFSET + this.number * 8, this.#consumer);
    return found;
  }
}
