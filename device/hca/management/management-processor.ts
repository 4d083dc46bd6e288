// SPDX-License-Identifier: Apache-2.0
/**
 * The service processor (US 8,484,392 par. 65 and 87-90): executes management commands collected in
 * dedicated collect buffers and writes the responses to guest memory. A command is done as a whole
 * or not at all. The adapter calls it in each pass.
 */

import { COMMAND_HEADER_BYTES, RESPONSE_VALID } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  decodeManagementCommand,
  MANAGEMENT_COMMAND_CHECKSUM_OFFSET,
  MANAGEMENT_COMMAND_COLLECT_LENGTH_OFFSET,
  MANAGEMENT_COMMAND_MODIFIER_OFFSET,
  MANAGEMENT_COMMAND_RESPONSE_ADDRESS_OFFSET,
} from '../../../protocol/layout/gen/management-command.gen.ts';
import {
  MANAGEMENT_RESPONSE_SEQUENCE_BYTES,
  MANAGEMENT_RESPONSE_SIZE,
  setManagementResponseBadOffset,
  setManagementResponseLimit,
  setManagementResponseObjectNumber,
  setManagementResponseSequence,
  setManagementResponseStatus,
} from '../../../protocol/layout/gen/management-response.gen.ts';
import { EventType, FaultKind, ManagementStatus } from '../../../protocol/layout/gen/values.gen.ts';
import { hasCommandChecksum } from '../collect/checksum.ts';
import { EventRecord } from '../function/event-record.ts';
import { PHYSICAL_FUNCTION } from '../function/underlying-function.ts';
import { compareResponse } from './announced-response.ts';
import { CommandContext, UNFINISHED } from './command-context.ts';
import { commandTable } from './command-table.ts';
import type { ManagedAdapter, ManagedFunction } from './managed-adapter.ts';

const SEQUENCE_BYTES = MANAGEMENT_RESPONSE_SEQUENCE_BYTES;
const RESPONSE_ALIGNMENT = 8;
/** A step of a long command takes about as long as so many short ones. */
const STEP_COST = 8;

/** Executes the commands of all functions, one at a time. */
export class ManagementProcessor {
  readonly #adapter: ManagedAdapter;
  readonly #context: CommandContext;
  readonly #event = new EventRecord();

  constructor(adapter: ManagedAdapter) {
    this.#adapter = adapter;
    this.#context = new CommandContext(adapter, adapter.functions[PHYSICAL_FUNCTION].underlying);
  }

  /**
   * Executes the oldest waiting command of the function, or one step of it. Returns what that cost
   * in commands; 0: there is none.
   */
  serve(managed: ManagedFunction): number {
    const buffer = managed.pendingManagement[0];
    if (buffer === undefined) return 0;
    const { underlying: issuer, progress } = managed;
    const context = this.#context;
    context.begin(issuer, buffer.view);
    decodeManagementCommand(buffer.view, 0, context.header);
    context.objectNumber = context.header.objectNumber;
    const status = this.#execute(context, buffer.collectLength);
    if (status === UNFINISHED) return STEP_COST;
    if (status === ManagementStatus.OK) progress.handOver();
    progress.end();
    managed.pendingManagement.shift();
    issuer.counters.managementCommands++;
    if (status !== ManagementStatus.OK) issuer.counters.managementRefused++;
    // The command is done: software may write the next one before it sees the response.
    buffer.release();
    this.#respond(context, status);
    return 1;
  }

  #execute(context: CommandContext, length: number): ManagementStatus {
    const { header, command } = context;
    // A send command may have a checksum that is right here: that of a QP with key 0, or any.
    if (header.management === 0 || !hasCommandChecksum(command, length, MANAGEMENT_COMMAND_CHECKSUM_OFFSET, 0, 0))
      return ManagementStatus.BAD_CHECKSUM;
    if (!context.issuer.enabled) return ManagementStatus.DISABLED;
    if (header.responseAddress % RESPONSE_ALIGNMENT !== 0) {
      context.badOffset = MANAGEMENT_COMMAND_RESPONSE_ADDRESS_OFFSET;
      return ManagementStatus.BAD_ADDRESS;
    }
    const entry = commandTable.get(header.opcode);
    if (entry === undefined) return ManagementStatus.BAD_OPCODE;
    const { countMax } = entry;
    if (countMax > 0 && (header.modifier < 1 || header.modifier > countMax)) {
      context.badOffset = MANAGEMENT_COMMAND_MODIFIER_OFFSET;
      context.limit = countMax;
      return ManagementStatus.BAD_FIELD;
    }
    const expected = COMMAND_HEADER_BYTES + entry.payloadBytes * (countMax > 0 ? header.modifier : 1);
    if (length !== expected) {
      context.badOffset = MANAGEMENT_COMMAND_COLLECT_LENGTH_OFFSET;
      context.limit = expected;
      return ManagementStatus.BAD_LENGTH;
    }
    return entry.handler(context);
  }

  #respond(context: CommandContext, status: ManagementStatus): void {
    const { header, issuer, responseView: view } = context;
    setManagementResponseStatus(view, 0, status);
    setManagementResponseObjectNumber(view, 0, context.objectNumber);
    setManagementResponseBadOffset(view, 0, context.badOffset);
    setManagementResponseLimit(view, 0, context.limit);
    setManagementResponseSequence(view, 0, (RESPONSE_VALID + header.sequence) >>> 0);
    // A torn command, or a send command, must not direct a write or an event anywhere; an unaligned
    // address cannot hold the sequence word.
    const isCommand = status !== ManagementStatus.BAD_CHECKSUM;
    if (isCommand && issuer.announced !== undefined) compareResponse(issuer, header.responseAddress);
    if (
      !isCommand ||
      header.responseAddress % RESPONSE_ALIGNMENT !== 0 ||
      !issuer.dma
        .at(header.responseAddress)
        .publish(context, context.response, MANAGEMENT_RESPONSE_SIZE, SEQUENCE_BYTES)
    )
      issuer.faults.report(FaultKind.MANAGEMENT_RESPONSE, context, header.responseAddress);
    if (isCommand && header.notify) this.#notify(context);
  }

  #notify(context: CommandContext): void {
    const queue = context.own(this.#adapter.tables.eventQueues.get(context.header.eventQueue));
    const event = this.#event;
    event.type = EventType.MANAGEMENT_COMPLETE;
    event.objectNumber = context.header.sequence;
    event.tokenLow = queue?.tokenLow ?? 0;
    event.tokenHigh = queue?.tokenHigh ?? 0;
    queue?.post(event);
  }
}
