// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Resize of a shared receive queue. The adapter moves the entries that it has
 * not taken to the new ring, where their running numbers go on, so posting is
 * off from the command to its answer. Entries complete meanwhile.
 */
#include <linux/bitmap.h>
#include <linux/dma-mapping.h>
#include <linux/slab.h>

#include "vuhca_internal.h"

static int vuhca_srq_resize_command(struct vuhca_srq *srq, dma_addr_t slots,
				    unsigned int entries_log2)
{
	struct vuhca_srq_attributes attributes = {
		.entries_log2 = entries_log2,
		.queue_address = cpu_to_le64(slots),
		.attribute_mask = cpu_to_le32(VUHCA_SRQ_MASK_RESIZE),
	};
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_MODIFY_SRQ,
		.object = srq->srqn,
		.payload = &attributes,
		.payload_bytes = sizeof(attributes),
	};
	struct vuhca_answer answer;

	if (!vuhca_is_current(srq->dev, srq->generation))
		return -ESTALE;
	if (!srq->rq.slots) {
		vuhca_srq_attributes_set_paged(&attributes, 1);
		attributes.page_shift = PAGE_SHIFT;
	}
	return vuhca_admin_execute(srq->dev, &command, &answer);
}

/* Takes posting off; -EINVAL: requests outstanding have no room. */
static int vuhca_srq_begin(struct vuhca_srq *srq, unsigned int entries_log2)
{
	struct vuhca_wq *rq = &srq->rq;
	int err = 0;

	spin_lock_irq(&rq->lock);
	if ((u16)(rq->tail - rq->head) > BIT(entries_log2))
		err = -EINVAL;
	srq->resizing = !err;
	spin_unlock_irq(&rq->lock);
	return err;
}

/* Gives what is known of requests outstanding to the new ring. */
static void vuhca_srq_move(const struct vuhca_srq *from, struct vuhca_srq *to)
{
	unsigned int old_mask = BIT(from->rq.entries_log2) - 1;
	unsigned int new_mask = BIT(to->rq.entries_log2) - 1;
	u16 at;

	for (at = from->rq.head; at != from->rq.tail; at++) {
		to->rq.wr_ids[at & new_mask] = from->rq.wr_ids[at & old_mask];
		if (test_bit(at & old_mask, from->completed))
			__set_bit(at & new_mask, to->completed);
	}
}

/* Turns posting on; @next: the new ring, or NULL. */
static void vuhca_srq_end(struct vuhca_srq *srq, struct vuhca_srq *next)
{
	spin_lock_irq(&srq->rq.lock);
	if (next) {
		vuhca_srq_move(srq, next);
		swap(srq->rq.slots, next->rq.slots);
		swap(srq->rq.wr_ids, next->rq.wr_ids);
		swap(srq->completed, next->completed);
		swap(srq->dma, next->dma);
		swap(srq->bytes, next->bytes);
		srq->rq.entries_log2 = next->rq.entries_log2;
	}
	srq->resizing = false;
	spin_unlock_irq(&srq->rq.lock);
}

static void vuhca_srq_free_ring(struct device *device, struct vuhca_srq *ring)
{
	if (ring->rq.slots)
		dma_free_coherent(device, ring->bytes, ring->rq.slots,
				  ring->dma);
	bitmap_free(ring->completed);
	kvfree(ring->rq.wr_ids);
}

/* A ring like that of @srq, of another size. */
static int vuhca_srq_alloc_ring(struct vuhca_srq *srq, struct vuhca_srq *ring,
				unsigned int entries_log2)
{
	ring->rq.entries_log2 = entries_log2;
	ring->bytes = (size_t)1 << (entries_log2 + srq->rq.stride_log2);
	ring->rq.wr_ids = kvcalloc(BIT(entries_log2), sizeof(*ring->rq.wr_ids),
				   GFP_KERNEL);
	ring->completed = bitmap_zalloc(BIT(entries_log2), GFP_KERNEL);
	ring->rq.slots = dma_alloc_coherent(&srq->dev->pdev->dev, ring->bytes,
					    &ring->dma, GFP_KERNEL);
	return ring->rq.wr_ids && ring->completed && ring->rq.slots ? 0 :
								     -ENOMEM;
}

/**
 * vuhca_resize_srq() - Change the number of entries of an SRQ.
 * @srq: SRQ; posting fails with -EBUSY meanwhile.
 * @entries_log2: log2 of the new number of entries.
 *
 * Context: May sleep.
 * Return: 0; -EINVAL, with nothing changed: too large, or too small for the
 *	requests outstanding or for the limit; -ESTALE: a reset has destroyed the
 *	SRQ; -ENOMEM; or the error of vuhca_admin_execute().
 */
int vuhca_resize_srq(struct vuhca_srq *srq, unsigned int entries_log2)
{
	struct device *device = &srq->dev->pdev->dev;
	struct vuhca_srq next = {};
	int err;

	if (entries_log2 > srq->dev->attributes.receive_queue_max_log2)
		return -EINVAL;
	err = vuhca_srq_alloc_ring(srq, &next, entries_log2);
	if (err)
		goto free;
	mutex_lock(&srq->resize_lock);
	err = vuhca_srq_begin(srq, entries_log2);
	if (!err) {
		err = vuhca_srq_resize_command(srq, next.dma, entries_log2);
		vuhca_srq_end(srq, err ? NULL : &next);
	}
	mutex_unlock(&srq->resize_lock);
	/* Without an answer the adapter may still use the new ring. */
	if (err == -ETIMEDOUT)
		next.rq.slots = NULL;
free:
	vuhca_srq_free_ring(device, &next);
	return err;
}
EXPORT_SYMBOL_GPL(vuhca_resize_srq);

/**
 * vuhca_resize_user_srq() - Change the number of entries of an SRQ that a
 *	process posts to.
 * @srq: SRQ; the process does not post meanwhile.
 * @pages: Bus address of the list of pages of the new ring.
 * @entries_log2: log2 of the new number of entries.
 *
 * Context: May sleep.
 * Return: As of vuhca_resize_srq().
 */
int vuhca_resize_user_srq(struct vuhca_srq *srq, dma_addr_t pages,
			  unsigned int entries_log2)
{
	int err;

	if (entries_log2 > srq->dev->attributes.receive_queue_max_log2)
		return -EINVAL;
	mutex_lock(&srq->resize_lock);
	err = vuhca_srq_resize_command(srq, pages, entries_log2);
	if (!err)
		srq->rq.entries_log2 = entries_log2;
	mutex_unlock(&srq->resize_lock);
	return err;
}
EXPORT_SYMBOL_GPL(vuhca_resize_user_srq);
