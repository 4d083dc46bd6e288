// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Several connections that receive from one SRQ. */
#include "vt_srq.h"

#define VT_OK		VUHCA_COMPLETION_STATUS_SUCCESS
#define VT_PAIRS	3
#define VT_ENTRIES_LOG2	4
#define VT_ENTRIES	BIT(VT_ENTRIES_LOG2)
#define VT_MESSAGES	400
#define VT_CUTS		24

struct vt_sharing {
	struct vt *t;
	struct vt_areas areas;
	struct vt_srq queue;
	struct vt_pair pairs[VT_PAIRS];
	atomic_t events;
	u8 last_event;
};

static void vt_srq_event(enum vuhca_event_type type, u8 fault, void *context)
{
	struct vt_sharing *share = context;

	share->last_event = type;
	atomic_inc(&share->events);
}

static bool vt_share_post(struct vt_sharing *share)
{
	return vt_srq_post(share->t, &share->queue);
}

static bool vt_share_create(struct vt *t, struct vt_sharing *share)
{
	struct vuhca_srq_init init = {
		.entries_log2 = VT_ENTRIES_LOG2,
		.sge = 2,
		.event = vt_srq_event,
		.context = share,
	};
	struct vt_pair_options options = { .path_mtu = 2 };
	unsigned int i;

	memset(share, 0, sizeof(*share));
	share->t = t;
	if (!vt_areas_create(t, &share->areas) ||
	    !vt_srq_create(t, &share->queue, &share->areas, 0, &init))
		return false;
	options.srq = share->queue.srq;
	for (i = 0; i < VT_PAIRS; i++) {
		options.from = 1 + i % 2;
		if (!vt_pair_create(t, &share->pairs[i], &options))
			return false;
	}
	return true;
}

static void vt_share_destroy(struct vt_sharing *share)
{
	struct vt *t = share->t;
	unsigned int i;

	for (i = 0; i < VT_PAIRS; i++)
		if (share->pairs[i].t)
			vt_pair_destroy(&share->pairs[i]);
	vt_srq_destroy(t, &share->queue);
	if (share->areas.mr)
		vt_areas_destroy(t, &share->areas);
}

static void vt_with_sharing(struct vt *t, void (*run)(struct vt_sharing *share))
{
	static struct vt_sharing share;

	if (vt_share_create(t, &share))
		run(&share);
	vt_share_destroy(&share);
}

/* Sends one message over a pair and expects that it uses receive @number. */
static bool vt_share_send(struct vt_sharing *share, unsigned int pair,
			  unsigned int number)
{
	return vt_srq_takes(&share->pairs[pair], &share->queue,
			    share->t->recv_cq.cq, number);
}

/* Entries are used in their order, whichever QP receives. */
static void vt_share_order(struct vt_sharing *share)
{
	unsigned int i;

	for (i = 0; i < VT_ENTRIES / 2; i++)
		if (!vt_share_post(share))
			return;
	for (i = 0; i < VT_MESSAGES; i++)
		if (!vt_share_send(share, prandom_u32_state(&share->t->random) %
				   VT_PAIRS, i) || !vt_share_post(share))
			return;
}

static void vt_order(struct vt *t)
{
	vt_with_sharing(t, vt_share_order);
}

