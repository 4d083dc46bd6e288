/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* A datagram that a case writes to a collect buffer by its own stores. */
#ifndef VT_COLLECT_COMMAND_H
#define VT_COLLECT_COMMAND_H

#include "vt.h"

#define VT_RECEIVE_AT 16384

struct vt_collect_command {
	struct vt *t;
	struct vuhca_vcb *vcb;
	u8 bytes[VUHCA_COMMAND_MAX_BYTES] __aligned(8);
	size_t length;
	u16 sequence;
	u32 key;
	u32 payload_bytes;
};

bool vt_vcb_in_use(struct vt *t, const struct vuhca_vcb *vcb);
bool vt_collect_begin(struct vt *t, struct vt_collect_command *c, u8 qos_level);
void vt_collect_finish(struct vt_collect_command *c);
bool vt_collect_post(struct vt_collect_command *c, u32 payload_bytes);
bool vt_collect_arrives(struct vt_collect_command *c);
bool vt_collect_nothing_arrives(struct vt_collect_command *c);
void vt_collect_store(struct vt_collect_command *c, size_t at, unsigned int size);

#endif /* VT_COLLECT_COMMAND_H */
