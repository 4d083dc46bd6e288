// SPDX-License-Identifier: Apache-2.0
/**
 * Management commands that read the P_Key and GID tables of a port by blocks, as a subnet manager
 * does (IBTA 14.2.5.5, 14.2.5.7): after a port event software reads whole tables.
 */
import {
  GID_BLOCK_ENTRIES,
  GID_TABLE_ENTRIES,
  PKEY_BLOCK_ENTRIES,
  PKEY_TABLE_ENTRIES,
} from '../../../protocol/layout/gen/constants.gen.ts';
import { GID_ATTRIBUTES_SIZE } from '../../../protocol/layout/gen/gid-attributes.gen.ts';
import { GID_BLOCK_GIDS_OFFSET, GID_BLOCK_PRESENT_OFFSET } from '../../../protocol/layout/gen/gid-block.gen.ts';
import { PKEY_BLOCK_PKEYS_OFFSET } from '../../../protocol/layout/gen/pkey-block.gen.ts';
import { ManagementStatus } from '../../../protocol/layout/gen/values.gen.ts';
import type { Port } from '../../fabric/port/port.ts';
import { findPort } from './adapter-commands.ts';
import type { CommandContext } from './command-context.ts';
import { blameObject } from './share-commands.ts';

const PKEY_BYTES = 2;
const PKEY_BLOCKS = PKEY_TABLE_ENTRIES / PKEY_BLOCK_ENTRIES;
const GID_BLOCKS = GID_TABLE_ENTRIES / GID_BLOCK_ENTRIES;
const GID_BLOCK_BYTES = GID_BLOCK_ENTRIES * GID_ATTRIBUTES_SIZE;

/** QUERY_PKEYS: returns one block of a port's P_Key table. */
export function queryPkeys(context: CommandContext): ManagementStatus {
  const port = findPort(context);
  if (port === undefined) return ManagementStatus.BAD_FIELD;
  const block = context.header.objectNumber;
  if (block >= PKEY_BLOCKS) return blameObject(context, ManagementStatus.BAD_OBJECT, PKEY_BLOCKS - 1);
  for (let index = 0; index < PKEY_BLOCK_ENTRIES; index++) {
    const at = PKEY_BLOCK_PKEYS_OFFSET + index * PKEY_BYTES;
    context.responseView.setUint16(at, port.pkeys[block * PKEY_BLOCK_ENTRIES + index], true);
  }
  return ManagementStatus.OK;
}

/** QUERY_GIDS: returns one block of a port's GID table, and which entries of the table are used. */
export function queryGids(context: CommandContext): ManagementStatus {
  const port = findPort(context);
  if (port === undefined) return ManagementStatus.BAD_FIELD;
  const block = context.header.objectNumber;
  if (block >= GID_BLOCKS) return blameObject(context, ManagementStatus.BAD_OBJECT, GID_BLOCKS - 1);
  const first = block * GID_BLOCK_BYTES;
  context.response.set(port.gids.subarray(first, first + GID_BLOCK_BYTES), GID_BLOCK_GIDS_OFFSET);
  for (let index = 0; index < GID_TABLE_ENTRIES; index++)
    if (hasGid(port, index)) context.response[GID_BLOCK_PRESENT_OFFSET + (index >> 3)] |= 1 << (index & 7);
  return ManagementStatus.OK;
}

function hasGid({ gids }: Port, index: number): boolean {
  for (let at = index * GID_ATTRIBUTES_SIZE; at < (index + 1) * GID_ATTRIBUTES_SIZE; at++)
    if (gids[at] !== 0) return true;
  return false;
}