/* All QPs at once, completing in any order: each entry is used once. */
static void vt_share_crowd(struct vt_sharing *share)
{
	struct vuhca_buffer here = vt_area_buffer(&share->areas, 0, 0,
						  VT_ENTRY_BYTES);
	struct vuhca_send_wr wr = vt_rdma_wr(&share->areas,
					     VUHCA_SEND_OPCODE_SEND, &here, 0);
	unsigned int i, round, seen;
	struct vt *t = share->t;
	struct vuhca_wc wc;

	for (round = 0; round < 20; round++) {
		for (i = 0; i < VT_ENTRIES; i++)
			if (!vt_post(&share->pairs[i % VT_PAIRS], 0, &wr))
				return;
		/* Half of the messages have to wait for their entry. */
		for (i = 0, seen = 0; i < VT_ENTRIES; i++)
			if (!vt_share_post(share))
				return;
		for (i = 0; i < VT_ENTRIES; i++) {
			if (!vt_completes(t, t->send_cq.cq, VT_OK, &wc) ||
			    !vt_completes(t, t->recv_cq.cq, VT_OK, &wc))
				return;
			VT_EQUAL(t, wc.wr_id / VT_ENTRIES, round);
			VT_CHECK(t, !(seen & BIT(wc.wr_id % VT_ENTRIES)),
				 "entry %llu twice", wc.wr_id);
			seen |= BIT(wc.wr_id % VT_ENTRIES);
		}
	}
}

static void vt_crowd(struct vt *t)
{
	vt_with_sharing(t, vt_share_crowd);
}

/* One event when fewer entries than the limit are left. */
static void vt_share_limit(struct vt_sharing *share)
{
	struct vt *t = share->t;
	unsigned int i;

	for (i = 0; i < 5; i++)
		vt_share_post(share);
	VT_EQUAL(t, vuhca_set_srq_limit(share->queue.srq, 4), 0);
	vt_share_send(share, 0, 0);
	VT_EQUAL(t, atomic_read(&share->events), 0);
	vt_share_send(share, 1, 1);
	VT_WAIT(t, atomic_read(&share->events) == 1);
	VT_EQUAL(t, share->last_event, VUHCA_EVENT_TYPE_SRQ_LIMIT);
	vt_share_send(share, 2, 2);
	/* A limit above the entries left raises the event at once. */
	VT_EQUAL(t, atomic_read(&share->events), 1);
	VT_EQUAL(t, vuhca_set_srq_limit(share->queue.srq, 3), 0);
	VT_WAIT(t, atomic_read(&share->events) == 2);
}

static void vt_limit(struct vt *t)
{
	vt_with_sharing(t, vt_share_limit);
}

/* Entries that are posted, and those under way, survive resizes. */
static void vt_share_resize(struct vt_sharing *share)
{
	static const u8 sizes[] = { 5, 7, 4, 8 };
	struct vuhca_srq *srq = share->queue.srq;
	struct vuhca_wq *rq = &srq->rq;
	struct vt *t = share->t;
	unsigned int i, sent, taken = 0;

	for (i = 0; i < 8 * ARRAY_SIZE(sizes); i++) {
		while ((u16)(rq->tail - rq->head) < VT_ENTRIES)
			if (!vt_share_post(share))
				return;
		VT_EQUAL(t, vuhca_resize_srq(srq, sizes[i % ARRAY_SIZE(sizes)]),
			 0);
		for (sent = 0; sent < 1 + i % VT_ENTRIES; sent++)
			if (!vt_share_send(share, i % VT_PAIRS, taken++))
				return;
	}
	while ((u16)(rq->tail - rq->head) < VT_ENTRIES)
		vt_share_post(share);
	VT_EQUAL(t, vuhca_resize_srq(srq, 3), -EINVAL);
	VT_EQUAL(t, vuhca_resize_srq(srq, 40), -EINVAL);
	VT_EQUAL(t, vuhca_set_srq_limit(srq, 10), 0);
	for (i = 0; i < 8; i++)
		if (!vt_share_send(share, 0, taken++))
			return;
	VT_WAIT(t, atomic_read(&share->events) == 1);
	VT_EQUAL(t, vuhca_resize_srq(srq, 3), 0);
	vt_share_send(share, 1, taken);
}

static void vt_resize(struct vt *t)
{
	vt_with_sharing(t, vt_share_resize);
}

