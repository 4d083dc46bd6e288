// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Queue pairs: their memory and creation. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vu_internal.h"

#define VU_QP_MASK                                                             \
	(IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS |                 \
	 IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
#define VU_QP_FLAGS                                                            \
	(IBV_QP_CREATE_BLOCK_SELF_MCAST_LB | VU_QP_CREATE_LEVEL_1)

/* Smallest slot that takes the longest command of the QP. */
static unsigned int vu_send_stride(const struct ibv_qp_init_attr_ex *attr)
{
	size_t tail = attr->cap.max_inline_data;

	if (attr->cap.max_send_sge > 1 &&
	    attr->cap.max_send_sge * sizeof(struct vuhca_sge) > tail)
		tail = attr->cap.max_send_sge * sizeof(struct vuhca_sge);
	if (tail < sizeof(struct vuhca_atomic_operands))
		tail = sizeof(struct vuhca_atomic_operands);
	return vu_log2(sizeof(struct vuhca_send_command) + tail);
}

/*
 * Drops the capacities that the verb ignores: those of receives if there is an
 * SRQ (ibv_create_qp(3)) and of an XRC sender, which libibverbs clears as well.
 */
static void vu_drop_ignored(const struct vu_qp *qp, struct ibv_qp_cap *cap)
{
	if (!qp->srq && qp->recv_cq)
		return;
	cap->max_recv_wr = 0;
	cap->max_recv_sge = 0;
}

static bool vu_qp_fits(const struct vuhca_alloc_ucontext_resp *about,
		       const struct ibv_qp_init_attr_ex *attr)
{
	const struct ibv_qp_cap *cap = &attr->cap;

	return vu_log2(cap->max_send_wr) <= about->send_queue_max_log2 &&
	       vu_log2(cap->max_recv_wr) <= about->receive_queue_max_log2 &&
	       cap->max_send_sge <= about->max_sge &&
	       cap->max_recv_sge <= about->max_sge &&
	       cap->max_inline_data <= about->max_inline;
}

static int vu_qp_queues(struct vu_qp *qp, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp_cap *cap = &attr->cap;
	unsigned int log2 = vu_log2(cap->max_send_wr);
	unsigned int stride = vu_send_stride(attr);
	size_t room = (1U << stride) - sizeof(struct vuhca_send_command);
	int err;

	/* The room of the slots, but not more than the adapter accepts. */
	cap->max_send_wr = 1U << log2;
	cap->max_inline_data = room < VUHCA_INLINE_MAX_BYTES ?
			       room : VUHCA_INLINE_MAX_BYTES;
	if (!cap->max_send_sge)
		cap->max_send_sge = 1;
	qp->max_inline = cap->max_inline_data;
	err = vu_wq_init(&qp->sq, cap->max_send_wr, cap->max_send_sge, log2,
			 stride);
	if (err || qp->srq || !qp->recv_cq)
		return err;
	log2 = vu_log2(cap->max_recv_wr);
	if (!cap->max_recv_sge)
		cap->max_recv_sge = 1;
	cap->max_recv_wr = 1U << log2;
	return vu_wq_init(&qp->rq, cap->max_recv_wr, cap->max_recv_sge, log2,
			  vu_recv_stride(cap->max_recv_sge));
}

static int vu_qp_memory(struct vu_qp *qp, struct ibv_qp_init_attr_ex *attr)
{
	int err = vu_qp_queues(qp, attr);

	if (err)
		return err;
	err = vu_alloc(&qp->memory, vu_wq_bytes(&qp->sq) + vu_wq_bytes(&qp->rq),
		       qp->parent, 0);
	if (err)
		return err;
	qp->sq.slots = qp->memory.at;
	qp->rq.slots = qp->sq.slots + vu_wq_bytes(&qp->sq);
	qp->record = vu_alloc_record(qp->context);
	return qp->record ? 0 : ENOMEM;
}

/* The page for the QP's commands: that of its thread domain, or of the process. */
static int vu_qp_page(struct vu_qp *qp)
{
	struct vu_context *context = qp->context;
	struct vu_td *td = qp->parent->td;
	struct vu_page *page = td ? &td->pages[qp->qos_level] :
			       &context->pages[qp->qos_level];
	unsigned int offset = td ? VUHCA_MMAP_DOMAIN + td->slot * 2 :
			      VUHCA_MMAP_COLLECT;
	int err = 0;

	pthread_mutex_lock(&context->lock);
	if (!page->at)
		err = vu_map_page(context, page, offset + qp->qos_level, !td);
	page->shared = context->pages[0].shared;
	pthread_mutex_unlock(&context->lock);
	qp->page = page;
	return err;
}

static int vu_qp_command(struct vu_qp *qp, struct ibv_qp_init_attr_ex *attr,
			 uint32_t create_flags)
{
	struct vu_cmd_create_qp_ex cmd = {};
	struct vu_cmd_create_qp_ex_resp resp = {};
	int err;

	cmd.send_buffer = (uintptr_t)qp->sq.slots;
	cmd.receive_buffer = qp->rq.wr_ids ? (uintptr_t)qp->rq.slots : 0;
	cmd.record = (uintptr_t)qp->record;
	cmd.send_entries_log2 = qp->sq.entries_log2;
	cmd.send_stride_log2 = qp->sq.stride_log2;
	cmd.receive_entries_log2 = qp->rq.entries_log2;
	cmd.receive_stride_log2 = qp->rq.stride_log2;
	cmd.qos_level = qp->qos_level;
	if (create_flags & IBV_QP_CREATE_BLOCK_SELF_MCAST_LB)
		cmd.flags |= VUHCA_CREATE_QP_BLOCK_LOOPBACK;
	err = ibv_cmd_create_qp_ex2(&qp->context->base.context, &qp->base, attr,
				    &cmd.ibv_cmd, sizeof(cmd), &resp.ibv_resp,
				    sizeof(resp));
	if (err)
		return err;
	qp->qpn = resp.qpn;
	qp->checksum_key = resp.checksum_key;
	err = vu_table_add(qp->context, qp);
	if (err)
		ibv_cmd_destroy_qp(&qp->base.qp);
	return err;
}

static int vu_setup_qp(struct vu_qp *qp, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp_init_attr_ex basic;
	uint32_t flags = 0;
	int err;

	if (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS)
		flags = attr->create_flags;
	if (flags & VU_QP_CREATE_LEVEL_1)
		qp->qos_level = 1;
	vu_drop_ignored(qp, &attr->cap);
	if (!vu_qp_fits(&qp->context->about, attr))
		return EINVAL;
	err = vu_qp_memory(qp, attr);
	if (!err)
		err = vu_qp_page(qp);
	if (!err && attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		err = vu_set_wr_ops(qp, attr->qp_type, attr->send_ops_flags);
	if (err)
		return err;
	/* The kernel knows neither ibv_wr_* nor QoS levels. */
	basic = *attr;
	basic.comp_mask = IBV_QP_INIT_ATTR_PD;
	basic.create_flags = 0;
	/* The kernel refuses an SRQ that is given to an XRC sender. */
	if (!qp->srq)
		basic.srq = NULL;
	err = vu_qp_command(qp, &basic, flags);
	if (!err && attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		qp->base.comp_mask |= VERBS_QP_EX;
	return err;
}

/* An XRC target, which has no queues, and which other processes may open. */
static struct ibv_qp *vu_create_target(struct vu_context *context,
				       struct ibv_qp_init_attr_ex *attr)
{
	struct vu_qp *qp = calloc(1, sizeof(*qp));
	struct vu_cmd_create_qp_ex cmd = {};
	struct vu_cmd_create_qp_ex_resp resp = {};
	struct ibv_qp_init_attr_ex basic = *attr;
	int err = ENOMEM;

	/* Attributes of queues are ignored. */
	basic.send_cq = NULL;
	basic.recv_cq = NULL;
	basic.srq = NULL;
	memset(&basic.cap, 0, sizeof(basic.cap));
	if (qp)
		err = ibv_cmd_create_qp_ex2(&context->base.context, &qp->base,
					    &basic, &cmd.ibv_cmd, sizeof(cmd),
					    &resp.ibv_resp, sizeof(resp));
	if (err) {
		free(qp);
		errno = err;
		return NULL;
	}
	attr->cap = basic.cap;
	qp->context = context;
	qp->qpn = resp.qpn;
	return &qp->base.qp;
}

struct ibv_qp *vu_open_qp(struct ibv_context *context,
			  struct ibv_qp_open_attr *attr)
{
	struct vu_qp *qp = calloc(1, sizeof(*qp));
	struct ib_uverbs_create_qp_resp resp = {};
	struct ibv_open_qp cmd = {};
	int err = ENOMEM;

	if (qp)
		err = ibv_cmd_open_qp(context, &qp->base, sizeof(qp->base), attr,
				      &cmd, sizeof(cmd), &resp, sizeof(resp));
	if (err) {
		free(qp);
		errno = err;
		return NULL;
	}
	qp->context = to_vu_context(context);
	qp->qpn = attr->qp_num;
	return &qp->base.qp;
}

struct ibv_qp *vu_create_qp_ex(struct ibv_context *context,
			       struct ibv_qp_init_attr_ex *attr)
{
	struct vu_qp *qp;
	int err;

	if (attr->qp_type == IBV_QPT_XRC_RECV)
		return vu_create_target(to_vu_context(context), attr);
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) ||
	    attr->comp_mask & ~VU_QP_MASK ||
	    (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS &&
	     attr->create_flags & ~VU_QP_FLAGS)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	qp = calloc(1, sizeof(*qp));
	if (!qp) {
		errno = ENOMEM;
		return NULL;
	}
	qp->context = to_vu_context(context);
	qp->parent = to_vu_pd(attr->pd);
	vu_hold_parent(qp->parent);
	qp->send_cq = to_vu_cq(attr->send_cq);
	if (attr->qp_type != IBV_QPT_XRC_SEND) {
		qp->recv_cq = to_vu_cq(attr->recv_cq);
		qp->srq = attr->srq ? to_vu_srq(attr->srq) : NULL;
	}
	qp->signal_all = attr->sq_sig_all;
	qp->post = qp->context->post;
	qp->qos_level = qp->context->qos_level;
	err = vu_setup_qp(qp, attr);
	if (!err)
		return &qp->base.qp;
	vu_free_qp(qp);
	errno = err;
	return NULL;
}

struct ibv_qp *vu_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex extended = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	struct ibv_qp *qp = vu_create_qp_ex(pd->context, &extended);

	if (qp)
		attr->cap = extended.cap;
	return qp;
}
