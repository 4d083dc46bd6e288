// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Polling of event queues. A poll reads the primary summary byte; only when
 * that is set it takes what the secondary bytes announce (vuhca_eq_bytes.c).
 * While completions come fast a worker polls in place of interrupts and the
 * adapter sets the byte only; it still interrupts when the worker is late. CQs
 * with completions all the time are kept, and need no events (vuhca_eq_kept.c).
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>

#include "vuhca_internal.h"

/*
 * With more completions than that in a window, and not all of them in a burst,
 * polling costs less. Interrupts alone do not tell: in a slow guest each one
 * finds many completions, so there are few.
 */
#define VUHCA_POLL_WINDOW_MS	20
#define VUHCA_POLL_ABOVE	20
#define VUHCA_POLL_INTERRUPTS	4
/*
 * With fewer completions than that in each of some windows of polling,
 * interrupts cost less.
 */
#define VUHCA_POLL_BELOW	2
#define VUHCA_POLL_QUIET	3
/*
 * A wake-up of the worker costs as much as an interrupt, so polls are rare and
 * each should find many completions. Periods are longer while that finds more: a
 * sender that waits for each completion gains nothing by a longer one. They are
 * shorter than the shortest of such loads only when CQs fill up in between.
 */
#define VUHCA_POLL_PERIOD_LEAST_US	100
#define VUHCA_POLL_PERIOD_MIN_US	1000
#define VUHCA_POLL_PERIOD_MAX_US	8000
#define VUHCA_POLL_ENOUGH		16
/* The adapter interrupts when the worker is later than that. */
#define VUHCA_POLL_LATE_NS	(20 * NSEC_PER_MSEC)
/*
 * The adapter sets the primary byte at the first event of a queue only. Later
 * events may not set it, so every second poll reads the other bytes anyway.
 */
#define VUHCA_POLLS_PER_READ	2

static bool adaptive = true;
module_param(adaptive, bool, 0644);
MODULE_PARM_DESC(adaptive, "Poll event queues whose completions come fast");

/**
 * vuhca_set_adaptive() - Allow or forbid polling of event queues whose
 *	completions come fast.
 * @on: Polling is allowed.
 *
 * For tests and comparisons. A queue that is being polled stays so until it is
 * quiet.
 *
 * Context: Any context.
 * Return: The former setting.
 */
bool vuhca_set_adaptive(bool on)
{
	return xchg(&adaptive, on);
}
EXPORT_SYMBOL_GPL(vuhca_set_adaptive);

/**
 * vuhca_modify_eq() - Set the effect of later events of an EQ.
 * @eq: Event queue.
 * @controls: Interrupt, primary summary byte, or both.
 * @delay_ns: Delay of the next interrupt after an event, in ns.
 *
 * Context: May sleep.
 * Return: 0, or the error of vuhca_admin_execute().
 */
int vuhca_modify_eq(struct vuhca_eq *eq, enum vuhca_eq_control controls,
		    u64 delay_ns)
{
	struct vuhca_eq_attributes attributes = {
		.attribute_mask = cpu_to_le32(VUHCA_EQ_MASK_CONTROLS |
					      VUHCA_EQ_MASK_DELAY),
		.controls = controls,
		.next_interrupt_delay_ns = cpu_to_le64(delay_ns),
	};
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_MODIFY_EQ,
		.object = READ_ONCE(eq->eqn),
		.payload = &attributes,
		.payload_bytes = sizeof(attributes),
	};
	struct vuhca_answer answer;

	return vuhca_admin_execute(eq->dev, &command, &answer);
}
EXPORT_SYMBOL_GPL(vuhca_modify_eq);

/**
 * vuhca_query_eq() - Query the attributes of an EQ.
 * @eq: Event queue.
 * @attributes: Receives the attributes.
 *
 * Context: May sleep.
 * Return: 0, or the error of vuhca_admin_execute().
 */
int vuhca_query_eq(struct vuhca_eq *eq, struct vuhca_eq_attributes *attributes)
{
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_QUERY_EQ,
		.object = READ_ONCE(eq->eqn),
	};
	struct vuhca_answer answer;
	int err = vuhca_admin_execute(eq->dev, &command, &answer);

	if (!err)
		memcpy(attributes, answer.payload, sizeof(*attributes));
	return err;
}
EXPORT_SYMBOL_GPL(vuhca_query_eq);

/**
 * vuhca_poll_eq() - Consume the events that the summary bytes announce.
 * @eq: Event queue.
 *
 * Context: Any context. Takes eq->lock and runs handlers under it.
 * Return: Number of events consumed.
 */
