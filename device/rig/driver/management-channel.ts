// SPDX-License-Identifier: Apache-2.0
/**
 * The driver's end of management commands (US 8,484,392 par. 88-90): take a lock, write the
 * command into its dedicated collect buffer, wait for the response in memory, release the lock.
 * Tests of damaged commands `build` the bytes, change them and `submit` them.
 */

import { COMMAND_HEADER_BYTES, PAGE_BYTES, RESPONSE_VALID } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  encodeManagementCommand,
  MANAGEMENT_COMMAND_CHECKSUM_OFFSET,
  MANAGEMENT_COMMAND_SEQUENCE_MASK,
  newManagementCommand,
  setManagementCommandChecksum,
} from '../../../protocol/layout/gen/management-command.gen.ts';
import {
  getManagementResponseBadOffset,
  getManagementResponseLimit,
  getManagementResponseObjectNumber,
  getManagementResponseSequence,
  getManagementResponseStatus,
  MANAGEMENT_RESPONSE_PAYLOAD_BYTES,
  MANAGEMENT_RESPONSE_SIZE,
  setManagementResponseSequence,
} from '../../../protocol/layout/gen/management-response.gen.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import {
  ManagementStatus,
  managementOpcodeName,
  managementStatusName,
} from '../../../protocol/layout/gen/values.gen.ts';
import { viewOf } from '../../../protocol/layout/view.ts';
import { commandChecksum } from './checksum.ts';
import { type CollectStyle, writeCollected } from './collect-writer.ts';
import type { GuestAllocator } from './guest-allocator.ts';
import type { HardwareAccess } from './hardware-access.ts';

/** The fields of a command; absent ones are zero. */
export interface ManagementRequest {
  readonly opcode: number;
  readonly objectNumber?: number;
  readonly modifier?: number;
  readonly notify?: number;
  readonly eventQueue?: number;
  readonly token?: number;
  /** Payload behind the header; its length is a multiple of 8. */
  readonly payload?: Uint8Array;
  /** Bus address of the response; by default the driver's response buffer. */
  readonly responseAddress?: number;
}

/** A response. `payload` is a copy. */
export interface ManagementResult {
  readonly status: number;
  readonly objectNumber: number;
  readonly badOffset: number;
  readonly limit: number;
  readonly payload: DataView;
}

/** The channel of one function. */
export class ManagementChannel {
  readonly responseAddress: number;
  /** The way in which commands are written. */
  style: CollectStyle = {};
  readonly #access: HardwareAccess;
  readonly #command = newManagementCommand();
  #sequence = 0;
  /** Number of the dedicated collect buffer in use, from 1. */
  #buffer = 1;

  constructor(access: HardwareAccess, allocator: GuestAllocator) {
    this.#access = access;
    this.responseAddress = allocator.allocate(MANAGEMENT_RESPONSE_SIZE);
  }

  /** Byte offset of the dedicated collect buffer in the collect BAR. */
  get pageOffset(): number {
    return this.#access.readRegister(CSR.DEDICATED_OFFSET, 8) + (this.#buffer - 1) * PAGE_BYTES;
  }

  /** Executes a command; returns its result, whatever the status. */
  execute(request: ManagementRequest): ManagementResult {
    return this.submit(this.build(request), managementOpcodeName(request.opcode));
  }

  /** Executes a command; throws if the status is not OK. */
  perform(request: ManagementRequest): ManagementResult {
    const result = this.execute(request);
    if (result.status === ManagementStatus.OK) return result;
    const name = managementOpcodeName(request.opcode);
    throw new Error(`${name}: ${managementStatusName(result.status)}, bad offset ${result.badOffset}.`);
  }

  /** The bytes of a command with the next sequence number and a valid checksum. */
  build(request: ManagementRequest): Uint8Array {
    this.#sequence = (this.#sequence + 1) & MANAGEMENT_COMMAND_SEQUENCE_MASK;
    const payload = request.payload ?? new Uint8Array(0);
    const bytes = new Uint8Array(COMMAND_HEADER_BYTES + payload.length);
    const command = Object.assign(this.#command, newManagementCommand(), {
      opcode: request.opcode,
      objectNumber: request.objectNumber ?? 0,
      sequence: this.#sequence,
      collectLength: bytes.length,
      notify: request.notify ?? 0,
      management: 1,
      eventQueue: request.eventQueue ?? 0,
      modifier: request.modifier ?? 0,
      token: request.token ?? 0,
      responseAddress: request.responseAddress ?? this.responseAddress,
    });
    encodeManagementCommand(viewOf(bytes), 0, command);
    bytes.set(payload, COMMAND_HEADER_BYTES);
    seal(bytes);
    return bytes;
  }

  /**
   * Writes command bytes, and waits for the response to the sequence number of the last `build`.
   */
  submit(bytes: Uint8Array, what: string): ManagementResult {
    this.lock();
    const view = this.#access.view(this.responseAddress, MANAGEMENT_RESPONSE_SIZE);
    setManagementResponseSequence(view, 0, 0);
    this.write(bytes);
    const expected = (RESPONSE_VALID | this.#sequence) >>> 0;
    this.#access.waitFor(() => getManagementResponseSequence(view, 0) === expected, `the response to ${what}`);
    this.unlock();
    return decodeResult(view);
  }

  /** Writes command bytes into the dedicated collect buffer, without waiting. */
  write(bytes: Uint8Array): void {
    writeCollected(this.#access, this.pageOffset, bytes, this.style);
  }

  /** Waits for a dedicated collect buffer and takes it; returns its number. */
  lock(): number {
    const take = (): boolean => {
      const taken = this.#access.readRegister(CSR.DEDICATED_LOCK, 4);
      if (taken > 0) this.#buffer = taken;
      return taken > 0;
    };
    this.#access.waitFor(take, 'the dedicated lock');
    return this.#buffer;
  }

  /** Releases a dedicated collect buffer, the one taken last. */
  unlock(buffer = this.#buffer): void {
    this.#access.writeRegister(CSR.DEDICATED_LOCK, 4, buffer, 0);
  }
}

/** Writes a valid checksum into changed command bytes. */
export function seal(bytes: Uint8Array): void {
  const view = viewOf(bytes);
  setManagementCommandChecksum(view, 0, commandChecksum(view, MANAGEMENT_COMMAND_CHECKSUM_OFFSET, 0));
}

function decodeResult(view: DataView): ManagementResult {
  const payload = new Uint8Array(MANAGEMENT_RESPONSE_PAYLOAD_BYTES);
  payload.set(new Uint8Array(view.buffer, view.byteOffset, MANAGEMENT_RESPONSE_PAYLOAD_BYTES));
  return {
    status: getManagementResponseStatus(view, 0),
    objectNumber: getManagementResponseObjectNumber(view, 0),
    badOffset: getManagementResponseBadOffset(view, 0),
    limit: getManagementResponseLimit(view, 0),
    payload: new DataView(payload.buffer),
  };
}
