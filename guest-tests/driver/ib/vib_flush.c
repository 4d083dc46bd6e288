// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Flushes of a function that has died, by a reset or a removal: the adapter no
 * longer reports work, but users wait until all of it has completed (ULPs drain
 * their queues). Outstanding work then completes here as flushed. The provider
 * does the same for processes, once the kernel has told it.
 */
#include "vib_user.h"

static bool vib_is_empty(struct vuhca_wq *wq)
{
	return READ_ONCE(wq->head) == READ_ONCE(wq->tail);
}

/* Takes the oldest requests of a queue. */
static int vib_flush_queue(struct vib_qp *qp, struct vuhca_wq *wq,
			   enum ib_wc_opcode opcode, int count,
			   struct ib_wc *wc)
{
	unsigned int mask = BIT(wq->entries_log2) - 1;
	unsigned long flags;
	int found = 0;

	spin_lock_irqsave(&wq->lock, flags);
	while (found < count && wq->head != wq->tail) {
		wc[found++] = (struct ib_wc){
			.wr_id = wq->wr_ids[wq->head & mask],
			.status = IB_WC_WR_FLUSH_ERR,
			.opcode = opcode,
			.qp = &qp->ibqp,
		};
		wq->head++;
	}
	spin_unlock_irqrestore(&wq->lock, flags);
	return found;
}

/* Completes work of all QPs of a CQ. The caller holds cq->lock. */
int vib_flush_cq(struct vib_cq *cq, int count, struct ib_wc *wc)
{
	struct vib_qp *qp;
	int found = 0;

	lockdep_assert_held(&cq->lock);
	list_for_each_entry(qp, &cq->senders, sender)
		found += vib_flush_queue(qp, &qp->hw->sq, IB_WC_SEND,
					 count - found, wc + found);
	list_for_each_entry(qp, &cq->receivers, receiver)
		found += vib_flush_queue(qp, &qp->hw->rq, IB_WC_RECV,
					 count - found, wc + found);
	return found;
}

/* Returns whether a poll would find flushed work. */
bool vib_has_flushed(struct vib_cq *cq)
{
	bool found = false;
	unsigned long flags;
	struct vib_qp *qp;

	spin_lock_irqsave(&cq->lock, flags);
	list_for_each_entry(qp, &cq->senders, sender)
		found = found || !vib_is_empty(&qp->hw->sq);
	list_for_each_entry(qp, &cq->receivers, receiver)
		found = found || !vib_is_empty(&qp->hw->rq);
	spin_unlock_irqrestore(&cq->lock, flags);
	return found;
}

/* Takes a request that only a flush will complete; -ENOMEM: the queue is full. */
int vib_flush_post(struct vuhca_wq *wq, u64 wr_id)
{
	unsigned long flags;
	int err = -ENOMEM;

	spin_lock_irqsave(&wq->lock, flags);
	if ((u16)(wq->tail - wq->head) < BIT(wq->entries_log2)) {
		wq->wr_ids[wq->tail & (BIT(wq->entries_log2) - 1)] = wr_id;
		wq->tail++;
		err = 0;
	}
	spin_unlock_irqrestore(&wq->lock, flags);
	return err;
}

/* Makes the user of a CQ poll it soon. Any context. */
void vib_schedule_flush(struct vib_cq *cq)
{
	schedule_work(&cq->flush);
}

static void vib_call_handler(struct work_struct *work)
{
	struct vib_cq *cq = container_of(work, struct vib_cq, flush);
	ib_comp_handler handler = READ_ONCE(cq->ibcq.comp_handler);

	vib_tell_dead(&cq->user);
	if (handler)
		handler(&cq->ibcq, cq->ibcq.cq_context);
}

void vib_flush_init(struct vib_cq *cq)
{
	spin_lock_init(&cq->lock);
	INIT_LIST_HEAD(&cq->senders);
	INIT_LIST_HEAD(&cq->receivers);
	INIT_WORK(&cq->flush, vib_call_handler);
}

static void vib_list_add(struct vib_cq *cq, struct list_head *entry,
			 struct list_head *list)
{
	spin_lock_irq(&cq->lock);
	list_add_tail(entry, list);
	spin_unlock_irq(&cq->lock);
}

static void vib_list_del(struct vib_cq *cq, struct list_head *entry)
{
	spin_lock_irq(&cq->lock);
	list_del(entry);
	spin_unlock_irq(&cq->lock);
}

/* Links a QP to its CQs, which then find its work; XRC QPs do not have both. */
void vib_flush_attach(struct vib_qp *qp)
{
	struct ib_cq *send_cq = qp->ibqp.send_cq;
	struct ib_cq *recv_cq = qp->ibqp.recv_cq;

	if (send_cq)
		vib_list_add(to_vcq(send_cq), &qp->sender,
			     &to_vcq(send_cq)->senders);
	if (recv_cq)
		vib_list_add(to_vcq(recv_cq), &qp->receiver,
			     &to_vcq(recv_cq)->receivers);
}

void vib_flush_detach(struct vib_qp *qp)
{
	if (qp->ibqp.send_cq)
		vib_list_del(to_vcq(qp->ibqp.send_cq), &qp->sender);
	if (qp->ibqp.recv_cq)
		vib_list_del(to_vcq(qp->ibqp.recv_cq), &qp->receiver);
}

/* The function is dead: makes the users of both CQs poll them. */
void vib_flush_qp(struct vib_qp *qp)
{
	if (qp->ibqp.send_cq)
		vib_schedule_flush(to_vcq(qp->ibqp.send_cq));
	if (qp->ibqp.recv_cq)
		vib_schedule_flush(to_vcq(qp->ibqp.recv_cq));
}

/* From now on a loss of the function reaches the CQ. */
void vib_flush_add(struct vib_cq *cq)
{
	struct vib_dev *dev = to_vdev(cq->ibcq.device);

	spin_lock_irq(&dev->cq_lock);
	list_add_tail(&cq->list, &dev->cqs);
	spin_unlock_irq(&dev->cq_lock);
}

/* Afterwards no flush of the CQ begins, and none is in progress. */
void vib_flush_remove(struct vib_cq *cq)
{
	struct vib_dev *dev = to_vdev(cq->ibcq.device);

	spin_lock_irq(&dev->cq_lock);
	list_del(&cq->list);
	spin_unlock_irq(&dev->cq_lock);
	cancel_work_sync(&cq->flush);
}

/* The function is lost: makes all users poll their CQs. */
void vib_flush_all(struct vib_dev *dev)
{
	struct vib_cq *cq;

	spin_lock_irq(&dev->cq_lock);
	list_for_each_entry(cq, &dev->cqs, list)
		vib_schedule_flush(cq);
	spin_unlock_irq(&dev->cq_lock);
}
