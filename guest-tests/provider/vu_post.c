// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Posting of lists of requests: ibv_post_send(), ibv_post_recv(), ibv_bind_mw(). */
#include <errno.h>

#include "vu_internal.h"

/* The states in which sends may be posted (IBTA 10.3.1); others refuse. */
bool vu_may_send(const struct vu_qp *qp)
{
	/* An XRC target has no send queue. */
	if (!qp->sq.wr_ids)
		return false;
	switch (qp->base.qp.state) {
	case IBV_QPS_RTS:
	case IBV_QPS_SQD:
	case IBV_QPS_SQE:
	case IBV_QPS_ERR:
		return true;
	default:
		return false;
	}
}

static int vu_put_payload(struct vu_qp *qp, struct vuhca_send_command *command,
			  const struct ibv_send_wr *wr)
{
	struct ibv_data_buf buffers[VUHCA_SGE_MAX];
	int i;

	if (wr->num_sge < 0)
		return EINVAL;
	/* The flag is for sends and writes only (ibv_post_send(3)). */
	if (!(wr->send_flags & IBV_SEND_INLINE) ||
	    wr->opcode == IBV_WR_RDMA_READ)
		return vu_put_sges(qp, command, wr->sg_list, wr->num_sge);
	if (wr->num_sge > VUHCA_SGE_MAX)
		return EINVAL;
	for (i = 0; i < wr->num_sge; i++) {
		buffers[i].addr = (void *)(uintptr_t)wr->sg_list[i].addr;
		buffers[i].length = wr->sg_list[i].length;
	}
	return vu_put_inline(qp, command, buffers, wr->num_sge);
}

/* An atomic has one element of eight bytes, and operands behind the header. */
static int vu_put_atomic(struct vu_qp *qp, struct vuhca_send_command *command,
			 const struct ibv_send_wr *wr)
{
	int err;

	if (wr->num_sge != 1)
		return EINVAL;
	err = vu_put_sges(qp, command, wr->sg_list, 1);
	if (err)
		return err;
	vu_put_remote(command, wr->wr.atomic.remote_addr, wr->wr.atomic.rkey);
	if (wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		vu_put_operands(command, 0, wr->wr.atomic.compare_add);
	else
		vu_put_operands(command, wr->wr.atomic.compare_add,
				wr->wr.atomic.swap);
	return 0;
}

static int vu_opcode(enum ibv_wr_opcode opcode)
{
	static const int opcodes[] = {
		[IBV_WR_RDMA_WRITE] = VUHCA_SEND_OPCODE_RDMA_WRITE,
		[IBV_WR_RDMA_WRITE_WITH_IMM] =
			VUHCA_SEND_OPCODE_RDMA_WRITE_IMMEDIATE,
		[IBV_WR_SEND] = VUHCA_SEND_OPCODE_SEND,
		[IBV_WR_SEND_WITH_IMM] = VUHCA_SEND_OPCODE_SEND_IMMEDIATE,
		[IBV_WR_RDMA_READ] = VUHCA_SEND_OPCODE_RDMA_READ,
		[IBV_WR_ATOMIC_CMP_AND_SWP] = VUHCA_SEND_OPCODE_COMPARE_SWAP,
		[IBV_WR_ATOMIC_FETCH_AND_ADD] = VUHCA_SEND_OPCODE_FETCH_ADD,
		[IBV_WR_LOCAL_INV] = VUHCA_SEND_OPCODE_LOCAL_INVALIDATE,
		[IBV_WR_BIND_MW] = VUHCA_SEND_OPCODE_BIND_WINDOW,
		[IBV_WR_SEND_WITH_INV] = VUHCA_SEND_OPCODE_SEND_INVALIDATE,
		[IBV_WR_ATOMIC_WRITE] = VUHCA_SEND_OPCODE_ATOMIC_WRITE,
	};

	/* struct ibv_send_wr has no fields for a FLUSH. */
	if (opcode >= ARRAY_SIZE(opcodes) || !opcodes[opcode])
		return -1;
	return opcodes[opcode];
}

static int vu_fill(struct vu_qp *qp, struct vuhca_send_command *command,
		   const struct ibv_send_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return vu_put_atomic(qp, command, wr);
	case IBV_WR_BIND_MW:
		return vu_put_bind(command, wr->bind_mw.mw, wr->bind_mw.rkey,
				   &wr->bind_mw.bind_info);
	case IBV_WR_LOCAL_INV:
		command->immediate = htole32(wr->invalidate_rkey);
		return 0;
	case IBV_WR_SEND_WITH_INV:
		command->immediate = htole32(wr->invalidate_rkey);
		break;
	case IBV_WR_SEND_WITH_IMM:
		command->immediate = htole32(be32toh(wr->imm_data));
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		command->immediate = htole32(be32toh(wr->imm_data));
		/* fallthrough */
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_READ:
	case IBV_WR_ATOMIC_WRITE:
		vu_put_remote(command, wr->wr.rdma.remote_addr,
			      wr->wr.rdma.rkey);
		break;
	default:
		break;
	}
	if (qp->base.qp.qp_type == IBV_QPT_UD) {
		if (!wr->wr.ud.ah)
			return EINVAL;
		vu_put_datagram(command, wr->wr.ud.ah, wr->wr.ud.remote_qpn,
				wr->wr.ud.remote_qkey);
	}
	return vu_put_payload(qp, command, wr);
}

