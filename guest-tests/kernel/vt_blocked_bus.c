// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A bus that posted writes can block, like that of an adapter with `--bus pcie`
 * (US 9,069,485 par. 67, 74, 84). On the open bus these cases fail, so they run
 * by name only.
 */
#include "vt_overflow.h"

/* Less than 2 s, after which a live adapter lets accesses pass a blocked bus. */
#define VT_PIPELINE_NS	VUHCA_CSR_PIPELINE_TIME_NS_MASK
#define VT_ATTEMPTS	10

/* A NOP by collect buffer, which stays in the pipeline and then completes alone. */
static bool vt_post_slow_nop(struct vt *t, struct vuhca_qp *qp)
{
	struct vuhca_send_wr wr = { .opcode = VUHCA_SEND_OPCODE_NOP,
				    .signaled = true };
	u32 launches = vt_csr(t, VUHCA_CSR_LANE_LAUNCHES_OFF);

	vuhca_write_csr(t->dev, VUHCA_CSR_PIPELINE_TIME_OFF, VT_PIPELINE_NS);
	return VT_EQUAL(t, vuhca_post_send(qp, &wr, 1, VUHCA_POST_COLLECT), 1) &&
	       VT_WAIT(t, vt_csr(t, VUHCA_CSR_LANE_LAUNCHES_OFF) != launches);
}

/*
 * Floods the bus, and reads a register behind the flood. Returns whether the
 * flood blocked the bus while the NOP was in the pipeline: its completion,
 * which does not go by that bus, must then be in memory before the answer.
 */
static bool vt_read_behind(struct vt_qp_set *set, struct vuhca_qp *slow)
{
	struct vt *t = set->t;
	struct vuhca_wc wc;
	bool early, late, stalled;

	vuhca_write_csr(t->dev, VUHCA_CSR_DOORBELL_POLICY_OFF,
			vt_policy(VUHCA_OVERFLOW_POLICY_OFF,
				  VUHCA_LINK_CHECK_READ));
	vuhca_write_csr(t->dev, VUHCA_CSR_DMA_LATENCY_OFF,
			VUHCA_CSR_DMA_LATENCY_NS_MASK);
	vt_qp_set_post(set, 1);
	if (!vt_post_slow_nop(t, slow))
		return true;
	vt_qp_set_ring(set);
	early = vuhca_poll_cq(t->recv_cq.cq, 1, &wc);
	stalled = vt_csr(t, VUHCA_CSR_OVERFLOW_STATUS_OFF) ==
		  VUHCA_CSR_OVERFLOW_STATUS_STALLED_MASK;
	late = !early && vuhca_poll_cq(t->recv_cq.cq, 1, &wc);
	vuhca_write_csr(t->dev, VUHCA_CSR_PIPELINE_TIME_OFF, 0);
	vuhca_write_csr(t->dev, VUHCA_CSR_DMA_LATENCY_OFF, 0);
	vuhca_write_csr(t->dev, VUHCA_CSR_DOORBELL_POLICY_OFF,
			vt_policy(VUHCA_OVERFLOW_POLICY_NEWEST,
				  VUHCA_LINK_CHECK_READ));
	if (stalled && !early)
		VT_CHECK(t, late, "the read did not wait for the doorbells");
	if (!early && !late)
		VT_EQUAL(t, vt_poll(t->recv_cq.cq, &wc, 1, VT_TIMEOUT_MS), 1);
	vt_qp_set_completes(set);
	return stalled && !early;
}

/*
 * A register read waits behind doorbells that block the bus. No doorbell is
 * dropped, although there are more than the bus holds.
 */
static void vt_read_waits(struct vt *t)
{
	struct vt_qp_options options = { .port = 1, .entries_log2 = 4,
					 .send_cq = t->recv_cq.cq };
	u32 queues = 2 * vt_csr(t, VUHCA_CSR_DOORBELL_BUFFER_ENTRIES_OFF) + 32;
	u32 lost = vt_csr(t, VUHCA_CSR_DOORBELLS_LOST_OFF);
	struct vt_settings settings;
	unsigned int attempt = 0;
	struct vt_qp_set *set;
	struct vuhca_qp *slow;
	bool blocked = false;

	if (!vt_may_slow(t))
		return;
	if (queues > VT_QP_SET_MAX)
		return vt_skip(t, "more than %u doorbells", VT_QP_SET_MAX);
	set = vt_qp_set_create(t, queues);
	VT_REQUIRE(t, set, "no QPs");
	slow = vt_create_qp(t, NULL, &options);
	vt_save(t, &settings);
	for (; slow && !blocked && attempt < VT_ATTEMPTS; attempt++)
		blocked = vt_read_behind(set, slow);
	VT_CHECK(t, blocked, "not blocked in %u attempts", attempt);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_DOORBELLS_LOST_OFF), lost);
	vt_note(t, "%u doorbells, none lost; the read waited in attempt %u",
		queues, attempt);
	vt_expect_empty(t);
	vt_restore(t, &settings);
	if (slow)
		VT_EQUAL(t, vuhca_destroy_qp(slow), 0);
	vt_qp_set_destroy(set);
}

static const struct vt_case vt_cases[] = {
	{ "read-waits", vt_read_waits },
};
VT_SUITE(blocked_bus, vt_cases);
