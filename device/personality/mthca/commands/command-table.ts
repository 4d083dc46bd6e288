// SPDX-License-Identifier: Apache-2.0
/**
 * Every command with its handler, and the state of the HCA from which on it is allowed. The command
 * processor refuses opcodes that are not in it.
 */
import { CommandOpcode } from '../../../../protocol/mthca/gen/values.gen.ts';
import { HcaState } from '../hca/hca.ts';
import type { MthcaCommandHandler } from './command-context.ts';
import {
  giveCompletionQueue,
  queryCompletionQueue,
  resizeCompletionQueue,
  takeCompletionQueue,
} from './completion-queue-commands.ts';
import { executeDatagram, nameSpecialQueuePair } from './datagram-commands.ts';
import { giveEventQueue, mapEvents, queryEventQueue, takeEventQueue } from './event-queue-commands.ts';
import {
  mapFirmware,
  noOperation,
  queryAdapter,
  queryDeviceLimits,
  queryFirmware,
  refuseAttachedMemory,
  runFirmware,
  unmapFirmware,
} from './firmware-commands.ts';
import { hashGroup, readGroup, writeGroup } from './group-commands.ts';
import { closeHca, initializeHca } from './hca-commands.ts';
import { mapAuxiliary, mapIcm, setIcmSize, unmapAuxiliary, unmapIcm } from './icm-commands.ts';
import { changePort, disablePort, enablePort } from './port-commands.ts';
import {
  failQueuePair,
  initializeQueuePair,
  moveQueuePair,
  queryQueuePair,
  resetQueuePair,
} from './queue-pair-commands.ts';
import { giveRegion, queryRegion, synchronizeTables, takeRegion, writeTranslations } from './region-commands.ts';
import {
  armSharedReceiveQueue,
  giveSharedReceiveQueue,
  querySharedReceiveQueue,
  takeSharedReceiveQueue,
} from './shared-receive-queue-commands.ts';

/** Handler of one opcode, and the state that it needs. */
interface CommandEntry {
  readonly handler: MthcaCommandHandler;
  readonly needs: HcaState;
}

const { RESET, FIRMWARE, RUNNING } = HcaState;

const rows: readonly (readonly [CommandOpcode, HcaState, MthcaCommandHandler])[] = [
  [CommandOpcode.QUERY_FW, RESET, queryFirmware],
  [CommandOpcode.ENABLE_LAM, RESET, refuseAttachedMemory],
  [CommandOpcode.DISABLE_LAM, RESET, refuseAttachedMemory],
  [CommandOpcode.MAP_FA, RESET, mapFirmware],
  [CommandOpcode.UNMAP_FA, RESET, unmapFirmware],
  [CommandOpcode.RUN_FW, RESET, runFirmware],
  [CommandOpcode.QUERY_DEV_LIM, FIRMWARE, queryDeviceLimits],
  [CommandOpcode.SET_ICM_SIZE, FIRMWARE, setIcmSize],
  [CommandOpcode.MAP_ICM_AUX, FIRMWARE, mapAuxiliary],
  [CommandOpcode.UNMAP_ICM_AUX, FIRMWARE, unmapAuxiliary],
  [CommandOpcode.MAP_ICM, FIRMWARE, mapIcm],
  [CommandOpcode.UNMAP_ICM, FIRMWARE, unmapIcm],
  [CommandOpcode.INIT_HCA, FIRMWARE, initializeHca],
  [CommandOpcode.QUERY_ADAPTER, FIRMWARE, queryAdapter],
  [CommandOpcode.NOP, FIRMWARE, noOperation],
  [CommandOpcode.CLOSE_HCA, RUNNING, closeHca],
  [CommandOpcode.SW2HW_MPT, RUNNING, giveRegion],
  [CommandOpcode.QUERY_MPT, RUNNING, queryRegion],
  [CommandOpcode.HW2SW_MPT, RUNNING, takeRegion],
  [CommandOpcode.WRITE_MTT, RUNNING, writeTranslations],
  [CommandOpcode.SYNC_TPT, RUNNING, synchronizeTables],
  [CommandOpcode.MAP_EQ, RUNNING, mapEvents],
  [CommandOpcode.SW2HW_EQ, RUNNING, giveEventQueue],
  [CommandOpcode.HW2SW_EQ, RUNNING, takeEventQueue],
  [CommandOpcode.QUERY_EQ, RUNNING, queryEventQueue],
  [CommandOpcode.SW2HW_CQ, RUNNING, giveCompletionQueue],
  [CommandOpcode.HW2SW_CQ, RUNNING, takeCompletionQueue],
  [CommandOpcode.QUERY_CQ, RUNNING, queryCompletionQueue],
  [CommandOpcode.RESIZE_CQ, RUNNING, resizeCompletionQueue],
  [CommandOpcode.SW2HW_SRQ, RUNNING, giveSharedReceiveQueue],
  [CommandOpcode.HW2SW_SRQ, RUNNING, takeSharedReceiveQueue],
  [CommandOpcode.QUERY_SRQ, RUNNING, querySharedReceiveQueue],
  [CommandOpcode.ARM_SRQ, RUNNING, armSharedReceiveQueue],
  [CommandOpcode.RST2INIT_QP, RUNNING, initializeQueuePair],
  [CommandOpcode.INIT2INIT_QP, RUNNING, moveQueuePair],
  [CommandOpcode.INIT2RTR_QP, RUNNING, moveQueuePair],
  [CommandOpcode.RTR2RTS_QP, RUNNING, moveQueuePair],
  [CommandOpcode.RTS2RTS_QP, RUNNING, moveQueuePair],
  [CommandOpcode.SQERR2RTS_QP, RUNNING, moveQueuePair],
  [CommandOpcode.RTS2SQD_QP, RUNNING, moveQueuePair],
  [CommandOpcode.SQD2SQD_QP, RUNNING, moveQueuePair],
  [CommandOpcode.SQD2RTS_QP, RUNNING, moveQueuePair],
  [CommandOpcode.ANY2ERR_QP, RUNNING, failQueuePair],
  [CommandOpcode.ANY2RST_QP, RUNNING, resetQueuePair],
  [CommandOpcode.QUERY_QP, RUNNING, queryQueuePair],
  [CommandOpcode.CONF_SPECIAL_QP, RUNNING, nameSpecialQueuePair],
  [CommandOpcode.MAD_IFC, RUNNING, executeDatagram],
  [CommandOpcode.INIT_IB, RUNNING, enablePort],
  [CommandOpcode.CLOSE_IB, RUNNING, disablePort],
  [CommandOpcode.SET_IB, RUNNING, changePort],
  [CommandOpcode.READ_MGM, RUNNING, readGroup],
  [CommandOpcode.WRITE_MGM, RUNNING, writeGroup],
  [CommandOpcode.MGID_HASH, RUNNING, hashGroup],
];

export const commandTable: ReadonlyMap<number, CommandEntry> = new Map(
  rows.map(([opcode, needs, handler]) => [opcode, { handler, needs }]),
);
