// SPDX-License-Identifier: Apache-2.0
/**
 * Commands that start and stop the function, ask what it can do, and give it pages.
 */

import { PCI_VENDOR_ID, VENDOR_OUI } from '../../../../protocol/mlx5/gen/constants.gen.ts';
import { ENABLE_HCA_IN_SIZE } from '../../../../protocol/mlx5/gen/enable-hca-in.gen.ts';
import { ENABLE_HCA_OUT_SIZE } from '../../../../protocol/mlx5/gen/enable-hca-out.gen.ts';
import { INIT_HCA_IN_SIZE } from '../../../../protocol/mlx5/gen/init-hca-in.gen.ts';
import {
  getManagePagesInInputNumEntries,
  MANAGE_PAGES_IN_SIZE,
} from '../../../../protocol/mlx5/gen/manage-pages-in.gen.ts';
import {
  MANAGE_PAGES_OUT_SIZE,
  setManagePagesOutOutputNumEntries,
} from '../../../../protocol/mlx5/gen/manage-pages-out.gen.ts';
import {
  QUERY_ADAPTER_OUT_QUERY_ADAPTER_STRUCT_OFFSET,
  QUERY_ADAPTER_OUT_SIZE,
} from '../../../../protocol/mlx5/gen/query-adapter-out.gen.ts';
import {
  QUERY_ADAPTER_PARAM_BLOCK_VSD_CONTD_PSID_OFFSET,
  setQueryAdapterParamBlockIeeeVendorId,
  setQueryAdapterParamBlockVsdVendorId,
} from '../../../../protocol/mlx5/gen/query-adapter-param-block.gen.ts';
import { QUERY_HCA_CAP_IN_SIZE } from '../../../../protocol/mlx5/gen/query-hca-cap-in.gen.ts';
import { QUERY_HCA_CAP_OUT_SIZE } from '../../../../protocol/mlx5/gen/query-hca-cap-out.gen.ts';
import {
  QUERY_ISSI_OUT_SIZE,
  setQueryIssiOutCurrentIssi,
  setQueryIssiOutSupportedIssiDw0,
} from '../../../../protocol/mlx5/gen/query-issi-out.gen.ts';
import { QUERY_PAGES_OUT_SIZE, setQueryPagesOutNumPages } from '../../../../protocol/mlx5/gen/query-pages-out.gen.ts';
import {
  getSetHcaCapInOpMod,
  SET_HCA_CAP_IN_CAPABILITY_OFFSET,
  SET_HCA_CAP_IN_SIZE,
} from '../../../../protocol/mlx5/gen/set-hca-cap-in.gen.ts';
import { getSetIssiInCurrentIssi, SET_ISSI_IN_SIZE } from '../../../../protocol/mlx5/gen/set-issi-in.gen.ts';
import { getTeardownHcaInProfile, TEARDOWN_HCA_IN_SIZE } from '../../../../protocol/mlx5/gen/teardown-hca-in.gen.ts';
import { CommandOpcode, CommandStatus, TeardownProfile } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { CAPABILITY_BYTES, chooseCapabilities } from '../hca/capabilities.ts';
import { BOOT_PAGES, HcaState, START_PAGES, SUPPORTED_ISSI } from '../hca/hca.ts';
import { listBytes, readPages, writePages } from '../memory/page-list.ts';
import type { CommandContext } from './command-context.ts';
import { type CommandRow, row } from './command-row.ts';

/** Least lengths of commands without fields of their own. */
const BARE_IN = ENABLE_HCA_IN_SIZE;
const BARE_OUT = ENABLE_HCA_OUT_SIZE;
/** Offset of lists and pages behind the heads of commands. */
const BODY = 0x10;
/** Identity of the board; it is not one of the vendor's. */
const BOARD_ID = 'VUHCA_MLX5_0001';
/** Variants of QUERY_PAGES and MANAGE_PAGES. */
const BOOT = 1;
const START = 2;
const CANNOT_GIVE = 0;
const GIVE = 1;
const TAKE = 2;
/** The lowest bit of the modifier of QUERY_HCA_CAP: what is in use; otherwise what can be. */
const CURRENT = 1;

