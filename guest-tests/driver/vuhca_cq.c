// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Completion queues: creation, destruction, query, moderation. */
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
	if (!cq->entries) {
		vuhca_cq_attributes_set_paged(&attributes, 1);
		vuhca_cq_attributes_set_page_shift(&attributes, PAGE_SHIFT);
	}
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
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_MODIFY_CQ,
		.object = cq->cqn,
		.payload = &attributes,
		.payload_bytes = sizeof(attributes),
	};
	struct vuhca_answer answer;

	if (!vuhca_is_current(cq->dev, cq->generation))
		return -ESTALE;
	return vuhca_admin_execute(cq->dev, &command, &answer);
}
EXPORT_SYMBOL_GPL(vuhca_moderate_cq);
