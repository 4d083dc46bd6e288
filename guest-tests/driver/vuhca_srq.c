// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Shared receive queues: creation, limit, resize, destruction. An entry that a
 * QP had taken for a message in progress completes as flushed when the QP is
 * reset or destroyed.
 *
 * At a resize the adapter moves the entries that it has not taken to the new
 * ring, where their running numbers continue, so posting is off from the
 * command to its answer. Entries complete meanwhile.
 */
#include <linux/bitmap.h>
#include <linux/dma-mapping.h>
#include <linux/slab.h>

#include "vuhca_internal.h"

/* Tells the adapter where a ring of the SRQ is: the first one, or the next. */
static void vuhca_srq_describe(const struct vuhca_srq *srq,
			       struct vuhca_srq_attributes *attributes,
			       dma_addr_t slots, unsigned int entries_log2)
{
	attributes->entries_log2 = entries_log2;
	attributes->queue_address = cpu_to_le64(slots);
	if (srq->rq.slots)
		return;
	/* The address of a process's ring is that of a list of its pages. */
	vuhca_srq_attributes_set_paged(attributes, 1);
	attributes->page_shift = PAGE_SHIFT;
}

static int vuhca_srq_command(struct vuhca_srq *srq,
			     const struct vuhca_srq_init *init)
{
	struct vuhca_srq_attributes attributes = {};
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_CREATE_SRQ,
		.token = (uintptr_t)srq,
		.payload = &attributes,
		.payload_bytes = sizeof(attributes),
	};
	struct vuhca_answer answer;
	int err;

	vuhca_srq_attributes_set_pd(&attributes, srq->pd->pdn);
	vuhca_srq_describe(srq, &attributes, srq->dma, srq->rq.entries_log2);
	attributes.stride_log2 = srq->rq.stride_log2;
	attributes.record_address = cpu_to_le64(srq->record_dma);
	attributes.limit = cpu_to_le32(init->limit);
	if (srq->xrcd) {
		vuhca_srq_attributes_set_xrc_domain(&attributes,
						    srq->xrcd->number);
		vuhca_srq_attributes_set_completion_queue(&attributes,
							  srq->cq->cqn);
	}
	err = vuhca_admin_execute(srq->dev, &command, &answer);
	if (!err)
		srq->srqn = answer.object;
	return err;
}

/* Allocates slots with the stride of @ring, and their records. */
static int vuhca_srq_alloc_ring(struct device *device, struct vuhca_srq *ring,
				unsigned int entries_log2)
{
	struct vuhca_wq *rq = &ring->rq;

	rq->entries_log2 = entries_log2;
	rq->wr_ids = kvcalloc(BIT(entries_log2), sizeof(*rq->wr_ids),
			      GFP_KERNEL);
	ring->completed = bitmap_zalloc(BIT(entries_log2), GFP_KERNEL);
	ring->bytes = (size_t)1 << (entries_log2 + rq->stride_log2);
	rq->slots = dma_alloc_coherent(device, ring->bytes, &ring->dma,
				       GFP_KERNEL);
	return rq->wr_ids && ring->completed && rq->slots ? 0 : -ENOMEM;
}

static void vuhca_srq_free_ring(struct device *device, struct vuhca_srq *ring)
{
	if (ring->rq.slots)
		dma_free_coherent(device, ring->bytes, ring->rq.slots,
				  ring->dma);
	bitmap_free(ring->completed);
	kvfree(ring->rq.wr_ids);
}

static void vuhca_srq_free(struct vuhca_srq *srq)
{
	struct device *device = &srq->dev->pdev->dev;

	/* The record of a process is in the memory of the process. */
	if (srq->bytes && srq->record)
		dma_free_coherent(device, sizeof(*srq->record), srq->record,
				  srq->record_dma);
	vuhca_srq_free_ring(device, srq);
	kfree(srq);
}

/*
 * Uses the memory of a process, which itself tracks the contents of the queue.
 */
static void vuhca_srq_use(struct vuhca_srq *srq,
			  const struct vuhca_user_memory *user,
			  unsigned int entries_log2)
{
	srq->rq.entries_log2 = entries_log2;
	srq->rq.stride_log2 = user->stride_log2[0];
	srq->record = user->record;
	srq->record_dma = user->record_dma;
	srq->dma = user->pages[0];
}

static struct vuhca_srq *vuhca_srq_alloc(struct vuhca_pd *pd,
					 const struct vuhca_srq_init *init)
{
	struct vuhca_srq *srq = kzalloc(sizeof(*srq), GFP_KERNEL);
	struct device *device = &pd->dev->pdev->dev;

	if (!srq)
		return NULL;
	srq->dev = pd->dev;
	srq->pd = pd;
	srq->xrcd = init->xrcd;
	srq->cq = init->cq;
	srq->generation = pd->generation;
	srq->event = init->event;
	srq->context = init->context;
	spin_lock_init(&srq->rq.lock);
	mutex_init(&srq->resize_lock);
	if (init->user) {
		vuhca_srq_use(srq, init->user, init->entries_log2);
		return srq;
	}
	srq->rq.stride_log2 = vuhca_recv_stride(init->sge);
	srq->record = dma_alloc_coherent(device, sizeof(*srq->record),
					 &srq->record_dma, GFP_KERNEL);
	if (vuhca_srq_alloc_ring(device, srq, init->entries_log2) ||
	    !srq->record) {
		vuhca_srq_free(srq);
		return NULL;
	}
	return srq;
}

/* Event handler: an asynchronous event of an SRQ. */
void vuhca_srq_event(struct vuhca_dev *dev,
		     const struct vuhca_event_entry *entry)
{
	u32 srqn = vuhca_event_entry_get_object_number(entry);
	struct vuhca_srq *srq = xa_load(&dev->srqs, srqn);

	if (srq && srq->event)
		srq->event(entry->event_type, entry->fault_kind, srq->context);
}

