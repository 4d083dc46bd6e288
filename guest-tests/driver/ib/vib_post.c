// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Posting of kernel users (IBTA 11.4.1). A lone request may go by collect
 * buffer. A chain fills the queue request by request, shows the adapter all of
 * them at once, and rings once.
 */
#include "vib.h"

/* Posting is legal in these states (docs/PROGRAMMING.md). */
static bool vib_may_send(const struct vuhca_qp *hw)
{
	switch (READ_ONCE(hw->state)) {
	case VUHCA_QP_STATE_RTS:
	case VUHCA_QP_STATE_SQD:
	case VUHCA_QP_STATE_SQE:
	case VUHCA_QP_STATE_ERR:
		return true;
	}
	return false;
}

static int vib_post_lone(struct vib_qp *qp, const struct ib_send_wr *wr)
{
	struct vib_wr request;
	int err;

	err = vib_translate(qp, wr, &request);
	if (err)
		return err;
	err = vuhca_post_send(qp->hw, &request.wr, 1, VUHCA_POST_AUTO);
	return err < 0 ? err : 0;
}

/* Returns the error of the request that @wr then points to. */
static int vib_post_chain(struct vib_qp *qp, const struct ib_send_wr **wr)
{
	struct vuhca_qp *hw = qp->hw;
	struct vib_wr request;
	unsigned long flags;
	u16 first, sequence;
	size_t length;
	int err = 0;

	if (!vib_may_send(hw))
		return -EINVAL;
	spin_lock_irqsave(&hw->sq.lock, flags);
	first = hw->sq.tail;
	for (; *wr; *wr = (*wr)->next) {
		err = vib_translate(qp, *wr, &request);
		if (!err && !vuhca_build_send_wqe(hw, &request.wr, &length,
						  &sequence))
			err = -ENOMEM;
		if (err)
			break;
	}
	if (hw->sq.tail != first) {
		vuhca_publish_send_tail(hw);
		vuhca_ring_unwatched(hw, first);
	}
	spin_unlock_irqrestore(&hw->sq.lock, flags);
	return err;
}

/* The function has died: the requests complete as flushed. */
static int vib_post_dead(struct vib_qp *qp, const struct ib_send_wr **wr)
{
	int err = 0;

	for (; *wr && !err; *wr = err ? *wr : (*wr)->next)
		err = vib_flush_post(&qp->hw->sq, (*wr)->wr_id);
	vib_schedule_flush(to_vcq(qp->ibqp.send_cq));
	return err;
}

int vib_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad)
{
	struct vib_qp *qp = to_vqp(ibqp);
	int err;

	if (vib_is_dead(qp->hw->dev, qp->hw->generation))
		err = vib_post_dead(qp, &wr);
	else if (wr->next)
		err = vib_post_chain(qp, &wr);
	else
		err = vib_post_lone(qp, wr);
	if (err)
		*bad = wr;
	return err;
}

static int vib_post_recv_one(struct vib_qp *qp, const struct ib_recv_wr *wr)
{
	struct vuhca_recv_wr request;
	int posted;

	if (!qp->hw->rq.slots)
		return -EINVAL;
	if (vib_is_dead(qp->hw->dev, qp->hw->generation)) {
		vib_schedule_flush(to_vcq(qp->ibqp.recv_cq));
		return vib_flush_post(&qp->hw->rq, wr->wr_id);
	}
	vib_translate_recv(wr, &request);
	posted = vuhca_post_recv(qp->hw, &request, 1);
	return posted < 0 ? posted : 0;
}

int vib_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		  const struct ib_recv_wr **bad)
{
	int err;

	for (; wr; wr = wr->next) {
		err = vib_post_recv_one(to_vqp(ibqp), wr);
		if (err) {
			*bad = wr;
			return err;
		}
	}
	return 0;
}

int vib_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad)
{
	struct vuhca_srq *hw = to_vsrq(ibsrq)->hw;
	struct vuhca_recv_wr request;
	int posted;

	for (; wr; wr = wr->next) {
		vib_translate_recv(wr, &request);
		posted = vuhca_post_srq_recv(hw, &request, 1);
		if (posted < 0) {
			*bad = wr;
			return posted;
		}
	}
	return 0;
}
