// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Arming and completion events: at most one event until the CQ is armed again,
 * at once when there are completions, for solicited completions or for all. The
 * deadman timer is off, so an event without its interrupt would never be found.
 */

#include "vt.h"

static int vt_events(struct vt_cq *watch)
{
	return atomic_read(&watch->completions);
}

static bool vt_no_more_events(struct vt *t, struct vt_cq *watch, int count)
{
	msleep(VT_QUIET_MS);
	return VT_EQUAL(t, vt_events(watch), count);
}

static void vt_drain(struct vt *t, struct vuhca_cq *cq, unsigned int count)
{
	struct vuhca_wc wc[8];

	VT_EQUAL(t, vt_poll(cq, wc, count, VT_TIMEOUT_MS), count);
}

static void vt_unarmed(struct vt *t)
{
	VT_EQUAL(t, vt_post_nops(t->end[0].qp, 4), 0);
	vt_drain(t, t->send_cq.cq, 4);
	vt_no_more_events(t, &t->send_cq, 0);
}

static void vt_armed_once(struct vt *t)
{
	vuhca_arm_cq(t->send_cq.cq, false);
	vt_no_more_events(t, &t->send_cq, 0);
	VT_EQUAL(t, vt_post_nops(t->end[0].qp, 4), 0);
	VT_CHECK(t, vt_wait_event(&t->send_cq, 1, VT_TIMEOUT_MS), "no event");
	vt_drain(t, t->send_cq.cq, 4);
	vt_no_more_events(t, &t->send_cq, 1);
}

static void vt_rearmed(struct vt *t)
{
	int round;

	for (round = 1; round <= 20; round++) {
		vuhca_arm_cq(t->send_cq.cq, false);
		VT_EQUAL(t, vt_post_nops(t->end[0].qp, 1), 0);
		if (!VT_CHECK(t, vt_wait_event(&t->send_cq, round, VT_TIMEOUT_MS),
			      "no event in round %d", round))
			return;
		vt_drain(t, t->send_cq.cq, 1);
	}
	vt_no_more_events(t, &t->send_cq, 20);
}

/*
 * A completion that came before the arming and was not polled causes an event.
 */
static void vt_armed_late(struct vt *t)
{
	VT_EQUAL(t, vt_post_nops(t->end[0].qp, 1), 0);
	VT_WAIT(t, vt_has_entries(t->send_cq.cq, 1));
	VT_EQUAL(t, vt_events(&t->send_cq), 0);
	vuhca_arm_cq(t->send_cq.cq, false);
	VT_CHECK(t, vt_wait_event(&t->send_cq, 1, VT_TIMEOUT_MS), "no event");
	vt_drain(t, t->send_cq.cq, 1);
	/* All completions were polled: arming raises no event. */
	vuhca_arm_cq(t->send_cq.cq, false);
	vt_no_more_events(t, &t->send_cq, 1);
}

static void vt_armed_twice(struct vt *t)
{
	vuhca_arm_cq(t->send_cq.cq, false);
	vuhca_arm_cq(t->send_cq.cq, false);
	VT_EQUAL(t, vt_post_nops(t->end[0].qp, 2), 0);
	VT_CHECK(t, vt_wait_event(&t->send_cq, 1, VT_TIMEOUT_MS), "no event");
	vt_drain(t, t->send_cq.cq, 2);
	vt_no_more_events(t, &t->send_cq, 1);
}

static void vt_send_one(struct vt *t, bool solicited)
{
	struct vuhca_buffer buffer = vt_buffer(t, 0, 32);
	struct vuhca_send_wr wr = vt_send_wr(t, 0, 1, &buffer);

	wr.solicited = solicited;
	VT_EQUAL(t, vt_post_recv(t, t->end[1].qp, 4096, 256, 0), 0);
	VT_EQUAL(t, vuhca_post_send(t->end[0].qp, &wr, 1, VUHCA_POST_AUTO), 1);
}

