// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Choice between polling and interrupts of event queues: while completions come
 * fast, a timer polls and the adapter sets summary bytes only; it still
 * interrupts when polls are late. A worker sends the commands at the start and
 * at the end.
 */
#include <linux/dma-mapping.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/module.h>

#include "vuhca_internal.h"

/*
 * Polling costs less where each poll finds this many completions, and there are
 * more of them per second than this in a window, unless all of them come in a
 * burst. The number of interrupts alone does not tell: in a slow guest each one
 * finds many completions, so there are few.
 */
#define VUHCA_POLL_WINDOW_MS	50
#define VUHCA_POLL_FINDS	3
#define VUHCA_POLL_ABOVE	1000
#define VUHCA_POLL_INTERRUPTS	2
/*
 * Interrupts cost less with fewer completions than this, or less than one for
 * two polls, in each of several windows of polling.
 */
#define VUHCA_POLL_BELOW	5
#define VUHCA_POLL_QUIET	3
/*
 * A poll costs as much as an interrupt, so polls are rare and each should find
 * many completions. Periods are longer while that finds more: a sender that waits
 * for each completion gains nothing by a longer one. They are shorter than the
 * shortest of such loads only when CQs fill up in between. A completion waits for
 * half a period, so by default the period is about twice the time of an
 * interrupt, from the completion to the handler.
 */
#define VUHCA_POLL_PERIOD_LEAST_US	100
#define VUHCA_POLL_PERIOD_MIN_US	1000
#define VUHCA_POLL_PERIOD_MAX_US	8000
#define VUHCA_POLL_PERIOD_DEFAULT_US	500
/* No period is known to cost completions. */
#define VUHCA_POLL_ANY_PERIOD		UINT_MAX
/*
 * Late polls slow down users that wait for completions before they post more.
 * So a longer period is tried for a window, the first one against interrupts:
 * where it costs a fifth of the completions, the shorter one stays. After some
 * time an even shorter one is tried: where it brings a quarter more, users wait
 * for completions, and interrupts serve them better than any polls.
 */
#define VUHCA_POLL_RETRY_MS	1000
/* The adapter interrupts when a poll is later than this. */
#define VUHCA_POLL_LATE_NS	(20 * NSEC_PER_MSEC)

static unsigned int poll_period = VUHCA_POLL_PERIOD_DEFAULT_US;
module_param(poll_period, uint, 0644);
MODULE_PARM_DESC(poll_period,
		 "Longest time between polls of an event queue, 100 to 8000 us");

/**
 * vuhca_set_poll_period() - Bound the time between polls of event queues.
 * @period_us: Longest period in us. The driver takes 100 for less and 8000 for
 *	more.
 *
 * Longer periods save processor time and cost latency: a completion waits for
 * half a period. With a short one polls begin at higher rates only. A queue that
 * is being polled takes the bound within 50 ms.
 *
 * Context: Any context.
 * Return: The former setting.
 */
unsigned int vuhca_set_poll_period(unsigned int period_us)
{
	return xchg(&poll_period, period_us);
}
EXPORT_SYMBOL_GPL(vuhca_set_poll_period);

static unsigned int vuhca_poll_longest(void)
{
	return clamp_t(unsigned int, READ_ONCE(poll_period),
		       VUHCA_POLL_PERIOD_LEAST_US, VUHCA_POLL_PERIOD_MAX_US);
}

/* The period with which polling begins. */
static unsigned int vuhca_poll_first(void)
{
	return min_t(unsigned int, VUHCA_POLL_PERIOD_MIN_US,
		     vuhca_poll_longest());
}

/* Completions per second from which on polling costs less. */
static unsigned int vuhca_poll_above(void)
{
	return max_t(unsigned int, VUHCA_POLL_ABOVE,
		     VUHCA_POLL_FINDS * USEC_PER_SEC / vuhca_poll_longest());
}

static void vuhca_poll_open_window(struct vuhca_poller *poller)
{
	poller->window_begin_ns = ktime_get_ns();
	poller->window_end = jiffies + msecs_to_jiffies(VUHCA_POLL_WINDOW_MS);
	poller->window_count = 0;
	poller->window_completions = poller->completions;
	poller->window_crowded = poller->crowded;
}

/* Completions per second in the window that ends now. */
static u64 vuhca_poll_rate(const struct vuhca_poller *poller)
{
	u64 completions = poller->completions - poller->window_completions;

	return div64_u64(completions * NSEC_PER_SEC,
			 ktime_get_ns() - poller->window_begin_ns + 1);
}

