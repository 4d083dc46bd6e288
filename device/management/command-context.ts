// SPDX-License-Identifier: Apache-2.0
/** One management command being executed: where handlers read their payload, answer, and say what was wrong. */
import { COMMAND_HEADER_BYTES } from '../../protocol/layout/gen/constants.gen.ts';
import {
  getManagementCommandTokenHigh,
  getManagementCommandTokenLow,
  MANAGEMENT_COMMAND_OBJECT_NUMBER_OFFSET,
  type ManagementCommand,
  newManagementCommand,
} from '../../protocol/layout/gen/management-command.gen.ts';
import { MANAGEMENT_RESPONSE_SIZE } from '../../protocol/layout/gen/management-response.gen.ts';
import { ManagementStatus } from '../../protocol/layout/gen/values.gen.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { ManagedAdapter } from './managed-adapter.ts';

/** Executes one command. Every status but OK means that it changed nothing. */
export type CommandHandler = (context: CommandContext) => ManagementStatus;

export class CommandContext {
  readonly adapter: ManagedAdapter;
  owner: UnderlyingFunction;
  readonly header: ManagementCommand = newManagementCommand();
  /** The whole command; the payload starts at `payload`. */
  command: DataView = new DataView(new ArrayBuffer(0));
  readonly payload = COMMAND_HEADER_BYTES;
  readonly response = new Uint8Array(MANAGEMENT_RESPONSE_SIZE);
  readonly responseView = new DataView(this.response.buffer);
  /** Object the response names. */
  objectNumber = 0;
  badOffset = 0;
  limit = 0;

  constructor(adapter: ManagedAdapter, owner: UnderlyingFunction) {
    this.adapter = adapter;
    this.owner = owner;
  }

  begin(owner: UnderlyingFunction, command: DataView): void {
    this.owner = owner;
    this.command = command;
    this.response.fill(0);
    this.badOffset = 0;
    this.limit = 0;
  }

  /** A payload field is out of range. `limit`: the largest value that would have been accepted. */
  badField(payloadOffset: number, limit = 0): ManagementStatus {
    return this.badPayload(ManagementStatus.BAD_FIELD, payloadOffset, limit);
  }

  /** Another status that blames a payload field. */
  badPayload(status: ManagementStatus, payloadOffset: number, limit = 0): ManagementStatus {
    this.badOffset = this.payload + payloadOffset;
    this.limit = limit;
    return status;
  }

  /** The object named by the header does not exist, or belongs to another function. */
  badObject(): ManagementStatus {
    this.badOffset = MANAGEMENT_COMMAND_OBJECT_NUMBER_OFFSET;
    return ManagementStatus.BAD_OBJECT;
  }

  /** Gives a new object software's own handle for it, from the header: an opaque 64-bit value. */
  label(object: { tokenLow: number; tokenHigh: number }): void {
    object.tokenLow = getManagementCommandTokenLow(this.command, 0);
    object.tokenHigh = getManagementCommandTokenHigh(this.command, 0);
  }

  /** `object` if it is the function's own. */
  own<T extends { readonly owner: UnderlyingFunction }>(object: T | undefined): T | undefined {
    return object !== undefined && object.owner === this.owner ? object : undefined;
  }
}