static void vt_solicited(struct vt *t)
{
	vuhca_arm_cq(t->recv_cq.cq, true);
	vt_send_one(t, false);
	vt_drain(t, t->recv_cq.cq, 1);
	vt_no_more_events(t, &t->recv_cq, 0);
	vt_send_one(t, true);
	VT_CHECK(t, vt_wait_event(&t->recv_cq, 1, VT_TIMEOUT_MS), "no event");
	vt_drain(t, t->recv_cq.cq, 1);
	vt_no_more_events(t, &t->recv_cq, 1);
	/* An unsolicited completion that is already there causes none. */
	vt_send_one(t, false);
	VT_WAIT(t, vt_has_entries(t->recv_cq.cq, 3));
	vuhca_arm_cq(t->recv_cq.cq, true);
	vt_no_more_events(t, &t->recv_cq, 1);
	vt_drain(t, t->recv_cq.cq, 1);
}

/* A failed completion counts as a solicited one. */
static void vt_solicited_failure(struct vt *t)
{
	VT_EQUAL(t, vt_post_recv(t, t->end[1].qp, 4096, 256, 0), 0);
	vuhca_arm_cq(t->recv_cq.cq, true);
	VT_EQUAL(t, vuhca_qp_to_state(t->end[1].qp, VUHCA_QP_STATE_ERR), 0);
	VT_CHECK(t, vt_wait_event(&t->recv_cq, 1, VT_TIMEOUT_MS), "no event");
	vt_drain(t, t->recv_cq.cq, 1);
}

/*
 * Poll until empty, arm, sleep (docs/HAZARDS.md, hazard 27). A completion at
 * any moment in between must raise an event.
 */
static void vt_arm_race(struct vt *t)
{
	unsigned int round, got = 0;
	struct vuhca_wc wc[4];
	int seen;

	for (round = 0; round < 500; round++) {
		VT_EQUAL(t, vt_post_nops(t->end[0].qp, 1), 0);
		udelay(prandom_u32_state(&t->random) % 400);
		while (got <= round) {
			got += vuhca_poll_cq(t->send_cq.cq, 4, wc);
			if (got > round)
				break;
			seen = vt_events(&t->send_cq);
			vuhca_arm_cq(t->send_cq.cq, false);
			if (!VT_CHECK(t, vt_wait_event(&t->send_cq, seen + 1,
						       VT_TIMEOUT_MS),
				      "missed a completion in round %u",
				      round))
				return;
		}
	}
	VT_EQUAL(t, got, 500);
	vt_note(t, "%d events for 500 completions", vt_events(&t->send_cq));
}

/* Arms through the collect page, as a user process does. */
static void vt_notify_page(struct vt *t)
{
	struct vuhca_vcb *vcb = vuhca_alloc_vcb(t->dev, 0);
	struct vuhca_cq_notify word = {};

	VT_REQUIRE(t, !IS_ERR(vcb), "%pe", vcb);
	vuhca_cq_notify_set_cqn(&word, t->send_cq.cq->cqn);
	vuhca_cq_notify_set_clear_pending(&word, 1);
	vuhca_write_eight(vcb->page + VUHCA_NOTIFY_OFFSET, &word);
	vt_drain_stores();
	VT_EQUAL(t, vt_post_nops(t->end[0].qp, 1), 0);
	VT_CHECK(t, vt_wait_event(&t->send_cq, 1, VT_TIMEOUT_MS), "no event");
	vt_drain(t, t->send_cq.cq, 1);
	vuhca_free_vcb(t->dev, vcb);
}

/*
 * Without clearing the pending bit there is no second event; with clearing
 * there is one.
 */
static void vt_pending(struct vt *t)
{
	struct vuhca_cq_attributes now;
	struct vuhca_cq_notify word = {};

	vuhca_arm_cq(t->send_cq.cq, false);
	VT_EQUAL(t, vt_post_nops(t->end[0].qp, 1), 0);
	VT_CHECK(t, vt_wait_event(&t->send_cq, 1, VT_TIMEOUT_MS), "no event");
	VT_EQUAL(t, vuhca_query_cq(t->send_cq.cq, &now), 0);
	VT_EQUAL(t, vuhca_cq_attributes_get_eq_pending(&now), 1);
	VT_EQUAL(t, vuhca_cq_attributes_get_notify_state(&now),
		 VUHCA_NOTIFY_STATE_TRIGGERED);
	vt_drain(t, t->send_cq.cq, 1);
	vuhca_cq_notify_set_cqn(&word, t->send_cq.cq->cqn);
	word.consumed = cpu_to_le32(t->send_cq.cq->consumed);
	vuhca_write_eight(t->dev->csr + VUHCA_CSR_CQ_NOTIFY_OFF, &word);
	VT_EQUAL(t, vt_post_nops(t->end[0].qp, 1), 0);
	vt_no_more_events(t, &t->send_cq, 1);
	vuhca_arm_cq(t->send_cq.cq, false);
	VT_CHECK(t, vt_wait_event(&t->send_cq, 2, VT_TIMEOUT_MS), "no event");
	vt_drain(t, t->send_cq.cq, 1);
}

