/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* What most files of the driver need of the kernel, for programs on the host. */
#ifndef WRAPS_TYPES_H
#define WRAPS_TYPES_H

#define VUHCA_INTERNAL_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <linux/types.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;

#define EXPORT_SYMBOL_GPL(name)
#define lockdep_assert_held(lock) ((void)(lock))

struct list_head { struct list_head *next; };
typedef int spinlock_t;

#endif /* WRAPS_TYPES_H */
