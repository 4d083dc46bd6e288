// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Completion queues: creation, destruction, query, moderation and resize. At a
 * resize the adapter moves the entries not yet polled to the new ring, where
 * the running number continues, so polls find nothing from the command to its
 * answer.
 */
#include <linux/dma-mapping.h>
#include <linux/slab.h>

#include "vuhca_internal.h"

/* Allocates ring and record, or takes over those of a process. */
static int vuhca_cq_memory(struct vuhca_cq *cq,
			   const struct vuhca_user_memory *user)
{
	struct device *device = &cq->dev->pdev->dev;

	if (user) {
		cq->dma = user->pages[0];
		cq->record_dma = user->record_dma;
		return 0;
	}
	cq->bytes = sizeof(*cq->entries) << cq->entries_log2;
	cq->entries = dma_alloc_coherent(device, cq->bytes, &cq->dma,
					 GFP_KERNEL);
	if (!cq->entries)
		return -ENOMEM;
	cq->record = dma_alloc_coherent(device, sizeof(*cq->record),
					&cq->record_dma, GFP_KERNEL);
	return cq->record ? 0 : -ENOMEM;
}

static void vuhca_cq_free(struct vuhca_cq *cq)
{
	struct device *device = &cq->dev->pdev->dev;

	if (cq->record)
		dma_free_coherent(device, sizeof(*cq->record), cq->record,
				  cq->record_dma);
	if (cq->entries)
		dma_free_coherent(device, cq->bytes, cq->entries, cq->dma);
	kfree(cq);
}

/* Tells the adapter where a ring of the CQ is: the first one, or the next. */
static void vuhca_cq_describe(const struct vuhca_cq *cq,
			      struct vuhca_cq_attributes *attributes,
			      dma_addr_t entries, unsigned int entries_log2)
{
	attributes->queue_address = cpu_to_le64(entries);
	vuhca_cq_attributes_set_entries_log2(attributes, entries_log2);
	if (cq->entries)
		return;
	/* The address of a process's ring is that of a list of its pages. */
	vuhca_cq_attributes_set_paged(attributes, 1);
	vuhca_cq_attributes_set_page_shift(attributes, PAGE_SHIFT);
}

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

	vuhca_cq_describe(cq, &attributes, cq->dma, cq->entries_log2);
	attributes.record_address = cpu_to_le64(cq->record_dma);
	attributes.summary_index = cpu_to_le16(cq->summary_index);
	vuhca_cq_attributes_set_event_queue(&attributes, cq->eq->eqn);
	if (cq->collect)
		vuhca_cq_attributes_set_collect_context(&attributes,
							cq->collect->number);
	err = vuhca_admin_execute(cq->dev, &command, &answer);
	if (err)
		return err;
	cq->cqn = answer.object;
	cq->seen.cqn = cq->cqn;
	return 0;
}

/**
 * vuhca_create_cq() - Create a completion queue.
 * @dev: Function of the adapter.
 * @init: Parameters.
 *
 * Context: May sleep.
 * Return: The CQ, or ERR_PTR() of -EINVAL (too large, or no such event queue),
 *	-ESTALE (the collect context is older than the last reset), -ENOMEM or
 *	the error of vuhca_admin_execute().
 */
struct vuhca_cq *vuhca_create_cq(struct vuhca_dev *dev,
				 const struct vuhca_cq_init *init)
{
	struct vuhca_cq *cq;
	int err;

	if (init->collect &&
	    !vuhca_is_current(dev, init->collect->generation))
		return ERR_PTR(-ESTALE);
	if (init->eq_index >= dev->eq_count ||
	    init->entries_log2 > dev->attributes.completion_queue_max_log2)
		return ERR_PTR(-EINVAL);
	cq = kzalloc(sizeof(*cq), GFP_KERNEL);
	if (!cq)
		return ERR_PTR(-ENOMEM);
	spin_lock_init(&cq->lock);
	mutex_init(&cq->resize_lock);
	INIT_LIST_HEAD(&cq->kept.node);
	INIT_LIST_HEAD(&cq->seen.node);
	cq->dev = dev;
	cq->eq = &dev->eqs[init->eq_index];
	cq->generation = READ_ONCE(dev->generation);
	cq->entries_log2 = init->entries_log2;
	cq->collect = init->collect;
	cq->completion = init->completion;
	cq->event = init->event;
	cq->context = init->context;
	err = vuhca_cq_memory(cq, init->user);
	if (err)
		goto free_cq;
	/* The events of a process are counted by their entries. */
	cq->summary_index = cq->collect ? VUHCA_SUMMARY_SHARED :
					  vuhca_poller_attach(cq->eq, cq);
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
free_cq:
	vuhca_cq_free(cq);
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
	list_del_init(&cq->seen.node);
	spin_unlock_irq(&cq->eq->lock);
	spin_lock_irq(&dev->eqs[0].lock);
	spin_unlock_irq(&dev->eqs[0].lock);
	vuhca_cq_free(cq);
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

/* Changes the attributes that the mask of @attributes names. */
static int vuhca_cq_modify(struct vuhca_cq *cq,
			   const struct vuhca_cq_attributes *attributes)
{
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_MODIFY_CQ,
		.object = cq->cqn,
		.payload = attributes,
		.payload_bytes = sizeof(*attributes),
	};
	struct vuhca_answer answer;

	if (!vuhca_is_current(cq->dev, cq->generation))
		return -ESTALE;
	return vuhca_admin_execute(cq->dev, &command, &answer);
}

