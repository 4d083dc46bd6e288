// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Memory windows of both types: limits, rebinding, invalidation, refusals. */
#include "vt_window.h"

#define VT_NO_ACCESS	VUHCA_COMPLETION_STATUS_REMOTE_ACCESS_ERROR
#define VT_NO_BIND	VUHCA_COMPLETION_STATUS_WINDOW_BIND_ERROR
#define VT_WRITE	VUHCA_ACCESS_FLAG_REMOTE_WRITE
#define VT_READ		VUHCA_ACCESS_FLAG_REMOTE_READ
#define VT_FIRST	100
#define VT_BYTES	3000
#define VT_ROUNDS	8
#define VT_WRITES	8
#define VT_LONG_BYTES	(64 * 1024)

/* Every edge of the bound range, and every access flag. */
static void vt_limits_of_window(struct vt_window *w)
{
	u32 key;

	if (!vt_window_bind(w, VT_FIRST, VT_BYTES, VT_WRITE, VT_OK))
		return;
	key = w->mw->rkey;
	vt_window_write(w, key, VT_FIRST, VT_BYTES, VT_OK);
	vt_window_write(w, key, VT_FIRST + VT_BYTES - 1, 1, VT_OK);
	vt_window_write(w, key, VT_FIRST - 1, 1, VT_NO_ACCESS);
	vt_window_write(w, key, VT_FIRST + VT_BYTES, 1, VT_NO_ACCESS);
	vt_window_write(w, key, VT_FIRST + 1, VT_BYTES, VT_NO_ACCESS);
	vt_window_write(w, key + 1, VT_FIRST, 1, VT_NO_ACCESS);
	vt_window_use(w, &w->pair, VUHCA_SEND_OPCODE_RDMA_READ, key, VT_FIRST, 8,
		      VT_NO_ACCESS);
	vt_window_write(w, key, VT_FIRST, VT_BYTES, VT_OK);
}

static void vt_limits_1(struct vt *t)
{
	vt_on_window(t, VUHCA_MW_KIND_TYPE_1, vt_limits_of_window);
}

static void vt_limits_2(struct vt *t)
{
	vt_on_window(t, VUHCA_MW_KIND_TYPE_2, vt_limits_of_window);
}

/* Type 1 is bound again while bound, is unbound, and cannot be invalidated. */
static void vt_rebind_of_window(struct vt_window *w)
{
	struct vuhca_send_wr wr = {
		.opcode = VUHCA_SEND_OPCODE_LOCAL_INVALIDATE, .signaled = true,
	};
	struct vt *t = w->t;
	struct vuhca_wc wc;
	u32 old;

	if (!vt_window_bind(w, 0, 1000, VT_WRITE, VT_OK))
		return;
	old = w->mw->rkey;
	VT_EQUAL(t, vuhca_dereg_mr(w->mr), (u64)-EBUSY);
	if (!vt_window_bind(w, 1000, 1000, VT_READ, VT_OK))
		return;
	vt_window_write(w, old, 0, 8, VT_NO_ACCESS);
	vt_window_write(w, w->mw->rkey, 1000, 8, VT_NO_ACCESS);
	vt_window_use(w, &w->pair, VUHCA_SEND_OPCODE_RDMA_READ, w->mw->rkey, 1000,
		      1000, VT_OK);
	wr.immediate = w->mw->rkey;
	vt_post(&w->pair, 1, &wr);
	vt_completes(t, t->send_cq.cq,
		     VUHCA_COMPLETION_STATUS_WINDOW_BIND_ERROR, &wc);
	vt_pair_works(&w->pair, &w->areas);
	old = w->mw->rkey;
	if (!vt_window_bind(w, 0, 0, 0, VT_OK))
		return;
	vt_window_use(w, &w->pair, VUHCA_SEND_OPCODE_RDMA_READ, old, 1000, 8,
		      VT_NO_ACCESS);
	vt_window_use(w, &w->pair, VUHCA_SEND_OPCODE_RDMA_READ, w->mw->rkey, 1000, 8,
		      VT_NO_ACCESS);
}

static void vt_rebind(struct vt *t)
{
	vt_on_window(t, VUHCA_MW_KIND_TYPE_1, vt_rebind_of_window);
}

