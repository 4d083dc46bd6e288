// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Completion queues. An entry is valid when its last word is the running
 * number expected next, so nothing has to be cleared between laps. Arming
 * names the entries consumed so far: a completion that came between the last
 * poll and the request raises the event at once, which closes the race.
 */
#include <linux/dma-mapping.h>
#include <linux/slab.h>

#include "vuhca.h"

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
	attributes.summary_index = cpu_to_le16(vuhca_poller_index(cq->eq));
	vuhca_cq_attributes_set_entries_log2(&attributes, cq->entries_log2);
	vuhca_cq_attributes_set_event_queue(&attributes, cq->eq->eqn);
	err = vuhca_admin_execute(cq->dev, &command, &answer);
	if (!err)
		cq->cqn = answer.object;
	return err;
}

/* Event handler: a CQ has completions, or failed. */
void vuhca_cq_event(struct vuhca_dev *dev,
		    const struct vuhca_event_entry *entry)
{
	u32 cqn = vuhca_event_entry_get_object_number(entry);
	struct vuhca_cq *cq = xa_load(&dev->cqs, cqn);

	if (!cq)
		return;
	if (entry->event_type == VUHCA_EVENT_TYPE_COMPLETION) {
		if (cq->completion)
			cq->completion(cq, cq->context);
	} else if (cq->event) {
		cq->event(entry->event_type, entry->fault_kind, cq->context);
	}
}

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
	err = vuhca_cq_command(cq);
	if (err)
		goto free_record;
	err = xa_err(xa_store_irq(&dev->cqs, cq->cqn, cq, GFP_KERNEL));
	if (err)
		goto destroy;
	return cq;

destroy:
	vuhca_admin_destroy(dev, VUHCA_MANAGEMENT_OPCODE_DESTROY_CQ, cq->cqn,
			    cq->generation);
free_record:
	dma_free_coherent(&dev->pdev->dev, sizeof(*cq->record), cq->record,
			  cq->record_dma);
free_entries:
	dma_free_coherent(&dev->pdev->dev, cq->bytes, cq->entries, cq->dma);
free_cq:
	kfree(cq);
	return ERR_PTR(err);
}
EXPORT_SYMBOL_GPL(vuhca_create_cq);

/* -EBUSY, with the CQ kept, while QPs use it. */
int vuhca_destroy_cq(struct vuhca_cq *cq)
{
	struct vuhca_dev *dev = cq->dev;
	int err;

	err = vuhca_admin_destroy(dev, VUHCA_MANAGEMENT_OPCODE_DESTROY_CQ,
				  cq->cqn, cq->generation);
	if (err)
		return err;
	/* After a reset the number may be another CQ's already. */
	xa_cmpxchg_irq(&dev->cqs, cq->cqn, cq, NULL, 0);
	/* Handlers run under these locks: wait for one that has found us. */
	spin_lock_irq(&cq->eq->lock);
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

static struct vuhca_completion_entry *vuhca_cq_entry(struct vuhca_cq *cq,
						     u32 number)
{
	struct vuhca_completion_entry *entry =
		cq->entries + (number & (BIT(cq->entries_log2) - 1));

	if (le32_to_cpu(READ_ONCE(entry->sequence)) != number + 1)
		return NULL;
	/* The body is read after the sequence word that made it valid. */
	dma_rmb();
	return entry;
}

/*
 * The work request a completion is about; everything before it is done, too.
 * False when it is not outstanding: a request completes once, also when an
 * adapter in trouble repeats what it said of it.
 */
static bool vuhca_wq_retire(struct vuhca_wq *wq, u16 sequence, u64 *wr_id)
{
	u16 ahead = sequence - wq->head;

	if (ahead >= (u16)(READ_ONCE(wq->tail) - wq->head))
		return false;
	*wr_id = wq->wr_ids[sequence & (BIT(wq->entries_log2) - 1)];
	/* Pairs with the check for space: the slot may be filled again now. */
	smp_store_release(&wq->head, (u16)(sequence + 1));
	return true;
}

/* Nobody will poll this entry: a shared receive slot it used is free again. */
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

static bool vuhca_read_cqe(struct vuhca_cq *cq,
			   const struct vuhca_completion_entry *entry,
			   struct vuhca_wc *wc)
{
	u32 qpn = vuhca_completion_entry_get_qpn(entry);
	struct vuhca_qp *qp = xa_load(&cq->dev->qps, qpn);

	if (!qp) {
		/* Destroyed since, or cleaned and forgotten already. */
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
	wc->byte_length = le32_to_cpu(entry->byte_length);
	wc->immediate = le32_to_cpu(entry->immediate);
	wc->source_qpn = vuhca_completion_entry_get_source_qpn(entry);
	wc->timestamp = le64_to_cpu(entry->timestamp);
	if (wc->receive && qp->srq)
		return vuhca_srq_retire(qp->srq, wc->sequence, &wc->wr_id);
	return vuhca_wq_retire(wc->receive ? &qp->rq : &qp->sq, wc->sequence,
			       &wc->wr_id);
}

/* Takes up to @count completions; returns how many. Any context. */
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
		/* Entries are read before they are given back. */
		dma_mb();
		WRITE_ONCE(cq->record->consumed, cpu_to_le32(cq->consumed));
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	return found;
}
EXPORT_SYMBOL_GPL(vuhca_poll_cq);

/* Asks for an event at the next completion not yet polled. Any context. */
void vuhca_arm_cq(struct vuhca_cq *cq, bool solicited_only)
{
	struct vuhca_cq_notify word = {};
	unsigned long flags;

	if (!vuhca_is_current(cq->dev, cq->generation))
		return;
	vuhca_cq_notify_set_cqn(&word, cq->cqn);
	vuhca_cq_notify_set_solicited_only(&word, solicited_only);
	vuhca_cq_notify_set_clear_pending(&word, 1);
	spin_lock_irqsave(&cq->lock, flags);
	word.consumed = cpu_to_le32(cq->consumed);
	vuhca_write_eight(cq->dev->csr + VUHCA_CSR_CQ_NOTIFY_OFF, &word);
	spin_unlock_irqrestore(&cq->lock, flags);
}
EXPORT_SYMBOL_GPL(vuhca_arm_cq);

/*
 * Forgets the completions of a QP that was destroyed or reset: its number may
 * be given to another one, which must not see them. QPN 0 is never given.
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
