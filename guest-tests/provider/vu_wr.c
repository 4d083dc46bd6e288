// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ibv_wr_*: requests built by calls. A call for the operation begins a
 * command; the following calls add addresses and payload, and the next
 * operation, or ibv_wr_complete(), ends it. The first error makes
 * ibv_wr_complete() drop all of them.
 */
#include <errno.h>

#include "vu_internal.h"

#define VU_SENDS                                                               \
	(IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)
#define VU_WRITES                                                              \
	(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)
#define VU_UC_OPS                                                              \
	(VU_SENDS | VU_WRITES | IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV)
#define VU_RC_OPS                                                              \
	(VU_UC_OPS | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_SEND_WITH_INV | \
	 IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |                                   \
	 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)

/* FLUSH and ATOMIC WRITE (IBTA annex A19) are operations of RC only. */
#define VU_PLACEMENT_OPS                                                       \
	(IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_ATOMIC_WRITE)

static void vu_end_last(struct vu_qp *qp)
{
	if (qp->command && !qp->wr_error)
		vu_end_command(qp, qp->command);
	qp->command = NULL;
}

/* The next command; NULL after an error. */
static struct vuhca_send_command *vu_wr_begin(struct ibv_qp_ex *ex,
					      unsigned int opcode)
{
	struct vu_qp *qp = to_vu_qp_ex(ex);

	vu_end_last(qp);
	if (qp->wr_error)
		return NULL;
	qp->command = vu_begin_command(qp, ex->wr_id, opcode, ex->wr_flags);
	if (!qp->command)
		qp->wr_error = ENOMEM;
	return qp->command;
}

static void vu_wr_start(struct ibv_qp_ex *ex)
{
	struct vu_qp *qp = to_vu_qp_ex(ex);

	vu_lock(&qp->sq.lock);
	qp->first = qp->sq.tail;
	qp->command = NULL;
	qp->wr_error = vu_may_send(qp) ? 0 : EINVAL;
}

static int vu_wr_complete(struct ibv_qp_ex *ex)
{
	struct vu_qp *qp = to_vu_qp_ex(ex);
	int err;

	vu_end_last(qp);
	err = qp->wr_error;
	if (err)
		qp->sq.tail = qp->first;
	else
		vu_submit(qp, qp->first);
	vu_unlock(&qp->sq.lock);
	return err;
}

static void vu_wr_abort(struct ibv_qp_ex *ex)
{
	struct vu_qp *qp = to_vu_qp_ex(ex);

	qp->command = NULL;
	qp->sq.tail = qp->first;
	vu_unlock(&qp->sq.lock);
}

static void vu_wr_send(struct ibv_qp_ex *ex)
{
	vu_wr_begin(ex, VUHCA_SEND_OPCODE_SEND);
}

static void vu_wr_with_immediate(struct ibv_qp_ex *ex, unsigned int opcode,
				 uint32_t immediate)
{
	struct vuhca_send_command *command = vu_wr_begin(ex, opcode);

	if (command)
		command->immediate = htole32(immediate);
}

static void vu_wr_send_imm(struct ibv_qp_ex *ex, __be32 immediate)
{
	vu_wr_with_immediate(ex, VUHCA_SEND_OPCODE_SEND_IMMEDIATE,
			     be32toh(immediate));
}

static void vu_wr_send_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	vu_wr_with_immediate(ex, VUHCA_SEND_OPCODE_SEND_INVALIDATE, rkey);
}

static void vu_wr_local_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	vu_wr_with_immediate(ex, VUHCA_SEND_OPCODE_LOCAL_INVALIDATE, rkey);
}

static struct vuhca_send_command *vu_wr_remote(struct ibv_qp_ex *ex,
					       unsigned int opcode,
					       uint32_t rkey, uint64_t address)
{
	struct vuhca_send_command *command = vu_wr_begin(ex, opcode);

	if (command)
		vu_put_remote(command, address, rkey);
	return command;
}

static void vu_wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey,
			     uint64_t address)
{
	vu_wr_remote(ex, VUHCA_SEND_OPCODE_RDMA_WRITE, rkey, address);
}

static void vu_wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey,
				 uint64_t address, __be32 immediate)
{
	struct vuhca_send_command *command =
		vu_wr_remote(ex, VUHCA_SEND_OPCODE_RDMA_WRITE_IMMEDIATE, rkey,
			     address);

	if (command)
		command->immediate = htole32(be32toh(immediate));
}

static void vu_wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey,
			    uint64_t address)
{
	vu_wr_remote(ex, VUHCA_SEND_OPCODE_RDMA_READ, rkey, address);
}

static void vu_wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey,
				 uint64_t address, uint64_t compare,
				 uint64_t swap)
{
	struct vuhca_send_command *command =
		vu_wr_remote(ex, VUHCA_SEND_OPCODE_COMPARE_SWAP, rkey, address);

	if (command)
		vu_put_operands(command, compare, swap);
}

