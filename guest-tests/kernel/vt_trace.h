/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Traces of QPs: how the suites of traces enable and read them. */
#ifndef VT_TRACE_H
#define VT_TRACE_H

#include "vt_pair.h"

#define VT_TRACE_BLOCKS_LOG2	3
#define VT_TRACE_BLOCKS		BIT(VT_TRACE_BLOCKS_LOG2)
/* Blocks are read to the beginning of the memory of the case. */
#define VT_TRACE_BUFFER		(VT_MEMORY_BYTES / 2)

struct vt_trace_options {
	u8 blocks_log2;
	u32 snap_length;
	bool stop_on_error;
};

/* vt_trace_read.c */
bool vt_trace_enable(struct vt *t, struct vuhca_qp *qp,
		     const struct vt_trace_options *options);
void vt_trace_disable(struct vt *t, struct vuhca_qp *qp);
u64 vt_trace_head(struct vt *t, struct vuhca_qp *qp);
u64 vt_trace_read(struct vt *t, struct vuhca_qp *qp, u64 position,
		  const struct vuhca_trace_block **blocks, unsigned int expected);
u32 vt_trace_payload(struct vt *t, const struct vuhca_trace_block *block,
		     u8 *payload, u32 room);

/* vt_trace_messages.c */
void vt_trace_packets(struct vt *t);
void vt_trace_snaps(struct vt *t);
void vt_trace_datagrams(struct vt *t);
void vt_trace_wraps(struct vt *t);

/* vt_trace_stops.c */
void vt_trace_stops_rc(struct vt *t);
void vt_trace_stops_uc(struct vt *t);
void vt_trace_stops_ud(struct vt *t);

/* vt_trace_compare.c */
void vt_trace_changes_nothing(struct vt *t);

#endif /* VT_TRACE_H */
