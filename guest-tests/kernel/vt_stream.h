/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Streams of messages over connected QPs: one direction of one pair each. */
#ifndef VT_STREAM_H
#define VT_STREAM_H

#include "vt_pair.h"

#define VT_STREAMS	8
#define VT_WINDOW	8
#define VT_SLOT_BYTES	8192
#define VT_PIECES	4
#define VT_WCS		32

struct vt_message {
	u8 opcode;
	bool inlined;
	bool sending;		/* not known to be complete at its sender */
	bool receiving;		/* a receive completion is outstanding */
	u32 length;
};

struct vt_stream {
	struct vt_pair *pair;
	unsigned int from;
	unsigned int number;
	unsigned int sent;
	unsigned int completed;
	unsigned int received;	/* messages before this one need no receive completion */
	unsigned int done;
	struct vt_message messages[VT_WINDOW];
	struct vuhca_buffer pieces[VT_WINDOW][VT_PIECES];
	struct vuhca_send_wr wrs[VT_WINDOW];
};

struct vt_streams {
	struct vt *t;
	struct vt_areas areas;
	struct vt_pair pairs[VT_STREAMS / 2];
	unsigned int pair_count;
	struct vt_stream streams[VT_STREAMS];
	unsigned int count;
	unsigned int total;
	unsigned int batch;
	enum vuhca_post_mode mode;
	u64 bytes;
	struct vuhca_wc wc[VT_WCS];
};

size_t vt_stream_slot(const struct vt_stream *stream, unsigned int number);
u32 vt_stream_key(const struct vt_stream *stream, unsigned int number);
bool vt_is_fetch(u8 opcode);
bool vt_stream_send(struct vt_streams *all, struct vt_stream *stream);

#endif /* VT_STREAM_H */