/**
 * vuhca_create_srq() - Create a shared receive queue.
 * @pd: PD of the SRQ.
 * @init: Parameters.
 *
 * Context: May sleep.
 * Return: The SRQ, or ERR_PTR() of -EINVAL (too large), -ESTALE (the PD is
 *	older than the last reset), -ENOMEM or the error of vuhca_admin_execute().
 */
struct vuhca_srq *vuhca_create_srq(struct vuhca_pd *pd,
				   const struct vuhca_srq_init *init)
{
	struct vuhca_dev *dev = pd->dev;
	struct vuhca_srq *srq;
	int err;

	if (init->entries_log2 > dev->attributes.receive_queue_max_log2 ||
	    init->sge > dev->attributes.max_sge)
		return ERR_PTR(-EINVAL);
	if (!vuhca_is_current(dev, pd->generation))
		return ERR_PTR(-ESTALE);
	srq = vuhca_srq_alloc(pd, init);
	if (!srq)
		return ERR_PTR(-ENOMEM);
	err = vuhca_srq_command(srq, init);
	if (err)
		goto free;
	err = xa_err(xa_store_irq(&dev->srqs, srq->srqn, srq, GFP_KERNEL));
	if (err)
		goto destroy;
	return srq;

destroy:
	vuhca_admin_destroy(dev, VUHCA_MANAGEMENT_OPCODE_DESTROY_SRQ, srq->srqn,
			    srq->generation);
free:
	vuhca_srq_free(srq);
	return ERR_PTR(err);
}
EXPORT_SYMBOL_GPL(vuhca_create_srq);

/**
 * vuhca_destroy_srq() - Destroy a shared receive queue.
 * @srq: SRQ; stays when the call fails.
 *
 * Context: May sleep.
 * Return: 0; -EBUSY while QPs use the SRQ; or the error of
 *	vuhca_admin_execute().
 */
int vuhca_destroy_srq(struct vuhca_srq *srq)
{
	struct vuhca_dev *dev = srq->dev;
	int err;

	err = vuhca_admin_destroy(dev, VUHCA_MANAGEMENT_OPCODE_DESTROY_SRQ,
				  srq->srqn, srq->generation);
	if (err)
		return err;
	/* After a reset the number may belong to another SRQ. */
	xa_cmpxchg_irq(&dev->srqs, srq->srqn, srq, NULL, 0);
	/*
	 * The last QP is gone, so there are no pollers, unless it is an XRC
	 * SRQ; wait for these, and for event handlers.
	 */
	if (srq->cq) {
		spin_lock_irq(&srq->cq->lock);
		spin_unlock_irq(&srq->cq->lock);
	}
	spin_lock_irq(&dev->eqs[0].lock);
	spin_unlock_irq(&dev->eqs[0].lock);
	vuhca_srq_free(srq);
	return 0;
}
EXPORT_SYMBOL_GPL(vuhca_destroy_srq);

/* Changes the attributes that the mask of @attributes names. */
static int vuhca_srq_modify(struct vuhca_srq *srq,
			    const struct vuhca_srq_attributes *attributes)
{
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_MODIFY_SRQ,
		.object = srq->srqn,
		.payload = attributes,
		.payload_bytes = sizeof(*attributes),
	};
	struct vuhca_answer answer;

	if (!vuhca_is_current(srq->dev, srq->generation))
		return -ESTALE;
	return vuhca_admin_execute(srq->dev, &command, &answer);
}

/**
 * vuhca_set_srq_limit() - Request one event when fewer entries than a limit are
 *	posted.
 * @srq: SRQ.
 * @limit: Limit, 0: no event.
 *
 * Context: May sleep.
 * Return: 0; -ESTALE: a reset has destroyed the SRQ; or the error of
 *	vuhca_admin_execute().
 */
int vuhca_set_srq_limit(struct vuhca_srq *srq, u32 limit)
{
	struct vuhca_srq_attributes attributes = {
		.attribute_mask = cpu_to_le32(VUHCA_SRQ_MASK_LIMIT),
		.limit = cpu_to_le32(limit),
	};

	return vuhca_srq_modify(srq, &attributes);
}
EXPORT_SYMBOL_GPL(vuhca_set_srq_limit);

static int vuhca_srq_resize_command(struct vuhca_srq *srq, dma_addr_t slots,
				    unsigned int entries_log2)
{
	struct vuhca_srq_attributes attributes = {
		.attribute_mask = cpu_to_le32(VUHCA_SRQ_MASK_RESIZE),
	};

	vuhca_srq_describe(srq, &attributes, slots, entries_log2);
	return vuhca_srq_modify(srq, &attributes);
}

/* Stops posting; -EINVAL when outstanding requests have no room. */
static int vuhca_srq_stop_posting(struct vuhca_srq *srq,
				  unsigned int entries_log2)
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

/* Copies the records of outstanding requests to the new ring. */
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

/* Allows posting again; @next: the new ring, or NULL. */
static void vuhca_srq_allow_posting(struct vuhca_srq *srq, struct vuhca_srq *next)
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
	struct vuhca_srq next = { .rq.stride_log2 = srq->rq.stride_log2 };
	int err;

	if (entries_log2 > srq->dev->attributes.receive_queue_max_log2)
		return -EINVAL;
	err = vuhca_srq_alloc_ring(device, &next, entries_log2);
	if (err)
		goto free;
	mutex_lock(&srq->resize_lock);
	err = vuhca_srq_stop_posting(srq, entries_log2);
	if (!err) {
		err = vuhca_srq_resize_command(srq, next.dma, entries_log2);
		vuhca_srq_allow_posting(srq, err ? NULL : &next);
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
