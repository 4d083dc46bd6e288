// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Polling of completion queues. An entry is valid when its last word is the
 * next running number, so entries need not be cleared between laps.
 */
#include "vuhca_internal.h"

static struct vuhca_completion_entry *vuhca_cq_entry(struct vuhca_cq *cq,
						     u32 number)
{
	struct vuhca_completion_entry *entry;

	/* A process polls the CQ. */
	if (!cq->entries)
		return NULL;
	entry = cq->entries + (number & (BIT(cq->entries_log2) - 1));
	if (le32_to_cpu(READ_ONCE(entry->sequence)) != number + 1)
		return NULL;
	/* Read the body after the sequence word that makes it valid. */
	dma_rmb();
	return entry;
}

/*
 * Retires the work request of a completion and all requests before it. False
 * when the request is not outstanding: an adapter may report a failed request
 * more than once (docs/PROGRAMMING.md, completion queues).
 */
static bool vuhca_wq_retire(struct vuhca_wq *wq, u16 sequence, u64 *wr_id)
{
	u16 ahead = sequence - wq->head;

	if (ahead >= (u16)(READ_ONCE(wq->tail) - wq->head))
		return false;
	*wr_id = wq->wr_ids[sequence & (BIT(wq->entries_log2) - 1)];
	/* Pairs with vuhca_wq_is_full(): the slot may be filled again now. */
	smp_store_release(&wq->head, (u16)(sequence + 1));
	return true;
}

/* This entry will not be polled: free the slot of an SRQ that it names. */
static void vuhca_discard_cqe(struct vuhca_cq *cq,
			      const struct vuhca_completion_entry *entry)
{
	u32 srqn = vuhca_completion_entry_get_srqn(entry);
	struct vuhca_srq *srq = srqn ? xa_load(&cq->dev->srqs, srqn) : NULL;
	u64 wr_id;

	if (srq && vuhca_completion_entry_get_receive(entry))
		vuhca_srq_retire(srq,
				 vuhca_completion_entry_get_queue_sequence(entry),
				 &wr_id);
}

/* Requests for an XRC target come to any SRQ of its domain. */
static bool vuhca_retire_shared(struct vuhca_cq *cq,
				const struct vuhca_completion_entry *entry,
				struct vuhca_wc *wc)
{
	u32 srqn = vuhca_completion_entry_get_srqn(entry);
	struct vuhca_srq *srq = wc->qp->srq;

	if (!srq)
		srq = xa_load(&cq->dev->srqs, srqn);
	return srq && vuhca_srq_retire(srq, wc->sequence, &wc->wr_id);
}

static bool vuhca_read_cqe(struct vuhca_cq *cq,
			   const struct vuhca_completion_entry *entry,
			   struct vuhca_wc *wc)
{
	u32 qpn = vuhca_completion_entry_get_qpn(entry);
	struct vuhca_qp *qp = xa_load(&cq->dev->qps, qpn);

	if (!qp) {
		/*
		 * The QP was destroyed since, or this entry was discarded
		 * before.
		 */
		if (qpn)
			vuhca_discard_cqe(cq, entry);
		return false;
	}
	wc->qp = qp;
	wc->status = vuhca_completion_entry_get_status(entry);
	wc->opcode = vuhca_completion_entry_get_opcode(entry);
	wc->vendor_error = vuhca_completion_entry_get_vendor_error(entry);
	wc->port = vuhca_completion_entry_get_port(entry);
	wc->receive = vuhca_completion_entry_get_receive(entry);
	wc->has_immediate = vuhca_completion_entry_get_has_immediate(entry);
	wc->has_invalidate = vuhca_completion_entry_get_has_invalidate(entry);
	wc->global_route = vuhca_completion_entry_get_global_route(entry);
	wc->solicited = vuhca_completion_entry_get_solicited(entry);
	wc->sequence = vuhca_completion_entry_get_queue_sequence(entry);
	wc->source_lid = vuhca_completion_entry_get_source_lid(entry);
	wc->pkey_index = le16_to_cpu(entry->pkey_index);
	wc->service_level = vuhca_completion_entry_get_service_level(entry);
	wc->path_bits = vuhca_completion_entry_get_path_bits(entry);
	wc->byte_length = le32_to_cpu(entry->byte_length);
	wc->immediate = le32_to_cpu(entry->immediate);
	wc->source_qpn = vuhca_completion_entry_get_source_qpn(entry);
	wc->timestamp = le64_to_cpu(entry->timestamp);
	if (wc->receive && (qp->srq || qp->xrcd))
		return vuhca_retire_shared(cq, entry, wc);
	return vuhca_wq_retire(wc->receive ? &qp->rq : &qp->sq, wc->sequence,
			       &wc->wr_id);
}

/* Tells whether there is an entry to poll. */
bool vuhca_cq_has_entry(struct vuhca_cq *cq)
{
	unsigned long flags;
	bool there;

	spin_lock_irqsave(&cq->lock, flags);
	there = !cq->resizing && vuhca_cq_entry(cq, cq->consumed);
	spin_unlock_irqrestore(&cq->lock, flags);
	return there;
}

/**
 * vuhca_poll_cq() - Take completions from a CQ.
 * @cq: CQ.
 * @count: Most completions to take.
 * @wc: Receives the completions.
 *
 * Context: Any context.
 * Return: Number of completions.
 */
int vuhca_poll_cq(struct vuhca_cq *cq, unsigned int count, struct vuhca_wc *wc)
{
	const struct vuhca_completion_entry *entry;
	unsigned int found = 0;
	unsigned long flags;
	u32 before;

	spin_lock_irqsave(&cq->lock, flags);
	before = cq->consumed;
	while (found < count && !cq->resizing &&
	       (entry = vuhca_cq_entry(cq, cq->consumed))) {
		if (vuhca_read_cqe(cq, entry, wc + found))
			found++;
		else
			cq->stale_entries++;
		cq->consumed++;
	}
	if (cq->consumed != before) {
		/* Read the entries before the adapter may overwrite them. */
		dma_mb();
		WRITE_ONCE(cq->record->consumed, cpu_to_le32(cq->consumed));
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	return found;
}
EXPORT_SYMBOL_GPL(vuhca_poll_cq);

/*
 * Discards the completions of a QP that was destroyed or reset: another QP,
 * which must not see them, may get its number. QPN 0 is never given to a QP.
 */
void vuhca_clean_cq(struct vuhca_cq *cq, u32 qpn)
{
	struct vuhca_completion_entry *entry;
	u32 number;

	mutex_lock(&cq->resize_lock);
	spin_lock_irq(&cq->lock);
	for (number = cq->consumed; number - cq->consumed < BIT(cq->entries_log2);
	     number++) {
		entry = vuhca_cq_entry(cq, number);
		if (!entry)
			break;
		if (vuhca_completion_entry_get_qpn(entry) != qpn)
			continue;
		vuhca_discard_cqe(cq, entry);
		vuhca_completion_entry_set_qpn(entry, 0);
	}
	spin_unlock_irq(&cq->lock);
	mutex_unlock(&cq->resize_lock);
}

/*
 * Discards the completions of a QP in the CQs that it has. Those of an XRC
 * target are of XRC SRQs: they stay, or free their slots when they are polled.
 */
void vuhca_clean_cqs(struct vuhca_qp *qp)
{
	if (qp->send_cq)
		vuhca_clean_cq(qp->send_cq, qp->qpn);
	if (qp->recv_cq)
		vuhca_clean_cq(qp->recv_cq, qp->qpn);
}
