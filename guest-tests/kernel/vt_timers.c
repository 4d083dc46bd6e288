// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Event queues with timers: when the adapter interrupts and when it does not,
 * and the event that nothing announces (docs/HAZARDS.md, hazard 30).
 */
#include <linux/interrupt.h>

#include "vt_timer_queues.h"

/*
 * Without a delay every event interrupts, even one of a queue that is not
 * empty.
 */
static void vt_delay_zero(struct vt *t)
{
	struct vt_timers w;
	unsigned int i;

	if (vt_timers_begin(t, &w, VUHCA_EQ_CONTROL_INTERRUPT, 0)) {
		for (i = 0; i < VT_TIMER_CQS; i++) {
			vt_timers_complete(&w, i);
			VT_WAIT(t, vt_timers_interrupts(&w) == i + 1);
			VT_CHECK(t, vt_wait_event(&w.cq[i], 1, VT_TIMEOUT_MS),
				 "CQ %u", i);
		}
		VT_EQUAL(t, vt_timers_pending(&w), VT_TIMER_CQS);
	}
	vt_timers_end(&w);
}

/*
 * With a long delay only the first event interrupts; a queue that was emptied
 * has a first event again.
 */
static void vt_delay_long(struct vt *t)
{
	struct vt_timers w;
	unsigned int i;

	if (vt_timers_begin(t, &w, VUHCA_EQ_CONTROL_INTERRUPT, VT_TIMER_LONG_NS)) {
		for (i = 0; i < VT_TIMER_CQS; i++)
			vt_timers_complete(&w, i);
		VT_WAIT(t, vt_timers_interrupts(&w) == 1);
		vt_timers_quiet(&w, 1);
		/* A poll empties the queue. */
		vuhca_poll_eq(w.eq);
		for (i = 0; i < VT_TIMER_CQS; i++)
			vuhca_arm_cq(w.cq[i].cq, false);
		VT_EQUAL(t, vt_timers_pending(&w), 0);
		vt_timers_complete(&w, 2);
		VT_WAIT(t, vt_timers_interrupts(&w) == 2);
		VT_EQUAL(t, vt_timers_unresponsive(&w), 0);
	}
	vt_timers_end(&w);
}

/* When a driver does not poll in time, the next event interrupts. */
static void vt_late(struct vt *t, enum vuhca_eq_control controls)
{
	u64 delay_ns = 10 * NSEC_PER_MSEC;
	struct vt_timers w;
	u64 stamped;
	u32 before;

	if (vt_timers_begin(t, &w, controls, delay_ns)) {
		before = vt_timers_unresponsive(&w);
		vt_timers_complete(&w, 0);
		stamped = vuhca_read_csr64(t->dev, VUHCA_CSR_LOCAL_TIME_OFF);
		vt_timers_quiet(&w, 0);
		VT_WAIT(t, vuhca_read_csr64(t->dev, VUHCA_CSR_LOCAL_TIME_OFF) >
			   stamped + delay_ns);
		vt_timers_complete(&w, 1);
		VT_WAIT(t, vt_timers_interrupts(&w) == 1);
		VT_CHECK(t, vt_wait_event(&w.cq[0], 1, VT_TIMEOUT_MS), "first");
		VT_CHECK(t, vt_wait_event(&w.cq[1], 1, VT_TIMEOUT_MS), "second");
		VT_EQUAL(t, vt_timers_unresponsive(&w), before + 1);
	}
	vt_timers_end(&w);
}

static void vt_unresponsive(struct vt *t)
{
	vt_late(t, VUHCA_EQ_CONTROL_PRIMARY_SUMMARY);
}

/* The same for a driver that requested no interrupt at all. */
static void vt_unresponsive_nothing(struct vt *t)
{
	vt_late(t, VUHCA_EQ_CONTROL_NOTHING);
}

/*
 * Time stamps are compared across the wrap of local time, which is set near it.
 */
