// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The checksum of management commands and send commands (docs/PROGRAMMING.md).
 */
#include "vuhca_internal.h"

/**
 * vuhca_checksum() - Compute the checksum of a command.
 * @bytes: Command with its checksum field zero.
 * @length: Length of @bytes, a multiple of 4.
 * @seed: Checksum key of the QP; 0 for a management command.
 *
 * Context: Any context.
 * Return: One's-complement sum of all dwords and @seed, folded and inverted.
 */
u32 vuhca_checksum(const void *bytes, size_t length, u32 seed)
{
	const __le32 *dwords = bytes;
	u64 sum = seed;
	size_t i;

	for (i = 0; i < length / sizeof(*dwords); i++)
		sum += le32_to_cpu(dwords[i]);
	sum = (sum & U32_MAX) + (sum >> 32);
	sum = (sum & U32_MAX) + (sum >> 32);
	return ~(u32)sum;
}
EXPORT_SYMBOL_GPL(vuhca_checksum);
