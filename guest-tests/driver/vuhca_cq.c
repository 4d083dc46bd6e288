// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Completion queues: creation, destruction, notification. Arming gives the
 * adapter the number of entries consumed: a completion between the last poll and
 * the arming raises the event at once, so none is missed (IBTA 11.4.2.2).
 */
#include <linux/dma-mapping.h>
#include <linux/slab.h>

#include "vuhca_internal.h"

static int vuhca_cq_command(struct vuhca_cq *cq)
{
	struct vuhca_cq_attributes attributes = {};
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_CREATE_CQ,
		.token = (uintptr_t)cq,
		.payload = &attributes,
		.payload_bytes = sizeof(attributes),
	};
	struct vuhca_answer answer;
	int err;

	attributes.queue_address = cpu_to_le64(cq->dma);
	attributes.record_address = cpu_to_le64(cq->record_dma);
	attributes.summary_index = cpu_to_le16(cq->summary_index);
	vuhca_cq_attributes_set_entries_log2(&attributes, cq->entries_log2);
	vuhca_cq_attributes_set_event_queue(&attributes, cq->eq->eqn);
	err = vuhca_admin_execute(cq->dev, &command, &answer);
	if (!err)
		cq->cqn = answer.object;
	return err;
}

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

/* From now on vuhca_arm_cq() asks for the CQ to be kept, not for an event. */
static void vuhca_cq_begin_keeping(struct vuhca_cq *cq)
{
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	cq->keeping = true;
	cq->wanted = false;
	spin_unlock_irqrestore(&cq->lock, flags);
}

/*
 * Keeps the CQ if its handler asked for the next event. The adapter then has
 * no event of the CQ pending, and reports only solicited and failed messages.
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

/* Poll of a CQ that is kept. */
bool vuhca_cq_poll_kept(struct vuhca_kept *kept)
{
	struct vuhca_cq *cq = container_of(kept, struct vuhca_cq, kept);

	if (!vuhca_cq_has_entry(cq))
		return false;
	vuhca_cq_call(cq);
	return true;
}

/* The CQ is kept no more: its handler gets the event that it asked for. */
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
	if (entry->event_type == VUHCA_EVENT_TYPE_COMPLETION)
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
 * vuhca_create_cq() - Create a completion queue.
 * @dev: Function of the adapter.
 * @init: Parameters.
 *
 * Context: May sleep.
 * Return: The CQ, or ERR_PTR() of -EINVAL (too large, or no such event queue),
 *	-ENOMEM or the error of vuhca_admin_execute().
 */
struct vuhca_cq *vuhca_create_cq(struct vuhca_dev *dev,
				 const struct vuhca_cq_init *init)
{
	struct vuhca_cq *cq;
	int err;

	if (init->eq_index >= dev->eq_count ||
	    init->entries_log2 > dev->attributes.completion_queue_max_log2)
		return ERR_PTR(-EINVAL);
	cq = kzalloc(sizeof(*cq), GFP_KERNEL);
	if (!cq)
		return ERR_PTR(-ENOMEM);
	spin_lock_init(&cq->lock);
	mutex_init(&cq->resize_lock);
	INIT_LIST_HEAD(&cq->kept.node);
	cq->dev = dev;
	cq->eq = &dev->eqs[init->eq_index];
	cq->generation = READ_ONCE(dev->generation);
	cq->entries_log2 = init->entries_log2;
	cq->completion = init->completion;
	cq->event = init->event;
	cq->context = init->context;
	cq->bytes = sizeof(*cq->entries) << cq->entries_log2;
	cq->entries = dma_alloc_coherent(&dev->pdev->dev, cq->bytes, &cq->dma,
					 GFP_KERNEL);
	err = -ENOMEM;
	if (!cq->entries)
		goto free_cq;
	cq->record = dma_alloc_coherent(&dev->pdev->dev, sizeof(*cq->record),
					&cq->record_dma, GFP_KERNEL);
	if (!cq->record)
		goto free_entries;
	cq->summary_index = vuhca_poller_attach(cq->eq, cq);
	err = vuhca_cq_command(cq);
	if (err)
		goto detach;
	err = xa_err(xa_store_irq(&dev->cqs, cq->cqn, cq, GFP_KERNEL));
	if (err)
		goto destroy;
	return cq;

destroy:
	vuhca_admin_destroy(dev, VUHCA_MANAGEMENT_OPCODE_DESTROY_CQ, cq->cqn,
			    cq->generation);
detach:
	vuhca_poller_detach(cq->eq, cq->summary_index);
	dma_free_coherent(&dev->pdev->dev, sizeof(*cq->record), cq->record,
			  cq->record_dma);
free_entries:
	dma_free_coherent(&dev->pdev->dev, cq->bytes, cq->entries, cq->dma);
free_cq:
	kfree(cq);
	return ERR_PTR(err);
}
EXPORT_SYMBOL_GPL(vuhca_create_cq);

/**
 * vuhca_destroy_cq() - Destroy a completion queue.
 * @cq: CQ; stays when the call fails.
 *
 * Context: May sleep.
 * Return: 0; -EBUSY while QPs use the CQ; or the error of
 *	vuhca_admin_execute().
 */
int vuhca_destroy_cq(struct vuhca_cq *cq)
{
	struct vuhca_dev *dev = cq->dev;
	int err;

	err = vuhca_admin_destroy(dev, VUHCA_MANAGEMENT_OPCODE_DESTROY_CQ,
				  cq->cqn, cq->generation);
	if (err)
		return err;
	/* After a reset the number may belong to another CQ. */
	xa_cmpxchg_irq(&dev->cqs, cq->cqn, cq, NULL, 0);
	vuhca_poller_detach(cq->eq, cq->summary_index);
	/*
	 * Handlers run under these locks: wait for one that has found the CQ.
	 */
	spin_lock_irq(&cq->eq->lock);
	vuhca_poller_drop(cq->eq, &cq->kept);
	spin_unlock_irq(&cq->eq->lock);
	spin_lock_irq(&dev->eqs[0].lock);
	spin_unlock_irq(&dev->eqs[0].lock);
	dma_free_coherent(&dev->pdev->dev, sizeof(*cq->record), cq->record,
			  cq->record_dma);
	dma_free_coherent(&dev->pdev->dev, cq->bytes, cq->entries, cq->dma);
	kfree(cq);
	return 0;
}
EXPORT_SYMBOL_GPL(vuhca_destroy_cq);

/**
 * vuhca_query_cq() - Query the attributes of a completion queue.
 * @cq: CQ.
 * @attributes: Receives the attributes.
 *
 * Context: May sleep.
 * Return: 0; -ESTALE: a reset has destroyed the CQ; or the error of
 *	vuhca_admin_execute().
 */
int vuhca_query_cq(struct vuhca_cq *cq, struct vuhca_cq_attributes *attributes)
{
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_QUERY_CQ,
		.object = cq->cqn,
	};
	struct vuhca_answer answer;
	int err;

	if (!vuhca_is_current(cq->dev, cq->generation))
		return -ESTALE;
	err = vuhca_admin_execute(cq->dev, &command, &answer);
	if (!err)
		memcpy(attributes, answer.payload, sizeof(*attributes));
	return err;
}
EXPORT_SYMBOL_GPL(vuhca_query_cq);

/**
 * vuhca_arm_cq() - Ask for an event at the next completion that has not been
 *	polled.
 * @cq: CQ.
 * @solicited_only: The next solicited or failed completion instead.
 *
 * While the driver polls the event queue, a handler that asks for any completion
 * is called again by a later poll instead.
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
