// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Shared receive queues. The adapter takes entries in order, but QPs complete
 * them in any order: a slot is used again when all slots before it have
 * completed. The queue has twice the slots that the user asked for, so that
 * one message that takes long does not stop the others.
 */
#include <errno.h>
#include <stdlib.h>

#include "vu_internal.h"

#define VU_XRC_MASK (IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ)

static void vu_free_srq(struct vu_srq *srq)
{
	vu_free_record(to_vu_context(srq->base.srq.context), srq->record);
	vu_free(&srq->memory);
	vu_wq_cleanup(&srq->rq);
	free(srq->completed);
	vu_release_parent(srq->parent);
	free(srq);
}

/* log2 of the slots for this many requests; negative if there are too many. */
static int vu_srq_slots(const struct vu_context *context, uint32_t max_wr)
{
	unsigned int log2 = vu_log2(max_wr);

	if (!max_wr || log2 > context->about.receive_queue_max_log2)
		return -1;
	return log2 < context->about.receive_queue_max_log2 ? log2 + 1 : log2;
}

/* Allocates a ring of 2^log2 slots, and a record of each slot. */
static int vu_srq_ring(struct vu_srq *srq, unsigned int log2, uint32_t sges)
{
	int err = vu_wq_init(&srq->rq, 1U << log2, sges, log2,
			     vu_recv_stride(sges));

	if (err)
		return err;
	srq->completed = calloc((1U << log2) / VU_WORD_BITS + 1,
				sizeof(*srq->completed));
	if (!srq->completed)
		return ENOMEM;
	err = vu_alloc(&srq->memory, vu_wq_bytes(&srq->rq), srq->parent, 0);
	srq->rq.slots = srq->memory.at;
	return err;
}

static int vu_srq_memory(struct vu_srq *srq, const struct ibv_srq_attr *attr)
{
	struct vu_context *context = to_vu_context(srq->base.srq.context);
	unsigned int sges = attr->max_sge ? attr->max_sge : 1;
	int log2 = vu_srq_slots(context, attr->max_wr);
	int err;

	if (log2 < 0 || sges > context->about.max_sge)
		return EINVAL;
	err = vu_srq_ring(srq, log2, sges);
	if (err)
		return err;
	srq->record = vu_alloc_record(context);
	return srq->record ? 0 : ENOMEM;
}

static int vu_srq_command(struct vu_srq *srq, struct ibv_pd *pd,
			  struct ibv_srq_init_attr *attr)
{
	struct vu_cmd_create_srq cmd = {};
	struct vu_cmd_create_srq_resp resp = {};
	int err;

	cmd.buffer = (uintptr_t)srq->memory.at;
	cmd.record = (uintptr_t)srq->record;
	cmd.entries_log2 = srq->rq.entries_log2;
	cmd.stride_log2 = srq->rq.stride_log2;
	err = ibv_cmd_create_srq(pd, &srq->base.srq, attr, &cmd.ibv_cmd,
				 sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	if (!err)
		srq->srqn = resp.srqn;
	return err;
}

static int vu_xrc_command(struct vu_srq *srq, struct ibv_srq_init_attr_ex *attr)
{
	struct vu_cmd_create_srq_ex cmd = {};
	struct vu_cmd_create_srq_ex_resp resp = {};
	int err;

	cmd.buffer = (uintptr_t)srq->memory.at;
	cmd.record = (uintptr_t)srq->record;
	cmd.entries_log2 = srq->rq.entries_log2;
	cmd.stride_log2 = srq->rq.stride_log2;
	err = ibv_cmd_create_srq_ex(attr->pd->context, &srq->base, attr,
				    &cmd.ibv_cmd, sizeof(cmd), &resp.ibv_resp,
				    sizeof(resp));
	if (err)
		return err;
	srq->srqn = resp.srqn;
	vu_attach_shared(to_vu_cq(attr->cq), srq);
	return 0;
}

/* @xrc: the attributes of an XRC SRQ, NULL for any other. */
static struct ibv_srq *vu_new_srq(struct ibv_pd *pd,
				  struct ibv_srq_init_attr *attr,
				  struct ibv_srq_init_attr_ex *xrc)
{
	struct vu_srq *srq = calloc(1, sizeof(*srq));
	int err;

	if (!srq) {
		errno = ENOMEM;
		return NULL;
	}
	srq->base.srq.context = pd->context;
	srq->parent = to_vu_pd(pd);
	vu_hold_parent(srq->parent);
	err = vu_srq_memory(srq, &attr->attr);
	if (!err)
		err = xrc ? vu_xrc_command(srq, xrc) :
			    vu_srq_command(srq, pd, attr);
	if (err) {
		vu_free_srq(srq);
		errno = err;
		return NULL;
	}
	attr->attr.max_wr = 1U << vu_log2(attr->attr.max_wr);
	attr->attr.max_sge = srq->rq.max_sge;
	return &srq->base.srq;
}

struct ibv_srq *vu_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	return vu_new_srq(pd, attr, NULL);
}

