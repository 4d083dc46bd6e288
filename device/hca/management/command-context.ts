// SPDX-License-Identifier: Apache-2.0
/**
 * One management command in execution (US 8,484,392 par. 65 and 77): where handlers read the
 * payload, write the response, and record the field at fault.
 */

import { COMMAND_HEADER_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  getManagementCommandTokenHigh,
  getManagementCommandTokenLow,
  MANAGEMENT_COMMAND_OBJECT_NUMBER_OFFSET,
  type ManagementCommand,
  newManagementCommand,
} from '../../../protocol/layout/gen/management-command.gen.ts';
import { MANAGEMENT_RESPONSE_SIZE } from '../../../protocol/layout/gen/management-response.gen.ts';
import { FaultObject, ManagementStatus } from '../../../protocol/layout/gen/values.gen.ts';
import type { FaultSubject } from '../function/fault-log.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { PageListRequest } from '../memory/page-list.ts';
import type { CommandProgress } from './command-progress.ts';
import type { ManagedAdapter, ManagedFunction } from './managed-adapter.ts';

/**
 * What a handler returns while it has steps left: it has changed nothing, and is called again in
 * the next turn of the service processor. Software never sees it.
 */
export const UNFINISHED = -1 as number as ManagementStatus;

/** Executes one command. Every status but OK means that it changed nothing. */
export type CommandHandler = (context: CommandContext) => ManagementStatus;

/** The command in execution; one object is used again for every command. */
export class CommandContext implements FaultSubject {
  readonly adapter: ManagedAdapter;
  /** The function whose software issued the command. */
  issuer: UnderlyingFunction;
  readonly header: ManagementCommand = newManagementCommand();
  /** The whole command; the payload starts at `payload`. */
  command: DataView = new DataView(new ArrayBuffer(0));
  readonly payload = COMMAND_HEADER_BYTES;
  readonly response = new Uint8Array(MANAGEMENT_RESPONSE_SIZE);
  readonly responseView = new DataView(this.response.buffer);
  /** Number of the object that the response names. */
  objectNumber = 0;
  /** Byte offset in the command of the field at fault, and the largest value it may have. */
  badOffset = 0;
  limit = 0;

  constructor(adapter: ManagedAdapter, issuer: UnderlyingFunction) {
    this.adapter = adapter;
    this.issuer = issuer;
  }

  /** The issuer with its ports. */
  get managed(): ManagedFunction {
    return this.adapter.functions[this.issuer.number];
  }

  /** Progress of the command in earlier turns. */
  get progress(): CommandProgress {
    return this.managed.progress;
  }

  /** The command, as a fault names it. */
  get number(): number {
    return this.header.sequence;
  }

  get faultObject(): FaultObject {
    return FaultObject.COMMAND;
  }

  /** Starts a command of the function `issuer`: clears the response. */
  begin(issuer: UnderlyingFunction, command: DataView): void {
    this.issuer = issuer;
    this.command = command;
    this.response.fill(0);
    this.badOffset = 0;
    this.limit = 0;
  }

  /** Refuses a payload field out of range. `limit`: the largest value that is accepted. */
  badField(payloadOffset: number, limit = 0): ManagementStatus {
    return this.badPayload(ManagementStatus.BAD_FIELD, payloadOffset, limit);
  }

  /** Refuses with another status that blames a payload field. */
  badPayload(status: ManagementStatus, payloadOffset: number, limit = 0): ManagementStatus {
    this.badOffset = this.payload + payloadOffset;
    this.limit = limit;
    return status;
  }

  /**
   * Takes translation entries for the object of the command, or refuses the payload field that
   * determines their number.
   */
  takeTranslations(count: number, countOffset: number): ManagementStatus {
    if (this.progress.take(count)) return ManagementStatus.OK;
    return this.badPayload(ManagementStatus.NO_TRANSLATIONS, countOffset, this.issuer.translations.free);
  }

  /**
   * The addresses in the page list that the field at `listOffset` names, for which it takes
   * translation entries; `countOffset`: the field that determines their number. Returns UNFINISHED
   * while the list is being read, or the status of a refusal.
   */
  fetchPages(
    listOffset: number,
    countOffset: number,
    request: PageListRequest,
  ): Float64Array<ArrayBuffer> | ManagementStatus {
    let list = this.progress.findList(listOffset);
    if (list === undefined) {
      const status = this.takeTranslations(request.count, countOffset);
      if (status !== ManagementStatus.OK) return status;
      list = this.progress.beginList(listOffset, request);
    }
    const result = list.step(this.issuer.dma);
    if (result === 'failed') return this.badPayload(ManagementStatus.BAD_ADDRESS, listOffset);
    return result === 'done' ? list.pages : UNFINISHED;
  }

  /** Refuses an object number that does not exist or belongs to another function. */
  badObject(): ManagementStatus {
    this.badOffset = MANAGEMENT_COMMAND_OBJECT_NUMBER_OFFSET;
    return ManagementStatus.BAD_OBJECT;
  }

  /** Copies software's own handle for a new object from the header: an opaque 64-bit value. */
  label(object: { tokenLow: number; tokenHigh: number }): void {
    object.tokenLow = getManagementCommandTokenLow(this.command, 0);
    object.tokenHigh = getManagementCommandTokenHigh(this.command, 0);
  }

  /** Returns `object` if the issuer owns it, else undefined. */
  own<T extends { readonly owner: UnderlyingFunction }>(object: T | undefined): T | undefined {
    return object !== undefined && object.owner === this.issuer ? object : undefined;
  }
}
