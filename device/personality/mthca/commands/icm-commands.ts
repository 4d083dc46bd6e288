// SPDX-License-Identifier: Apache-2.0
/** Commands that size context memory (ICM) and back it by guest pages. */
import { highDword, lowDword } from '../../../../protocol/layout/dwords.ts';
import { ICM_PAGE_BYTES } from '../../../../protocol/mthca/gen/constants.gen.ts';
import { CommandStatus } from '../../../../protocol/mthca/gen/values.gen.ts';
import { HcaState } from '../hca/hca.ts';
import { AUXILIARY_PAGES } from '../hca/limits.ts';
import type { MthcaCommandContext } from './command-context.ts';
import { type PageMapping, readMappings } from './page-mappings.ts';

/** SET_ICM_SIZE returns the number of auxiliary pages. */
export function setIcmSize(context: MthcaCommandContext): CommandStatus {
  const { hca, register } = context;
  const sizeBytes = register.inParameter;
  if (hca.state === HcaState.RUNNING || hca.icm.mappedPages > 0) return CommandStatus.BAD_SYS_STATE;
  if (sizeBytes > hca.limits.icmBytes) return CommandStatus.EXCEED_LIMIT;
  if (sizeBytes === 0 || sizeBytes % ICM_PAGE_BYTES !== 0) return CommandStatus.BAD_PARAM;
  hca.icm.setSize(sizeBytes);
  context.resultHigh = highDword(AUXILIARY_PAGES);
  context.resultLow = lowDword(AUXILIARY_PAGES);
  return CommandStatus.OK;
}

export function mapAuxiliary(context: MthcaCommandContext): CommandStatus {
  const { hca } = context;
  if (hca.state === HcaState.RUNNING || hca.icm.sizeBytes === 0) return CommandStatus.BAD_SYS_STATE;
  const mappings = readMappings(context);
  if (!Array.isArray(mappings)) return mappings;
  hca.auxiliaryPages += countPages(mappings);
  return CommandStatus.OK;
}

export function unmapAuxiliary({ hca }: MthcaCommandContext): CommandStatus {
  if (hca.state === HcaState.RUNNING) return CommandStatus.BAD_SYS_STATE;
  hca.auxiliaryPages = 0;
  return CommandStatus.OK;
}

/**
 * MAP_ICM maps all entries or none. A page that is mapped gets the new guest page: `ib_mthca` maps
 * a page of doorbell records again, without an unmap between, when one of them is used anew.
 */
export function mapIcm(context: MthcaCommandContext): CommandStatus {
  const { icm } = context.hca;
  if (icm.sizeBytes === 0) return CommandStatus.BAD_SYS_STATE;
  const mappings = readMappings(context);
  if (!Array.isArray(mappings)) return mappings;
  // Entries that together exceed context memory would take long to map.
  if (countPages(mappings) > icm.sizeBytes / ICM_PAGE_BYTES) return CommandStatus.BAD_PARAM;
  for (const { icmAddress, pages } of mappings)
    if (!icm.contains(icmAddress, pages * ICM_PAGE_BYTES)) return CommandStatus.BAD_PARAM;
  for (const { icmAddress, guestAddress, pages } of mappings) icm.map(icmAddress, guestAddress, pages);
  return CommandStatus.OK;
}

/** UNMAP_ICM: the input parameter is an address, the input modifier a number of pages. */
export function unmapIcm({ hca, register, modifier }: MthcaCommandContext): CommandStatus {
  const address = register.inParameter;
  if (hca.icm.sizeBytes === 0) return CommandStatus.BAD_SYS_STATE;
  if (address % ICM_PAGE_BYTES !== 0 || !hca.icm.contains(address, ICM_PAGE_BYTES)) return CommandStatus.BAD_PARAM;
  hca.icm.unmap(address, modifier);
  return CommandStatus.OK;
}

function countPages(mappings: readonly PageMapping[]): number {
  return mappings.reduce((sum, { pages }) => sum + pages, 0);
}