unsigned int vuhca_poll_eq(struct vuhca_eq *eq)
{
	struct vuhca_poller *poller = &eq->poller;
	unsigned int count = 0;
	unsigned long flags;

	spin_lock_irqsave(&eq->lock, flags);
	poller->polls++;
	if (!eq->eqn)
		goto unlock;
	if (!vuhca_poll_uses(VUHCA_POLL_BYTES))
		count = vuhca_eq_process(eq);
	else if (READ_ONCE(poller->summary->primary) ||
		 ++poller->polls_since_read >= VUHCA_POLLS_PER_READ)
		count = vuhca_eq_take_marked(eq);
	else
		poller->idle_polls++;
	vuhca_poller_poll_kept(eq);
unlock:
	spin_unlock_irqrestore(&eq->lock, flags);
	return count;
}
EXPORT_SYMBOL_GPL(vuhca_poll_eq);

/* Counts an interrupt; many completions in a window start the worker. */
void vuhca_poller_count_interrupt(struct vuhca_eq *eq)
{
	struct vuhca_poller *poller = &eq->poller;

	lockdep_assert_held(&eq->lock);
	/* Events of queue 0 are rare, and modify commands wait for them. */
	if (!eq->index || poller->active || !READ_ONCE(adaptive))
		return;
	if (time_after(jiffies, poller->window_end)) {
		poller->window_end = jiffies +
				     msecs_to_jiffies(VUHCA_POLL_WINDOW_MS);
		poller->window_count = 0;
		poller->window_completions = poller->completions;
	}
	if (++poller->window_count < VUHCA_POLL_INTERRUPTS ||
	    poller->completions - poller->window_completions < VUHCA_POLL_ABOVE)
		return;
	poller->active = true;
	queue_work(system_unbound_wq, &poller->work);
}

/*
 * The period of the next window, after one of @polls polls that found @crowded
 * CQs filling up.
 */
static unsigned int vuhca_poll_period(unsigned int period_us, u64 completions,
				      u64 crowded, unsigned int polls)
{
	if (crowded >= polls)
		return max(period_us / 2, VUHCA_POLL_PERIOD_LEAST_US);
	if (completions < polls)
		return max(period_us / 2, VUHCA_POLL_PERIOD_MIN_US);
	if (period_us < VUHCA_POLL_PERIOD_MIN_US ||
	    (2 * completions >= 3 * polls &&
	     completions < (u64)VUHCA_POLL_ENOUGH * polls))
		return min(2 * period_us, VUHCA_POLL_PERIOD_MAX_US);
	return period_us;
}

/* Polls for one window; returns the completions found. */
static u64 vuhca_poll_window(struct vuhca_eq *eq, unsigned int *period_us)
{
	unsigned long end = jiffies + msecs_to_jiffies(VUHCA_POLL_WINDOW_MS);
	u64 completions = READ_ONCE(eq->poller.completions);
	u64 crowded = READ_ONCE(eq->poller.crowded);
	unsigned int polls = 0;

	do {
		vuhca_poll_eq(eq);
		polls++;
		usleep_range(*period_us * 3 / 4, *period_us);
	} while (!time_after(jiffies, end));
	completions = READ_ONCE(eq->poller.completions) - completions;
	crowded = READ_ONCE(eq->poller.crowded) - crowded;
	*period_us = vuhca_poll_period(*period_us, completions, crowded, polls);
	return completions;
}

/* Polls until there is little to do or the EQ is gone. */
static void vuhca_poll_while_busy(struct vuhca_eq *eq)
{
	unsigned int period_us = VUHCA_POLL_PERIOD_MIN_US;
	unsigned int quiet = 0;

	while (quiet < VUHCA_POLL_QUIET && READ_ONCE(eq->eqn) &&
	       READ_ONCE(adaptive))
		if (vuhca_poll_window(eq, &period_us) >= VUHCA_POLL_BELOW)
			quiet = 0;
		else
			quiet++;
}

/* While the worker polls, the adapter interrupts only when that is late. */
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
	eq->poller.active = false;
	vuhca_poller_release_all(eq);
	/* Events between the last poll and the command raised no interrupt. */
	if (eq->eqn)
		vuhca_eq_serve(eq);
	spin_unlock_irqrestore(&eq->lock, flags);
}

int vuhca_poller_alloc(struct vuhca_eq *eq)
{
	struct vuhca_poller *poller = &eq->poller;

	INIT_WORK(&poller->work, vuhca_poll_work);
	INIT_LIST_HEAD(&poller->kept);
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
