// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Posting to shared receive queues, and completion of posted requests. The
 * adapter takes entries in order, but QPs complete them in any order: a slot is
 * filled again only when all slots before it have completed. The slot of a
 * completion that is not polled is freed when the CQ is cleaned.
 */
#include <linux/bitops.h>

#include "vuhca_internal.h"

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
