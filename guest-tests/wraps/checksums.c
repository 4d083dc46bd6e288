// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The checksums of the driver and of the provider, themselves, on the host. Each
 * line of the input is the key of a QP and the dwords of a command, in
 * hexadecimal; prints both checksums of each.
 */
#include <endian.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "../provider/vu_checksum.h"

/* The parts of the kernel that vuhca_checksum.c needs. */
#define VUHCA_INTERNAL_H
typedef uint32_t u32;
typedef uint64_t u64;
#define U32_MAX UINT32_MAX
#define le32_to_cpu(x) le32toh(x)
#define EXPORT_SYMBOL_GPL(name)
u32 vuhca_checksum(const void *bytes, size_t length, u32 seed);
#include "../driver/vuhca_checksum.c"

int main(void)
{
	static char line[4096];
	static __le32 dwords[256];

	while (fgets(line, sizeof(line), stdin)) {
		char *at = line, *next;
		u32 key = strtoul(at, &at, 16);
		size_t length = 0;

		for (u32 value; value = strtoul(at, &next, 16), next != at; at = next) {
			dwords[length / sizeof(*dwords)] = htole32(value);
			length += sizeof(*dwords);
		}
		printf("%08" PRIx32 " %08" PRIx32 "\n", vuhca_checksum(dwords, length, key),
		       vu_checksum(dwords, length, key));
	}
	return 0;
}
