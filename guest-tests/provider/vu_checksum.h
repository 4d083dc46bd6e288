/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The checksum of send commands (docs/PROGRAMMING.md).
 */
#ifndef VU_CHECKSUM_H
#define VU_CHECKSUM_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/types.h>

/* That of `length` bytes, a multiple of 4, whose checksum field is zero. */
static inline uint32_t vu_checksum(const void *command, size_t length,
				   uint32_t key)
{
	const __le32 *dwords = command;
	uint64_t sum = key;
	size_t i;

	for (i = 0; i < length / sizeof(*dwords); i++)
		sum += le32toh(dwords[i]);
	sum = (sum & UINT32_MAX) + (sum >> 32);
	sum = (sum & UINT32_MAX) + (sum >> 32);
	return ~(uint32_t)sum;
}

#endif /* VU_CHECKSUM_H */
