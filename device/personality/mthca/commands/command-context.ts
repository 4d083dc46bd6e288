// SPDX-License-Identifier: Apache-2.0
/**
 * One command in execution: its parameters, its mailboxes, and the value that it returns. Handlers
 * read and write mailboxes through it; one object is used again for every command.
 */
import { FaultObject } from '../../../../protocol/layout/gen/values.gen.ts';
import {
  type CommandRegister,
  decodeCommandRegister,
  newCommandRegister,
} from '../../../../protocol/mthca/gen/command-register.gen.ts';
import { MAILBOX_ALIGNMENT, MAILBOX_BYTES } from '../../../../protocol/mthca/gen/constants.gen.ts';
import { CommandStatus } from '../../../../protocol/mthca/gen/values.gen.ts';
import type { FaultSubject } from '../../../hca/function/fault-log.ts';
import type { Hca } from '../hca/hca.ts';

/**
 * Executes one command. Every status but OK means that it changed nothing. A handler writes its
 * output before it changes anything.
 */
export type MthcaCommandHandler = (context: MthcaCommandContext) => CommandStatus;

export class MthcaCommandContext implements FaultSubject {
  readonly hca: Hca;
  readonly register: CommandRegister = newCommandRegister();
  /** The input mailbox, as far as it was read. */
  readonly input = new Uint8Array(MAILBOX_BYTES);
  readonly inputView = new DataView(this.input.buffer);
  /** The output mailbox; zeros at first. */
  readonly output = new Uint8Array(MAILBOX_BYTES);
  readonly outputView = new DataView(this.output.buffer);
  /** The value that the command returns in place of an output mailbox. */
  resultHigh = 0;
  resultLow = 0;

  constructor(hca: Hca) {
    this.hca = hca;
  }

  /** The command, as a fault names it. */
  get number(): number {
    return this.register.opcode;
  }

  get faultObject(): FaultObject {
    return FaultObject.COMMAND;
  }

  get modifier(): number {
    return this.register.inModifier;
  }

  /** Begins a command: `register` has been decoded. */
  begin(): void {
    this.output.fill(0);
    this.resultHigh = 0;
    this.resultLow = 0;
  }

  /** Software has written the command whose register is `register`: keeps its input mailbox. */
  announce(register: DataView): void {
    const { announced, dma } = this.hca.underlying;
    if (announced === undefined) return;
    const { inParameter } = decodeCommandRegister(register, 0, this.register);
    dma.at(inParameter);
    if (announced.look(MAILBOX_BYTES) !== undefined) announced.note('mailbox', this, inParameter, MAILBOX_BYTES);
  }

  /** Reads `lengthBytes` of the input mailbox into `input`. */
  readInput(lengthBytes: number): CommandStatus {
    const { inParameter } = this.register;
    if (inParameter % MAILBOX_ALIGNMENT !== 0) return CommandStatus.BAD_PARAM;
    const { dma } = this.hca.underlying;
    if (!dma.at(inParameter).read(this, lengthBytes, this.input, 0)) return CommandStatus.INTERNAL_ERROR;
    this.hca.underlying.announced?.take('mailbox', this, inParameter, this.input, lengthBytes);
    return CommandStatus.OK;
  }

  /** Writes `lengthBytes` of `output` to the output mailbox. */
  writeOutput(lengthBytes: number): CommandStatus {
    const { outParameter } = this.register;
    if (outParameter % MAILBOX_ALIGNMENT !== 0) return CommandStatus.BAD_PARAM;
    const { dma } = this.hca.underlying;
    return dma.at(outParameter).write(this, this.output, 0, lengthBytes)
      ? CommandStatus.OK
      : CommandStatus.INTERNAL_ERROR;
  }
}
