// SPDX-License-Identifier: Apache-2.0
/**
 * One command in execution: its input, gathered from the entry of the command queue and the blocks
 * of its mailbox, and the output that it fills. One object is used again for every command.
 */
import { FaultObject } from '../../../../protocol/layout/gen/values.gen.ts';
import type { CommandStatus } from '../../../../protocol/mlx5/gen/values.gen.ts';
import type { FaultSubject } from '../../../hca/function/fault-log.ts';
import type { Hca } from '../hca/hca.ts';

/**
 * Executes one command. Every status but OK means that it changed nothing; `output` is then zeros
 * but for what every answer has.
 */
export type CommandHandler = (context: CommandContext) => CommandStatus;

const OPCODE_OFFSET = 0;
const OWNER_OFFSET = 2;
const MODIFIER_OFFSET = 6;
const START_BYTES = 8192;

export class CommandContext implements FaultSubject {
  readonly hca: Hca;
  readonly faultObject = FaultObject.COMMAND;
  /** The input; it grows with the longest command so far. */
  input = new Uint8Array(START_BYTES);
  view = new DataView(this.input.buffer);
  inputBytes = 0;
  output = new Uint8Array(START_BYTES);
  outputView = new DataView(this.output.buffer);
  /** Bytes of output that software has room for. */
  outputBytes = 0;

  constructor(hca: Hca) {
    this.hca = hca;
  }

  /** The command, as a fault names it. */
  get number(): number {
    return this.opcode;
  }

  get opcode(): number {
    return this.view.getUint16(OPCODE_OFFSET);
  }

  /** Who sends the command: 0 for the kernel, else a context of a process. */
  get owner(): number {
    return this.view.getUint16(OWNER_OFFSET);
  }

  get modifier(): number {
    return this.view.getUint16(MODIFIER_OFFSET);
  }

  /** Makes room for a command: the input is undefined afterwards, the output zeros. */
  begin(inputBytes: number, outputBytes: number): void {
    if (this.input.length < inputBytes) {
      this.input = new Uint8Array(inputBytes);
      this.view = new DataView(this.input.buffer);
    }
    if (this.output.length < outputBytes) {
      this.output = new Uint8Array(outputBytes);
      this.outputView = new DataView(this.output.buffer);
    }
    this.inputBytes = inputBytes;
    this.outputBytes = outputBytes;
    this.output.fill(0, 0, outputBytes);
  }
}
