/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Resource requests with one change. */
#ifndef VT_SHARE_REQUEST_H
#define VT_SHARE_REQUEST_H

#include "vt.h"

#define VT_NONE		VUHCA_RESOURCE_NO_LEVEL

struct vt_change {
	u8 resource;
	u8 level;
	u16 target;
	u32 amount;
	u8 word;
};

struct vuhca_resource_change vt_encode(const struct vt_change *change);
int vt_ask(struct vt *t, u8 resource, u8 level, u16 target, u32 amount);
bool vt_share(struct vt *t, struct vuhca_resource_share *share);

/* vt_share_refusals.c */
void vt_share_refused_levels(struct vt *t);
void vt_share_refused_functions(struct vt *t);
void vt_share_refused_lanes(struct vt *t);
void vt_share_refused_starving(struct vt *t);
void vt_share_refused_virtual(struct vt *t);
void vt_share_refused_lengths(struct vt *t);

#endif /* VT_SHARE_REQUEST_H */
