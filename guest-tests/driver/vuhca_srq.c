// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Shared receive queues. The adapter takes entries in order, but QPs complete
 * them in any order: a slot is filled again only when all slots before it have
 * completed. An entry that a QP had taken for a message in progress completes
 * as flushed when the QP is reset or destroyed. The slot of a completion that
 * is not polled is freed when the CQ is cleaned.
 */
#include <linux/bitmap.h>
#include <linux/dma-mapping.h>
#include <linux/log2.h>
#include <linux/slab.h>

#include "vuhca_internal.h"

/* Tells the adapter where the memory is. */
static void vuhca_srq_describe(struct vuhca_srq *srq,
			       const struct vuhca_user_memory *user,
			       struct vuhca_srq_attributes *attributes)
{
	attributes->entries_log2 = srq->rq.entries_log2;
	attributes->stride_log2 = srq->rq.stride_log2;
	attributes->queue_address = cpu_to_le64(srq->dma);
	attributes->record_address = cpu_to_le64(srq->record_dma);
	if (!user)
		return;
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
	vuhca_srq_describe(srq, init->user, &attributes);
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

static void vuhca_srq_free(struct vuhca_srq *srq)
{
	struct device *device = &srq->dev->pdev->dev;

	if (srq->rq.slots)
		dma_free_coherent(device, srq->bytes, srq->rq.slots, srq->dma);
	/* That of a process is in its memory. */
	if (srq->bytes && srq->record)
		dma_free_coherent(device, sizeof(*srq->record), srq->record,
				  srq->record_dma);
	bitmap_free(srq->completed);
	kvfree(srq->rq.wr_ids);
	kfree(srq);
}

/* Takes over the memory of a process, which knows what is in the queue. */
static void vuhca_srq_use(struct vuhca_srq *srq,
			  const struct vuhca_user_memory *user)
{
	srq->rq.stride_log2 = user->stride_log2[0];
	srq->record = user->record;
	srq->record_dma = user->record_dma;
	srq->dma = user->pages[0];
}

static struct vuhca_srq *vuhca_srq_alloc(struct vuhca_pd *pd,
					 const struct vuhca_srq_init *init)
{
	struct vuhca_srq *srq = kzalloc(sizeof(*srq), GFP_KERNEL);
	struct vuhca_wq *rq;

	if (!srq)
		return NULL;
	srq->dev = pd->dev;
	srq->pd = pd;
	srq->xrcd = init->xrcd;
	srq->cq = init->cq;
	srq->generation = pd->generation;
	srq->event = init->event;
	srq->context = init->context;
	rq = &srq->rq;
	spin_lock_init(&rq->lock);
	mutex_init(&srq->resize_lock);
	rq->entries_log2 = init->entries_log2;
	if (init->user) {
		vuhca_srq_use(srq, init->user);
		return srq;
	}
	rq->stride_log2 = vuhca_recv_stride(init->sge);
	rq->wr_ids = kvcalloc(BIT(rq->entries_log2), sizeof(*rq->wr_ids),
			      GFP_KERNEL);
	srq->completed = bitmap_zalloc(BIT(rq->entries_log2), GFP_KERNEL);
	srq->bytes = (size_t)1 << (rq->entries_log2 + rq->stride_log2);
	rq->slots = dma_alloc_coherent(&srq->dev->pdev->dev, srq->bytes,
				       &srq->dma, GFP_KERNEL);
	srq->record = dma_alloc_coherent(&srq->dev->pdev->dev,
					 sizeof(*srq->record), &srq->record_dma,
					 GFP_KERNEL);
	if (!rq->wr_ids || !srq->completed || !rq->slots || !srq->record) {
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

/**
 * vuhca_set_srq_limit() - Ask for one event when fewer entries than a limit
 *	are posted.
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
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_MODIFY_SRQ,
		.object = srq->srqn,
		.payload = &attributes,
		.payload_bytes = sizeof(attributes),
	};
	struct vuhca_answer answer;

	if (!vuhca_is_current(srq->dev, srq->generation))
		return -ESTALE;
	return vuhca_admin_execute(srq->dev, &command, &answer);
}
EXPORT_SYMBOL_GPL(vuhca_set_srq_limit);

/**
 * vuhca_post_srq_recv() - Post receive requests to an SRQ.
 * @srq: SRQ.
 * @wrs: Requests.
 * @count: Number of requests.
 *
 * Context: Any context.
 * Return: Number of requests posted, in order; -ENOMEM when none was; -EBUSY
 *	during a resize; -ESTALE: a reset has destroyed the SRQ.
 */
int vuhca_post_srq_recv(struct vuhca_srq *srq, const struct vuhca_recv_wr *wrs,
			unsigned int count)
{
	struct vuhca_wq *rq = &srq->rq;
	unsigned int posted = 0;
	unsigned long flags;

	if (!vuhca_is_current(srq->dev, srq->generation))
		return -ESTALE;
	spin_lock_irqsave(&rq->lock, flags);
	if (srq->resizing) {
		spin_unlock_irqrestore(&rq->lock, flags);
		return -EBUSY;
	}
	while (posted < count && vuhca_build_recv_wqe(rq, wrs + posted))
		posted++;
	/* Write the entries before the tail that announces them. */
	dma_wmb();
	WRITE_ONCE(srq->record->tail, cpu_to_le16(rq->tail));
	spin_unlock_irqrestore(&rq->lock, flags);
	return posted || !count ? posted : -ENOMEM;
}
EXPORT_SYMBOL_GPL(vuhca_post_srq_recv);

/*
 * Retires the request that completed as entry @sequence; false when it is not
 * outstanding. Any context.
 */
bool vuhca_srq_retire(struct vuhca_srq *srq, u16 sequence, u64 *wr_id)
{
	struct vuhca_wq *rq = &srq->rq;
	unsigned int mask = BIT(rq->entries_log2) - 1;
	unsigned long flags;
	bool outstanding;

	spin_lock_irqsave(&rq->lock, flags);
	outstanding = (u16)(sequence - rq->head) < (u16)(rq->tail - rq->head) &&
		      !__test_and_set_bit(sequence & mask, srq->completed);
	*wr_id = rq->wr_ids[sequence & mask];
	while (rq->head != rq->tail &&
	       __test_and_clear_bit(rq->head & mask, srq->completed))
		rq->head++;
	spin_unlock_irqrestore(&rq->lock, flags);
	return outstanding;
}
