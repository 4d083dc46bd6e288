// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* P_Key and GID tables of ports, read by blocks (docs/PROGRAMMING.md, Ports). */
#include "vuhca_internal.h"

static int vuhca_query_block(struct vuhca_dev *dev, u8 opcode, u8 port,
			     unsigned int block, void *to, size_t bytes)
{
	struct vuhca_command command = {
		.opcode = opcode,
		.object = block,
		.modifier = port,
	};
	struct vuhca_answer answer;
	int err;

	err = vuhca_admin_execute(dev, &command, &answer);
	if (!err)
		memcpy(to, answer.payload, bytes);
	return err;
}

/**
 * vuhca_query_pkeys() - Read a block of the P_Key table of a port.
 * @dev: Function of the adapter.
 * @port: Number of the port, from 1.
 * @block: Number of the block of VUHCA_PKEY_BLOCK_ENTRIES entries.
 * @found: Receives the block.
 *
 * Context: May sleep.
 * Return: 0, or the error of vuhca_admin_execute().
 */
int vuhca_query_pkeys(struct vuhca_dev *dev, u8 port, unsigned int block,
		      struct vuhca_pkey_block *found)
{
	return vuhca_query_block(dev, VUHCA_MANAGEMENT_OPCODE_QUERY_PKEYS, port,
				 block, found, sizeof(*found));
}
EXPORT_SYMBOL_GPL(vuhca_query_pkeys);

/**
 * vuhca_query_gids() - Read a block of the GID table of a port.
 * @dev: Function of the adapter.
 * @port: Number of the port, from 1.
 * @block: Number of the block of VUHCA_GID_BLOCK_ENTRIES entries.
 * @found: Receives the block, and the entries of the whole table in use.
 *
 * Context: May sleep.
 * Return: 0, or the error of vuhca_admin_execute().
 */
int vuhca_query_gids(struct vuhca_dev *dev, u8 port, unsigned int block,
		     struct vuhca_gid_block *found)
{
	return vuhca_query_block(dev, VUHCA_MANAGEMENT_OPCODE_QUERY_GIDS, port,
				 block, found, sizeof(*found));
}
EXPORT_SYMBOL_GPL(vuhca_query_gids);