struct ibv_srq *vu_create_srq_ex(struct ibv_context *context,
				 struct ibv_srq_init_attr_ex *attr)
{
	struct ibv_srq_init_attr basic = {
		.srq_context = attr->srq_context,
		.attr = attr->attr,
	};
	enum ibv_srq_type type = IBV_SRQT_BASIC;
	struct ibv_srq *srq;

	if (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE)
		type = attr->srq_type;
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) ||
	    (type != IBV_SRQT_BASIC && type != IBV_SRQT_XRC)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (type == IBV_SRQT_XRC &&
	    (attr->comp_mask & VU_XRC_MASK) != VU_XRC_MASK) {
		errno = EINVAL;
		return NULL;
	}
	srq = vu_new_srq(attr->pd, &basic, type == IBV_SRQT_XRC ? attr : NULL);
	if (srq)
		attr->attr = basic.attr;
	return srq;
}

/* Moves outstanding requests to the new ring, and its memory to the queue. */
static void vu_srq_move(struct vu_srq *srq, struct vu_srq *next)
{
	struct vu_srq former = *srq;
	uint16_t at;

	for (at = srq->rq.head; at != srq->rq.tail; at++) {
		next->rq.wr_ids[at & next->rq.mask] =
			srq->rq.wr_ids[at & srq->rq.mask];
		if (vu_test_and_change(srq->completed, at & srq->rq.mask, false))
			vu_test_and_change(next->completed, at & next->rq.mask,
					   true);
	}
	srq->rq.slots = next->rq.slots;
	srq->rq.wr_ids = next->rq.wr_ids;
	srq->rq.mask = next->rq.mask;
	srq->rq.entries_log2 = next->rq.entries_log2;
	srq->rq.max_wr = next->rq.max_wr;
	srq->completed = next->completed;
	srq->memory = next->memory;
	next->rq.wr_ids = former.rq.wr_ids;
	next->completed = former.completed;
	next->memory = former.memory;
}

/*
 * The adapter moves the entries that it has not taken to the new ring, where
 * their running numbers continue. Posting waits until then.
 */
static int vu_resize_srq(struct vu_srq *srq, struct ibv_srq_attr *attr,
			 int mask)
{
	struct vu_context *context = to_vu_context(srq->base.srq.context);
	int log2 = vu_srq_slots(context, attr->max_wr);
	struct vu_srq next = { .parent = srq->parent };
	struct vu_cmd_modify_srq cmd = {};
	int err;

	if (log2 < 0)
		return EINVAL;
	err = vu_srq_ring(&next, log2, srq->rq.max_sge);
	if (err)
		goto free;
	cmd.buffer = (uintptr_t)next.memory.at;
	cmd.entries_log2 = log2;
	vu_lock(&srq->rq.lock);
	/* Slots that completed out of order are in use until their turn. */
	err = (uint16_t)(srq->rq.tail - srq->rq.head) > next.rq.max_wr ?
	      EINVAL : ibv_cmd_modify_srq(&srq->base.srq, attr, mask,
					  &cmd.ibv_cmd, sizeof(cmd));
	if (!err)
		vu_srq_move(srq, &next);
	vu_unlock(&srq->rq.lock);
free:
	vu_free(&next.memory);
	vu_wq_cleanup(&next.rq);
	free(next.completed);
	return err;
}

int vu_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	struct ibv_modify_srq cmd = {};

	if (mask & IBV_SRQ_MAX_WR)
		return vu_resize_srq(to_vu_srq(srq), attr, mask);
	return ibv_cmd_modify_srq(srq, attr, mask, &cmd, sizeof(cmd));
}

int vu_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	struct ibv_query_srq cmd = {};

	return ibv_cmd_query_srq(srq, attr, &cmd, sizeof(cmd));
}

int vu_get_srq_num(struct ibv_srq *srq, uint32_t *number)
{
	*number = to_vu_srq(srq)->srqn;
	return 0;
}

int vu_destroy_srq(struct ibv_srq *ibsrq)
{
	struct vu_srq *srq = to_vu_srq(ibsrq);
	int err = ibv_cmd_destroy_srq(ibsrq);

	if (err)
		return err;
	if (srq->cq) {
		vu_detach_shared(srq);
		vu_clean_shared(srq);
	}
	vu_free_srq(srq);
	return 0;
}
