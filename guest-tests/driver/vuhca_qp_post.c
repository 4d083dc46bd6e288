// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Posting to send and receive queues. A send WQE is first built in its slot in
 * memory, then the tail is published, then the same bytes go through a collect
 * buffer or a doorbell is rung. The copy in a collect buffer may be lost at any
 * time: the adapter then reads the slot.
 */
#include "vuhca_internal.h"
#include "vuhca_tail.h"

/**
 * vuhca_publish_send_tail() - Publish all send WQEs built so far.
 * @qp: QP.
 *
 * Context: Any context. The caller holds qp->sq.lock.
 */
void vuhca_publish_send_tail(struct vuhca_qp *qp)
{
	/* Write the slots before the tail that announces them. */
	dma_wmb();
	WRITE_ONCE(qp->record->send_tail, cpu_to_le16(qp->sq.tail));
	/* Write the tail before the collect buffer or the doorbell. */
	wmb();
}
EXPORT_SYMBOL_GPL(vuhca_publish_send_tail);

/**
 * vuhca_ring_doorbell() - Ring the send doorbell of a QP.
 * @qp: QP.
 * @sequence: Number of the first request of a batch.
 *
 * Context: Any context.
 */
void vuhca_ring_doorbell(struct vuhca_qp *qp, u16 sequence)
{
	struct vuhca_doorbell word = {};

	vuhca_doorbell_set_qpn(&word, qp->qpn);
	vuhca_doorbell_set_sequence(&word, sequence);
	vuhca_write_eight(qp->dev->csr + VUHCA_CSR_SEND_DOORBELL_OFF, &word);
}
EXPORT_SYMBOL_GPL(vuhca_ring_doorbell);

/**
 * vuhca_ring_unwatched() - Ring the send doorbell of a QP, unless the adapter
 *	watches the tail by itself.
 * @qp: QP, whose tail is published.
 * @sequence: Number of the first request of a batch.
 *
 * Context: Any context. The caller holds qp->sq.lock.
 */
void vuhca_ring_unwatched(struct vuhca_qp *qp, u16 sequence)
{
	if (!qp->dev->shadow_tails || !vuhca_is_watched(qp->record))
		vuhca_ring_doorbell(qp, sequence);
}
EXPORT_SYMBOL_GPL(vuhca_ring_unwatched);

static int vuhca_may_send(struct vuhca_qp *qp)
{
	if (!vuhca_is_current(qp->dev, qp->generation))
		return -ESTALE;
	switch (READ_ONCE(qp->state)) {
	case VUHCA_QP_STATE_RTS:
	case VUHCA_QP_STATE_SQD:
	case VUHCA_QP_STATE_SQE:
	case VUHCA_QP_STATE_ERR:
		return 0;
	}
	return -EINVAL;
}

static int vuhca_post_batch(struct vuhca_qp *qp,
			    const struct vuhca_send_wr *wrs, unsigned int count)
{
	u16 sequence, first = qp->sq.tail;
	unsigned int posted;
	size_t length;

	for (posted = 0; posted < count; posted++)
		if (!vuhca_build_send_wqe(qp, wrs + posted, &length, &sequence))
			break;
	if (posted) {
		vuhca_publish_send_tail(qp);
		vuhca_ring_unwatched(qp, first);
	}
	return posted;
}

static int vuhca_post_collected(struct vuhca_qp *qp,
				const struct vuhca_send_wr *wrs,
				unsigned int count)
{
	unsigned int posted;
	size_t length;
	u16 sequence;
	void *slot;

	for (posted = 0; posted < count; posted++) {
		slot = vuhca_build_send_wqe(qp, wrs + posted, &length, &sequence);
		if (!slot)
			break;
		vuhca_publish_send_tail(qp);
		if (!vuhca_vcb_try_write(qp->dev, qp->qos_level, slot, length))
			vuhca_ring_doorbell(qp, sequence);
	}
	return posted;
}