/** Pages that the adapter still wants, by the variant of the question. */
function wantedPages({ hca, modifier }: CommandContext): number | undefined {
  const held = hca.pages.length;
  if (modifier === BOOT) return Math.max(BOOT_PAGES - held, 0);
  if (modifier === START) return Math.max(BOOT_PAGES + START_PAGES - held, 0);
  return undefined;
}

function queryPages(context: CommandContext): CommandStatus {
  const pages = wantedPages(context);
  if (pages === undefined) return CommandStatus.BAD_PARAMETER;
  setQueryPagesOutNumPages(context.outputView, 0, pages);
  return CommandStatus.OK;
}

function managePages(context: CommandContext): CommandStatus {
  const count = getManagePagesInInputNumEntries(context.view, 0);
  switch (context.modifier) {
    case CANNOT_GIVE:
      return CommandStatus.OK;
    case GIVE:
      return givePages(context, count);
    case TAKE:
      return takePages(context, count);
    default:
      return CommandStatus.BAD_PARAMETER;
  }
}

function givePages({ view, inputBytes, hca }: CommandContext, count: number): CommandStatus {
  if (inputBytes < BODY + listBytes(count)) return CommandStatus.BAD_INPUT_LENGTH;
  if (hca.pages.length + count > BOOT_PAGES + START_PAGES) return CommandStatus.LIMIT_EXCEEDED;
  const pages = readPages(view, BODY, count);
  if (pages === undefined) return CommandStatus.BAD_PARAMETER;
  hca.pages.push(...pages);
  return CommandStatus.OK;
}

function takePages({ outputView, outputBytes, hca }: CommandContext, count: number): CommandStatus {
  const room = Math.floor((outputBytes - BODY) / listBytes(1));
  const taken = hca.pages.splice(-Math.min(count, room, hca.pages.length) || hca.pages.length);
  setManagePagesOutOutputNumEntries(outputView, 0, taken.length);
  writePages(outputView, BODY, taken);
  return CommandStatus.OK;
}

function queryCapabilities({ hca, modifier, output }: CommandContext): CommandStatus {
  const kind = modifier >>> 1;
  const page = (modifier & CURRENT) === CURRENT ? hca.current.get(kind) : hca.capabilities.get(kind);
  if (page === undefined) return CommandStatus.BAD_PARAMETER;
  output.set(page, BODY);
  return CommandStatus.OK;
}

/** Software may ask for less than there is, for nothing more. */
function setCapabilities({ hca, view, input }: CommandContext): CommandStatus {
  const kind = getSetHcaCapInOpMod(view, 0) >>> 1;
  if (hca.state === HcaState.RUNNING) return CommandStatus.BAD_SYSTEM_STATE;
  if (!hca.capabilities.has(kind)) return CommandStatus.BAD_PARAMETER;
  const at = SET_HCA_CAP_IN_CAPABILITY_OFFSET;
  hca.current.set(kind, chooseCapabilities(kind, input.slice(at, at + CAPABILITY_BYTES)));
  return CommandStatus.OK;
}

function setIssi({ hca, view }: CommandContext): CommandStatus {
  const issi = getSetIssiInCurrentIssi(view, 0);
  if (issi >= 32 || ((SUPPORTED_ISSI >>> issi) & 1) === 0) return CommandStatus.BAD_PARAMETER;
  hca.issi = issi;
  return CommandStatus.OK;
}

function initialize({ hca }: CommandContext): CommandStatus {
  if (hca.state === HcaState.RUNNING) return CommandStatus.BAD_SYSTEM_STATE;
  if (hca.pages.length < BOOT_PAGES + START_PAGES) return CommandStatus.NO_RESOURCES;
  hca.start();
  return CommandStatus.OK;
}

/**
 * Gracefully, after software has destroyed its objects; by force, with all that are left; or fast:
 * software then switches the interface off, which ends everything (`Mlx5Function`).
 */
