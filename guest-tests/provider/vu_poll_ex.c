// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Polling of extended CQs: an entry at a time, and a function for each field. */
#include <errno.h>

#include "vu_internal.h"

static int vu_next_poll(struct ibv_cq_ex *current)
{
	struct vu_cq *cq = to_vu_cq_ex(current);
	struct vu_qp *qp;

	cq->current = vu_next_entry(cq, &qp, &current->wr_id);
	if (!cq->current)
		return ENOENT;
	current->status = vu_status(cq->current);
	return 0;
}

/* Leaves the lock free when there is nothing to poll. */
static int vu_start_poll(struct ibv_cq_ex *current,
			 struct ibv_poll_cq_attr *attr)
{
	struct vu_cq *cq = to_vu_cq_ex(current);
	uint32_t before;
	int err;

	if (attr->comp_mask)
		return EINVAL;
	if (!vu_peek(cq))
		return ENOENT;
	vu_lock(&cq->lock);
	before = cq->consumed;
	err = vu_next_poll(current);
	if (err) {
		if (cq->consumed != before)
			vu_publish_consumed(cq);
		vu_unlock(&cq->lock);
	}
	return err;
}

static void vu_end_poll(struct ibv_cq_ex *current)
{
	struct vu_cq *cq = to_vu_cq_ex(current);

	vu_publish_consumed(cq);
	vu_unlock(&cq->lock);
}

static enum ibv_wc_opcode vu_read_opcode(struct ibv_cq_ex *cq)
{
	return vuhca_completion_entry_get_opcode(to_vu_cq_ex(cq)->current);
}

static uint32_t vu_read_vendor_err(struct ibv_cq_ex *cq)
{
	return vuhca_completion_entry_get_vendor_error(to_vu_cq_ex(cq)->current);
}

static uint32_t vu_read_byte_len(struct ibv_cq_ex *cq)
{
	return le32toh(to_vu_cq_ex(cq)->current->byte_length);
}

static __be32 vu_read_imm_data(struct ibv_cq_ex *cq)
{
	return vu_immediate(to_vu_cq_ex(cq)->current);
}

static uint32_t vu_read_qp_num(struct ibv_cq_ex *cq)
{
	return vuhca_completion_entry_get_qpn(to_vu_cq_ex(cq)->current);
}

static uint32_t vu_read_src_qp(struct ibv_cq_ex *cq)
{
	return vuhca_completion_entry_get_source_qpn(to_vu_cq_ex(cq)->current);
}

static unsigned int vu_read_wc_flags(struct ibv_cq_ex *cq)
{
	return vu_wc_flags(to_vu_cq_ex(cq)->current);
}

static uint32_t vu_read_slid(struct ibv_cq_ex *cq)
{
	return vuhca_completion_entry_get_source_lid(to_vu_cq_ex(cq)->current);
}

static uint8_t vu_read_sl(struct ibv_cq_ex *cq)
{
	return vuhca_completion_entry_get_service_level(to_vu_cq_ex(cq)->current);
}

static uint8_t vu_read_dlid_path_bits(struct ibv_cq_ex *cq)
{
	return vuhca_completion_entry_get_path_bits(to_vu_cq_ex(cq)->current);
}

static uint64_t vu_read_completion_ts(struct ibv_cq_ex *cq)
{
	return le64toh(to_vu_cq_ex(cq)->current->timestamp);
}

void vu_set_poll_ops(struct vu_cq *cq, uint64_t wc_flags)
{
	struct ibv_cq_ex *ex = &cq->base.cq_ex;

	ex->start_poll = vu_start_poll;
	ex->next_poll = vu_next_poll;
	ex->end_poll = vu_end_poll;
	ex->read_opcode = vu_read_opcode;
	ex->read_vendor_err = vu_read_vendor_err;
	ex->read_wc_flags = vu_read_wc_flags;
	if (wc_flags & IBV_WC_EX_WITH_BYTE_LEN)
		ex->read_byte_len = vu_read_byte_len;
	if (wc_flags & IBV_WC_EX_WITH_IMM)
		ex->read_imm_data = vu_read_imm_data;
	if (wc_flags & IBV_WC_EX_WITH_QP_NUM)
		ex->read_qp_num = vu_read_qp_num;
	if (wc_flags & IBV_WC_EX_WITH_SRC_QP)
		ex->read_src_qp = vu_read_src_qp;
	if (wc_flags & IBV_WC_EX_WITH_SLID)
		ex->read_slid = vu_read_slid;
	if (wc_flags & IBV_WC_EX_WITH_SL)
		ex->read_sl = vu_read_sl;
	if (wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
		ex->read_dlid_path_bits = vu_read_dlid_path_bits;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		ex->read_completion_ts = vu_read_completion_ts;
}
