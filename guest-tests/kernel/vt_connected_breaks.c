// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Connected QPs that lose their state, their peer or their memory during
 * traffic, or are destroyed. Every send still completes exactly once (after a
 * reset: not at all), and the adapter keeps working.
 */
#include "vt_pair.h"

#define VT_OK		VUHCA_COMPLETION_STATUS_SUCCESS
#define VT_FLUSHED	VUHCA_COMPLETION_STATUS_FLUSHED
#define VT_QUEUED	16
/* About ten thousand packets in all: longer than any wait of these cases. */
#define VT_LONG_BYTES	(256 * 1024)
#define VT_ROUNDS	12

/*
 * 8 attempts of 17 ms each: short, because some ends lose their peer, but long
 * enough for an adapter on a busy machine.
 */
static const struct vt_pair_options vt_hasty = {
	.path_mtu = 1, .timeout = 12, .retry_count = 7,
};

/*
 * Another round is needed while no round has cut traffic: on a busy machine this
 * guest may wait longer than it intends, and the traffic has ended by then.
 */
static bool vt_next_round(unsigned int round, unsigned int cut)
{
	return round < VT_ROUNDS || (!cut && round < 20 * VT_ROUNDS);
}

/* Software moves a QP to ERR with work outstanding. */
static void vt_flush_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	struct vuhca_buffer here = vt_area_buffer(areas, 0, 0, 100);
	struct vuhca_send_wr wr = vt_rdma_wr(areas, VUHCA_SEND_OPCODE_SEND,
					     &here, 0);
	struct vt *t = pair->t;
	struct vuhca_wc wc;
	unsigned int i;

	wr.signaled = false;
	for (i = 0; i < VT_QUEUED; i++) {
		/* No receive is posted at the peer, so the sends wait. */
		wr.wr_id = i;
		vt_post(pair, 0, &wr);
		VT_EQUAL(t, vt_pair_receive(pair, 0, &here, 100 + i), 0);
	}
	VT_EQUAL(t, vuhca_qp_to_state(pair->end[0].qp, VUHCA_QP_STATE_ERR), 0);
	/* Requests posted in ERR are flushed as well. */
	wr.wr_id = VT_QUEUED;
	vt_post(pair, 0, &wr);
	VT_EQUAL(t, vt_pair_receive(pair, 0, &here, 100 + VT_QUEUED), 0);
	for (i = 0; i <= VT_QUEUED; i++) {
		if (!vt_completes(t, t->send_cq.cq, VT_FLUSHED, &wc))
			return;
		VT_EQUAL(t, wc.wr_id, i);
	}
	for (i = 0; i <= VT_QUEUED; i++) {
		if (!vt_completes(t, t->recv_cq.cq, VT_FLUSHED, &wc))
			return;
		VT_EQUAL(t, wc.wr_id, 100 + i);
	}
	vt_pair_works(pair, areas);
}

static void vt_flush(struct vt *t)
{
	vt_on_pair(t, &vt_hasty, vt_flush_of_pair);
}

/* Posts long READs and WRITEs alternately at both ends. */
static void vt_start_traffic(struct vt_pair *pair, struct vt_areas *areas)
{
	struct vuhca_buffer here = vt_area_buffer(areas, 0, 0, VT_LONG_BYTES);
	struct vuhca_send_wr wr = vt_rdma_wr(areas, 0, &here, 0);
	unsigned int i;

	for (i = 0; i < VT_QUEUED; i++) {
		wr.wr_id = i;
		wr.opcode = i & 2 ? VUHCA_SEND_OPCODE_RDMA_READ :
				    VUHCA_SEND_OPCODE_RDMA_WRITE;
		vt_post(pair, i % 2, &wr);
	}
}

/* Waits for a random time, so that each round stops the traffic elsewhere. */
static void vt_wait_random(struct vt *t)
{
	unsigned int us = 50 + prandom_u32_state(&t->random) % 6000;

	usleep_range(us, us + 50);
}

/*
 * Resets one end during traffic; the other end times out or is reset as well.
 */
static void vt_reset_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	struct vt *t = pair->t;
	struct vuhca_wc wc;
	unsigned int i;

	for (i = 0; i < VT_ROUNDS; i++) {
		vt_start_traffic(pair, areas);
		vt_wait_random(t);
		VT_EQUAL(t, vuhca_qp_to_state(pair->end[i % 2].qp,
					      VUHCA_QP_STATE_RESET), 0);
		vt_wait_random(t);
		if (!vt_pair_reconnect(pair))
			return;
		/* The resets discarded all earlier completions. */
		VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, 0), 0);
		if (!vt_pair_works(pair, areas))
			return;
	}
}

static void vt_reset(struct vt *t)
{
	vt_on_pair(t, &vt_hasty, vt_reset_of_pair);
}

/*
 * Checks the completions of one end: in order, at most one error, then flushed.
 */
