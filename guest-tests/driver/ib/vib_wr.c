// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Work requests of the core in the form of vuhca.ko. Immediate data are big
 * endian in the core and a number here; keys are numbers in both.
 */
#include "vib.h"

/* Both kinds of scatter/gather element have the same layout. */
static_assert(sizeof(struct ib_sge) == sizeof(struct vuhca_buffer));
static_assert(offsetof(struct ib_sge, addr) ==
	      offsetof(struct vuhca_buffer, address));
static_assert(offsetof(struct ib_sge, length) ==
	      offsetof(struct vuhca_buffer, length));
static_assert(offsetof(struct ib_sge, lkey) ==
	      offsetof(struct vuhca_buffer, lkey));

static const struct vuhca_buffer *vib_sges(const struct ib_sge *list)
{
	return (const struct vuhca_buffer *)list;
}

/*
 * Copies the payload of an inline request; its addresses are kernel addresses.
 */
static int vib_copy_inline(const struct ib_send_wr *from, struct vib_wr *to)
{
	u32 total = 0;
	int i;

	for (i = 0; i < from->num_sge; i++) {
		const struct ib_sge *sge = &from->sg_list[i];

		if (sge->length > sizeof(to->bytes) - total)
			return -EINVAL;
		memcpy(to->bytes + total, (void *)(uintptr_t)sge->addr,
		       sge->length);
		total += sge->length;
	}
	to->wr.inline_data = to->bytes;
	to->wr.inline_bytes = total;
	to->wr.sge_count = 0;
	return 0;
}

static void vib_put_datagram(const struct ib_send_wr *from,
			     struct vuhca_send_wr *to)
{
	const struct ib_ud_wr *ud = ud_wr(from);

	to->ud.remote_qpn = ud->remote_qpn;
	to->ud.qkey = ud->remote_qkey;
	to->ud.ah = to_vah(ud->ah)->hw->index;
	to->ud.pkey_index = ud->pkey_index;
}

static void vib_put_remote(const struct ib_send_wr *from,
			   struct vuhca_send_wr *to, u8 opcode)
{
	to->opcode = opcode;
	to->remote.address = rdma_wr(from)->remote_addr;
	to->remote.rkey = rdma_wr(from)->rkey;
}

static void vib_put_atomic(const struct ib_send_wr *from,
			   struct vuhca_send_wr *to)
{
	const struct ib_atomic_wr *atomic = atomic_wr(from);

	to->remote.address = atomic->remote_addr;
	to->remote.rkey = atomic->rkey;
	if (from->opcode == IB_WR_ATOMIC_CMP_AND_SWP) {
		to->opcode = VUHCA_SEND_OPCODE_COMPARE_SWAP;
		to->atomic.compare = atomic->compare_add;
		to->atomic.swap_or_add = atomic->swap;
	} else {
		to->opcode = VUHCA_SEND_OPCODE_FETCH_ADD;
		to->atomic.swap_or_add = atomic->compare_add;
	}
}

static void vib_put_registration(const struct ib_send_wr *from,
				 struct vib_wr *to)
{
	const struct ib_reg_wr *reg = reg_wr(from);
	struct vib_mr *mr = to_vmr(reg->mr);

	to->range = (struct vuhca_buffer){
		.address = mr->ibmr.iova,
		.length = mr->ibmr.length,
		.lkey = reg->key,
	};
	to->wr.opcode = VUHCA_SEND_OPCODE_FAST_REGISTER;
	to->wr.sge = &to->range;
	to->wr.sge_count = 1;
	to->wr.reg.page_list = mr->list_dma;
	to->wr.reg.page_count = mr->page_count;
	to->wr.reg.page_shift = ilog2(mr->ibmr.page_size);
	to->wr.reg.access = vib_access(reg->access);
}

