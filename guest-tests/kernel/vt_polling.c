// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Event queues that are polled: the bytes that the adapter sets, the events
 * that a poll finds by them, and queues that are polled because their
 * interrupts come fast.
 */
#include <linux/bitmap.h>

#include "vt_timer_queues.h"

#define VT_POLL_ONLY	U64_MAX

/* Only polled: there is never an interrupt, and each poll finds the events. */
static void vt_poll_only(struct vt *t)
{
	struct vt_timers w;
	unsigned int i, round;

	if (vt_timers_begin(t, &w, VUHCA_EQ_CONTROL_INTERRUPT, VT_POLL_ONLY)) {
		for (round = 0; round < 20; round++) {
			i = round % VT_TIMER_CQS;
			vt_timers_complete(&w, i);
			VT_WAIT(t, vuhca_poll_eq(w.eq) == 1);
			VT_EQUAL(t, vt_timers_events(&w, i),
				 round / VT_TIMER_CQS + 1);
			vuhca_arm_cq(w.cq[i].cq, false);
			VT_EQUAL(t, vt_timers_pending(&w), 0);
		}
		vt_timers_quiet(&w, 0);
	}
	vt_timers_end(&w);
}

static unsigned int vt_marked(struct vt_timers *w)
{
	const struct vuhca_summary *summary = w->eq->poller.summary;
	unsigned int i, marked = 0;

	for (i = 0; i < VUHCA_SUMMARY_COUNT; i++)
		marked += !!READ_ONCE(summary->secondary[i]);
	return marked;
}

/* The first event sets both bytes, others their own one; a poll clears all. */
static void vt_summary(struct vt *t)
{
	struct vuhca_summary *summary = t->send_cq.cq->eq->poller.summary;
	struct vt_timers w;
	unsigned int i;
	u32 consumed;

	if (vt_timers_begin(t, &w, VUHCA_EQ_CONTROL_PRIMARY_SUMMARY,
			    VT_TIMER_LONG_NS)) {
		consumed = w.eq->consumed;
		vuhca_poll_eq(w.eq);
		VT_EQUAL(t, READ_ONCE(summary->primary) + vt_marked(&w), 0);
		vt_timers_complete(&w, 0);
		VT_WAIT(t, READ_ONCE(summary->primary));
		VT_EQUAL(t, vt_marked(&w), 1);
		WRITE_ONCE(summary->primary, 0);
		for (i = 1; i < VT_TIMER_CQS; i++)
			vt_timers_complete(&w, i);
		VT_EQUAL(t, vt_timers_pending(&w), VT_TIMER_CQS);
		VT_EQUAL(t, vt_marked(&w), VT_TIMER_CQS);
		VT_EQUAL(t, READ_ONCE(summary->primary), 0);
		WRITE_ONCE(summary->primary, 1);
		VT_EQUAL(t, vuhca_poll_eq(w.eq), VT_TIMER_CQS);
		VT_EQUAL(t, READ_ONCE(summary->primary) + vt_marked(&w), 0);
		for (i = 0; i < VT_TIMER_CQS; i++)
			VT_EQUAL(t, vt_timers_events(&w, i), 1);
		/* The bytes have named the CQs, so no entry was needed. */
		VT_EQUAL(t, w.eq->consumed, consumed);
		vt_timers_quiet(&w, 0);
	}
	vt_timers_end(&w);
}

/*
 * CQs without a byte of their own share the last one: events of those are found
 * by their entries. Here all other bytes are taken, as if by many CQs.
 */
static void vt_shared_byte(struct vt *t)
{
	struct vuhca_poller *poller = &t->send_cq.cq->eq->poller;
	DECLARE_BITMAP(taken, VUHCA_SUMMARY_SHARED);
	struct vt_timers w;
	unsigned int i;

	bitmap_zero(taken, VUHCA_SUMMARY_SHARED);
	for (i = 0; i < VUHCA_SUMMARY_SHARED; i++) {
		if (poller->objects[i])
			continue;
		poller->objects[i] = t->send_cq.cq;
		__set_bit(i, taken);
	}
	if (vt_timers_begin(t, &w, VUHCA_EQ_CONTROL_PRIMARY_SUMMARY,
			    VT_TIMER_LONG_NS)) {
		for (i = 0; i < VT_TIMER_CQS; i++) {
			VT_EQUAL(t, w.cq[i].cq->summary_index,
				 VUHCA_SUMMARY_SHARED);
			vt_timers_complete(&w, i);
		}
		VT_EQUAL(t, vt_timers_pending(&w), VT_TIMER_CQS);
		VT_EQUAL(t, vt_marked(&w), 1);
		VT_EQUAL(t, vuhca_poll_eq(w.eq), VT_TIMER_CQS);
		for (i = 0; i < VT_TIMER_CQS; i++)
			VT_EQUAL(t, vt_timers_events(&w, i), 1);
		VT_EQUAL(t, atomic_read(&t->send_cq.completions), 0);
		vt_timers_quiet(&w, 0);
	}
	vt_timers_end(&w);
	for_each_set_bit(i, taken, VUHCA_SUMMARY_SHARED)
		poller->objects[i] = NULL;
}