static void vt_take_sends(struct vt_pair *pair, struct vuhca_wc *wcs,
			  unsigned int found, unsigned int end,
			  unsigned int *failed)
{
	u8 status, before = VT_OK;
	struct vt *t = pair->t;
	unsigned int i;
	u64 next = end;

	for (i = 0; i < found; i++) {
		if (wcs[i].qp != pair->end[end].qp)
			continue;
		VT_EQUAL(t, wcs[i].wr_id, next);
		next += 2;
		status = wcs[i].status;
		if (status != VT_OK && status != VT_FLUSHED)
			(*failed)++;
		VT_CHECK(t, before == VT_OK || status == VT_FLUSHED,
			 "status %u after %u", status, before);
		before = status;
	}
	VT_EQUAL(t, next, end + VT_QUEUED);
}

/* Software moves one end to ERR; the other end times out. */
static void vt_error_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	static struct vuhca_wc wcs[VT_QUEUED];
	struct vt *t = pair->t;
	unsigned int i, failed, cut = 0;

	for (i = 0; vt_next_round(i, cut); i++) {
		vt_start_traffic(pair, areas);
		vt_wait_random(t);
		VT_EQUAL(t, vuhca_qp_to_state(pair->end[0].qp,
					      VUHCA_QP_STATE_ERR), 0);
		if (!VT_EQUAL(t, vt_poll(t->send_cq.cq, wcs, VT_QUEUED,
					 VT_TIMEOUT_MS), VT_QUEUED))
			return;
		failed = 0;
		vt_take_sends(pair, wcs, VT_QUEUED, 0, &failed);
		VT_EQUAL(t, failed, 0);
		vt_take_sends(pair, wcs, VT_QUEUED, 1, &failed);
		VT_CHECK(t, failed <= 1, "%u sends failed", failed);
		cut += failed;
		if (!vt_pair_works(pair, areas))
			return;
	}
	VT_CHECK(t, cut, "the traffic had always ended");
	vt_note(t, "%u of %u times during the traffic", cut, i);
}

static void vt_error(struct vt *t)
{
	vt_on_pair(t, &vt_hasty, vt_error_of_pair);
}

/* The memory region is destroyed while both ends write and read it. */
static void vt_region_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	static struct vuhca_wc wcs[VT_QUEUED];
	struct vuhca_mr *usual = areas->mr, *mr;
	unsigned int i, failed = 0, cut = 0;
	struct vt *t = pair->t;

	for (i = 0; vt_next_round(i, cut); i++) {
		mr = vuhca_get_dma_mr(t->pd, VUHCA_ACCESS_FLAG_LOCAL_WRITE |
				      VT_ALL_REMOTE);
		VT_REQUIRE(t, !IS_ERR(mr), "%pe", mr);
		areas->mr = mr;
		vt_start_traffic(pair, areas);
		areas->mr = usual;
		vt_wait_random(t);
		VT_EQUAL(t, vuhca_dereg_mr(mr), 0);
		if (!VT_EQUAL(t, vt_poll(t->send_cq.cq, wcs, VT_QUEUED,
					 VT_TIMEOUT_MS), VT_QUEUED))
			return;
		vt_take_sends(pair, wcs, VT_QUEUED, 0, &failed);
		vt_take_sends(pair, wcs, VT_QUEUED, 1, &failed);
		/*
		 * When both ends refuse at once, no send fails: all are
		 * flushed.
		 */
		cut += wcs[VT_QUEUED - 1].status != VT_OK;
		if (!vt_pair_works(pair, areas))
			return;
	}
	VT_CHECK(t, cut, "the traffic had always ended");
	vt_note(t, "%u of %u times during the traffic, %u sends failed", cut,
		i, failed);
}

static void vt_region(struct vt *t)
{
	vt_on_pair(t, &vt_hasty, vt_region_of_pair);
}

/* One QP is destroyed during traffic; the other loses its peer. */
static void vt_destroyed(struct vt *t)
{
	struct vt_pair_options options = {
		.path_mtu = 1, .timeout = 8, .retry_count = 2,
	};
	struct vt_areas areas;
	struct vt_pair pair;
	unsigned int i;

	if (!vt_areas_create(t, &areas))
		return;
	for (i = 0; i < VT_ROUNDS; i++) {
		if (vt_pair_create(t, &pair, &options)) {
			vt_start_traffic(&pair, &areas);
			vt_wait_random(t);
			VT_EQUAL(t, vuhca_destroy_qp(pair.end[i % 2].qp), 0);
			pair.end[i % 2].qp = NULL;
			vt_wait_random(t);
		}
		vt_pair_destroy(&pair);
	}
	vt_areas_destroy(t, &areas);
	vt_alive(t);
}

static const struct vt_case vt_cases[] = {
	{ "flush", vt_flush },
	{ "reset-in-traffic", vt_reset },
	{ "error-in-traffic", vt_error },
	{ "region-goes", vt_region },
	{ "destroyed-in-traffic", vt_destroyed },
};
VT_SUITE(connected_breaks, vt_cases);
