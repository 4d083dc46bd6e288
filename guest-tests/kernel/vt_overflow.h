/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Doorbell policy and thresholds of a function, for cases that overload it. */
#ifndef VT_OVERFLOW_H
#define VT_OVERFLOW_H

#include "vt_qp_set.h"

/*
 * Time of a read: all queues have rung before the first one completes, also on
 * a busy machine.
 */
#define VT_READ_MS	500

struct vt_settings {
	u32 policy;
	u32 thresholds;
};

u32 vt_policy(u32 overflow, u32 link_check);
void vt_save(struct vt *t, struct vt_settings *settings);
void vt_shrink(struct vt *t, struct vt_settings *settings);
void vt_restore(struct vt *t, const struct vt_settings *settings);
bool vt_burst(struct vt_qp_set *set, unsigned int each);
void vt_expect_empty(struct vt *t);
bool vt_may_slow(struct vt *t);

#endif /* VT_OVERFLOW_H */