static void vt_time_wrap(struct vt *t)
{
	struct vt_timers w;
	u64 now;

	if (vt_timers_begin(t, &w, VUHCA_EQ_CONTROL_INTERRUPT, VT_TIMER_LONG_NS)) {
		vuhca_write_csr64(t->dev, VUHCA_CSR_LOCAL_TIME_OFF,
				  -10ULL * NSEC_PER_MSEC);
		vt_timers_complete(&w, 0);
		VT_WAIT(t, vt_timers_interrupts(&w) == 1);
		/*
		 * Later events are before the stamp, on both sides of the wrap.
		 */
		vt_timers_complete(&w, 1);
		VT_WAIT(t, vuhca_read_csr64(t->dev, VUHCA_CSR_LOCAL_TIME_OFF) <
			   VT_TIMER_LONG_NS / 2);
		vt_timers_complete(&w, 2);
		vt_timers_quiet(&w, 1);
		/* After the stamp the driver is late. */
		now = vuhca_read_csr64(t->dev, VUHCA_CSR_LOCAL_TIME_OFF);
		vuhca_write_csr64(t->dev, VUHCA_CSR_LOCAL_TIME_OFF,
				  now + 2 * VT_TIMER_LONG_NS);
		vt_timers_complete(&w, 3);
		VT_WAIT(t, vt_timers_interrupts(&w) == 2);
	}
	vt_timers_end(&w);
}

/*
 * An event on a queue that is not empty, before the stamp, is not announced
 * until another one comes (docs/HAZARDS.md, hazard 30). Here the driver has
 * taken the first event, whose CQ is not armed again: the last event is
 * stranded.
 */
static bool vt_strand(struct vt_timers *w)
{
	struct vt *t = w->t;

	vt_timers_complete(w, 0);
	if (!VT_CHECK(t, vt_wait_event(&w->cq[0], 1, VT_TIMEOUT_MS), "first"))
		return false;
	/* The handler that reported the first event may still look for more. */
	synchronize_irq(w->eq->irq);
	vt_timers_complete(w, 1);
	return VT_EQUAL(t, vt_timers_pending(w), 2);
}

/* Longer than two ticks of the deadman, which is off. */
#define VT_STRANDED_MS	1500

static void vt_stranded_without(struct vt *t)
{
	struct vt_timers w;

	if (vt_timers_begin(t, &w, VUHCA_EQ_CONTROL_INTERRUPT, VT_TIMER_LONG_NS) &&
	    vt_strand(&w)) {
		msleep(VT_STRANDED_MS);
		VT_EQUAL(t, vt_timers_events(&w, 1), 0);
		VT_EQUAL(t, vt_timers_interrupts(&w), 1);
		/*
		 * No summary byte announces it either; a poll that reads the
		 * entries finds it.
		 */
		VT_EQUAL(t, vuhca_poll_eq(w.eq), 0);
		VT_WAIT(t, vuhca_poll_eq(w.eq) == 1);
		VT_EQUAL(t, vt_timers_events(&w, 1), 1);
	}
	vt_timers_end(&w);
}

static void vt_stranded_with(struct vt *t)
{
	struct vt_timers w;
	u64 before;

	if (vt_timers_begin(t, &w, VUHCA_EQ_CONTROL_INTERRUPT, VT_TIMER_LONG_NS)) {
		before = READ_ONCE(w.eq->stranded);
		if (vt_strand(&w)) {
			/*
			 * Turned on only here: on a busy machine the deadman
			 * could find the first event before the interrupt
			 * comes.
			 */
			vuhca_set_deadman(true);
			VT_CHECK(t, vt_wait_event(&w.cq[1], 1, VT_TIMEOUT_MS),
				 "not found");
			VT_EQUAL(t, vt_timers_interrupts(&w), 1);
			VT_EQUAL(t, READ_ONCE(w.eq->stranded), before + 1);
		}
	}
	vt_timers_end(&w);
}

static const struct vt_case vt_cases[] = {
	{ "delay-zero", vt_delay_zero },
	{ "delay-long", vt_delay_long },
	{ "unresponsive", vt_unresponsive },
	{ "unresponsive-nothing", vt_unresponsive_nothing },
	{ "time-wrap", vt_time_wrap },
	{ "hazard-30-stranded-without-deadman", vt_stranded_without },
	{ "hazard-30-stranded-with-deadman", vt_stranded_with },
};
VT_SUITE(timers, vt_cases);
