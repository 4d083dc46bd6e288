// SPDX-License-Identifier: Apache-2.0
/**
 * Registers of management that ACCESS_REGISTER reads: MCAM tells which of them there are; MCQS and
 * MCQI tell of the components of the firmware, of which there is one, the firmware itself. It
 * cannot be replaced, so none waits to replace it. Software can write none of them.
 */
import { ACCESS_REGISTER_IN_SIZE } from '../../../../protocol/mlx5/gen/access-register-in.gen.ts';
import { ACCESS_REGISTER_OUT_SIZE } from '../../../../protocol/mlx5/gen/access-register-out.gen.ts';
import {
  getMcamRegAccessRegGroup,
  getMcamRegFeatureGroup,
  MCAM_REG_MNG_ACCESS_REG_CAP_MASK_OFFSET,
  MCAM_REG_SIZE,
  setMcamRegAccessRegGroup,
} from '../../../../protocol/mlx5/gen/mcam-reg.gen.ts';
import { MCQI_CAP_SIZE, setMcqiCapSupportedInfoBitmask } from '../../../../protocol/mlx5/gen/mcqi-cap.gen.ts';
import {
  getMcqiRegComponentIndex,
  getMcqiRegDataSize,
  getMcqiRegInfoType,
  getMcqiRegOffset,
  getMcqiRegReadPendingComponent,
  MCQI_REG_SIZE,
  setMcqiRegDataSize,
  setMcqiRegInfoSize,
  setMcqiRegInfoType,
  setMcqiRegOffset,
} from '../../../../protocol/mlx5/gen/mcqi-reg.gen.ts';
import {
  MCQI_VERSION_SIZE,
  MCQI_VERSION_VERSION_STRING_OFFSET,
  setMcqiVersionVersion,
  setMcqiVersionVersionStringLength,
} from '../../../../protocol/mlx5/gen/mcqi-version.gen.ts';
import {
  getMcqsRegComponentIndex,
  getMcqsRegFwDevice,
  MCQS_REG_SIZE,
  setMcqsRegComponentStatus,
  setMcqsRegComponentUpdateState,
  setMcqsRegIdentifier,
  setMcqsRegLastIndexFlag,
} from '../../../../protocol/mlx5/gen/mcqs-reg.gen.ts';
import {
  CommandStatus,
  ComponentIdentifier,
  ComponentInformation,
  ComponentStatus,
  ComponentUpdateState,
  RegisterId,
} from '../../../../protocol/mlx5/gen/values.gen.ts';
import { FIRMWARE_TEXT, FIRMWARE_VERSION } from '../hca/firmware-version.ts';
import type { CommandContext } from './command-context.ts';
import type { Register } from './register.ts';

/** Groups of registers: 128 each, from this one on. */
const FIRST_REGISTER = 0x9000;
const GROUP_REGISTERS = 128;
const GROUPS = 4;
const MASK_BYTES = GROUP_REGISTERS / 8;
const BITS_PER_BYTE = 8;
/** The only group of features, and the index of the only component. */
const FEATURES = 0;
const FIRMWARE_INDEX = 0;
/** Whose components these are: the device's own. */
const THIS_DEVICE = 0;
const DWORD_BYTES = 4;

/** Structures that tell of the firmware. */
const information: ReadonlyMap<number, Uint8Array> = new Map([
  [ComponentInformation.CAPABILITIES, describeComponent()],
  [ComponentInformation.VERSION, describeVersion()],
]);

const status: Register = {
  sizeBytes: MCQS_REG_SIZE,
  access: ({ view, outputView }, writes) => {
    if (writes || getMcqsRegComponentIndex(view, ACCESS_REGISTER_IN_SIZE) !== FIRMWARE_INDEX)
      return CommandStatus.BAD_PARAMETER;
    if (getMcqsRegFwDevice(view, ACCESS_REGISTER_IN_SIZE) !== THIS_DEVICE) return CommandStatus.BAD_PARAMETER;
    const at = ACCESS_REGISTER_OUT_SIZE;
    setMcqsRegLastIndexFlag(outputView, at, 1);
    setMcqsRegIdentifier(outputView, at, ComponentIdentifier.BOOT_IMG);
    setMcqsRegComponentStatus(outputView, at, ComponentStatus.IN_USE);
    setMcqsRegComponentUpdateState(outputView, at, ComponentUpdateState.IDLE);
    return CommandStatus.OK;
  },
};

