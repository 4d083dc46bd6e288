// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* CQs and QPs for tests of event timers, all on the last event queue. */
#include "vt_timer_queues.h"

static void vt_timers_mark(struct vt_timers *w)
{
	w->interrupts = READ_ONCE(w->eq->interrupts);
}

u64 vt_timers_interrupts(struct vt_timers *w)
{
	return READ_ONCE(w->eq->interrupts) - w->interrupts;
}

int vt_timers_events(struct vt_timers *w, unsigned int i)
{
	return atomic_read(&w->cq[i].completions);
}

/* The deadman and polling are off, so only the tested means report an event. */
bool vt_timers_begin(struct vt *t, struct vt_timers *w,
		     enum vuhca_eq_control controls, u64 delay_ns)
{
	struct vt_qp_options options = { .port = 1 };
	unsigned int i;

	memset(w, 0, sizeof(*w));
	w->t = t;
	w->eq = t->send_cq.cq->eq;
	w->adaptive = vuhca_set_adaptive(false);
	w->deadman = vuhca_set_deadman(false);
	for (i = 0; i < VT_TIMER_CQS; i++) {
		if (!vt_create_cq(t, &w->cq[i], 6, w->eq->index))
			return false;
		options.send_cq = w->cq[i].cq;
		w->qp[i] = vt_create_qp(t, NULL, &options);
		if (!w->qp[i])
			return false;
		vuhca_arm_cq(w->cq[i].cq, false);
	}
	VT_WAIT(t, !READ_ONCE(w->eq->poller.active));
	VT_EQUAL(t, vuhca_modify_eq(w->eq, controls, delay_ns), 0);
	vt_timers_mark(w);
	return true;
}

void vt_timers_end(struct vt_timers *w)
{
	unsigned int i;

	VT_EQUAL(w->t, vuhca_modify_eq(w->eq, VUHCA_EQ_CONTROL_INTERRUPT, 0), 0);
	for (i = 0; i < VT_TIMER_CQS; i++) {
		if (w->qp[i])
			VT_EQUAL(w->t, vuhca_destroy_qp(w->qp[i]), 0);
		if (w->cq[i].cq)
			VT_EQUAL(w->t, vuhca_destroy_cq(w->cq[i].cq), 0);
	}
	vuhca_set_deadman(w->deadman);
	vuhca_set_adaptive(w->adaptive);
}

/* The query waits until the adapter has done all earlier work. */
u32 vt_timers_pending(struct vt_timers *w)
{
	struct vuhca_eq_attributes attributes = {};

	VT_EQUAL(w->t, vuhca_query_eq(w->eq, &attributes), 0);
	return le32_to_cpu(attributes.completion_event_counter);
}

/*
 * Puts a completion on CQ @i, with or without an event. The adapter writes the
 * completion before the event, and may pause in between; on return the event
 * has its time stamp.
 */
void vt_timers_complete(struct vt_timers *w, unsigned int i)
{
	struct vuhca_wc wc;

	VT_EQUAL(w->t, vt_post_nops(w->qp[i], 1), 0);
	VT_EQUAL(w->t, vt_poll(w->cq[i].cq, &wc, 1, VT_TIMEOUT_MS), 1);
	vt_timers_pending(w);
}

u32 vt_timers_unresponsive(struct vt_timers *w)
{
	struct vuhca_eq_attributes attributes = {};

	VT_EQUAL(w->t, vuhca_query_eq(w->eq, &attributes), 0);
	return le32_to_cpu(attributes.unresponsive);
}

bool vt_timers_quiet(struct vt_timers *w, u64 interrupts)
{
	msleep(VT_QUIET_MS);
	return VT_EQUAL(w->t, vt_timers_interrupts(w), interrupts);
}