/* CPU of the first call of vt_echo() in an interrupt; calls on other CPUs. */
static int vt_echo_cpu;
static unsigned int vt_echo_strays;

static void vt_echo(struct vuhca_cq *cq, void *context)
{
	struct vt_cq *watch = context;
	struct vuhca_wc wc[4];
	int found;

	/* The deadman calls in a softirq. */
	if (in_hardirq() && vt_echo_cpu < 0)
		vt_echo_cpu = raw_smp_processor_id();
	else if (in_hardirq() && vt_echo_cpu != raw_smp_processor_id())
		vt_echo_strays++;
	while ((found = vuhca_poll_cq(cq, ARRAY_SIZE(wc), wc)) > 0)
		atomic_add(found, &watch->completions);
	vuhca_arm_cq(cq, false);
	wake_up(&watch->wait);
}

/* A sender that does not wait posts this many requests, then sleeps. */
#define VT_PACED	16
/* Requests that fit the queue. */
#define VT_POSTED_MAX	64
/*
 * Polls to observe while the queue is polled, and the largest number of
 * batches.
 */
#define VT_POLLS	250
#define VT_BATCHES_MAX	50000
/* With longer periods polls begin at lower rates, also on a slow machine. */
#define VT_PERIOD_MAX_US	8000
/*
 * Interrupts that were under way, in QEMU and in this guest, when polling began
 * may come while the queue is polled.
 */
#define VT_UNDER_WAY	2

/* Posts a batch, as far as it fits, after @posted requests. */
static int vt_post_paced(struct vt *t, int posted)
{
	int under_way = posted - atomic_read(&t->send_cq.completions);
	int count = min(VT_PACED, VT_POSTED_MAX - under_way);

	if (count)
		VT_EQUAL(t, vt_post_nops(t->end[0].qp, count), 0);
	usleep_range(500, 600);
	return count;
}

/* Settings of the driver that vt_echo_begin() changes. */
struct vt_echo {
	bool adaptive;
	unsigned int period_us;
};

static struct vt_echo vt_echo_begin(struct vt *t, unsigned int period_us)
{
	vt_echo_cpu = -1;
	vt_echo_strays = 0;
	t->send_cq.cq->completion = vt_echo;
	vuhca_arm_cq(t->send_cq.cq, false);
	return (struct vt_echo){
		.adaptive = vuhca_set_adaptive(true),
		.period_us = vuhca_set_poll_period(period_us),
	};
}

static void vt_echo_end(const struct vt_echo *before)
{
	vuhca_set_adaptive(before->adaptive);
	vuhca_set_poll_period(before->period_us);
}

/*
 * Under load the queue is polled, on the CPU of its interrupts, and only a late
 * poll is interrupted; when quiet, events interrupt; no event is lost. How
 * often the driver polls depends on the machine, and is not judged.
 */
static void vt_adaptive(struct vt *t)
{
	struct vuhca_eq *eq = t->send_cq.cq->eq;
	struct vt_timers w = { .t = t, .eq = eq };
	struct vt_echo before = vt_echo_begin(t, VT_PERIOD_MAX_US);
	u64 switches = READ_ONCE(eq->poller.switches);
	u64 polled = READ_ONCE(eq->poller.interrupts);
	u64 polls = READ_ONCE(eq->poller.polls);
	u32 late = vt_timers_unresponsive(&w);
	unsigned int batches;
	u64 interrupts;
	int posted = 0;

	for (batches = 0; READ_ONCE(eq->poller.polls) < polls + VT_POLLS &&
	     batches < VT_BATCHES_MAX && !t->failed; batches++)
		posted += vt_post_paced(t, posted);
	VT_CHECK(t, vt_wait_event(&t->send_cq, posted, VT_TIMEOUT_MS),
		 "%d completions", posted);
	VT_WAIT(t, !READ_ONCE(eq->poller.active));
	polls = READ_ONCE(eq->poller.polls) - polls;
	switches = READ_ONCE(eq->poller.switches) - switches;
	polled = READ_ONCE(eq->poller.interrupts) - polled;
	late = vt_timers_unresponsive(&w) - late;
	vt_note(t, "%llu polls in %u batches, begun %llu times, with %llu interrupts; late %u times",
		polls, batches, switches, polled, late);
	VT_CHECK(t, polls >= VT_POLLS, "%llu polls", polls);
	VT_CHECK(t, polled <= late + VT_UNDER_WAY * switches,
		 "%llu interrupts while polling, %u of them late", polled,
		 late);
	VT_CHECK(t, !vt_echo_strays, "%u calls were not on processor %d",
		 vt_echo_strays, vt_echo_cpu);
	interrupts = READ_ONCE(eq->interrupts);
	polls = READ_ONCE(eq->poller.polls);
	VT_EQUAL(t, vt_post_nops(t->end[0].qp, 1), 0);
	VT_CHECK(t, vt_wait_event(&t->send_cq, posted + 1, VT_TIMEOUT_MS),
		 "quiet");
	VT_CHECK(t, READ_ONCE(eq->interrupts) > interrupts, "no interrupt");
	VT_EQUAL(t, READ_ONCE(eq->poller.polls), polls);
	vt_echo_end(&before);
}

