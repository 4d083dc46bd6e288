// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Outstanding work of a QP that goes to ERR or is reset. */

#include "vt.h"

#define VT_OUTSTANDING 8

/*
 * Builds unsignalled sends in the queue for which no doorbell is rung. The
 * caller hides tails first: if the adapter watched the queue it would execute
 * the sends, and a successful unsignalled send gives no completion.
 */
static void vt_hold_sends(struct vt *t, struct vuhca_qp *qp, unsigned int count)
{
	struct vuhca_send_wr wr = { .opcode = VUHCA_SEND_OPCODE_NOP };
	unsigned int i;
	size_t length;
	u16 sequence;

	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_SHADOW_TAILS_OFF), 0);
	spin_lock_irq(&qp->sq.lock);
	for (i = 0; i < count; i++) {
		wr.wr_id = 100 + i;
		VT_CHECK(t, vuhca_build_send_wqe(qp, &wr, &length, &sequence), "full");
	}
	vuhca_publish_send_tail(qp);
	spin_unlock_irq(&qp->sq.lock);
}

/* Expects @count flushed completions with wr_ids from @first on. */
static void vt_expect_flushed(struct vt *t, struct vuhca_cq *cq, u64 first,
			      unsigned int count)
{
	struct vuhca_wc wc[VT_OUTSTANDING];
	unsigned int i;

	VT_EQUAL(t, vt_poll(cq, wc, count, VT_TIMEOUT_MS), count);
	for (i = 0; i < count; i++) {
		VT_EQUAL(t, wc[i].status, VUHCA_COMPLETION_STATUS_FLUSHED);
		VT_EQUAL(t, wc[i].wr_id, first + i);
	}
	VT_EQUAL(t, vt_poll(cq, wc, 1, VT_QUIET_MS), 0);
}

static void vt_error(struct vt *t)
{
	struct vuhca_qp *qp = t->end[1].qp;
	unsigned int i;

	vt_hide_tails(t);
	for (i = 0; i < VT_OUTSTANDING; i++)
		VT_EQUAL(t, vt_post_recv(t, qp, 4096, 256, 200 + i), 0);
	vt_hold_sends(t, qp, VT_OUTSTANDING);
	VT_EQUAL(t, vuhca_qp_to_state(qp, VUHCA_QP_STATE_ERR), 0);
	/* A flushed send always completes, signalled or not. */
	vt_expect_flushed(t, t->send_cq.cq, 100, VT_OUTSTANDING);
	vt_expect_flushed(t, t->recv_cq.cq, 200, VT_OUTSTANDING);
}

/* Requests posted in ERR are flushed as well. */
static void vt_posted_in_error(struct vt *t)
{
	struct vuhca_qp *qp = t->end[1].qp;
	struct vuhca_send_wr wr = { .opcode = VUHCA_SEND_OPCODE_NOP };
	unsigned int i;

	VT_EQUAL(t, vuhca_qp_to_state(qp, VUHCA_QP_STATE_ERR), 0);
	for (i = 0; i < 4; i++) {
		wr.wr_id = 100 + i;
		VT_EQUAL(t, vuhca_post_send(qp, &wr, 1, i % 2 ?
					    VUHCA_POST_COLLECT :
					    VUHCA_POST_DOORBELL), 1);
	}
	vt_expect_flushed(t, t->send_cq.cq, 100, 4);
	for (i = 0; i < 4; i++)
		VT_EQUAL(t, vt_post_recv(t, qp, 4096, 256, 200 + i), 0);
	vt_expect_flushed(t, t->recv_cq.cq, 200, 4);
}

/* RESET drops all requests without completions, and the QP starts again. */
static void vt_reset_drops(struct vt *t)
{
	struct vuhca_qp *qp = t->end[1].qp;
	struct vuhca_wc wc;
	unsigned int i;

	vt_hide_tails(t);
	for (i = 0; i < VT_OUTSTANDING; i++)
		VT_EQUAL(t, vt_post_recv(t, qp, 4096, 256, 200 + i), 0);
	vt_hold_sends(t, qp, VT_OUTSTANDING);
	VT_EQUAL(t, vuhca_qp_to_state(qp, VUHCA_QP_STATE_RESET), 0);
	VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_QUIET_MS), 0);
	VT_EQUAL(t, vt_poll(t->recv_cq.cq, &wc, 1, 0), 0);
	VT_EQUAL(t, vt_ready(qp, 2), 0);
	for (i = 0; i < 4; i++) {
		vt_roundtrip(t, 0, 1, 100, VUHCA_POST_AUTO);
		vt_roundtrip(t, 1, 0, 100, VUHCA_POST_AUTO);
	}
}

#define VT_STREAM 480

/* One doorbell for a long batch, followed by ERR at once. */
static bool vt_cut_stream(struct vt *t, struct vuhca_qp *qp,
			  struct vuhca_send_wr *wrs, struct vuhca_wc *wc,
			  unsigned int *flushed)
{
	unsigned int i;

	if (!VT_EQUAL(t, vuhca_post_send(qp, wrs, VT_STREAM,
					 VUHCA_POST_DOORBELL), VT_STREAM) ||
	    !VT_EQUAL(t, vuhca_qp_to_state(qp, VUHCA_QP_STATE_ERR), 0) ||
	    !VT_EQUAL(t, vt_poll(t->send_cq.cq, wc, VT_STREAM, VT_TIMEOUT_MS),
		      VT_STREAM))
		return false;
	for (i = 0; i < VT_STREAM; i++) {
		VT_EQUAL(t, wc[i].wr_id, i);
		*flushed += wc[i].status == VUHCA_COMPLETION_STATUS_FLUSHED;
		VT_CHECK(t, !i || wc[i].status >= wc[i - 1].status,
			 "success after flushed");
	}
	return VT_EQUAL(t, vuhca_qp_to_state(qp, VUHCA_QP_STATE_RESET), 0) &&
	       VT_EQUAL(t, vt_ready(qp, 1), 0);
}

