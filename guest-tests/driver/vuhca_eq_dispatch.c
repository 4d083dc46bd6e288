// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Entries of event queues. An entry is valid when its sequence word is the next
 * running number. Each entry goes to the handler that vuhca_main.c names for
 * its event type.
 */
#include "vuhca_internal.h"

static struct vuhca_event_entry *vuhca_eq_next(struct vuhca_eq *eq)
{
	u32 slot = eq->consumed & (BIT(eq->entries_log2) - 1);
	struct vuhca_event_entry *entry = eq->entries + slot;

	if (le32_to_cpu(READ_ONCE(entry->sequence)) != eq->consumed + 1)
		return NULL;
	/* Read the body after the sequence word that makes it valid. */
	dma_rmb();
	return entry;
}

/* Writes the number of entries consumed, which the adapter may overwrite. */
void vuhca_eq_write_consumed(struct vuhca_eq *eq)
{
	struct vuhca_eq_consumer word = {};

	vuhca_eq_consumer_set_eqn(&word, eq->eqn);
	word.consumed = cpu_to_le32(eq->consumed);
	vuhca_write_eight(eq->dev->csr + VUHCA_CSR_EQ_CONSUMER_OFF, &word);
}

/*
 * Returns false when the event's summary byte announces it in place of its
 * entry.
 */
static bool vuhca_eq_dispatch(struct vuhca_eq *eq,
			      const struct vuhca_event_entry *entry)
{
	struct vuhca_dev *dev = eq->dev;
	vuhca_entry_handler handler = NULL;

	if (dev->event_ops->has_byte(dev, entry))
		return false;
	if (entry->event_type < VUHCA_EVENT_TYPES)
		handler = dev->event_ops->handlers[entry->event_type];
	if (handler)
		handler(dev, entry);
	else
		dev_dbg(&dev->pdev->dev, "event %u, port %u\n",
			entry->event_type, entry->port);
	return true;
}

/* Tests whether an entry is there. The caller holds eq->lock. */
bool vuhca_eq_has_entry(struct vuhca_eq *eq)
{
	lockdep_assert_held(&eq->lock);
	return vuhca_eq_next(eq);
}

/* Clears the EQ pending bit of a CQ, whose next event may come at once. */
void vuhca_eq_clear_pending(struct vuhca_dev *dev, u32 cqn)
{
	struct vuhca_cq_notify word = {};

	vuhca_cq_notify_set_cqn(&word, cqn);
	vuhca_cq_notify_set_clear_only(&word, 1);
	vuhca_write_eight(dev->csr + VUHCA_CSR_CQ_NOTIFY_OFF, &word);
}

/*
 * Clears the EQ pending bits of the CQs of processes, which cannot do so
 * themselves. Called after the entries were returned, so such a CQ never has
 * two of them, whatever its process does.
 */
static void vuhca_eq_clear_seen(struct vuhca_eq *eq)
{
	struct vuhca_seen *seen, *next;

	list_for_each_entry_safe(seen, next, &eq->seen, node) {
		list_del_init(&seen->node);
		vuhca_eq_clear_pending(eq->dev, seen->cqn);
	}
}

/*
 * Consumes the entries that are there and returns how many of them were handled.
 * Entries whose events have a summary byte are only returned. Handlers run
 * under eq->lock: taking and releasing that lock after an object left its
 * xarray waits for the last handler.
 */
unsigned int vuhca_eq_process(struct vuhca_eq *eq)
{
	const struct vuhca_event_entry *entry;
	unsigned int count = 0, handled = 0;

	lockdep_assert_held(&eq->lock);
	while ((entry = vuhca_eq_next(eq))) {
		handled += vuhca_eq_dispatch(eq, entry);
		eq->consumed++;
		count++;
		/*
		 * Return half a queue at a time, so that many events cannot
		 * overrun it.
		 */
		if (!(count & (BIT(eq->entries_log2 - 1) - 1)))
			vuhca_eq_write_consumed(eq);
	}
	if (count)
		vuhca_eq_write_consumed(eq);
	vuhca_eq_clear_seen(eq);
	eq->poller.untaken = 0;
	eq->events += handled;
	return handled;
}
