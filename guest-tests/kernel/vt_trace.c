// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Trace of a QP from the guest: enabled, read while it runs, losses counted. */
#include "vt_trace.h"

static void vt_nops_done(struct vt *t, unsigned int count)
{
	struct vuhca_wc wc[16];

	VT_EQUAL(t, vt_post_nops(t->end[0].qp, count), 0);
	VT_EQUAL(t, vt_poll(t->send_cq.cq, wc, count, VT_TIMEOUT_MS), count);
}

static void vt_trace_running(struct vt *t)
{
	struct vt_trace_options options = {
		.blocks_log2 = VT_TRACE_BLOCKS_LOG2,
		.snap_length = 64,
	};
	const struct vuhca_trace_block *blocks[VT_TRACE_BLOCKS];
	struct vuhca_trace_attributes attributes = {};
	struct vuhca_qp *qp = t->end[0].qp;
	u64 position;

	if (!vt_trace_enable(t, qp, &options))
		return;
	vt_nops_done(t, 3);
	position = vt_trace_read(t, qp, 0, blocks, 3);
	VT_EQUAL(t, position, 3);
	vt_nops_done(t, 2);
	position = vt_trace_read(t, qp, position, blocks, 2);
	/* Twice the length of the queue: the older half is lost and counted. */
	vt_nops_done(t, 16);
	VT_EQUAL(t, vuhca_query_trace(qp, &attributes), 0);
	VT_EQUAL(t, le64_to_cpu(attributes.head), 21);
	VT_EQUAL(t, le64_to_cpu(attributes.tail), 13);
	VT_EQUAL(t, le64_to_cpu(attributes.lost), 8);
	VT_EQUAL(t, vt_trace_read(t, qp, position, blocks, 8), 21);
	vt_trace_disable(t, qp);
}

/*
 * The adapter knows the process of a QP, by which the host chooses QPs to
 * trace.
 */
static void vt_trace_process(struct vt *t)
{
	struct vuhca_qp_creation creation;
	struct vuhca_qp_attributes attributes;

	VT_EQUAL(t, vuhca_query_qp(t->end[0].qp, &creation, &attributes), 0);
	VT_EQUAL(t, le32_to_cpu(creation.process), task_tgid_nr(current));
}

static const struct vt_case vt_cases[] = {
	{ "process", vt_trace_process },
	{ "running", vt_trace_running },
	{ "packets", vt_trace_packets },
	{ "snap-length", vt_trace_snaps },
	{ "datagrams", vt_trace_datagrams },
	{ "wraps-during-a-message", vt_trace_wraps },
	{ "stops-rc", vt_trace_stops_rc },
	{ "stops-uc", vt_trace_stops_uc },
	{ "stops-ud", vt_trace_stops_ud },
	{ "changes-nothing", vt_trace_changes_nothing },
};
VT_SUITE(trace, vt_cases);
