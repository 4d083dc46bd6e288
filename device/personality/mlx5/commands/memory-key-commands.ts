// SPDX-License-Identifier: Apache-2.0
/**
 * Commands that create, query and destroy memory keys. A driver creates thousands of keys that are
 * free when it loads; requests of send queues give them attributes later (memory/umr.ts).
 */
import {
  CREATE_MKEY_IN_MEMORY_KEY_MKEY_ENTRY_OFFSET,
  CREATE_MKEY_IN_SIZE,
  getCreateMkeyInMkeyUmemValid,
  getCreateMkeyInPgAccess,
  getCreateMkeyInTranslationsOctwordActualSize,
} from '../../../../protocol/mlx5/gen/create-mkey-in.gen.ts';
import { CREATE_MKEY_OUT_SIZE, setCreateMkeyOutMkeyIndex } from '../../../../protocol/mlx5/gen/create-mkey-out.gen.ts';
import { DESTROY_MKEY_IN_SIZE, getDestroyMkeyInMkeyIndex } from '../../../../protocol/mlx5/gen/destroy-mkey-in.gen.ts';
import { DESTROY_MKEY_OUT_SIZE } from '../../../../protocol/mlx5/gen/destroy-mkey-out.gen.ts';
import { getQueryMkeyInMkeyIndex, QUERY_MKEY_IN_SIZE } from '../../../../protocol/mlx5/gen/query-mkey-in.gen.ts';
import {
  QUERY_MKEY_OUT_MEMORY_KEY_MKEY_ENTRY_OFFSET,
  QUERY_MKEY_OUT_SIZE,
} from '../../../../protocol/mlx5/gen/query-mkey-out.gen.ts';
import { CommandOpcode, CommandStatus } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { HcaState } from '../hca/hca.ts';
import {
  isUsable,
  type KeyAttributes,
  listRoom,
  newAttributes,
  OCTOWORD_BYTES,
  readAttributes,
  writeAttributes,
} from '../memory/key-attributes.ts';
import type { CommandContext } from './command-context.ts';
import { type CommandRow, row } from './command-row.ts';

const LIST_OFFSET = CREATE_MKEY_IN_SIZE;

function create({ hca, view, inputBytes, outputView }: CommandContext): CommandStatus {
  const { keys } = hca;
  const octowords = getCreateMkeyInTranslationsOctwordActualSize(view, 0);
  if (inputBytes < LIST_OFFSET + octowords * OCTOWORD_BYTES) return CommandStatus.BAD_INPUT_LENGTH;
  const attributes = readAttributes(view, CREATE_MKEY_IN_MEMORY_KEY_MKEY_ENTRY_OFFSET, newAttributes());
  // Neither rights of pages nor lists in user memory are offered.
  if (getCreateMkeyInPgAccess(view, 0) === 1 || getCreateMkeyInMkeyUmemValid(view, 0) === 1 || !isOffered(attributes))
    return CommandStatus.BAD_PARAMETER;
  if (octowords > listRoom(attributes)) return CommandStatus.BAD_PARAMETER;
  if (attributes.free === 0 && !isUsable(attributes, octowords)) return CommandStatus.BAD_PARAMETER;
  if (!hca.domains.has(attributes.pd)) return CommandStatus.BAD_RESOURCE;
  const key = keys.create(attributes);
  if (key === undefined) return CommandStatus.NO_RESOURCES;
  if (!keys.reserve(key, octowords)) {
    keys.remove(key);
    return CommandStatus.NO_RESOURCES;
  }
  key.list?.write(view, LIST_OFFSET, octowords, 0);
  setCreateMkeyOutMkeyIndex(outputView, 0, key.index);
  return CommandStatus.OK;
}

/** Modes beyond those of lists, and signatures, are not offered. */
function isOffered({ accessMode42, bsfEn, bsfOctwordSize }: Readonly<KeyAttributes>): boolean {
  return accessMode42 === 0 && bsfEn === 0 && bsfOctwordSize === 0;
}

function query({ hca, view, outputView }: CommandContext): CommandStatus {
  const key = hca.keys.get(getQueryMkeyInMkeyIndex(view, 0));
  if (key === undefined) return CommandStatus.BAD_RESOURCE;
  writeAttributes(outputView, QUERY_MKEY_OUT_MEMORY_KEY_MKEY_ENTRY_OFFSET, key.attributes);
  return CommandStatus.OK;
}

/** Windows that name the key give no access any more: it is looked up at every access. */
function destroy({ hca, view }: CommandContext): CommandStatus {
  const key = hca.keys.get(getDestroyMkeyInMkeyIndex(view, 0));
  if (key === undefined) return CommandStatus.BAD_RESOURCE;
  hca.keys.remove(key);
  return CommandStatus.OK;
}

const { RUNNING } = HcaState;

export const memoryKeyCommands: readonly CommandRow[] = [
  row(CommandOpcode.CREATE_MKEY, RUNNING, CREATE_MKEY_IN_SIZE, CREATE_MKEY_OUT_SIZE, create),
  row(CommandOpcode.QUERY_MKEY, RUNNING, QUERY_MKEY_IN_SIZE, QUERY_MKEY_OUT_SIZE, query),
  row(CommandOpcode.DESTROY_MKEY, RUNNING, DESTROY_MKEY_IN_SIZE, DESTROY_MKEY_OUT_SIZE, destroy),
];
