/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Resource requests of one change. */
#ifndef VT_REQUESTS_H
#define VT_REQUESTS_H

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

#endif /* VT_REQUESTS_H */
