// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * CQs that are kept while their event queue is polled. Arming a CQ costs a store
 * to the adapter, which costs an exit of the processor and work of the adapter;
 * a poll that armed every CQ that it serves would cost as much as interrupts. So
 * a CQ whose handler asks for the next event is not armed but looked at by the
 * polls that follow. One that stays without completions is armed: its event
 * then announces it, and the adapter notices when polls are late.
 */
#include "vuhca_internal.h"

/* Polls without completions after which a CQ is armed. */
#define VUHCA_KEPT_IDLE		8
/* A CQ with more completions than this part of its entries is crowded. */
#define VUHCA_CROWDED_LOG2	2

/* Counts the completions that the handler of a CQ took. */
void vuhca_poller_count(struct vuhca_eq *eq, u32 completions,
			unsigned int entries_log2)
{
	lockdep_assert_held(&eq->lock);
	eq->poller.completions += max(completions, 1U);
	if (completions > BIT(entries_log2) >> VUHCA_CROWDED_LOG2)
		eq->poller.crowd = true;
}

/* Tells whether CQs are kept instead of armed: the queue is polled. */
bool vuhca_poller_keeps(struct vuhca_eq *eq)
{
	lockdep_assert_held(&eq->lock);
	return READ_ONCE(eq->poller.polling);
}

/* Polls look at the CQ from now on. Returns false when they did so before. */
bool vuhca_poller_keep(struct vuhca_eq *eq, struct vuhca_kept *kept)
{
	lockdep_assert_held(&eq->lock);
	kept->idle = 0;
	if (!list_empty(&kept->node))
		return false;
	list_add_tail(&kept->node, &eq->poller.kept);
	return true;
}

/* Polls no longer look at the CQ. */
void vuhca_poller_drop(struct vuhca_eq *eq, struct vuhca_kept *kept)
{
	lockdep_assert_held(&eq->lock);
	list_del_init(&kept->node);
}

static void vuhca_poller_release(struct vuhca_eq *eq, struct vuhca_kept *kept)
{
	list_del_init(&kept->node);
	/* After a reset the CQ is gone. */
	if (eq->eqn)
		eq->dev->event_ops->arm(kept);
}

/* Serves the CQs that are kept. */
void vuhca_poller_poll_kept(struct vuhca_eq *eq)
{
	struct vuhca_kept *kept, *next;

	lockdep_assert_held(&eq->lock);
	list_for_each_entry_safe(kept, next, &eq->poller.kept, node)
		if (!eq->dev->event_ops->poll(kept) &&
		    ++kept->idle >= VUHCA_KEPT_IDLE)
			vuhca_poller_release(eq, kept);
}

/*
 * Polling ends: arms all CQs, so that completions that no poll has seen are
 * reported.
 */
void vuhca_poller_release_all(struct vuhca_eq *eq)
{
	struct vuhca_kept *kept, *next;

	lockdep_assert_held(&eq->lock);
	list_for_each_entry_safe(kept, next, &eq->poller.kept, node)
		vuhca_poller_release(eq, kept);
}
