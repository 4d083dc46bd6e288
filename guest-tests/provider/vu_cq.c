// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Completion queues: creation, resize, destruction and requests for events. */
#include <errno.h>
#include <stdlib.h>

#include "vu_internal.h"

#define VU_WC_FLAGS (IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
#define VU_CQ_MASK (IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD)
#define VU_CQ_FLAGS IBV_CREATE_CQ_ATTR_SINGLE_THREADED

static int vu_alloc_entries(struct vu_context *context, struct vu_pd *parent,
			    uint32_t cqe, struct vu_memory *memory,
			    uint8_t *entries_log2)
{
	if (!cqe || cqe > 1U << context->about.completion_queue_max_log2)
		return EINVAL;
	*entries_log2 = vu_log2(cqe);
	return vu_alloc(memory, sizeof(struct vuhca_completion_entry) <<
			*entries_log2, parent, 0);
}

static void vu_free_cq(struct vu_cq *cq)
{
	vu_free_record(to_vu_context(cq->base.cq.context), cq->record);
	vu_free(&cq->memory);
	vu_release_parent(cq->parent);
	free(cq);
}

static int vu_create_cq_command(struct vu_cq *cq,
				struct ibv_context *context,
				struct ibv_cq_init_attr_ex *attr)
{
	struct vu_cmd_create_cq_ex cmd = {};
	struct vu_cmd_create_cq_ex_resp resp = {};
	int err;

	cmd.buffer = (uintptr_t)cq->memory.at;
	cmd.record = (uintptr_t)cq->record;
	cmd.entries_log2 = cq->entries_log2;
	attr->cqe = 1U << cq->entries_log2;
	err = ibv_cmd_create_cq_ex(context, attr, &cq->base, &cmd.ibv_cmd,
				   sizeof(cmd), &resp.ibv_resp, sizeof(resp),
				   CREATE_CQ_CMD_FLAGS_TS_IGNORED_EX);
	if (!err)
		cq->cqn = resp.cqn;
	return err;
}

static struct vu_cq *vu_new_cq(struct ibv_context *context,
			       const struct ibv_cq_init_attr_ex *given)
{
	struct ibv_cq_init_attr_ex attr = *given;
	struct vu_cq *cq = calloc(1, sizeof(*cq));
	bool single = false;
	int err;

	if (!cq) {
		errno = ENOMEM;
		return NULL;
	}
	cq->base.cq.context = context;
	if (attr.comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS)
		single = attr.flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	if (attr.comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) {
		cq->parent = to_vu_pd(attr.parent_domain);
		vu_hold_parent(cq->parent);
	}
	/* The kernel knows neither parent domains nor threads. */
	attr.comp_mask = 0;
	attr.flags = 0;
	vu_lock_init(&cq->lock, !single);
	err = vu_alloc_entries(to_vu_context(context), cq->parent, attr.cqe,
			       &cq->memory, &cq->entries_log2);
	if (err)
		goto fail;
	cq->entries = cq->memory.at;
	cq->record = vu_alloc_record(to_vu_context(context));
	err = cq->record ? vu_create_cq_command(cq, context, &attr) : ENOMEM;
	if (!err)
		return cq;
fail:
	vu_free_cq(cq);
	errno = err;
	return NULL;
}

struct ibv_cq *vu_create_cq(struct ibv_context *context, int cqe,
			    struct ibv_comp_channel *channel, int vector)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe,
		.channel = channel,
		.comp_vector = vector,
	};
	struct vu_cq *cq;

	if (cqe <= 0) {
		errno = EINVAL;
		return NULL;
	}
	cq = vu_new_cq(context, &attr);
	return cq ? &cq->base.cq : NULL;
}

struct ibv_cq_ex *vu_create_cq_ex(struct ibv_context *context,
				  struct ibv_cq_init_attr_ex *attr)
{
	struct vu_cq *cq;

	if (attr->wc_flags & ~VU_WC_FLAGS || attr->comp_mask & ~VU_CQ_MASK ||
	    (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
	     attr->flags & ~VU_CQ_FLAGS)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	cq = vu_new_cq(context, attr);
	if (!cq)
		return NULL;
	vu_set_poll_ops(cq, attr->wc_flags);
	return &cq->base.cq_ex;
}

/*
 * The adapter moves the entries that were not polled to the new ring, where the
 * running number continues. Polling waits until then.
 */
int vu_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct vu_cq *cq = to_vu_cq(ibcq);
	struct ib_uverbs_resize_cq_resp resp;
	struct vu_cmd_resize_cq cmd = {};
	struct vu_memory memory = {};
	uint8_t entries_log2;
	int err;

	if (cqe <= 0)
		return EINVAL;
	err = vu_alloc_entries(to_vu_context(ibcq->context), cq->parent, cqe,
			       &memory, &entries_log2);
	if (err)
		return err;
	cmd.buffer = (uintptr_t)memory.at;
	cmd.entries_log2 = entries_log2;
	vu_lock(&cq->lock);
	vu_publish_consumed(cq);
	err = ibv_cmd_resize_cq(ibcq, 1 << entries_log2, &cmd.ibv_cmd,
				sizeof(cmd), &resp, sizeof(resp));
	if (!err) {
		struct vu_memory former = cq->memory;

		cq->memory = memory;
		cq->entries = memory.at;
		cq->entries_log2 = entries_log2;
		memory = former;
	}
	vu_unlock(&cq->lock);
	vu_free(&memory);
	return err;
}

int vu_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)
{
	struct ibv_modify_cq cmd = {};

	return ibv_cmd_modify_cq(cq, attr, &cmd, sizeof(cmd));
}

int vu_destroy_cq(struct ibv_cq *ibcq)
{
	int err = ibv_cmd_destroy_cq(ibcq);

	if (!err)
		vu_free_cq(to_vu_cq(ibcq));
	return err;
}

/* Completions that have not been polled raise the event at once. */
int vu_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct vu_context *context = to_vu_context(ibcq->context);
	struct vu_cq *cq = to_vu_cq(ibcq);

	vu_lock(&cq->lock);
	vu_request_event(&context->pages[0], cq->cqn, solicited_only,
			 cq->consumed);
	vu_unlock(&cq->lock);
	return 0;
}
