// SPDX-License-Identifier: Apache-2.0
/**
 * ACCESS_REGISTER: reads and writes a register of a port, or of the device. The structure of the
 * register follows the head, in the input and in the output; the answer to a write shows it as it
 * is afterwards.
 */
import {
  ACCESS_REGISTER_IN_SIZE,
  getAccessRegisterInArgument,
  getAccessRegisterInRegisterId,
} from '../../../../protocol/mlx5/gen/access-register-in.gen.ts';
import { ACCESS_REGISTER_OUT_SIZE } from '../../../../protocol/mlx5/gen/access-register-out.gen.ts';
import { getPmtuRegLocalPort } from '../../../../protocol/mlx5/gen/pmtu-reg.gen.ts';
import { CommandOpcode, CommandStatus, RegisterId } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { HcaState } from '../hca/hca.ts';
import type { CommandContext } from './command-context.ts';
import { type CommandRow, row } from './command-row.ts';
import { managementRegisters } from './management-registers.ts';
import {
  capabilityRegister,
  laneRegister,
  mtuRegister,
  type PortRegister,
  speedRegister,
  stateRegister,
} from './port-registers.ts';
import type { Register } from './register.ts';

/** Variants of the command. */
const WRITE = 0;
const READ = 1;

/** All registers of ports name the port in the same place. */
function ofPort({ sizeBytes, isReadable, read, write }: PortRegister): Register {
  const access = ({ hca, view, outputView }: CommandContext, writes: boolean): CommandStatus => {
    const port = hca.portAt(getPmtuRegLocalPort(view, ACCESS_REGISTER_IN_SIZE));
    if (port === undefined || isReadable?.(view, ACCESS_REGISTER_IN_SIZE) === false) return CommandStatus.BAD_PARAMETER;
    if (writes) {
      if (write === undefined) return CommandStatus.BAD_PARAMETER;
      if (hca.state !== HcaState.RUNNING) return CommandStatus.BAD_SYSTEM_STATE;
      const status = write(port, view, ACCESS_REGISTER_IN_SIZE);
      if (status !== CommandStatus.OK) return status;
    }
    read(port, outputView, ACCESS_REGISTER_OUT_SIZE);
    return CommandStatus.OK;
  };
  return { sizeBytes, access };
}

/** Text of the node (IBTA 14.2.5.2). */
const description: Register = {
  sizeBytes: 64,
  access: ({ hca, input, output }, writes) => {
    if (writes) {
      if (hca.state !== HcaState.RUNNING) return CommandStatus.BAD_SYSTEM_STATE;
      hca.describe(input.subarray(ACCESS_REGISTER_IN_SIZE, ACCESS_REGISTER_IN_SIZE + description.sizeBytes));
    }
    output.set(hca.agents.node.description, ACCESS_REGISTER_OUT_SIZE);
    return CommandStatus.OK;
  },
};

/** Byte order of the host: its first byte is 0 for the little-endian one, and others have none. */
const byteOrder: Register = {
  sizeBytes: 16,
  access: ({ view }, writes) =>
    writes && view.getUint8(ACCESS_REGISTER_IN_SIZE) !== 0 ? CommandStatus.BAD_PARAMETER : CommandStatus.OK,
};

const registers: ReadonlyMap<number, Register> = new Map([
  [RegisterId.PMTU, ofPort(mtuRegister)],
  [RegisterId.PTYS, ofPort(speedRegister)],
  [RegisterId.PAOS, ofPort(stateRegister)],
  [RegisterId.PVLC, ofPort(laneRegister)],
  [RegisterId.PCAP, ofPort(capabilityRegister)],
  [RegisterId.NODE_DESC, description],
  [RegisterId.HOST_ENDIANNESS, byteOrder],
  ...managementRegisters,
]);

function accessRegister(context: CommandContext): CommandStatus {
  const { view, modifier, inputBytes, outputBytes } = context;
  const register = registers.get(getAccessRegisterInRegisterId(view, 0));
  if (register === undefined || modifier > READ) return CommandStatus.BAD_PARAMETER;
  // None of these registers has an argument.
  if (getAccessRegisterInArgument(view, 0) !== 0) return CommandStatus.BAD_PARAMETER;
  if (inputBytes < ACCESS_REGISTER_IN_SIZE + register.sizeBytes) return CommandStatus.BAD_INPUT_LENGTH;
  if (outputBytes < ACCESS_REGISTER_OUT_SIZE + register.sizeBytes) return CommandStatus.BAD_OUTPUT_LENGTH;
  return register.access(context, modifier === WRITE);
}

export const registerCommands: readonly CommandRow[] = [
  row(CommandOpcode.ACCESS_REG, HcaState.ENABLED, ACCESS_REGISTER_IN_SIZE, ACCESS_REGISTER_OUT_SIZE, accessRegister),
];
