// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Resize of a CQ with entries in it and under way: none is lost or repeated. */
#include "vt.h"

#define VT_RESIZE_QPS	48
#define VT_ROUNDS	40

/* Posts @count NOPs with running numbers. */
static void vt_post_numbered(struct vt *t, u32 *posted, unsigned int count)
{
	struct vuhca_send_wr wr = {
		.opcode = VUHCA_SEND_OPCODE_NOP,
		.signaled = true,
	};

	while (count--) {
		wr.wr_id = (*posted)++;
		VT_EQUAL(t, vuhca_post_send(t->end[0].qp, &wr, 1,
					    VUHCA_POST_AUTO), 1);
	}
}

/* Takes @count completions, which must be the next ones. */
static void vt_take_numbered(struct vt *t, u32 *taken, unsigned int count)
{
	struct vuhca_wc wc;

	while (count--) {
		if (!VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_TIMEOUT_MS),
			      1))
			return;
		VT_EQUAL(t, wc.status, VUHCA_COMPLETION_STATUS_SUCCESS);
		VT_EQUAL(t, wc.wr_id, (*taken)++);
	}
}

static void vt_in_flight(struct vt *t)
{
	struct vuhca_cq_attributes attributes;
	unsigned int round, left, log2;
	u32 posted = 0, taken = 0;

	for (round = 0; round < VT_ROUNDS; round++) {
		log2 = 6 + prandom_u32_state(&t->random) % 5;
		vt_post_numbered(t, &posted,
				 prandom_u32_state(&t->random) % VT_RESIZE_QPS);
		VT_EQUAL(t, vuhca_resize_cq(t->send_cq.cq, log2), 0);
		VT_EQUAL(t, vuhca_query_cq(t->send_cq.cq, &attributes), 0);
		VT_EQUAL(t, vuhca_cq_attributes_get_entries_log2(&attributes),
			 log2);
		left = round % 3 ? 0 : (posted - taken) / 2;
		vt_take_numbered(t, &taken, posted - taken - left);
		if (posted - taken > 64 - VT_RESIZE_QPS)
			vt_take_numbered(t, &taken, posted - taken);
	}
	vt_take_numbered(t, &taken, posted - taken);
	VT_EQUAL(t, t->send_cq.cq->stale_entries, 0);
}

/* Too small for the entries not yet polled: refused, and nothing changes. */
static void vt_too_small(struct vt *t)
{
	u32 posted = 0, taken = 0;

	vt_post_numbered(t, &posted, 20);
	VT_WAIT(t, vt_has_entries(t->send_cq.cq, 20));
	VT_EQUAL(t, vuhca_resize_cq(t->send_cq.cq, 4), -EINVAL);
	VT_EQUAL(t, vuhca_resize_cq(t->send_cq.cq, 40), -EINVAL);
	vt_take_numbered(t, &taken, 10);
	VT_EQUAL(t, vuhca_resize_cq(t->send_cq.cq, 4), 0);
	vt_take_numbered(t, &taken, 10);
	vt_alive(t);
}

/* A CQ that was armed before the resize raises its event afterwards. */
static void vt_armed(struct vt *t)
{
	u32 posted = 0, taken = 0;

	vuhca_arm_cq(t->send_cq.cq, false);
	VT_EQUAL(t, vuhca_resize_cq(t->send_cq.cq, 5), 0);
	vt_post_numbered(t, &posted, 1);
	VT_CHECK(t, vt_wait_event(&t->send_cq, 1, VT_TIMEOUT_MS), "no event");
	vt_take_numbered(t, &taken, 1);
}

static const struct vt_case vt_cases[] = {
	{ "in-flight", vt_in_flight },
	{ "too-small", vt_too_small },
	{ "armed", vt_armed },
};
VT_SUITE(resize, vt_cases);
