// SPDX-License-Identifier: Apache-2.0
/** INIT_HCA, which names the tables in context memory and starts the HCA, and CLOSE_HCA. */
import { joinDwords } from '../../../../protocol/layout/dwords.ts';
import { ICM_PAGE_BYTES } from '../../../../protocol/mthca/gen/constants.gen.ts';
import {
  decodeHcaSetup,
  HCA_SETUP_SIZE,
  type HcaSetup,
  newHcaSetup,
} from '../../../../protocol/mthca/gen/hca-setup.gen.ts';
import { CommandStatus } from '../../../../protocol/mthca/gen/values.gen.ts';
import { type Hca, HcaState } from '../hca/hca.ts';
import { AUXILIARY_PAGES } from '../hca/limits.ts';
import type { MthcaCommandContext } from './command-context.ts';

/** Bits 31 to 8 of the address of a table stand in a field of their own. */
const BASE_UNIT = 0x100;
const LOG_MIB = 20;

export function initializeHca(context: MthcaCommandContext): CommandStatus {
  const { hca } = context;
  if (hca.state !== HcaState.FIRMWARE || hca.auxiliaryPages < AUXILIARY_PAGES) return CommandStatus.BAD_SYS_STATE;
  const status = context.readInput(HCA_SETUP_SIZE);
  if (status !== CommandStatus.OK) return status;
  const setup = decodeHcaSetup(context.inputView, 0, newHcaSetup());
  if (exceedsLimits(hca, setup)) return CommandStatus.EXCEED_LIMIT;
  if (!placeTables(hca, setup) || !placeRecords(hca, setup)) {
    hca.close();
    return CommandStatus.BAD_PARAM;
  }
  hca.groups.place(2 ** setup.logGroups, setup.groupHashSize);
  hca.underlying.asynchronousQueue = hca.objectEvents;
  hca.state = HcaState.RUNNING;
  return CommandStatus.OK;
}

/** CLOSE_HCA: objects that software has not taken back are dropped. */
export function closeHca({ hca, register }: MthcaCommandContext): CommandStatus {
  if (register.opcodeModifier > 1) return CommandStatus.BAD_OP;
  hca.close();
  return CommandStatus.OK;
}

function exceedsLimits({ limits }: Hca, setup: HcaSetup): boolean {
  return (
    setup.logQpcEntries > limits.logQps ||
    setup.logSrqcEntries > limits.logSrqs ||
    setup.logCqcEntries > limits.logCqs ||
    setup.logEqcEntries > limits.logEqs ||
    setup.logMpts > limits.logMpts ||
    setup.logGroups > limits.logGroups
  );
}

/** Returns false when a table does not fit into context memory. */
function placeTables(hca: Hca, setup: HcaSetup): boolean {
  const base = (high: number, low: number): number => joinDwords(low * BASE_UNIT, high);
  const { regions, queuePairs, sharedReceiveQueues, completionQueues, eventQueues, icm } = hca;
  return (
    queuePairs.place(base(setup.qpcBaseHigh, setup.qpcBaseLow), setup.logQpcEntries) &&
    sharedReceiveQueues.place(base(setup.srqcBaseHigh, setup.srqcBaseLow), setup.logSrqcEntries) &&
    completionQueues.place(base(setup.cqcBaseHigh, setup.cqcBaseLow), setup.logCqcEntries) &&
    eventQueues.place(base(setup.eqcBaseHigh, setup.eqcBaseLow), setup.logEqcEntries) &&
    regions.table.place(setup.mptBase, setup.logMpts) &&
    icm.contains(setup.groupBase, 2 ** (setup.logGroups + setup.logGroupBytes)) &&
    setup.groupHashSize <= 2 ** setup.logGroups
  );
}

/** Returns false when the BAR has fewer regions, or the doorbell records do not fit. */
function placeRecords({ records, limits }: Hca, setup: HcaSetup): boolean {
  const logBytes = setup.logUars + setup.logUarPage + Math.log2(ICM_PAGE_BYTES);
  if (logBytes > limits.logUarMib + LOG_MIB) return false;
  return records.place(setup.uarContextBase, 2 ** setup.logUars, 2 ** setup.logUarContextPages);
}