#define VT_PERIOD_SHORT_US	1500

/* Posts batches while the period is longer than the short one, or while it is not. */
static int vt_post_while(struct vt *t, int posted, bool is_longer)
{
	struct vuhca_poller *poller = &t->send_cq.cq->eq->poller;
	unsigned int batches;

	for (batches = 0; batches < VT_BATCHES_MAX && !t->failed &&
	     (READ_ONCE(poller->period_us) > VT_PERIOD_SHORT_US) == is_longer;
	     batches++)
		posted += vt_post_paced(t, posted);
	return posted;
}

/*
 * Polls come at longer periods under this load until a bound is set, which also
 * applies to a queue that is polled already.
 */
static void vt_bounded_period(struct vt *t)
{
	struct vuhca_poller *poller = &t->send_cq.cq->eq->poller;
	struct vt_echo before = vt_echo_begin(t, VT_PERIOD_MAX_US);
	unsigned int i, longest = 0;
	int posted;

	posted = vt_post_while(t, 0, false);
	if (READ_ONCE(poller->period_us) > VT_PERIOD_SHORT_US) {
		vuhca_set_poll_period(VT_PERIOD_SHORT_US);
		posted = vt_post_while(t, posted, true);
		for (i = 0; i < VT_POLLS; i++) {
			posted += vt_post_paced(t, posted);
			longest = max(longest, READ_ONCE(poller->period_us));
		}
		VT_CHECK(t, longest <= VT_PERIOD_SHORT_US, "polls %u us apart",
			 longest);
	} else {
		vt_skip(t, "%d completions came too slowly", posted);
	}
	VT_CHECK(t, vt_wait_event(&t->send_cq, posted, VT_TIMEOUT_MS),
		 "%d completions", posted);
	vt_echo_end(&before);
	VT_WAIT(t, !READ_ONCE(poller->active));
}

#define VT_ECHOES_MAX	50000

/*
 * Polls are tried for a sender that waits for each completion, too, and given up
 * for some time, because interrupts serve it sooner. A busy machine may be too
 * slow to try them.
 */
static void vt_waiting_sender(struct vt *t)
{
	struct vuhca_poller *poller = &t->send_cq.cq->eq->poller;
	struct vt_echo before = vt_echo_begin(t, VT_PERIOD_MAX_US);
	u64 switches = READ_ONCE(poller->switches);
	unsigned long retry = READ_ONCE(poller->retry);
	unsigned long end = jiffies + msecs_to_jiffies(VT_TIMEOUT_MS);
	int i = 0;

	while (READ_ONCE(poller->retry) == retry && i < VT_ECHOES_MAX &&
	       time_before(jiffies, end) && !t->failed) {
		VT_EQUAL(t, vt_post_nops(t->end[0].qp, 1), 0);
		VT_CHECK(t, vt_wait_event(&t->send_cq, ++i, VT_TIMEOUT_MS),
			 "completion %d", i);
	}
	vt_echo_end(&before);
	if (READ_ONCE(poller->switches) == switches)
		return vt_skip(t, "%d completions came too slowly for polls", i);
	if (READ_ONCE(poller->retry) == retry && i < VT_ECHOES_MAX)
		return vt_skip(t, "%d completions came too slowly to judge", i);
	vt_note(t, "given up after %d completions", i);
	VT_CHECK(t, READ_ONCE(poller->retry) != retry, "it is polled all the time");
}

static const struct vt_case vt_cases[] = {
	{ "poll-only", vt_poll_only },
	{ "summary", vt_summary },
	{ "shared-byte", vt_shared_byte },
	{ "adaptive", vt_adaptive, true },
	{ "bounded-period", vt_bounded_period, true },
	{ "waiting-sender", vt_waiting_sender, true },
};
VT_SUITE(polling, vt_cases);
