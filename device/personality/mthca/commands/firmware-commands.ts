// SPDX-License-Identifier: Apache-2.0
/** Commands that start the firmware and tell what the device is: the first ones of a driver. */
import {
  ADAPTER_INFO_BOARD_ID_OFFSET,
  ADAPTER_INFO_SIZE,
  setAdapterInfoInterruptPin,
} from '../../../../protocol/mthca/gen/adapter-info.gen.ts';
import {
  CLEAR_INTERRUPT_OFFSET,
  EQ_ARM_OFFSET,
  EQ_CONSUMER_OFFSET,
  ERROR_BUFFER_OFFSET,
  ERROR_BUFFER_WORDS,
} from '../../../../protocol/mthca/gen/constants.gen.ts';
import { DEVICE_LIMITS_SIZE, encodeDeviceLimits } from '../../../../protocol/mthca/gen/device-limits.gen.ts';
import { encodeFirmwareInfo, FIRMWARE_INFO_SIZE } from '../../../../protocol/mthca/gen/firmware-info.gen.ts';
import { CommandStatus } from '../../../../protocol/mthca/gen/values.gen.ts';
import { HcaState } from '../hca/hca.ts';
import { FIRMWARE_PAGES, FIRMWARE_VERSIONS } from '../hca/limits.ts';
import type { MthcaCommandContext } from './command-context.ts';
import { readMappings } from './page-mappings.ts';

/** Commands that may be outstanding, as 2^n; the device executes one at a time. */
const LOG_COMMANDS = 4;
const BOARD_ID = 'VUHCA-MTHCA';
const DWORD_BYTES = 4;

export function queryFirmware(context: MthcaCommandContext): CommandStatus {
  const { hca, outputView } = context;
  const [major, minor, subminor] = FIRMWARE_VERSIONS[hca.ports.length as 1 | 2];
  encodeFirmwareInfo(outputView, 0, {
    firmwarePages: FIRMWARE_PAGES,
    major,
    minor,
    subminor,
    logCommands: LOG_COMMANDS,
    clearInterruptOffset: CLEAR_INTERRUPT_OFFSET,
    errorBufferOffset: ERROR_BUFFER_OFFSET,
    errorBufferWords: ERROR_BUFFER_WORDS,
    eqArmOffset: EQ_ARM_OFFSET,
    eqConsumerOffset: EQ_CONSUMER_OFFSET,
  });
  return context.writeOutput(FIRMWARE_INFO_SIZE);
}

/** ENABLE_LAM and DISABLE_LAM. */
export function refuseAttachedMemory(): CommandStatus {
  return CommandStatus.NO_ATTACHED_MEMORY;
}

/** MAP_FA. The device needs no pages, but a driver must give as many as QUERY_FW asks for. */
export function mapFirmware(context: MthcaCommandContext): CommandStatus {
  const { hca } = context;
  if (hca.state !== HcaState.RESET) return CommandStatus.BAD_SYS_STATE;
  const mappings = readMappings(context);
  if (!Array.isArray(mappings)) return mappings;
  hca.firmwarePages += mappings.reduce((sum, { pages }) => sum + pages, 0);
  return CommandStatus.OK;
}

/** UNMAP_FA stops the firmware. */
export function unmapFirmware({ hca }: MthcaCommandContext): CommandStatus {
  if (hca.state === HcaState.RUNNING) return CommandStatus.BAD_SYS_STATE;
  hca.firmwarePages = 0;
  hca.auxiliaryPages = 0;
  hca.icm.reset();
  hca.state = HcaState.RESET;
  return CommandStatus.OK;
}

export function runFirmware({ hca }: MthcaCommandContext): CommandStatus {
  if (hca.state !== HcaState.RESET || hca.firmwarePages < FIRMWARE_PAGES) return CommandStatus.BAD_SYS_STATE;
  hca.state = HcaState.FIRMWARE;
  return CommandStatus.OK;
}

export function queryDeviceLimits(context: MthcaCommandContext): CommandStatus {
  encodeDeviceLimits(context.outputView, 0, context.hca.limits);
  return context.writeOutput(DEVICE_LIMITS_SIZE);
}

export function queryAdapter(context: MthcaCommandContext): CommandStatus {
  setAdapterInfoInterruptPin(context.outputView, 0, 0);
  for (let index = 0; index < BOARD_ID.length; index++) {
    // The bytes of each dword are in reverse order.
    const inDword = DWORD_BYTES - 1 - (index % DWORD_BYTES);
    const at = ADAPTER_INFO_BOARD_ID_OFFSET + index - (index % DWORD_BYTES) + inDword;
    context.output[at] = BOARD_ID.charCodeAt(index);
  }
  return context.writeOutput(ADAPTER_INFO_SIZE);
}

export function noOperation(): CommandStatus {
  return CommandStatus.OK;
}
