/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Functions that the suites of connected QPs share. */
#ifndef VT_CONNECTED_H
#define VT_CONNECTED_H

#include "vt_pair.h"

#define VT_REMOTE_OPCODES 4

/* vt_connected_shapes.c */
void vt_connected_inline(struct vt *t);
void vt_connected_lists(struct vt *t);

/* vt_connected_placement.c */
void vt_connected_placement(struct vt *t);
void vt_connected_unflushable(struct vt *t);

/* vt_connected_refusal.c: remote operations, and the access that each needs. */
extern const u8 vt_remote_opcodes[VT_REMOTE_OPCODES];
extern const u32 vt_remote_rights[VT_REMOTE_OPCODES];
void vt_on_plain_pair(struct vt *t, vt_pair_test run);
void vt_pair_refuses(struct vt_pair *pair, struct vt_areas *areas,
		     const struct vuhca_send_wr *wr, u8 status, u8 event);
struct vuhca_send_wr vt_remote_request(struct vt_areas *areas, unsigned int i,
				       struct vuhca_buffer *here);

/* vt_connected_failures.c */
void vt_connected_local(struct vt *t);
void vt_connected_opcodes(struct vt *t);
void vt_connected_unreliable(struct vt *t);
void vt_connected_bad_receives(struct vt *t);
void vt_connected_retry_exceeded(struct vt *t);
void vt_connected_rnr_exceeded(struct vt *t);

#endif /* VT_CONNECTED_H */