/** The part of a structure ends with the structure, and must have room in the output. */
const details: Register = {
  sizeBytes: MCQI_REG_SIZE,
  access: ({ view, output, outputView, outputBytes }, writes) => {
    const type = getMcqiRegInfoType(view, ACCESS_REGISTER_IN_SIZE);
    const offset = getMcqiRegOffset(view, ACCESS_REGISTER_IN_SIZE);
    const structure = information.get(type);
    if (writes || structure === undefined || !isOfFirmware(view)) return CommandStatus.BAD_PARAMETER;
    if (offset % DWORD_BYTES !== 0 || offset >= structure.length) return CommandStatus.BAD_PARAMETER;
    const wanted = getMcqiRegDataSize(view, ACCESS_REGISTER_IN_SIZE);
    const part = structure.subarray(offset, offset + wanted);
    const at = ACCESS_REGISTER_OUT_SIZE;
    if (outputBytes < at + MCQI_REG_SIZE + part.length) return CommandStatus.BAD_OUTPUT_LENGTH;
    setMcqiRegInfoType(outputView, at, type);
    setMcqiRegInfoSize(outputView, at, structure.length);
    setMcqiRegOffset(outputView, at, offset);
    setMcqiRegDataSize(outputView, at, part.length);
    output.set(part, at + MCQI_REG_SIZE);
    return CommandStatus.OK;
  },
};

/** The mask is made of the registers themselves; no feature of theirs is told. */
const capabilities: Register = {
  sizeBytes: MCAM_REG_SIZE,
  access: ({ view, output, outputView }: CommandContext, writes) => {
    const group = getMcamRegAccessRegGroup(view, ACCESS_REGISTER_IN_SIZE);
    if (writes || group >= GROUPS) return CommandStatus.BAD_PARAMETER;
    if (getMcamRegFeatureGroup(view, ACCESS_REGISTER_IN_SIZE) !== FEATURES) return CommandStatus.BAD_PARAMETER;
    setMcamRegAccessRegGroup(outputView, ACCESS_REGISTER_OUT_SIZE, group);
    const end = ACCESS_REGISTER_OUT_SIZE + MCAM_REG_MNG_ACCESS_REG_CAP_MASK_OFFSET + MASK_BYTES;
    for (const id of managementRegisters.keys()) {
      const bit = id - FIRST_REGISTER - group * GROUP_REGISTERS;
      if (bit < 0 || bit >= GROUP_REGISTERS) continue;
      output[end - 1 - Math.floor(bit / BITS_PER_BYTE)] |= 1 << (bit % BITS_PER_BYTE);
    }
    return CommandStatus.OK;
  },
};

/** By their numbers, which are 0x9000 to 0x91ff. */
export const managementRegisters: ReadonlyMap<number, Register> = new Map([
  [RegisterId.MCQS, status],
  [RegisterId.MCQI, details],
  [RegisterId.MCAM, capabilities],
]);

/** The request means the firmware that runs, and not one that waits to replace it. */
function isOfFirmware(view: DataView): boolean {
  return (
    getMcqiRegComponentIndex(view, ACCESS_REGISTER_IN_SIZE) === FIRMWARE_INDEX &&
    getMcqiRegReadPendingComponent(view, ACCESS_REGISTER_IN_SIZE) === 0
  );
}

/** Its size is not known, and it can be neither read nor written. */
function describeComponent(): Uint8Array {
  const bytes = new Uint8Array(MCQI_CAP_SIZE);
  setMcqiCapSupportedInfoBitmask(new DataView(bytes.buffer), 0, 1 << ComponentInformation.VERSION);
  return bytes;
}

function describeVersion(): Uint8Array {
  const bytes = new Uint8Array(MCQI_VERSION_SIZE);
  const view = new DataView(bytes.buffer);
  const text = new TextEncoder().encode(FIRMWARE_TEXT);
  setMcqiVersionVersion(view, 0, FIRMWARE_VERSION);
  setMcqiVersionVersionStringLength(view, 0, text.length);
  bytes.set(text, MCQI_VERSION_VERSION_STRING_OFFSET);
  return bytes;
}
