/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Names of kernel functions that differ between Linux 6.1 (Debian 12), 6.12
 * (Debian 13) and Debian's backports. The driver and the modules beside it use
 * the newest name; only this header has conditions on the kernel.
 */
#ifndef VUHCA_COMPAT_H
#define VUHCA_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/timer.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

/* Before Linux 6.16; stable releases may have both names. */
#ifndef timer_container_of
#define timer_container_of from_timer
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

#endif
