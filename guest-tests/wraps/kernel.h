/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The parts of kernel and driver that vuhca_pio_buffer.c needs, for a program
 * of one thread on the host: pio-wraps.c includes it in place of
 * vuhca_internal.h.
 */
#ifndef WRAPS_KERNEL_H
#define WRAPS_KERNEL_H

#include <errno.h>

#include "types.h"

#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))
#define min(a, b) ((a) < (b) ? (a) : (b))
#define READ_ONCE(x) (x)
#define le64_to_cpu(x) le64toh(x)
#define get_unaligned_le64(p) le64toh(*(const u64 *)(p))
#define spin_lock_irqsave(lock, flags) ((void)(lock), (flags) = 0)
#define spin_unlock_irqrestore(lock, flags) ((void)(lock), (void)(flags))
#define wake_up(queue) ((void)(queue))
#define wmb() ((void)0)

typedef int wait_queue_head_t;
struct delayed_work { int unused; };

#include "../driver/vuhca_pio.h"

struct vuhca_dev {
	char *pio;
};

void writeq(u64 value, char *at);

static inline void vuhca_write_csr(struct vuhca_dev *dev, u32 offset, u32 value)
{
	(void)dev, (void)offset, (void)value;
}

static inline bool vuhca_is_current(struct vuhca_dev *dev, u32 generation)
{
	return dev && generation == 0;
}

/* vuhca_pio_buffer.c */
void vuhca_pio_write_control(struct vuhca_send_context *sc, u32 bits);
void vuhca_pio_force_credits_locked(struct vuhca_send_context *sc);
void vuhca_pio_flush(struct vuhca_send_context *sc);

#endif /* WRAPS_KERNEL_H */