static void vu_wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey,
				   uint64_t address, uint64_t add)
{
	struct vuhca_send_command *command =
		vu_wr_remote(ex, VUHCA_SEND_OPCODE_FETCH_ADD, rkey, address);

	if (command)
		vu_put_operands(command, 0, add);
}

static void vu_wr_atomic_write(struct ibv_qp_ex *ex, uint32_t rkey,
			       uint64_t address, const void *value)
{
	struct vuhca_send_command *command =
		vu_wr_remote(ex, VUHCA_SEND_OPCODE_ATOMIC_WRITE, rkey, address);

	if (command)
		vu_put_value(command, value);
}

static void vu_wr_flush(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t address,
			size_t length, uint8_t type, uint8_t level)
{
	struct vuhca_send_command *command =
		vu_wr_remote(ex, VUHCA_SEND_OPCODE_FLUSH, rkey, address);

	if (command)
		to_vu_qp_ex(ex)->wr_error =
			vu_put_flush(command, length, type, level);
}

static void vu_wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw,
			  uint32_t rkey, const struct ibv_mw_bind_info *info)
{
	struct vuhca_send_command *command =
		vu_wr_begin(ex, VUHCA_SEND_OPCODE_BIND_WINDOW);

	if (command)
		to_vu_qp_ex(ex)->wr_error = vu_put_bind(command, mw, rkey, info);
}

static void vu_wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah,
			      uint32_t qpn, uint32_t qkey)
{
	struct vu_qp *qp = to_vu_qp_ex(ex);

	if (qp->command)
		vu_put_datagram(qp->command, ah, qpn, qkey);
}

static void vu_wr_set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t srqn)
{
	struct vu_qp *qp = to_vu_qp_ex(ex);

	if (qp->command)
		vuhca_send_command_set_xrc_srqn(qp->command, srqn);
}

static void vu_wr_set_sge_list(struct ibv_qp_ex *ex, size_t count,
			       const struct ibv_sge *sges)
{
	struct vu_qp *qp = to_vu_qp_ex(ex);

	if (qp->command && !qp->wr_error)
		qp->wr_error = vu_put_sges(qp, qp->command, sges, count);
}

static void vu_wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t address,
			  uint32_t length)
{
	struct ibv_sge sge = { .addr = address, .length = length, .lkey = lkey };

	vu_wr_set_sge_list(ex, 1, &sge);
}

static void vu_wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t count,
				       const struct ibv_data_buf *buffers)
{
	struct vu_qp *qp = to_vu_qp_ex(ex);

	if (qp->command && !qp->wr_error)
		qp->wr_error = vu_put_inline(qp, qp->command, buffers, count);
}

static void vu_wr_set_inline_data(struct ibv_qp_ex *ex, void *at, size_t length)
{
	struct ibv_data_buf buffer = { .addr = at, .length = length };

	vu_wr_set_inline_data_list(ex, 1, &buffer);
}

/* Operations that a service has (IBTA 9.2, table 35 and the text after it). */
static uint64_t vu_wr_ops(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC:
		return VU_RC_OPS | VU_PLACEMENT_OPS;
	case IBV_QPT_XRC_SEND:
		return VU_RC_OPS;
	case IBV_QPT_UC:
		return VU_UC_OPS;
	case IBV_QPT_UD:
		return VU_SENDS;
	default:
		return 0;
	}
}

int vu_set_wr_ops(struct vu_qp *qp, enum ibv_qp_type type, uint64_t send_ops)
{
	struct ibv_qp_ex *ex = &qp->base.qp_ex;

	ex->wr_start = vu_wr_start;
	ex->wr_complete = vu_wr_complete;
	ex->wr_abort = vu_wr_abort;
	ex->wr_send = vu_wr_send;
	ex->wr_send_imm = vu_wr_send_imm;
	ex->wr_send_inv = vu_wr_send_inv;
	ex->wr_local_inv = vu_wr_local_inv;
	ex->wr_rdma_write = vu_wr_rdma_write;
	ex->wr_rdma_write_imm = vu_wr_rdma_write_imm;
	ex->wr_rdma_read = vu_wr_rdma_read;
	ex->wr_atomic_cmp_swp = vu_wr_atomic_cmp_swp;
	ex->wr_atomic_fetch_add = vu_wr_atomic_fetch_add;
	ex->wr_atomic_write = vu_wr_atomic_write;
	ex->wr_flush = vu_wr_flush;
	ex->wr_bind_mw = vu_wr_bind_mw;
	ex->wr_set_ud_addr = vu_wr_set_ud_addr;
	ex->wr_set_xrc_srqn = vu_wr_set_xrc_srqn;
	ex->wr_set_sge = vu_wr_set_sge;
	ex->wr_set_sge_list = vu_wr_set_sge_list;
	ex->wr_set_inline_data = vu_wr_set_inline_data;
	ex->wr_set_inline_data_list = vu_wr_set_inline_data_list;
	return send_ops & ~vu_wr_ops(type) ? EOPNOTSUPP : 0;
}