static int vu_build(struct vu_qp *qp, const struct ibv_send_wr *wr)
{
	int opcode = vu_opcode(wr->opcode);
	struct vuhca_send_command *command;
	int err;

	if (opcode < 0)
		return EINVAL;
	command = vu_begin_command(qp, wr->wr_id, opcode, wr->send_flags);
	if (!command)
		return ENOMEM;
	if (qp->base.qp.qp_type == IBV_QPT_XRC_SEND)
		vuhca_send_command_set_xrc_srqn(command,
						wr->qp_type.xrc.remote_srqn);
	err = vu_fill(qp, command, wr);
	if (err)
		return err;
	vu_end_command(qp, command);
	return 0;
}

int vu_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		 struct ibv_send_wr **bad)
{
	struct vu_qp *qp = to_vu_qp(ibqp);
	uint16_t first;
	int err = 0;

	if (!vu_may_send(qp)) {
		*bad = wr;
		return EINVAL;
	}
	vu_lock(&qp->sq.lock);
	first = qp->sq.tail;
	for (; wr; wr = wr->next) {
		err = vu_build(qp, wr);
		if (err) {
			*bad = wr;
			break;
		}
	}
	vu_submit(qp, first);
	vu_unlock(&qp->sq.lock);
	return err;
}

int vu_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		 struct ibv_recv_wr **bad)
{
	struct vu_qp *qp = to_vu_qp(ibqp);
	int err = 0;

	if (!qp->rq.wr_ids || ibqp->state == IBV_QPS_RESET) {
		*bad = wr;
		return EINVAL;
	}
	vu_lock(&qp->rq.lock);
	for (; wr; wr = wr->next) {
		err = vu_post_entry(&qp->rq, wr);
		if (err) {
			*bad = wr;
			break;
		}
	}
	/* The entries come before the tail that announces them. */
	udma_to_device_barrier();
	__atomic_store_n(&qp->record->receive_tail, htole16(qp->rq.tail),
			 __ATOMIC_RELAXED);
	vu_unlock(&qp->rq.lock);
	/* In ERR no packet makes the adapter read the queue. */
	if (qp->failed || ibqp->state == IBV_QPS_ERR) {
		udma_to_device_barrier();
		vu_ring_doorbell(qp->page, qp->qpn, qp->sq.tail);
	}
	return err;
}

/* Binds a window of type 1, whose next key the provider chooses. */
int vu_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct ibv_send_wr *bad;
	struct ibv_send_wr wr = {
		.wr_id = bind->wr_id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = bind->send_flags,
		.bind_mw = {
			.mw = mw,
			.rkey = ibv_inc_rkey(mw->rkey),
			.bind_info = bind->bind_info,
		},
	};
	int err;

	if (mw->type != IBV_MW_TYPE_1)
		return EINVAL;
	err = vu_post_send(qp, &wr, &bad);
	if (!err)
		mw->rkey = wr.bind_mw.rkey;
	return err;
}