static int vib_put_operation(const struct ib_send_wr *from, struct vib_wr *to)
{
	struct vuhca_send_wr *wr = &to->wr;

	switch (from->opcode) {
	case IB_WR_SEND:
		wr->opcode = VUHCA_SEND_OPCODE_SEND;
		return 0;
	case IB_WR_SEND_WITH_IMM:
		wr->opcode = VUHCA_SEND_OPCODE_SEND_IMMEDIATE;
		wr->immediate = be32_to_cpu(from->ex.imm_data);
		return 0;
	case IB_WR_SEND_WITH_INV:
		wr->opcode = VUHCA_SEND_OPCODE_SEND_INVALIDATE;
		wr->immediate = from->ex.invalidate_rkey;
		return 0;
	case IB_WR_RDMA_WRITE:
		vib_put_remote(from, wr, VUHCA_SEND_OPCODE_RDMA_WRITE);
		return 0;
	case IB_WR_RDMA_WRITE_WITH_IMM:
		vib_put_remote(from, wr, VUHCA_SEND_OPCODE_RDMA_WRITE_IMMEDIATE);
		wr->immediate = be32_to_cpu(from->ex.imm_data);
		return 0;
	case IB_WR_RDMA_READ:
		vib_put_remote(from, wr, VUHCA_SEND_OPCODE_RDMA_READ);
		return 0;
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		vib_put_atomic(from, wr);
		return 0;
	/* IB_WR_FLUSH has no fields in the requests of the kernel. */
	case IB_WR_ATOMIC_WRITE:
		vib_put_remote(from, wr, VUHCA_SEND_OPCODE_ATOMIC_WRITE);
		return 0;
	case IB_WR_LOCAL_INV:
		wr->opcode = VUHCA_SEND_OPCODE_LOCAL_INVALIDATE;
		wr->immediate = from->ex.invalidate_rkey;
		wr->sge_count = 0;
		return 0;
	case IB_WR_REG_MR:
		vib_put_registration(from, to);
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

static bool vib_has_payload(u8 opcode)
{
	switch (opcode) {
	case VUHCA_SEND_OPCODE_SEND:
	case VUHCA_SEND_OPCODE_SEND_IMMEDIATE:
	case VUHCA_SEND_OPCODE_SEND_INVALIDATE:
	case VUHCA_SEND_OPCODE_RDMA_WRITE:
	case VUHCA_SEND_OPCODE_RDMA_WRITE_IMMEDIATE:
	case VUHCA_SEND_OPCODE_ATOMIC_WRITE:
		return true;
	}
	return false;
}

/*
 * Returns 0; -EINVAL: the payload is too long to be inline; -EOPNOTSUPP: no
 * such operation. @to refers to itself and to @from.
 */
int vib_translate(struct vib_qp *qp, const struct ib_send_wr *from,
		  struct vib_wr *to)
{
	int err;

	to->wr = (struct vuhca_send_wr){
		.wr_id = from->wr_id,
		.signaled = from->send_flags & IB_SEND_SIGNALED,
		.solicited = from->send_flags & IB_SEND_SOLICITED,
		.fence = from->send_flags & IB_SEND_FENCE,
		.sge = vib_sges(from->sg_list),
		.sge_count = from->num_sge,
	};
	err = vib_put_operation(from, to);
	if (err)
		return err;
	switch (qp->ibqp.qp_type) {
	case IB_QPT_UD:
	case IB_QPT_SMI:
	case IB_QPT_GSI:
		vib_put_datagram(from, &to->wr);
		break;
	default:
		break;
	}
	if (from->send_flags & IB_SEND_INLINE && vib_has_payload(to->wr.opcode))
		return vib_copy_inline(from, to);
	return 0;
}

void vib_translate_recv(const struct ib_recv_wr *from, struct vuhca_recv_wr *to)
{
	*to = (struct vuhca_recv_wr){
		.wr_id = from->wr_id,
		.sge = vib_sges(from->sg_list),
		.sge_count = from->num_sge,
	};
}
