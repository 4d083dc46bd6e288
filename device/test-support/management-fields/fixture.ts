// SPDX-License-Identifier: Apache-2.0
/**
 * Objects for the test of management command fields: a small adapter with event and completion
 * queues, other objects on demand, memory, and lists of pages. Each play builds its own fixture,
 * and all fixtures are equal to the byte.
 */
import { COMMAND_HEADER_BYTES, COMMAND_MAX_BYTES, RESPONSE_VALID } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  getManagementCommandCollectLength,
  getManagementCommandResponseAddress,
  getManagementCommandSequence,
} from '../../../protocol/layout/gen/management-command.gen.ts';
import {
  decodeManagementResponse,
  MANAGEMENT_RESPONSE_SIZE,
  type ManagementResponse,
  newManagementResponse,
  setManagementResponseSequence,
} from '../../../protocol/layout/gen/management-response.gen.ts';
import { ManagementOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import type { Driver } from '../../hosts/in-process/driver/driver.ts';
import type { ManagementRequest } from '../../hosts/in-process/driver/management-channel.ts';
import type { DriverQueuePair } from '../../hosts/in-process/driver/queue-pair.ts';
import { AdapterFixture, type QueuePairOptions } from '../adapter-fixture.ts';
import { countObjects, fixtureObjects } from '../state-digest.ts';

/** A guest address, a multiple of 8, that is not mapped. */
export const NOWHERE = 0x10_0000;
/** A number that no object has. */
export const NO_OBJECT = 0x7ffff0;

const PAGE_BYTES = 4096;
const PAGES = 8;
const MEMORY_BYTES = 512 * 1024;
const LINE_BYTES = 64;
const RESPONSE_ALIGNMENT = 8;

/** A small adapter is built in a millisecond or two. */
const SMALL = {
  vcbCount: 8,
  pcbCount: 8,
  pcbGuaranteed: [2, 2],
  schedulerBufferCount: 4,
  laneCount: 40,
  doorbellEntries: 8,
  portQueuePackets: 4,
} as const;

export class Fixture {
  readonly adapterFixture: AdapterFixture;
  readonly cqn: number;
  /** `PAGES` pages, at the address of the first. */
  readonly memory: number;
  readonly record: number;
  readonly descriptor: number;
  /** Guest addresses of the list of these pages, and of one with a page that is not aligned. */
  readonly pageList: number;
  readonly crookedList: number;
  readonly #watched: ManagementRequest[];

  constructor(functionCount = 1) {
    this.adapterFixture = new AdapterFixture({
      memoryBytes: MEMORY_BYTES,
      functionCount,
      adapter: { ...SMALL, functionCount },
    });
    const { allocator } = this.driver;
    this.cqn = this.adapterFixture.createCompletionQueue().cqn;
    this.memory = allocator.allocate(PAGES * PAGE_BYTES, PAGE_BYTES);
    this.record = allocator.allocate(LINE_BYTES);
    this.descriptor = allocator.allocate(LINE_BYTES);
    this.pageList = this.#createList(() => 0);
    this.crookedList = this.#createList((page) => (page === 1 ? 8 : 0));
    this.#watched = fixtureObjects(this.adapterFixture).map(([opcode, objectNumber]) => ({ opcode, objectNumber }));
    this.watch(ManagementOpcode.QUERY_CQ, this.cqn);
  }

  get driver(): Driver {
    return this.adapterFixture.driver;
  }

  /** Makes the answer to a query part of the state. Returns the object number. */
  watch(opcode: ManagementOpcode, objectNumber: number, modifier = 0): number {
    this.#watched.push({ opcode, objectNumber, modifier });
    return objectNumber;
  }

  createQueuePair(options: QueuePairOptions): DriverQueuePair {
    const qp = this.adapterFixture.createQueuePair(options);
    this.watch(ManagementOpcode.QUERY_QP, qp.qpn);
    return qp;
  }

  /** The answers to all queries, those of `created` too, and the numbers of objects. */
  describe(created: readonly ManagementRequest[] = []): string {
    const answers = [...this.#watched, ...created].map((request) => {
      const { status, payload } = this.driver.management.execute(request);
      return `${JSON.stringify(request)}: ${status} ${Buffer.from(payload.buffer).toString('hex')}`;
    });
    return [JSON.stringify(countObjects(this.adapterFixture)), ...answers].join('\n');
  }

  /**
   * Writes a command into the dedicated collect buffer and returns the answer, if there is one.
   * Only the first 8 bytes are written when they have a length that no command has.
   */
  submit(bytes: Uint8Array): { readonly response: ManagementResponse; readonly text: string } | undefined {
    const { management } = this.driver;
    const command = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const view = this.adapterFixture.access.view(this.#whereToLook(command), MANAGEMENT_RESPONSE_SIZE);
    setManagementResponseSequence(view, 0, 0);
    management.lock();
    management.write(isCommandLength(getManagementCommandCollectLength(command, 0)) ? bytes : bytes.subarray(0, 8));
    this.adapterFixture.settle();
    management.unlock();
    const response = decodeManagementResponse(view, 0, newManagementResponse());
    if (response.sequence !== (RESPONSE_VALID | getManagementCommandSequence(command, 0)) >>> 0) return undefined;
    const text = Buffer.from(view.buffer, view.byteOffset, MANAGEMENT_RESPONSE_SIZE).toString('hex');
    return { response, text };
  }

  /** Address of the answer: the command's if an answer can be there, or else the driver's own. */
  #whereToLook(command: DataView): number {
    const address = getManagementCommandResponseAddress(command, 0);
    const { memoryAddress, memoryBytes } = this.adapterFixture.access;
    const last = memoryAddress + memoryBytes - MANAGEMENT_RESPONSE_SIZE;
    const isGood = address >= memoryAddress && address <= last && address % RESPONSE_ALIGNMENT === 0;
    return isGood ? address : this.driver.management.responseAddress;
  }

  #createList(errorOf: (page: number) => number): number {
    const list = this.driver.allocator.allocate(LINE_BYTES);
    const view = this.adapterFixture.access.view(list, LINE_BYTES);
    for (let page = 0; page < PAGES; page++)
      view.setBigUint64(page * 8, BigInt(this.memory + page * PAGE_BYTES + errorOf(page)), true);
    return list;
  }
}

/** A command may have this length in bytes. */
export function isCommandLength(length: number): boolean {
  return length >= COMMAND_HEADER_BYTES && length <= COMMAND_MAX_BYTES && length % 8 === 0;
}
