// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Trace of a QP from the guest: enabled, read while it runs, losses counted. */
#include "vt.h"

#define VT_TRACE_BLOCKS_LOG2	3
#define VT_TRACE_BUFFER		8192

static bool vt_enable(struct vt *t, struct vuhca_qp *qp)
{
	struct vuhca_trace_attributes attributes = {
		.snap_length = cpu_to_le32(64),
	};
	int err;

	vuhca_trace_attributes_set_enable(&attributes, 1);
	vuhca_trace_attributes_set_blocks_log2(&attributes,
					       VT_TRACE_BLOCKS_LOG2);
	err = vuhca_modify_trace(qp, &attributes);
	if (err == -EOPNOTSUPP) {
		vt_skip(t, "this adapter keeps no trace");
		return false;
	}
	return VT_EQUAL(t, -err, 0);
}

static void vt_nops_done(struct vt *t, unsigned int count)
{
	struct vuhca_wc wc[16];

	VT_EQUAL(t, vt_post_nops(t->end[0].qp, count), 0);
	VT_EQUAL(t, vt_poll(t->send_cq.cq, wc, count, VT_TIMEOUT_MS), count);
}

/*
 * Reads command blocks from @position on; all belong to the QP and are in
 * order.
 */
static u64 vt_read(struct vt *t, u64 position, unsigned int expected)
{
	const struct vuhca_trace_block *block = (void *)t->memory;
	struct vuhca_trace_attributes answer = {};
	unsigned int i;

	VT_EQUAL(t, vuhca_read_trace(t->end[0].qp, position, t->dma,
				     VT_TRACE_BUFFER, &answer), 0);
	if (!VT_EQUAL(t, le32_to_cpu(answer.count), expected))
		return le64_to_cpu(answer.position);
	for (i = 0; i < expected; i++) {
		VT_EQUAL(t, vuhca_trace_block_get_qpn(block),
			 t->end[0].qp->qpn);
		VT_EQUAL(t, le64_to_cpu(block->index),
			 le64_to_cpu(answer.position) - expected + i);
		VT_CHECK(t, le64_to_cpu(block->end_time) >=
			    le64_to_cpu(block->begin_time), "times");
		block = (void *)(block + 1) + le32_to_cpu(block->kept_bytes);
	}
	return le64_to_cpu(answer.position);
}

static void vt_trace_running(struct vt *t)
{
	struct vuhca_trace_attributes attributes = {};
	u64 position;

	if (!vt_enable(t, t->end[0].qp))
		return;
	vt_nops_done(t, 3);
	position = vt_read(t, 0, 3);
	VT_EQUAL(t, position, 3);
	vt_nops_done(t, 2);
	position = vt_read(t, position, 2);
	/* Twice the length of the queue: the older half is lost and counted. */
	vt_nops_done(t, 16);
	VT_EQUAL(t, vuhca_query_trace(t->end[0].qp, &attributes), 0);
	VT_EQUAL(t, le64_to_cpu(attributes.head), 21);
	VT_EQUAL(t, le64_to_cpu(attributes.tail), 13);
	VT_EQUAL(t, le64_to_cpu(attributes.lost), 8);
	VT_EQUAL(t, vt_read(t, position, 8), 21);
	memset(&attributes, 0, sizeof(attributes));
	VT_EQUAL(t, vuhca_modify_trace(t->end[0].qp, &attributes), 0);
}

static const struct vt_case vt_cases[] = {
	{ "running", vt_trace_running },
};
VT_SUITE(trace, vt_cases);
