// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Posting. A send always goes to its slot in memory first, then the tail is
 * published, then the same bytes go through a collect buffer or a doorbell is
 * rung. So a collect copy may be lost at any time: the adapter falls back to
 * the slot.
 */
#include "vuhca.h"

/* Shows the adapter every slot filled so far. */
void vuhca_publish_send_tail(struct vuhca_qp *qp)
{
	/* Slots before the tail that says they are there. */
	dma_wmb();
	WRITE_ONCE(qp->record->send_tail, cpu_to_le16(qp->sq.tail));
	/* The tail before the collect buffer or doorbell that follows. */
	wmb();
}
EXPORT_SYMBOL_GPL(vuhca_publish_send_tail);

void vuhca_ring_doorbell(struct vuhca_qp *qp, u16 sequence)
{
	struct vuhca_doorbell word = {};

	vuhca_doorbell_set_qpn(&word, qp->qpn);
	vuhca_doorbell_set_sequence(&word, sequence);
	vuhca_doorbell_set_qos_level(&word, qp->qos_level);
	vuhca_write_eight(qp->dev->csr + VUHCA_CSR_SEND_DOORBELL_OFF, &word);
}
EXPORT_SYMBOL_GPL(vuhca_ring_doorbell);

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
		vuhca_ring_doorbell(qp, first);
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

/* Posts up to @count requests in order; how many, or an error when none. */
int vuhca_post_send(struct vuhca_qp *qp, const struct vuhca_send_wr *wrs,
		    unsigned int count, enum vuhca_post_mode mode)
{
	unsigned long flags;
	int posted;

	/* The lock also keeps us on one CPU, hence on one collect buffer. */
	spin_lock_irqsave(&qp->sq.lock, flags);
	posted = vuhca_may_send(qp);
	if (!posted) {
		if (mode == VUHCA_POST_COLLECT ||
		    (mode == VUHCA_POST_AUTO && count == 1))
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

/* Posts up to @count receives; how many, or an error when none. */
int vuhca_post_recv(struct vuhca_qp *qp, const struct vuhca_recv_wr *wrs,
		    unsigned int count)
{
	unsigned long flags;
	int posted = 0;

	if (!vuhca_is_current(qp->dev, qp->generation))
		return -ESTALE;
	if (qp->srq || READ_ONCE(qp->state) == VUHCA_QP_STATE_RESET)
		return -EINVAL;
	spin_lock_irqsave(&qp->rq.lock, flags);
	while (posted < count && vuhca_build_recv_wqe(&qp->rq, wrs + posted))
		posted++;
	/* Entries before the tail that says they are there. */
	dma_wmb();
	WRITE_ONCE(qp->record->receive_tail, cpu_to_le16(qp->rq.tail));
	spin_unlock_irqrestore(&qp->rq.lock, flags);
	/* In the error state nothing arrives that would make it look. */
	if (posted && READ_ONCE(qp->state) == VUHCA_QP_STATE_ERR) {
		wmb();
		vuhca_ring_doorbell(qp, READ_ONCE(qp->sq.tail));
	}
	return posted || !count ? posted : -ENOMEM;
}
EXPORT_SYMBOL_GPL(vuhca_post_recv);

/*
 * Rings for every QP with outstanding sends: commands that were written to
 * collect pages which the function no longer has are lost, their slots are not.
 */
void vuhca_ring_outstanding(struct vuhca_dev *dev)
{
	struct vuhca_qp *qp;
	unsigned long qpn;

	xa_lock_irq(&dev->qps);
	xa_for_each(&dev->qps, qpn, qp) {
		u16 tail = READ_ONCE(qp->sq.tail);

		if (READ_ONCE(qp->sq.head) != tail &&
		    READ_ONCE(qp->state) >= VUHCA_QP_STATE_RTS)
			vuhca_ring_doorbell(qp, tail - 1);
	}
	xa_unlock_irq(&dev->qps);
}