/* Type 2 is invalidated from either side and bound again. */
static void vt_invalidate_of_window(struct vt_window *w)
{
	struct vuhca_send_wr wr = vt_rdma_wr(&w->areas, 0, NULL, 0);
	struct vt *t = w->t;
	struct vuhca_wc wc;
	unsigned int end;

	for (end = 0; end < 2; end++) {
		if (!vt_window_bind(w, 0, 1000, VT_WRITE, VT_OK))
			return;
		vt_window_write(w, w->mw->rkey, 0, 1000, VT_OK);
		wr.immediate = w->mw->rkey;
		wr.opcode = end ? VUHCA_SEND_OPCODE_LOCAL_INVALIDATE :
				  VUHCA_SEND_OPCODE_SEND_INVALIDATE;
		VT_EQUAL(t, vt_pair_receive(&w->pair, 1, NULL, 7), 0);
		vt_post(&w->pair, end, &wr);
		vt_completes(t, t->send_cq.cq, VT_OK, &wc);
		if (!end) {
			vt_completes(t, t->recv_cq.cq, VT_OK, &wc);
			VT_CHECK(t, wc.has_invalidate, "not reported");
			VT_EQUAL(t, wc.immediate, w->mw->rkey);
		}
		VT_EQUAL(t, le64_to_cpu(vt_window_query(w).length), 0);
		vt_window_write(w, w->mw->rkey, 0, 8, VT_NO_ACCESS);
	}
	/* The window is bound already, so the second bind fails. */
	vt_window_bind(w, 0, 8, VT_WRITE, VT_OK);
	vt_window_bind(w, 8, 8, VT_WRITE, VT_NO_BIND);
	vt_window_write(w, w->mw->rkey, 0, 8, VT_OK);
}

static void vt_invalidate(struct vt *t)
{
	vt_on_window(t, VUHCA_MW_KIND_TYPE_2, vt_invalidate_of_window);
}

/* Another connection of the same PD may use type 1, but not type 2. */
static void vt_other_qp_of_window(struct vt_window *w)
{
	bool shared = w->mw->kind == VUHCA_MW_KIND_TYPE_1;
	struct vt_pair_options options = {};
	struct vuhca_mw_attributes bound;
	struct vt *t = w->t;
	struct vt_pair other;

	if (vt_pair_create(t, &other, &options) &&
	    vt_window_bind(w, 0, 1000, VT_WRITE, VT_OK))
		vt_window_use(w, &other, VUHCA_SEND_OPCODE_RDMA_WRITE, w->mw->rkey, 0,
			      1000, shared ? VT_OK : VT_NO_ACCESS);
	bound = vt_window_query(w);
	VT_EQUAL(t, le64_to_cpu(bound.length), 1000);
	VT_EQUAL(t, vuhca_mw_attributes_get_region(&bound), w->mr->number);
	VT_EQUAL(t, vuhca_mw_attributes_get_qpn(&bound),
		 shared ? 0 : w->pair.end[1].qp->qpn);
	/* A type 2 window is destroyed with the QP that bound it. */
	vt_pair_destroy(&w->pair);
	VT_EQUAL(t, le64_to_cpu(vt_window_query(w).length), shared ? 1000 : 0);
	vt_window_use(w, &other, VUHCA_SEND_OPCODE_RDMA_WRITE, w->mw->rkey, 0, 1000,
		      shared ? VT_OK : VT_NO_ACCESS);
	vt_pair_destroy(&other);
}

static void vt_other_qp_1(struct vt *t)
{
	vt_on_window(t, VUHCA_MW_KIND_TYPE_1, vt_other_qp_of_window);
}

static void vt_other_qp_2(struct vt *t)
{
	vt_on_window(t, VUHCA_MW_KIND_TYPE_2, vt_other_qp_of_window);
}

/* A refused bind leaves the window as it was. */
static void vt_refused_of_window(struct vt_window *w)
{
	struct vuhca_buffer range = {
		.address = w->areas.dma[1], .length = 8,
	};
	struct vuhca_mr *read_only, *own = w->mr;
	struct vuhca_mw *mw = w->mw;
	struct vt *t = w->t;

	/* An MR without the access flag for binding. */
	range.lkey = w->areas.mr->lkey;
	vt_window_bind_range(w, &range, VT_WRITE, VT_NO_BIND);
	/*
	 * An MR that does not exist; a range beyond the MR; an access flag that
	 * windows do not have.
	 */
	range.lkey = own->lkey ^ 1;
	vt_window_bind_range(w, &range, VT_WRITE, VT_NO_BIND);
	range.lkey = own->lkey;
	range.address = VUHCA_DMA_MR_BYTES - 4;
	vt_window_bind_range(w, &range, VT_WRITE, VT_NO_BIND);
	range.address = w->areas.dma[1];
	vt_window_bind_range(w, &range, VUHCA_ACCESS_FLAG_LOCAL_WRITE, VT_NO_BIND);
	/* No window has that key. */
	mw->rkey ^= 0x80;
	vt_window_bind_range(w, &range, VT_WRITE, VT_NO_BIND);
	VT_EQUAL(t, le64_to_cpu(vt_window_query(w).length), 0);
	/* More access than the MR itself allows. */
	read_only = vuhca_get_dma_mr(t->pd, VUHCA_ACCESS_FLAG_WINDOW_BIND);
	VT_REQUIRE(t, !IS_ERR(read_only), "%pe", read_only);
	range.lkey = read_only->lkey;
	vt_window_bind_range(w, &range, VT_WRITE, VT_NO_BIND);
	vt_window_bind_range(w, &range, VT_READ, VT_OK);
	vt_window_use(w, &w->pair, VUHCA_SEND_OPCODE_RDMA_READ, mw->rkey, 0, 8, VT_OK);
	VT_EQUAL(t, vuhca_dereg_mr(read_only), (u64)-EBUSY);
	range.lkey = own->lkey;
	vt_window_bind_range(w, &range, VT_READ, VT_OK);
	VT_EQUAL(t, vuhca_dereg_mr(read_only), 0);
}

