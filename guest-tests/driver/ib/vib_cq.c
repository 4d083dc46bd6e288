// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Completion queues of kernel users (IBTA 11.2.8, 11.4.2). */
#include "vib_user.h"

#define VIB_POLL_BATCH	16

static void vib_cq_completion(struct vuhca_cq *hw, void *context)
{
	struct vib_cq *cq = context;
	ib_comp_handler handler = READ_ONCE(cq->ibcq.comp_handler);

	/* The core sets the handler after the creation. */
	if (handler)
		handler(&cq->ibcq, cq->ibcq.cq_context);
}

/* Event queue 0 takes asynchronous events, so CQs use the others. */
static unsigned int vib_eq_index(struct vuhca_dev *hw, unsigned int vector)
{
	return hw->eq_count > 1 ? 1 + vector % (hw->eq_count - 1) : 0;
}

int vib_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *init,
		  struct ib_udata *udata)
{
	struct vuhca_dev *hw = to_vdev(ibcq->device)->hw;
	struct vib_cq *cq = to_vcq(ibcq);
	struct vuhca_cq_init hw_init = {
		.entries_log2 = order_base_2(max(init->cqe, 1U)),
		.eq_index = vib_eq_index(hw, init->comp_vector),
		.completion = vib_cq_completion,
		.event = vib_cq_event,
		.context = cq,
	};
	int err;

	/* Every entry has a time stamp. */
	if (init->flags & ~IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION)
		return -EOPNOTSUPP;
	if (init->cqe > VIB_MAX_CQE)
		return -EINVAL;
	mutex_init(&cq->shown);
	vib_cq_events_init(cq);
	vib_flush_init(cq);
	if (udata) {
		err = vib_create_user_cq(cq, &hw_init, udata);
	} else {
		cq->hw = vuhca_create_cq(hw, &hw_init);
		err = PTR_ERR_OR_ZERO(cq->hw);
	}
	if (err)
		return err;
	ibcq->cqe = BIT(hw_init.entries_log2);
	vib_flush_add(cq);
	return 0;
}

int vib_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct vib_cq *cq = to_vcq(ibcq);
	int err;

	/* No flush calls the handler of a CQ that is being destroyed. */
	vib_flush_remove(cq);
	mutex_lock(&cq->shown);
	err = vuhca_destroy_cq(cq->hw);
	if (!err)
		cq->hw = NULL;
	mutex_unlock(&cq->shown);
	if (err) {
		vib_flush_add(cq);
		return err;
	}
	/* No further event of the CQ arrives. */
	cancel_work_sync(&cq->events.work);
	/* A process still polls after its device was reset or removed. */
	vib_tell_dead(&cq->user);
	vib_release_queue(&cq->user);
	return 0;
}

int vib_resize_cq(struct ib_cq *ibcq, int entries, struct ib_udata *udata)
{
	unsigned int entries_log2 = order_base_2(max(entries, 1));
	int err;

	if (entries < 1 || entries > VIB_MAX_CQE)
		return -EINVAL;
	if (udata)
		return vib_resize_user_cq(ibcq, entries, udata);
	err = vuhca_resize_cq(to_vcq(ibcq)->hw, entries_log2);
	if (!err)
		ibcq->cqe = BIT(entries_log2);
	return err;
}

/* Moderation, for users and for `rdma dev set DEV adaptive-moderation on`. */
int vib_modify_cq(struct ib_cq *ibcq, u16 count, u16 period)
{
	return vuhca_moderate_cq(to_vcq(ibcq)->hw, count, period);
}