/*
 * Posts three NOPs to an armed CQ. True when their event waits; on a slow
 * machine its time may run out before this looks.
 */
static bool vt_event_waits(struct vt *t, unsigned int *events)
{
	bool waits;

	vuhca_arm_cq(t->send_cq.cq, false);
	VT_EQUAL(t, vt_post_nops(t->end[0].qp, 3), 0);
	VT_WAIT(t, vt_has_entries(t->send_cq.cq, 3));
	waits = atomic_read(&t->send_cq.completions) == *events;
	VT_EQUAL(t, vt_post_nops(t->end[0].qp, 1), 0);
	VT_CHECK(t, vt_wait_event(&t->send_cq, ++*events, VT_TIMEOUT_MS),
		 "no event of four");
	vt_drain(t, t->send_cq.cq, 4);
	return waits;
}

/* Moderation: an event waits for four completions, or for its time. */
static void vt_moderated(struct vt *t)
{
	struct vuhca_cq_attributes now;
	unsigned int events = 0, round = 0;

	VT_EQUAL(t, vuhca_moderate_cq(t->send_cq.cq, 4, U16_MAX), 0);
	VT_EQUAL(t, vuhca_query_cq(t->send_cq.cq, &now), 0);
	VT_EQUAL(t, le16_to_cpu(now.moderation_count), 4);
	VT_EQUAL(t, le16_to_cpu(now.moderation_period_us), U16_MAX);
	while (!vt_event_waits(t, &events) && !t->failed)
		if (!VT_CHECK(t, ++round < 1000, "no event waits"))
			return;
	vuhca_arm_cq(t->send_cq.cq, false);
	VT_EQUAL(t, vt_post_nops(t->end[0].qp, 1), 0);
	VT_CHECK(t, vt_wait_event(&t->send_cq, ++events, VT_TIMEOUT_MS),
		 "no event of one");
	vt_drain(t, t->send_cq.cq, 1);
	VT_EQUAL(t, vuhca_moderate_cq(t->send_cq.cq, 0, 0), 0);
	vuhca_arm_cq(t->send_cq.cq, false);
	VT_EQUAL(t, vt_post_nops(t->end[0].qp, 1), 0);
	VT_CHECK(t, vt_wait_event(&t->send_cq, ++events, VT_TIMEOUT_MS),
		 "no event");
	vt_drain(t, t->send_cq.cq, 1);
}

/* Arming a CQ that does not exist is counted and has no other effect. */
static void vt_bad_notify(struct vt *t)
{
	struct vuhca_cq_notify word = {};

	vt_clear_first_fault(t);
	vuhca_cq_notify_set_cqn(&word, VT_ABSENT);
	vuhca_write_eight(t->dev->csr + VUHCA_CSR_CQ_NOTIFY_OFF, &word);
	vt_expect_first_fault(t, VUHCA_FAULT_KIND_CQ_ERROR, VT_ABSENT);
	vt_clear_first_fault(t);
}

static const struct vt_case vt_cases[] = {
	{ "unarmed", vt_unarmed, true },
	{ "armed-once", vt_armed_once, true },
	{ "rearmed", vt_rearmed, true },
	{ "armed-late", vt_armed_late, true },
	{ "armed-twice", vt_armed_twice, true },
	{ "solicited", vt_solicited, true },
	{ "solicited-failure", vt_solicited_failure, true },
	{ "arm-race", vt_arm_race, true },
	{ "notify-page", vt_notify_page, true },
	{ "pending", vt_pending, true },
	{ "moderated", vt_moderated, true },
	{ "bad-notify", vt_bad_notify, true },
};
VT_SUITE(events, vt_cases);
