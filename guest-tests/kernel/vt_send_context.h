/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* What the tests of send contexts share. */
#ifndef VT_SEND_CONTEXT_H
#define VT_SEND_CONTEXT_H

#include "vt.h"

/* Counts what was released, and whether in order. */
struct vt_releases {
	atomic_t sent;
	atomic_t flushed;
	u32 next;
	bool disordered;
};

/* One packet's number, for its release. */
struct vt_release {
	struct vt_releases *all;
	u32 number;
};

struct vuhca_send_context *vt_create_sends(struct vt *t, unsigned int blocks,
					   unsigned int threshold);
struct vuhca_datagram vt_packet(struct vt *t, const void *payload, size_t bytes);
void vt_released(void *context, bool sent);
void vt_expect_datagram(struct vt *t, const void *payload, size_t bytes);
int vt_send_one(struct vt *t, struct vuhca_send_context *sc, u32 number);
u32 vt_free_counter(struct vuhca_send_context *sc);

#endif /* VT_SEND_CONTEXT_H */
