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

#define VU_WORD_BITS 64

static bool vu_test_and_change(uint64_t *bits, unsigned int index, bool value)
{
	uint64_t bit = 1ULL << (index % VU_WORD_BITS);
	uint64_t *word = bits + index / VU_WORD_BITS;
	bool before = *word & bit;

	*word = value ? *word | bit : *word & ~bit;
	return before;
}

/* Retires a request; false when it is not outstanding. */
bool vu_srq_retire(struct vu_srq *srq, uint16_t sequence, uint64_t *wr_id)
{
	struct vu_wq *rq = &srq->rq;
	uint16_t head;
	bool there;

	vu_lock(&rq->lock);
	head = rq->head;
	there = (uint16_t)(sequence - head) < (uint16_t)(rq->tail - head) &&
		!vu_test_and_change(srq->completed, sequence & rq->mask, true);
	*wr_id = rq->wr_ids[sequence & rq->mask];
	while (head != rq->tail &&
	       vu_test_and_change(srq->completed, head & rq->mask, false))
		head++;
	rq->head = head;
	vu_unlock(&rq->lock);
	return there;
}

static void vu_free_srq(struct vu_srq *srq)
{
	vu_free_record(to_vu_context(srq->base.srq.context), srq->record);
	vu_free(&srq->memory);
	vu_wq_cleanup(&srq->rq);
	free(srq->completed);
	vu_release_parent(srq->parent);
	free(srq);
}

static int vu_srq_memory(struct vu_srq *srq, const struct ibv_srq_attr *attr)
{
	struct vu_context *context = to_vu_context(srq->base.srq.context);
	unsigned int log2 = vu_log2(attr->max_wr);
	unsigned int sges = attr->max_sge ? attr->max_sge : 1;
	int err;

	if (!attr->max_wr || log2 > context->about.receive_queue_max_log2 ||
	    sges > context->about.max_sge)
		return EINVAL;
	if (log2 < context->about.receive_queue_max_log2)
		log2++;
	err = vu_wq_init(&srq->rq, 1U << log2, sges, log2,
			 vu_recv_stride(sges));
	if (err)
		return err;
	srq->completed = calloc((1U << log2) / VU_WORD_BITS + 1,
				sizeof(*srq->completed));
	if (!srq->completed)
		return ENOMEM;
	err = vu_alloc(&srq->memory, vu_wq_bytes(&srq->rq), srq->parent, 0);
	if (err)
		return err;
	srq->rq.slots = srq->memory.at;
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

struct ibv_srq *vu_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
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
		err = vu_srq_command(srq, pd, attr);
	if (err) {
		vu_free_srq(srq);
		errno = err;
		return NULL;
	}
	attr->attr.max_wr = 1U << vu_log2(attr->attr.max_wr);
	attr->attr.max_sge = srq->rq.max_sge;
	return &srq->base.srq;
}

struct ibv_srq *vu_create_srq_ex(struct ibv_context *context,
				 struct ibv_srq_init_attr_ex *attr)
{
	struct ibv_srq_init_attr basic = {
		.srq_context = attr->srq_context,
		.attr = attr->attr,
	};
	struct ibv_srq *srq;

	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) ||
	    (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE &&
	     attr->srq_type != IBV_SRQT_BASIC)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	srq = vu_create_srq(attr->pd, &basic);
	if (srq)
		attr->attr = basic.attr;
	return srq;
}

int vu_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	struct ibv_modify_srq cmd = {};

	/* The ring of the user's memory stays. */
	if (mask & IBV_SRQ_MAX_WR)
		return EOPNOTSUPP;
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

int vu_destroy_srq(struct ibv_srq *srq)
{
	int err = ibv_cmd_destroy_srq(srq);

	if (!err)
		vu_free_srq(to_vu_srq(srq));
	return err;
}

int vu_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
		     struct ibv_recv_wr **bad)
{
	struct vu_srq *srq = to_vu_srq(ibsrq);
	int err = 0;

	vu_lock(&srq->rq.lock);
	for (; wr; wr = wr->next) {
		err = vu_post_entry(&srq->rq, wr);
		if (err) {
			*bad = wr;
			break;
		}
	}
	/* The entries come before the tail that announces them. */
	udma_to_device_barrier();
	__atomic_store_n(&srq->record->tail, htole16(srq->rq.tail),
			 __ATOMIC_RELAXED);
	vu_unlock(&srq->rq.lock);
	return err;
}
