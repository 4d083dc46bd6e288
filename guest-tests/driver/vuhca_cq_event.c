// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Events of completion queues. Arming gives the adapter the number of entries
 * consumed: a completion between the last poll and the arming raises the event
 * at once, so none is missed (IBTA 11.4.2.2).
 */
#include "vuhca_internal.h"

static void vuhca_cq_notify(struct vuhca_cq *cq, bool solicited_only)
{
	struct vuhca_cq_notify word = {};

	lockdep_assert_held(&cq->lock);
	cq->notifies++;
	vuhca_cq_notify_set_cqn(&word, cq->cqn);
	vuhca_cq_notify_set_solicited_only(&word, solicited_only);
	vuhca_cq_notify_set_clear_pending(&word, 1);
	word.consumed = cpu_to_le32(cq->consumed);
	vuhca_write_eight(cq->dev->csr + VUHCA_CSR_CQ_NOTIFY_OFF, &word);
}

/* From now on vuhca_arm_cq() requests that the CQ is kept, not an event. */
static void vuhca_cq_begin_keeping(struct vuhca_cq *cq)
{
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	cq->keeping = true;
	cq->wanted = false;
	spin_unlock_irqrestore(&cq->lock, flags);
}

/*
 * Keeps the CQ if its handler requested the next event. The adapter then has no
 * event of the CQ pending, and reports only solicited and failed messages.
 */
static void vuhca_cq_end_keeping(struct vuhca_cq *cq)
{
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	cq->keeping = false;
	if (!cq->wanted)
		vuhca_poller_drop(cq->eq, &cq->kept);
	else if (vuhca_poller_keep(cq->eq, &cq->kept) &&
		 vuhca_is_current(cq->dev, cq->generation))
		vuhca_cq_notify(cq, true);
	spin_unlock_irqrestore(&cq->lock, flags);
}

/* Calls the completion handler. The caller holds the lock of the event queue. */
static void vuhca_cq_call(struct vuhca_cq *cq)
{
	u32 before = READ_ONCE(cq->consumed);
	bool keeps = vuhca_poller_keeps(cq->eq);

	if (!cq->completion)
		return;
	if (keeps)
		vuhca_cq_begin_keeping(cq);
	cq->completion(cq, cq->context);
	if (keeps)
		vuhca_cq_end_keeping(cq);
	vuhca_poller_count(cq->eq, READ_ONCE(cq->consumed) - before,
			   cq->entries_log2);
}

/*
 * Calls the handler of a CQ of a process. Only the process knows when it has
 * polled, so the adapter may report the CQ again at once.
 */
static void vuhca_cq_call_user(struct vuhca_cq *cq)
{
	lockdep_assert_held(&cq->eq->lock);
	if (cq->completion)
		cq->completion(cq, cq->context);
	if (list_empty(&cq->seen.node))
		list_add_tail(&cq->seen.node, &cq->eq->seen);
}

/* Poll of a CQ that is kept. */
bool vuhca_cq_poll_kept(struct vuhca_kept *kept)
{
	struct vuhca_cq *cq = container_of(kept, struct vuhca_cq, kept);

	if (!vuhca_cq_has_entry(cq))
		return false;
	vuhca_cq_call(cq);
	return true;
}

/* The CQ is no longer kept: its handler gets the event that it requested. */
void vuhca_cq_arm_kept(struct vuhca_kept *kept)
{
	vuhca_arm_cq(container_of(kept, struct vuhca_cq, kept), false);
}

/* Event handler: a CQ has completions or has failed. */
void vuhca_cq_event(struct vuhca_dev *dev,
		    const struct vuhca_event_entry *entry)
{
	u32 cqn = vuhca_event_entry_get_object_number(entry);
	struct vuhca_cq *cq = xa_load(&dev->cqs, cqn);

	if (!cq)
		return;
	if (entry->event_type == VUHCA_EVENT_TYPE_COMPLETION && cq->collect)
		vuhca_cq_call_user(cq);
	else if (entry->event_type == VUHCA_EVENT_TYPE_COMPLETION)
		vuhca_cq_call(cq);
	else if (cq->event)
		cq->event(entry->event_type, entry->fault_kind, cq->context);
}

/*
 * Tells whether an entry is the completion event of a CQ whose summary byte
 * calls vuhca_cq_marked(), or of a CQ that is gone.
 */
bool vuhca_cq_has_byte(struct vuhca_dev *dev,
		       const struct vuhca_event_entry *entry)
{
	u32 cqn = vuhca_event_entry_get_object_number(entry);
	struct vuhca_cq *cq;

	if (entry->event_type != VUHCA_EVENT_TYPE_COMPLETION)
		return false;
	cq = xa_load(&dev->cqs, cqn);
	return !cq || cq->summary_index != VUHCA_SUMMARY_SHARED;
}

/* Handler of a CQ's own summary byte: the CQ has completions. */
void vuhca_cq_marked(struct vuhca_dev *dev, void *object)
{
	vuhca_cq_call(object);
}

/**
 * vuhca_arm_cq() - Request an event at the next completion that has not been
 *	polled.
 * @cq: CQ.
 * @solicited_only: The next solicited or failed completion instead.
 *
 * While the driver polls the event queue, a handler that requests an event for
 * any completion is called again by a later poll instead.
 *
 * Context: Any context.
 */
void vuhca_arm_cq(struct vuhca_cq *cq, bool solicited_only)
{
	unsigned long flags;

	if (!vuhca_is_current(cq->dev, cq->generation))
		return;
	spin_lock_irqsave(&cq->lock, flags);
	if (cq->keeping && !solicited_only)
		cq->wanted = true;
	else
		vuhca_cq_notify(cq, solicited_only);
	spin_unlock_irqrestore(&cq->lock, flags);
}
EXPORT_SYMBOL_GPL(vuhca_arm_cq);
