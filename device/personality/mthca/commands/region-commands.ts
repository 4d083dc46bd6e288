// SPDX-License-Identifier: Apache-2.0
/** Commands of memory regions: entries of the memory protection and memory translation tables. */
import { FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import { ICM_PAGE_BYTES, MAILBOX_BYTES } from '../../../../protocol/mthca/gen/constants.gen.ts';
import {
  decodeMptEntry,
  encodeMptEntry,
  MPT_ENTRY_SIZE,
  type MptEntry,
  newMptEntry,
} from '../../../../protocol/mthca/gen/mpt-entry.gen.ts';
import { MTT_ENTRY_SIZE } from '../../../../protocol/mthca/gen/mtt-entry.gen.ts';
import { getMttListIcmAddress, MTT_LIST_SIZE } from '../../../../protocol/mthca/gen/mtt-list.gen.ts';
import { CommandStatus } from '../../../../protocol/mthca/gen/values.gen.ts';
import { KeyRight } from '../../shared/key-rights.ts';
import { LOG_PAGE_MAX } from '../hca/limits.ts';
import { Region } from '../memory/region.ts';
import type { MthcaCommandContext } from './command-context.ts';

const TRANSLATIONS_MAX = (MAILBOX_BYTES - MTT_LIST_SIZE) / MTT_ENTRY_SIZE;
/** Opcode modifier of HW2SW_MPT without an output mailbox. */
const NO_OUTPUT = 1;

export function giveRegion(context: MthcaCommandContext): CommandStatus {
  const { hca, modifier: index } = context;
  const { table } = hca.regions;
  const free = table.checkFree(index);
  if (free !== CommandStatus.OK) return free;
  const read = context.readInput(MPT_ENTRY_SIZE);
  if (read !== CommandStatus.OK) return read;
  const entry = decodeMptEntry(context.inputView, 0, newMptEntry());
  const pageBytes = ICM_PAGE_BYTES * 2 ** entry.logPageSize;
  // The device has no memory windows.
  if (entry.region === 0 || table.indexOf(entry.key) !== index) return CommandStatus.BAD_PARAM;
  if (entry.physical === 0 && !isTranslatable(context, entry, pageBytes)) return CommandStatus.BAD_PARAM;
  table.set(index, new Region(hca.underlying, hca.icm, { ...entry, softwareOwner: 0 }, rightsOf(entry)));
  return CommandStatus.OK;
}

export function queryRegion(context: MthcaCommandContext): CommandStatus {
  const region = context.hca.regions.table.get(context.modifier);
  if (!context.hca.regions.table.hasIndex(context.modifier)) return CommandStatus.BAD_INDEX;
  return region === undefined ? CommandStatus.BAD_RESOURCE_STATE : writeRegion(context, region);
}

export function takeRegion(context: MthcaCommandContext): CommandStatus {
  const { hca, modifier: index, register } = context;
  const { table } = hca.regions;
  if (register.opcodeModifier > NO_OUTPUT) return CommandStatus.BAD_OP;
  if (!table.hasIndex(index)) return CommandStatus.BAD_INDEX;
  const region = table.get(index);
  if (region === undefined) return CommandStatus.BAD_RESOURCE_STATE;
  const status = register.opcodeModifier === NO_OUTPUT ? CommandStatus.OK : writeRegion(context, region);
  if (status === CommandStatus.OK) table.delete(index);
  return status;
}

/** WRITE_MTT: the input modifier is the number of entries. */
export function writeTranslations(context: MthcaCommandContext): CommandStatus {
  const { hca, modifier: count, inputView, input } = context;
  if (count < 1 || count > TRANSLATIONS_MAX) return CommandStatus.BAD_PARAM;
  const status = context.readInput(MTT_LIST_SIZE + count * MTT_ENTRY_SIZE);
  if (status !== CommandStatus.OK) return status;
  const { icm, underlying } = hca;
  const start = getMttListIcmAddress(inputView, 0);
  const end = start + count * MTT_ENTRY_SIZE;
  if (start % MTT_ENTRY_SIZE !== 0 || end > icm.sizeBytes) return CommandStatus.BAD_PARAM;
  if (!icm.isMapped(start, end - start)) return CommandStatus.BAD_RESOURCE;
  icm.noteChange();
  for (let at = start; at < end; ) {
    const lengthBytes = Math.min(end - at, ICM_PAGE_BYTES - (at % ICM_PAGE_BYTES));
    const target = underlying.dma.at(icm.resolve(at));
    if (!target.write(context, input, MTT_LIST_SIZE + at - start, lengthBytes)) return CommandStatus.INTERNAL_ERROR;
    at += lengthBytes;
  }
  return CommandStatus.OK;
}

/** SYNC_TPT: software has written entries of regions that the HCA owns. */
export function synchronizeTables({ hca }: MthcaCommandContext): CommandStatus {
  hca.icm.noteChange();
  return CommandStatus.OK;
}

/** Why a range of a key may not be used for a queue; OK if it may. */
export function checkBuffer(
  { hca }: MthcaCommandContext,
  key: number,
  pd: number,
  rights: number,
  start: number,
  lengthBytes: number,
): CommandStatus {
  const fault = hca.regions.check(key, pd, rights, start, lengthBytes);
  return fault === FaultKind.NONE ? CommandStatus.OK : CommandStatus.BAD_PARAM;
}

function writeRegion(context: MthcaCommandContext, { entry }: Region): CommandStatus {
  encodeMptEntry(context.outputView, 0, entry);
  return context.writeOutput(MPT_ENTRY_SIZE);
}

/** Addresses must be exact, and translation entries must lie in context memory. */
function isTranslatable({ hca }: MthcaCommandContext, entry: Readonly<MptEntry>, pageBytes: number): boolean {
  if (entry.logPageSize > LOG_PAGE_MAX) return false;
  return entry.start + entry.length <= Number.MAX_SAFE_INTEGER && hca.regions.fits(entry, pageBytes);
}

function rightsOf(entry: Readonly<MptEntry>): number {
  return (
    entry.localRead * KeyRight.LOCAL_READ +
    entry.localWrite * KeyRight.LOCAL_WRITE +
    entry.remoteRead * KeyRight.REMOTE_READ +
    entry.remoteWrite * KeyRight.REMOTE_WRITE +
    entry.atomic * KeyRight.ATOMIC
  );
}
