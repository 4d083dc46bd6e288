// SPDX-License-Identifier: Apache-2.0
/**
 * The host command register (HCR) and the execution of its commands. A store to the last dword
 * with the go bit starts a command, which the next pass executes. Status and value appear in the
 * register, or in a command event if software asked for one.
 */
import { FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import {
  COMMAND_REGISTER_SIZE,
  COMMAND_REGISTER_STATUS_OFFSET,
  decodeCommandRegister,
  getCommandRegisterGo,
  setCommandRegisterGo,
  setCommandRegisterOutParameterHigh,
  setCommandRegisterOutParameterLow,
  setCommandRegisterStatus,
} from '../../../../protocol/mthca/gen/command-register.gen.ts';
import { CommandStatus } from '../../../../protocol/mthca/gen/values.gen.ts';
import { Firmware } from '../../shared/firmware.ts';
import type { Hca } from '../hca/hca.ts';
import { MthcaCommandContext } from './command-context.ts';
import { commandTable } from './command-table.ts';

export class CommandProcessor {
  /** Commands executed, and those refused, since power-on. */
  executed = 0;
  refused = 0;
  readonly #hca: Hca;
  readonly #context: MthcaCommandContext;
  readonly #register = new DataView(new ArrayBuffer(COMMAND_REGISTER_SIZE));
  /** The command will not end: its go bit stays set until a reset. */
  #stuck = false;

  constructor(hca: Hca) {
    this.#hca = hca;
    this.#context = new MthcaCommandContext(hca);
  }

  /** True while a command waits for the next pass. */
  get busy(): boolean {
    return getCommandRegisterGo(this.#register, 0) === 1;
  }

  reset(): void {
    this.#stuck = false;
    for (let at = 0; at < COMMAND_REGISTER_SIZE; at++) this.#register.setUint8(at, 0);
  }

  /** A dword of the register, in the byte order of the guest. */
  read(offset: number): number {
    return this.#register.getUint32(offset, true);
  }

  /** Stores a dword. Stores are ignored and counted while a command waits. */
  write(offset: number, value: number): void {
    if (this.busy) {
      this.#hca.underlying.faults.report(FaultKind.REGISTER_READ_ONLY, this.#context, offset);
      return;
    }
    this.#register.setUint32(offset, value, true);
    if (offset !== COMMAND_REGISTER_STATUS_OFFSET) setCommandRegisterGo(this.#register, 0, 0);
    else if (this.busy) this.#context.announce(this.#register);
  }

  /** Executes the waiting command. Returns false when there is none. */
  serve(): boolean {
    if (!this.busy || this.#stuck) return false;
    if (this.#hca.firmware === Firmware.SILENT) {
      this.#stuck = true;
      return true;
    }
    const context = this.#context;
    const view = this.#register;
    decodeCommandRegister(view, 0, context.register);
    if (this.#hca.planted.takesCommand(context.register.opcode)) return this.#lose(context.register.event === 1);
    context.begin();
    this.#hca.underlying.dma.loans.end();
    const status = this.#execute(context);
    this.executed++;
    if (status !== CommandStatus.OK) this.refused++;
    setCommandRegisterOutParameterHigh(view, 0, context.resultHigh);
    setCommandRegisterOutParameterLow(view, 0, context.resultLow);
    setCommandRegisterStatus(view, 0, status);
    setCommandRegisterGo(view, 0, 0);
    const { token, event } = context.register;
    if (event === 1) this.#hca.events.postCommand(token, status, context.resultHigh, context.resultLow);
    return true;
  }

  /** The command is not executed, and no event comes. */
  #lose(isByEvent: boolean): true {
    if (isByEvent) setCommandRegisterGo(this.#register, 0, 0);
    else this.#stuck = true;
    return true;
  }

  #execute(context: MthcaCommandContext): CommandStatus {
    const hca = this.#hca;
    if (hca.firmware === Firmware.REFUSES) return CommandStatus.INTERNAL_ERROR;
    const entry = commandTable.get(context.register.opcode);
    if (entry === undefined) return CommandStatus.BAD_OP;
    return hca.state < entry.needs ? CommandStatus.BAD_SYS_STATE : entry.handler(context);
  }
}
