/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* A datagram that a case puts through a collect buffer by its own stores. */
#ifndef VT_COLLECTING_H
#define VT_COLLECTING_H

#include "vt.h"

#define VT_RECEIVE_AT 16384

struct vt_collecting {
	struct vt *t;
	struct vuhca_vcb *vcb;
	u8 bytes[VUHCA_COMMAND_MAX_BYTES] __aligned(8);
	size_t length;
	u16 sequence;
	u32 key;
	u32 payload_bytes;
};

static inline u32 vt_csr(struct vt *t, unsigned int offset)
{
	return vuhca_read_csr(t->dev, offset);
}

bool vt_vcb_in_use(struct vt *t, const struct vuhca_vcb *vcb);
bool vt_begin(struct vt *t, struct vt_collecting *c, u8 qos_level);
void vt_finish(struct vt_collecting *c);
bool vt_post_slot(struct vt_collecting *c, u32 payload_bytes);
bool vt_arrives_once(struct vt_collecting *c);
bool vt_nothing_arrives(struct vt_collecting *c);
void vt_store(struct vt_collecting *c, size_t at, unsigned int size);

#endif /* VT_COLLECTING_H */