function tearDown({ hca, view }: CommandContext): CommandStatus {
  switch (getTeardownHcaInProfile(view, 0)) {
    case TeardownProfile.GRACEFUL:
      if (hca.events.size > 0) return CommandStatus.RESOURCE_BUSY;
      hca.close();
      return CommandStatus.OK;
    case TeardownProfile.FORCE:
      hca.close();
      return CommandStatus.OK;
    case TeardownProfile.PREPARE_FAST:
      return CommandStatus.OK;
    default:
      return CommandStatus.BAD_PARAMETER;
  }
}

function queryAdapter({ output, outputView }: CommandContext): CommandStatus {
  const at = QUERY_ADAPTER_OUT_QUERY_ADAPTER_STRUCT_OFFSET;
  setQueryAdapterParamBlockIeeeVendorId(outputView, at, VENDOR_OUI);
  setQueryAdapterParamBlockVsdVendorId(outputView, at, PCI_VENDOR_ID);
  const name = at + QUERY_ADAPTER_PARAM_BLOCK_VSD_CONTD_PSID_OFFSET;
  for (let index = 0; index < BOARD_ID.length; index++) output[name + index] = BOARD_ID.charCodeAt(index);
  return CommandStatus.OK;
}

function queryIssi({ hca, outputView }: CommandContext): CommandStatus {
  setQueryIssiOutCurrentIssi(outputView, 0, hca.issi);
  setQueryIssiOutSupportedIssiDw0(outputView, 0, SUPPORTED_ISSI);
  return CommandStatus.OK;
}

function enable({ hca }: CommandContext): CommandStatus {
  if (hca.state !== HcaState.DISABLED) return CommandStatus.BAD_SYSTEM_STATE;
  hca.state = HcaState.ENABLED;
  return CommandStatus.OK;
}

function disable({ hca }: CommandContext): CommandStatus {
  hca.close();
  hca.state = HcaState.DISABLED;
  return CommandStatus.OK;
}

const { DISABLED, ENABLED, RUNNING } = HcaState;

export const functionCommands: readonly CommandRow[] = [
  row(CommandOpcode.ENABLE_HCA, DISABLED, ENABLE_HCA_IN_SIZE, ENABLE_HCA_OUT_SIZE, enable),
  row(CommandOpcode.DISABLE_HCA, ENABLED, BARE_IN, BARE_OUT, disable),
  row(CommandOpcode.QUERY_ISSI, DISABLED, BARE_IN, QUERY_ISSI_OUT_SIZE, queryIssi),
  row(CommandOpcode.SET_ISSI, DISABLED, SET_ISSI_IN_SIZE, BARE_OUT, setIssi),
  row(CommandOpcode.QUERY_PAGES, ENABLED, BARE_IN, QUERY_PAGES_OUT_SIZE, queryPages),
  row(CommandOpcode.MANAGE_PAGES, ENABLED, MANAGE_PAGES_IN_SIZE, MANAGE_PAGES_OUT_SIZE, managePages),
  row(CommandOpcode.QUERY_HCA_CAP, ENABLED, QUERY_HCA_CAP_IN_SIZE, QUERY_HCA_CAP_OUT_SIZE, queryCapabilities),
  row(CommandOpcode.SET_HCA_CAP, ENABLED, SET_HCA_CAP_IN_SIZE, BARE_OUT, setCapabilities),
  row(CommandOpcode.INIT_HCA, ENABLED, INIT_HCA_IN_SIZE, BARE_OUT, initialize),
  row(CommandOpcode.TEARDOWN_HCA, RUNNING, TEARDOWN_HCA_IN_SIZE, BARE_OUT, tearDown),
  row(CommandOpcode.QUERY_ADAPTER, ENABLED, BARE_IN, QUERY_ADAPTER_OUT_SIZE, queryAdapter),
  row(CommandOpcode.NOP, DISABLED, BARE_IN, BARE_OUT, () => CommandStatus.OK),
];