/**
 * vuhca_post_send() - Post send requests to a QP.
 * @qp: QP.
 * @wrs: Requests.
 * @count: Number of requests.
 * @mode: Way of posting.
 *
 * Context: Any context.
 * Return: Number of requests posted, in order; -ENOMEM when none was, because
 *	the queue is full or the first request does not fit; -EINVAL: the state of
 *	the QP does not allow sends; -ESTALE: a reset has destroyed the QP.
 */
int vuhca_post_send(struct vuhca_qp *qp, const struct vuhca_send_wr *wrs,
		    unsigned int count, enum vuhca_post_mode mode)
{
	unsigned long flags;
	int posted;

	/*
	 * The lock also keeps the thread on its CPU, hence at its collect
	 * buffer.
	 */
	spin_lock_irqsave(&qp->sq.lock, flags);
	posted = vuhca_may_send(qp);
	if (!posted) {
		if (mode == VUHCA_POST_COLLECT ||
		    (mode == VUHCA_POST_AUTO && count == 1 &&
		     vuhca_collects_lone(qp->dev)))
			posted = vuhca_post_collected(qp, wrs, count);
		else
			posted = vuhca_post_batch(qp, wrs, count);
		if (!posted && count)
			posted = -ENOMEM;
	}
	spin_unlock_irqrestore(&qp->sq.lock, flags);
	return posted;
}
EXPORT_SYMBOL_GPL(vuhca_post_send);

/**
 * vuhca_post_recv() - Post receive requests to a QP.
 * @qp: QP.
 * @wrs: Requests.
 * @count: Number of requests.
 *
 * Context: Any context.
 * Return: Number of requests posted, in order; -ENOMEM when none was; -EINVAL:
 *	the QP has no receive queue, or is in RESET; -ESTALE: a reset has destroyed the QP.
 */
int vuhca_post_recv(struct vuhca_qp *qp, const struct vuhca_recv_wr *wrs,
		    unsigned int count)
{
	unsigned long flags;
	int posted = 0;

	if (!vuhca_is_current(qp->dev, qp->generation))
		return -ESTALE;
	if (!qp->rq.slots || READ_ONCE(qp->state) == VUHCA_QP_STATE_RESET)
		return -EINVAL;
	spin_lock_irqsave(&qp->rq.lock, flags);
	while (posted < count && vuhca_build_recv_wqe(&qp->rq, wrs + posted))
		posted++;
	/* Write the entries before the tail that announces them. */
	dma_wmb();
	WRITE_ONCE(qp->record->receive_tail, cpu_to_le16(qp->rq.tail));
	spin_unlock_irqrestore(&qp->rq.lock, flags);
	/*
	 * In ERR no packet arrives that would make the adapter read the queue.
	 */
	if (posted && READ_ONCE(qp->state) == VUHCA_QP_STATE_ERR) {
		/* Write the tail before the doorbell. */
		wmb();
		vuhca_ring_doorbell(qp, READ_ONCE(qp->sq.tail));
	}
	return posted || !count ? posted : -ENOMEM;
}
EXPORT_SYMBOL_GPL(vuhca_post_recv);

/*
 * Rings for every QP with outstanding sends: commands that were written to
 * collect pages which the function has lost were dropped, but their slots
 * remain. For queues of a process only the process knows whether sends are
 * outstanding.
 */
void vuhca_ring_outstanding(struct vuhca_dev *dev)
{
	struct vuhca_qp *qp;
	unsigned long qpn;

	xa_lock_irq(&dev->qps);
	xa_for_each(&dev->qps, qpn, qp) {
		u16 tail = le16_to_cpu(READ_ONCE(qp->record->send_tail));

		if ((!qp->sq.slots || READ_ONCE(qp->sq.head) != tail) &&
		    READ_ONCE(qp->state) >= VUHCA_QP_STATE_RTS)
			vuhca_ring_doorbell(qp, tail - 1);
	}
	xa_unlock_irq(&dev->qps);
}