/* Counts an interrupt; many completions in a window start the worker. */
void vuhca_poller_count_interrupt(struct vuhca_eq *eq)
{
	struct vuhca_poller *poller = &eq->poller;
	bool starts;

	lockdep_assert_held(&eq->lock);
	/* Events of queue 0 are rare, and modify commands wait for them. */
	if (!eq->index || poller->active)
		return;
	poller->window_count++;
	if (!time_after(jiffies, poller->window_end))
		return;
	poller->rate_before = vuhca_poll_rate(poller);
	/*
	 * A window in which polling was forbidden tells nothing about later
	 * ones.
	 */
	starts = vuhca_is_adaptive() &&
		 poller->window_count >= VUHCA_POLL_INTERRUPTS &&
		 poller->rate_before >= vuhca_poll_above() &&
		 time_after_eq(jiffies, poller->retry);
	vuhca_poll_open_window(poller);
	if (!starts)
		return;
	poller->active = true;
	/*
	 * Polls run where interrupts ran, beside the senders that handlers wake.
	 * On another processor both would wait for each other's locks.
	 */
	queue_work_on(smp_processor_id(), system_long_wq, &poller->work);
}

/*
 * The period of the next window, after one of @polls polls, of which @crowded
 * found a CQ filling up. An adapter that runs in turns with others fills CQs
 * now and then, whatever the period is.
 */
static unsigned int vuhca_poll_period(unsigned int period_us, u64 completions,
				      u64 crowded, unsigned int polls)
{
	if (2 * crowded >= polls)
		return max(period_us / 2, VUHCA_POLL_PERIOD_LEAST_US);
	if (completions < polls)
		return max(period_us / 2, vuhca_poll_first());
	if (4 * crowded < polls && 2 * completions >= 3 * polls)
		return 2 * period_us;
	return period_us;
}

static ktime_t vuhca_poll_time(const struct vuhca_poller *poller)
{
	return ns_to_ktime((u64)poller->period_us * NSEC_PER_USEC);
}

/*
 * Judges the period that was tried in the window that ends. Returns false when
 * interrupts bring more completions.
 */
static bool vuhca_poll_judge(struct vuhca_poller *poller, u64 rate)
{
	unsigned long retry = jiffies + msecs_to_jiffies(VUHCA_POLL_RETRY_MS);
	bool goes_on = true;

	if (poller->attempt == VUHCA_POLL_LONGER &&
	    5 * rate < 4 * poller->rate_before) {
		poller->retry = retry;
		poller->period_us = poller->before_us;
		poller->period_max_us = poller->before_us;
		goes_on = poller->before_us;
	} else if (poller->attempt == VUHCA_POLL_SHORTER) {
		poller->retry = retry;
		poller->period_us = poller->before_us;
		poller->period_max_us = VUHCA_POLL_ANY_PERIOD;
		goes_on = 4 * rate < 5 * poller->rate_before;
	}
	poller->attempt = VUHCA_POLL_NO_ATTEMPT;
	return goes_on;
}

/* Chooses the period of the next window, after one with that many @completions. */
static void vuhca_poll_choose(struct vuhca_poller *poller, u64 completions)
{
	u64 crowded = poller->crowded - poller->window_crowded;
	unsigned int period_us;

	poller->before_us = poller->period_us;
	if (poller->period_max_us != VUHCA_POLL_ANY_PERIOD &&
	    time_after_eq(jiffies, poller->retry)) {
		poller->attempt = VUHCA_POLL_SHORTER;
		poller->period_us = max(poller->period_us / 2,
					VUHCA_POLL_PERIOD_LEAST_US);
		return;
	}
	period_us = vuhca_poll_period(poller->period_us, completions, crowded,
				      poller->window_count);
	period_us = min3(period_us, poller->period_max_us,
			 vuhca_poll_longest());
	if (period_us > poller->period_us)
		poller->attempt = VUHCA_POLL_LONGER;
	poller->period_us = period_us;
}

/* Ends a window of polls. Returns false when polling ends. */
static bool vuhca_poll_window(struct vuhca_eq *eq)
{
	struct vuhca_poller *poller = &eq->poller;
	u64 completions = poller->completions - poller->window_completions;
	u64 rate = vuhca_poll_rate(poller);
	bool goes_on;

	if (completions >= VUHCA_POLL_BELOW &&
	    2 * completions >= poller->window_count)
		poller->quiet = 0;
	else
		poller->quiet++;
	goes_on = vuhca_poll_judge(poller, rate);
	vuhca_poll_choose(poller, completions);
	poller->rate_before = rate;
	vuhca_poll_open_window(poller);
	return goes_on && poller->quiet < VUHCA_POLL_QUIET &&
	       vuhca_is_adaptive();
}