/* ERR in the middle of a stream: every request completes, in order, once. */
static void vt_error_in_traffic(struct vt *t)
{
	struct vt_qp_options options = { .port = 1, .entries_log2 = 9 };
	struct vuhca_qp *qp = vt_create_qp(t, NULL, &options);
	static struct vuhca_send_wr wrs[VT_STREAM];
	static struct vuhca_wc wc[VT_STREAM];
	unsigned int i, flushed = 0;

	VT_REQUIRE(t, qp, "create");
	for (i = 0; i < VT_STREAM; i++)
		wrs[i] = (struct vuhca_send_wr) {
			.opcode = VUHCA_SEND_OPCODE_NOP,
			.signaled = true,
			.wr_id = i,
		};
	for (i = 0; i < 10; i++)
		if (!vt_cut_stream(t, qp, wrs, wc, &flushed))
			break;
	vt_note(t, "%u of %u were flushed", flushed, i * VT_STREAM);
	VT_EQUAL(t, vuhca_destroy_qp(qp), 0);
}

/* A QP is destroyed with work outstanding: no completion comes afterwards. */
static void vt_destroy_busy(struct vt *t)
{
	struct vt_qp_options options = { .port = 1 };
	struct vuhca_qp *qp;
	struct vuhca_wc wc;
	unsigned int i;

	for (i = 0; i < 5; i++) {
		qp = vt_create_qp(t, NULL, &options);
		VT_REQUIRE(t, qp, "create");
		VT_EQUAL(t, vt_post_recv(t, qp, 4096, 256, 0), 0);
		VT_EQUAL(t, vt_post_nops(qp, 32), 0);
		VT_EQUAL(t, vuhca_destroy_qp(qp), 0);
		VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_QUIET_MS), 0);
	}
	vt_roundtrip(t, 0, 1, 100, VUHCA_POST_AUTO);
}

/* The stop doorbell takes a QP off the scheduler and writes the descriptor. */
static void vt_stop(struct vt *t)
{
	struct vuhca_vcb *vcb = vuhca_alloc_vcb(t->dev, 0);
	struct vuhca_qp *qp = t->end[0].qp;
	struct vuhca_doorbell word = {};

	VT_REQUIRE(t, !IS_ERR(vcb), "%pe", vcb);
	vuhca_doorbell_set_qpn(&word, qp->qpn);
	vuhca_write_eight(vcb->page + VUHCA_STOP_OFFSET, &word);
	vt_drain_stores();
	VT_WAIT(t, vuhca_send_queue_descriptor_get_destroyed(qp->descriptor));
	VT_EQUAL(t, vuhca_send_queue_descriptor_get_next_state(qp->descriptor),
		 0xff);
	vuhca_free_vcb(t->dev, vcb);
}

/* Writes copies of the entries @order to the CQ from entry @first on. */
static void vt_repeat_entries(struct vuhca_cq *cq, u32 first, const u8 *order,
			      unsigned int count)
{
	struct vuhca_completion_entry before[8];
	unsigned int i;

	memcpy(before, cq->entries, sizeof(before));
	for (i = 0; i < count; i++) {
		cq->entries[first + i] = before[order[i]];
		cq->entries[first + i].sequence = cpu_to_le32(first + i + 1);
	}
}

/*
 * A faulty adapter repeats completions after an error (docs/HAZARDS.md, hazard
 * 35). The case makes the copies, in a CQ that gets no more completions.
 */
static void vt_repeated(struct vt *t)
{
	static const u8 order[] = { 2, 2, 3, 2, 4, 3, 4, 4, 5, 2, 5, 3 };
	struct vt_qp_options options = { .port = 1 };
	struct vt_cq watch = {};
	struct vuhca_wc wc[16];
	struct vuhca_qp *qp;
	unsigned int i;

	vt_hide_tails(t);
	VT_REQUIRE(t, vt_create_cq(t, &watch, 5, 1), "create");
	options.send_cq = watch.cq;
	qp = vt_create_qp(t, NULL, &options);
	VT_REQUIRE(t, qp, "create");
	VT_EQUAL(t, vt_post_nops(qp, 2), 0);
	VT_WAIT(t, vt_has_entries(watch.cq, 2));
	vt_hold_sends(t, qp, 4);
	VT_EQUAL(t, vuhca_qp_to_state(qp, VUHCA_QP_STATE_ERR), 0);
	VT_WAIT(t, vt_has_entries(watch.cq, 6));
	vt_repeat_entries(watch.cq, 2, order, ARRAY_SIZE(order));
	VT_EQUAL(t, vuhca_poll_cq(watch.cq, ARRAY_SIZE(wc), wc), 6);
	for (i = 0; i < 6; i++)
		VT_EQUAL(t, wc[i].sequence, i);
	VT_EQUAL(t, watch.cq->stale_entries, ARRAY_SIZE(order) - 4);
	VT_EQUAL(t, (u16)(qp->sq.tail - qp->sq.head), 0);
	VT_EQUAL(t, vuhca_destroy_qp(qp), 0);
	VT_EQUAL(t, vuhca_destroy_cq(watch.cq), 0);
}

static const struct vt_case vt_cases[] = {
	{ "error", vt_error },
	{ "posted-in-error", vt_posted_in_error },
	{ "reset", vt_reset_drops },
	{ "error-in-traffic", vt_error_in_traffic },
	{ "destroy-busy", vt_destroy_busy },
	{ "stop", vt_stop },
	{ "hazard-35-repeated", vt_repeated },
};
VT_SUITE(flush, vt_cases);
