// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Resize of a completion queue. The adapter moves the entries that were not
 * polled to the new ring and continues the running number there, so polling is
 * off from the command to its answer.
 */
#include <linux/dma-mapping.h>

#include "vuhca_internal.h"

static int vuhca_resize_command(struct vuhca_cq *cq, dma_addr_t entries,
				unsigned int entries_log2)
{
	struct vuhca_cq_attributes attributes = {
		.queue_address = cpu_to_le64(entries),
		.attribute_mask = cpu_to_le32(VUHCA_CQ_MASK_RESIZE),
	};
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_MODIFY_CQ,
		.object = cq->cqn,
		.payload = &attributes,
		.payload_bytes = sizeof(attributes),
	};
	struct vuhca_answer answer;

	vuhca_cq_attributes_set_entries_log2(&attributes, entries_log2);
	if (!cq->entries) {
		vuhca_cq_attributes_set_paged(&attributes, 1);
		vuhca_cq_attributes_set_page_shift(&attributes, PAGE_SHIFT);
	}
	return vuhca_admin_execute(cq->dev, &command, &answer);
}

static void vuhca_set_resizing(struct vuhca_cq *cq, bool resizing)
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
	vuhca_set_resizing(cq, true);
	err = vuhca_is_current(cq->dev, cq->generation) ?
	      vuhca_resize_command(cq, dma, entries_log2) : -ESTALE;
	if (!err) {
		swap(cq->entries, entries);
		swap(cq->dma, dma);
		swap(cq->bytes, bytes);
		cq->entries_log2 = entries_log2;
	}
	vuhca_set_resizing(cq, false);
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
	err = vuhca_is_current(cq->dev, cq->generation) ?
	      vuhca_resize_command(cq, pages, entries_log2) : -ESTALE;
	if (!err)
		cq->entries_log2 = entries_log2;
	mutex_unlock(&cq->resize_lock);
	return err;
}
EXPORT_SYMBOL_GPL(vuhca_resize_user_cq);