static void vt_refused(struct vt *t)
{
	vt_on_window(t, VUHCA_MW_KIND_TYPE_1, vt_refused_of_window);
}

/* Takes the completions of the WRITEs and the invalidation. */
static bool vt_race_completes(struct vt_window *w)
{
	struct vt *t = w->t;
	unsigned int i;
	u8 before = VT_OK;
	struct vuhca_wc wc;

	for (i = 0; i <= VT_WRITES; i++) {
		if (!VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_TIMEOUT_MS),
			      1))
			return false;
		if (wc.qp == w->pair.end[1].qp) {
			VT_EQUAL(t, wc.status, VT_OK);
			/* From now on no WRITE may change memory. */
			memset(w->areas.bytes[1], VT_POISON,
			       VT_WRITES * VT_LONG_BYTES);
			continue;
		}
		VT_CHECK(t, before == VT_OK ?
			 wc.status == VT_OK || wc.status == VT_NO_ACCESS :
			 wc.status == VUHCA_COMPLETION_STATUS_FLUSHED,
			 "%u behind %u", wc.status, before);
		before = wc.status;
	}
	return true;
}

/* The window is invalidated while WRITEs through it are under way. */
static void vt_in_flight_of_window(struct vt_window *w)
{
	struct vuhca_buffer here = vt_area_buffer(&w->areas, 0, 0,
						  VT_LONG_BYTES);
	struct vuhca_send_wr wr = vt_rdma_wr(&w->areas,
					     VUHCA_SEND_OPCODE_RDMA_WRITE,
					     &here, 0);
	struct vuhca_send_wr invalidate = {
		.opcode = VUHCA_SEND_OPCODE_LOCAL_INVALIDATE, .signaled = true,
	};
	unsigned int round, i, us;
	struct vt *t = w->t;

	memset(w->areas.bytes[0], 1, VT_LONG_BYTES);
	for (round = 0; round < VT_ROUNDS; round++) {
		if (!vt_window_bind(w, 0, VT_WRITES * VT_LONG_BYTES, VT_WRITE, VT_OK))
			return;
		wr.remote.rkey = w->mw->rkey;
		invalidate.immediate = w->mw->rkey;
		for (i = 0; i < VT_WRITES; i++) {
			wr.remote.address = w->areas.dma[1] + i * VT_LONG_BYTES;
			vt_post(&w->pair, 0, &wr);
		}
		us = 1 + prandom_u32_state(&t->random) % 8000;
		usleep_range(us, us + 50);
		vt_post(&w->pair, 1, &invalidate);
		if (!vt_race_completes(w))
			return;
		VT_CHECK(t, vt_is_poison(w->areas.bytes[1],
					 VT_WRITES * VT_LONG_BYTES),
			 "written after the key was taken back");
		if (!vt_pair_works(&w->pair, &w->areas))
			return;
	}
}

static void vt_in_flight(struct vt *t)
{
	vt_on_window(t, VUHCA_MW_KIND_TYPE_2, vt_in_flight_of_window);
}

static const struct vt_case vt_cases[] = {
	{ "type-1-limits", vt_limits_1 },
	{ "type-2-limits", vt_limits_2 },
	{ "type-1-rebind", vt_rebind },
	{ "type-2-invalidate", vt_invalidate },
	{ "type-1-other-qp", vt_other_qp_1 },
	{ "type-2-other-qp", vt_other_qp_2 },
	{ "refused", vt_refused },
	{ "in-flight", vt_in_flight },
};
VT_SUITE(windows, vt_cases);
