// SPDX-License-Identifier: Apache-2.0
/**
 * Reads the input of the commands that give guest pages to the HCA: MAP_FA, MAP_ICM_AUX and
 * MAP_ICM. The input modifier is the number of entries.
 */
import { joinDwords } from '../../../../protocol/layout/dwords.ts';
import { ICM_PAGE_BYTES, MAILBOX_BYTES } from '../../../../protocol/mthca/gen/constants.gen.ts';
import {
  getIcmMappingIcmAddress,
  getIcmMappingLogPages,
  getIcmMappingPageHigh,
  getIcmMappingPageLow,
  ICM_MAPPING_SIZE,
} from '../../../../protocol/mthca/gen/icm-mapping.gen.ts';
import { CommandStatus } from '../../../../protocol/mthca/gen/values.gen.ts';
import type { MthcaCommandContext } from './command-context.ts';

/** Pages that are contiguous in guest memory and in context memory. */
export interface PageMapping {
  readonly icmAddress: number;
  readonly guestAddress: number;
  readonly pages: number;
}

const ENTRIES_MAX = MAILBOX_BYTES / ICM_MAPPING_SIZE;

/**
 * The entries of the mailbox, or why they are not valid. Both addresses of each are multiples of
 * its size.
 */
export function readMappings(context: MthcaCommandContext): PageMapping[] | CommandStatus {
  const count = context.modifier;
  if (count < 1 || count > ENTRIES_MAX) return CommandStatus.BAD_PARAM;
  const status = context.readInput(count * ICM_MAPPING_SIZE);
  if (status !== CommandStatus.OK) return status;
  const mappings: PageMapping[] = [];
  for (let entry = 0; entry < count; entry++) {
    const mapping = readMapping(context.inputView, entry * ICM_MAPPING_SIZE);
    const { icmAddress, guestAddress, pages } = mapping;
    const sizeBytes = pages * ICM_PAGE_BYTES;
    if (icmAddress % sizeBytes !== 0 || guestAddress % sizeBytes !== 0) return CommandStatus.BAD_PARAM;
    mappings.push(mapping);
  }
  return mappings;
}

function readMapping(view: DataView, at: number): PageMapping {
  const low = getIcmMappingPageLow(view, at) * ICM_PAGE_BYTES;
  return {
    icmAddress: getIcmMappingIcmAddress(view, at),
    guestAddress: joinDwords(low, getIcmMappingPageHigh(view, at)),
    pages: 2 ** getIcmMappingLogPages(view, at),
  };
}
