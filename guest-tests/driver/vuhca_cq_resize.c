// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Resize of a completion queue. The adapter carries entries that were not
 * polled over to the new ring and goes on there with the running number, so
 * nobody polls from the request to its answer.
 */
#include <linux/dma-mapping.h>

#include "vuhca.h"

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
	return vuhca_admin_execute(cq->dev, &command, &answer);
}

static void vuhca_set_resizing(struct vuhca_cq *cq, bool resizing)
{
	spin_lock_irq(&cq->lock);
	cq->resizing = resizing;
	spin_unlock_irq(&cq->lock);
}

/*
 * Polls meanwhile find nothing. -EINVAL, with nothing changed, when the entries
 * not yet polled would not fit.
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
	/* Without an answer the adapter may use it yet. */
	if (err != -ETIMEDOUT)
		dma_free_coherent(device, bytes, entries, dma);
	return err;
}
EXPORT_SYMBOL_GPL(vuhca_resize_cq);