/**
 * vuhca_moderate_cq() - Let the events of a CQ wait for more completions.
 * @cq: CQ.
 * @count: Completions not polled that end the wait, 0: only time does.
 * @period_us: Longest wait, 0: no event waits.
 *
 * Context: May sleep.
 * Return: 0; -ESTALE: a reset has destroyed the CQ; or the error of
 *	vuhca_admin_execute().
 */
int vuhca_moderate_cq(struct vuhca_cq *cq, u16 count, u16 period_us)
{
	struct vuhca_cq_attributes attributes = {
		.attribute_mask = cpu_to_le32(VUHCA_CQ_MASK_MODERATION),
		.moderation_count = cpu_to_le16(count),
		.moderation_period_us = cpu_to_le16(period_us),
	};

	return vuhca_cq_modify(cq, &attributes);
}
EXPORT_SYMBOL_GPL(vuhca_moderate_cq);

static int vuhca_cq_resize_command(struct vuhca_cq *cq, dma_addr_t entries,
				   unsigned int entries_log2)
{
	struct vuhca_cq_attributes attributes = {
		.attribute_mask = cpu_to_le32(VUHCA_CQ_MASK_RESIZE),
	};

	vuhca_cq_describe(cq, &attributes, entries, entries_log2);
	return vuhca_cq_modify(cq, &attributes);
}

static void vuhca_cq_set_resizing(struct vuhca_cq *cq, bool resizing)
{
	spin_lock_irq(&cq->lock);
	cq->resizing = resizing;
	spin_unlock_irq(&cq->lock);
}

/**
 * vuhca_resize_cq() - Change the number of entries of a CQ.
 * @cq: CQ; polls find nothing meanwhile.
 * @entries_log2: log2 of the new number of entries.
 *
 * Context: May sleep.
 * Return: 0; -EINVAL, with nothing changed: too large, or too small for the
 *	entries not yet polled; -ESTALE: a reset has destroyed the CQ; -ENOMEM; or
 *	the error of vuhca_admin_execute().
 */
int vuhca_resize_cq(struct vuhca_cq *cq, unsigned int entries_log2)
{
	struct device *device = &cq->dev->pdev->dev;
	size_t bytes = sizeof(*cq->entries) << entries_log2;
	struct vuhca_completion_entry *entries;
	dma_addr_t dma;
	int err;

	if (entries_log2 > cq->dev->attributes.completion_queue_max_log2)
		return -EINVAL;
	entries = dma_alloc_coherent(device, bytes, &dma, GFP_KERNEL);
	if (!entries)
		return -ENOMEM;
	mutex_lock(&cq->resize_lock);
	vuhca_cq_set_resizing(cq, true);
	err = vuhca_cq_resize_command(cq, dma, entries_log2);
	if (!err) {
		swap(cq->entries, entries);
		swap(cq->dma, dma);
		swap(cq->bytes, bytes);
		cq->entries_log2 = entries_log2;
	}
	vuhca_cq_set_resizing(cq, false);
	mutex_unlock(&cq->resize_lock);
	/* Without an answer the adapter may still use the new ring. */
	if (err != -ETIMEDOUT)
		dma_free_coherent(device, bytes, entries, dma);
	return err;
}
EXPORT_SYMBOL_GPL(vuhca_resize_cq);

/**
 * vuhca_resize_user_cq() - Change the number of entries of a CQ that a process
 *	polls.
 * @cq: CQ; the process does not poll meanwhile.
 * @pages: Bus address of the list of pages of the new ring.
 * @entries_log2: log2 of the new number of entries.
 *
 * Context: May sleep.
 * Return: As of vuhca_resize_cq().
 */
int vuhca_resize_user_cq(struct vuhca_cq *cq, dma_addr_t pages,
			 unsigned int entries_log2)
{
	int err;

	if (entries_log2 > cq->dev->attributes.completion_queue_max_log2)
		return -EINVAL;
	mutex_lock(&cq->resize_lock);
	err = vuhca_cq_resize_command(cq, pages, entries_log2);
	if (!err)
		cq->entries_log2 = entries_log2;
	mutex_unlock(&cq->resize_lock);
	return err;
}
EXPORT_SYMBOL_GPL(vuhca_resize_user_cq);