/* A QP in ERR leaves the entries to the others. */
static void vt_share_error(struct vt_sharing *share)
{
	struct vt_end *end = &share->pairs[0].end[1];
	struct vt *t = share->t;
	struct vuhca_recv_wr wr = {};
	struct vuhca_wc wc;

	vt_share_post(share);
	VT_EQUAL(t, vuhca_post_recv(end->qp, &wr, 1), (u64)-EINVAL);
	VT_EQUAL(t, vuhca_destroy_srq(share->queue.srq), (u64)-EBUSY);
	VT_EQUAL(t, vuhca_qp_to_state(end->qp, VUHCA_QP_STATE_ERR), 0);
	VT_WAIT(t, atomic_read(&end->events));
	VT_EQUAL(t, end->last_event, VUHCA_EVENT_TYPE_LAST_WQE_REACHED);
	VT_EQUAL(t, vt_poll(t->recv_cq.cq, &wc, 1, VT_QUIET_MS), 0);
	vt_share_send(share, 1, 0);
}

static void vt_error(struct vt *t)
{
	vt_with_sharing(t, vt_share_error);
}

/* Sends a long message to a new pair, which ends before the message does. */
static bool vt_share_cut(struct vt_sharing *share, bool reset)
{
	struct vuhca_srq *srq = share->queue.srq;
	struct vt_pair_options options = { .path_mtu = 1, .srq = srq };
	struct vuhca_buffer here = vt_area_buffer(&share->areas, 0, 0,
						  VT_AREA_BYTES);
	struct vuhca_buffer there = vt_area_buffer(&share->areas, 1, 0,
						   VT_AREA_BYTES);
	struct vuhca_send_wr wr = vt_rdma_wr(&share->areas,
					     VUHCA_SEND_OPCODE_SEND, &here, 0);
	struct vuhca_recv_wr recv = { .sge = &there, .sge_count = 1 };
	struct vuhca_wq *rq = &srq->rq;
	struct vt *t = share->t;
	struct vt_pair pair;
	unsigned int us;

	if (vt_pair_create(t, &pair, &options) &&
	    (READ_ONCE(rq->head) != READ_ONCE(rq->tail) ||
	     VT_EQUAL(t, vuhca_post_srq_recv(srq, &recv, 1), 1)) &&
	    vt_post(&pair, 0, &wr)) {
		us = 1 + prandom_u32_state(&t->random) % 4000;
		usleep_range(us, us + 50);
		if (reset)
			VT_EQUAL(t, vuhca_qp_to_state(pair.end[1].qp,
						      VUHCA_QP_STATE_RESET), 0);
	}
	vt_pair_destroy(&pair);
	return !t->failed;
}

/*
 * A receiver that is reset or destroyed during a message gives the slot of its
 * entry back: in the end all slots are used.
 */
static void vt_share_taken(struct vt_sharing *share)
{
	struct vuhca_send_wr wr = vt_rdma_wr(&share->areas,
					     VUHCA_SEND_OPCODE_SEND, NULL, 0);
	struct vuhca_wq *rq = &share->queue.srq->rq;
	struct vt *t = share->t;
	struct vuhca_wc wc;
	unsigned int i;

	for (i = 0; i < VT_CUTS; i++)
		if (!vt_share_cut(share, i % 2))
			return;
	while ((u16)(rq->tail - rq->head) < VT_ENTRIES)
		if (!vt_share_post(share))
			return;
	for (i = 0; i < VT_ENTRIES; i++)
		if (!vt_do(&share->pairs[0], &wr, VT_OK) ||
		    !vt_completes(t, t->recv_cq.cq, VT_OK, &wc))
			return;
}

static void vt_taken(struct vt *t)
{
	vt_with_sharing(t, vt_share_taken);
}

static const struct vt_case vt_cases[] = {
	{ "order", vt_order },
	{ "crowd", vt_crowd },
	{ "limit", vt_limit },
	{ "resize", vt_resize },
	{ "error", vt_error },
	{ "taken", vt_taken },
};
VT_SUITE(shared_receive, vt_cases);