static enum ib_wc_opcode vib_wc_opcode(u8 opcode)
{
	switch (opcode) {
	case VUHCA_COMPLETION_OPCODE_RDMA_WRITE:
		return IB_WC_RDMA_WRITE;
	case VUHCA_COMPLETION_OPCODE_RDMA_READ:
		return IB_WC_RDMA_READ;
	case VUHCA_COMPLETION_OPCODE_COMPARE_SWAP:
		return IB_WC_COMP_SWAP;
	case VUHCA_COMPLETION_OPCODE_FETCH_ADD:
		return IB_WC_FETCH_ADD;
	case VUHCA_COMPLETION_OPCODE_FLUSH:
		return IB_WC_FLUSH;
	case VUHCA_COMPLETION_OPCODE_ATOMIC_WRITE:
		return IB_WC_ATOMIC_WRITE;
	case VUHCA_COMPLETION_OPCODE_BIND_WINDOW:
		return IB_WC_BIND_MW;
	case VUHCA_COMPLETION_OPCODE_LOCAL_INVALIDATE:
		return IB_WC_LOCAL_INV;
	case VUHCA_COMPLETION_OPCODE_FAST_REGISTER:
		return IB_WC_REG_MR;
	case VUHCA_COMPLETION_OPCODE_RECEIVE:
		return IB_WC_RECV;
	case VUHCA_COMPLETION_OPCODE_RECEIVE_RDMA_IMMEDIATE:
		return IB_WC_RECV_RDMA_WITH_IMM;
	}
	return IB_WC_SEND;
}

/* The numbers of both kinds of status are equal (enum vuhca_completion_status). */
static_assert((int)VUHCA_COMPLETION_STATUS_FLUSHED == IB_WC_WR_FLUSH_ERR);
static_assert((int)VUHCA_COMPLETION_STATUS_REMOTE_ACCESS_ERROR ==
	      IB_WC_REM_ACCESS_ERR);
static_assert((int)VUHCA_COMPLETION_STATUS_RNR_RETRY_EXCEEDED ==
	      IB_WC_RNR_RETRY_EXC_ERR);
static_assert((int)VUHCA_COMPLETION_STATUS_GENERAL == IB_WC_GENERAL_ERR);

static void vib_put_wc(const struct vuhca_wc *from, struct ib_wc *to)
{
	struct vib_qp *qp = from->qp->context;

	*to = (struct ib_wc){
		.wr_id = from->wr_id,
		.status = (enum ib_wc_status)from->status,
		.opcode = vib_wc_opcode(from->opcode),
		.vendor_err = from->vendor_error,
		.byte_len = from->byte_length,
		.qp = &qp->ibqp,
		.src_qp = from->source_qpn,
		.slid = from->source_lid,
		.pkey_index = from->pkey_index,
		.sl = from->service_level,
		.dlid_path_bits = from->path_bits,
		.port_num = from->port,
	};
	if (from->global_route)
		to->wc_flags |= IB_WC_GRH;
	if (from->has_immediate) {
		to->wc_flags |= IB_WC_WITH_IMM;
		to->ex.imm_data = cpu_to_be32(from->immediate);
	} else if (from->has_invalidate) {
		to->wc_flags |= IB_WC_WITH_INVALIDATE;
		to->ex.invalidate_rkey = from->immediate;
	}
}

static int vib_poll_hw(struct vib_cq *cq, int count, struct ib_wc *wc)
{
	struct vuhca_wc batch[VIB_POLL_BATCH];
	int found, i, total = 0;

	do {
		found = vuhca_poll_cq(cq->hw, min(count - total, VIB_POLL_BATCH),
				      batch);
		for (i = 0; i < found; i++)
			vib_put_wc(&batch[i], &wc[total++]);
	} while (found == VIB_POLL_BATCH && total < count);
	return total;
}

int vib_poll_cq(struct ib_cq *ibcq, int count, struct ib_wc *wc)
{
	struct vib_cq *cq = to_vcq(ibcq);
	unsigned long flags;
	int found;

	if (!vib_is_dead(cq->hw->dev, cq->hw->generation))
		return vib_poll_hw(cq, count, wc);
	/* Keeps two polls from completing the same work. */
	spin_lock_irqsave(&cq->lock, flags);
	found = vib_poll_hw(cq, count, wc);
	found += vib_flush_cq(cq, count - found, wc + found);
	spin_unlock_irqrestore(&cq->lock, flags);
	return found;
}

/*
 * Completions that were not polled raise the event at once, so none is missed,
 * except those that the adapter no longer reports.
 */
int vib_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	struct vib_cq *cq = to_vcq(ibcq);

	vuhca_arm_cq(cq->hw,
		     (flags & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED);
	if (!vib_is_dead(cq->hw->dev, cq->hw->generation))
		return 0;
	if (!vib_has_flushed(cq))
		return 0;
	if (!(flags & IB_CQ_REPORT_MISSED_EVENTS))
		vib_schedule_flush(cq);
	return !!(flags & IB_CQ_REPORT_MISSED_EVENTS);
}