/*
 * Polls. A thread that did so would be woken for each poll, which costs more than
 * an interrupt; handlers run in either context.
 */
static enum hrtimer_restart vuhca_poll_timer(struct hrtimer *timer)
{
	struct vuhca_eq *eq = container_of(timer, struct vuhca_eq, poller.timer);
	struct vuhca_poller *poller = &eq->poller;
	unsigned long flags;
	bool goes_on;

	vuhca_poll_eq(eq);
	spin_lock_irqsave(&eq->lock, flags);
	poller->window_count++;
	goes_on = eq->eqn && (!time_after(jiffies, poller->window_end) ||
			      vuhca_poll_window(eq));
	spin_unlock_irqrestore(&eq->lock, flags);
	if (!goes_on) {
		complete(&poller->ended);
		return HRTIMER_NORESTART;
	}
	hrtimer_forward_now(timer, vuhca_poll_time(poller));
	return HRTIMER_RESTART;
}

/* Polls until there is little to do or the EQ is gone. */
static void vuhca_poll_while_busy(struct vuhca_eq *eq)
{
	struct vuhca_poller *poller = &eq->poller;

	spin_lock_irq(&eq->lock);
	poller->period_us = vuhca_poll_first();
	poller->period_max_us = VUHCA_POLL_ANY_PERIOD;
	poller->before_us = 0;
	poller->attempt = VUHCA_POLL_LONGER;
	poller->quiet = 0;
	vuhca_poll_open_window(poller);
	spin_unlock_irq(&eq->lock);
	reinit_completion(&poller->ended);
	hrtimer_start(&poller->timer, vuhca_poll_time(poller),
		      HRTIMER_MODE_REL_PINNED);
	wait_for_completion(&poller->ended);
	/* The timer's function may not have returned. */
	hrtimer_cancel(&poller->timer);
}

/* While the queue is polled, the adapter interrupts only when polls are late. */
static int vuhca_poll_mute(struct vuhca_eq *eq)
{
	bool bytes = vuhca_poll_uses(VUHCA_POLL_BYTES);
	bool timers = vuhca_poll_uses(VUHCA_POLL_TIMERS);

	return vuhca_modify_eq(eq, bytes ? VUHCA_EQ_CONTROL_PRIMARY_SUMMARY :
			       VUHCA_EQ_CONTROL_NOTHING,
			       timers ? VUHCA_POLL_LATE_NS : U64_MAX);
}

static void vuhca_poll_work(struct work_struct *work)
{
	struct vuhca_eq *eq = container_of(work, struct vuhca_eq, poller.work);
	unsigned long flags;

	if (!vuhca_poll_mute(eq)) {
		eq->poller.switches++;
		WRITE_ONCE(eq->poller.polling, true);
		vuhca_poll_while_busy(eq);
		WRITE_ONCE(eq->poller.polling, false);
		vuhca_modify_eq(eq, VUHCA_EQ_CONTROL_INTERRUPT, 0);
	}
	spin_lock_irqsave(&eq->lock, flags);
	vuhca_poller_release_all(eq);
	/* Events between the last poll and the command raised no interrupt. */
	if (eq->eqn)
		vuhca_eq_serve(eq);
	/*
	 * A caller that waits for this without the lock expects an interrupt
	 * for every event.
	 */
	WRITE_ONCE(eq->poller.active, false);
	spin_unlock_irqrestore(&eq->lock, flags);
}

int vuhca_poller_alloc(struct vuhca_eq *eq)
{
	struct vuhca_poller *poller = &eq->poller;

	INIT_WORK(&poller->work, vuhca_poll_work);
	INIT_LIST_HEAD(&poller->kept);
	init_completion(&poller->ended);
	poller->retry = jiffies;
	vuhca_poll_open_window(poller);
	hrtimer_setup(&poller->timer, vuhca_poll_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL);
	poller->summary = dma_alloc_coherent(&eq->dev->pdev->dev,
					     sizeof(*poller->summary),
					     &poller->dma, GFP_KERNEL);
	return poller->summary ? 0 : -ENOMEM;
}

void vuhca_poller_free(struct vuhca_eq *eq)
{
	dma_free_coherent(&eq->dev->pdev->dev, sizeof(*eq->poller.summary),
			  eq->poller.summary, eq->poller.dma);
}
