// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* States, attributes and destruction of queue pairs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vu_internal.h"

void vu_free_qp(struct vu_qp *qp)
{
	vu_free_record(qp->context, qp->record);
	vu_free(&qp->memory);
	vu_wq_cleanup(&qp->sq);
	vu_wq_cleanup(&qp->rq);
	vu_release_parent(qp->parent);
	free(qp);
}

static void vu_clean(struct vu_qp *qp)
{
	if (qp->recv_cq)
		vu_clean_cq(qp->recv_cq, qp);
	if (qp->send_cq && qp->send_cq != qp->recv_cq)
		vu_clean_cq(qp->send_cq, qp);
}

/* Empties both queues for RESET: counts restart at 0. */
static void vu_rewind(struct vu_qp *qp)
{
	vu_lock(&qp->sq.lock);
	qp->sq.head = 0;
	qp->sq.tail = 0;
	vu_unlock(&qp->sq.lock);
	vu_lock(&qp->rq.lock);
	qp->rq.head = 0;
	qp->rq.tail = 0;
	vu_unlock(&qp->rq.lock);
	if (qp->record)
		memset(qp->record, 0, sizeof(*qp->record));
	qp->failed = false;
}

int vu_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask)
{
	struct vu_qp *qp = to_vu_qp(ibqp);
	struct ibv_modify_qp cmd = {};
	bool reset = mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RESET;
	int err;

	/* The adapter reads the record anew: it is zeroed before the command. */
	if (reset && qp->record) {
		/* Without the mark the adapter ignores the tail. */
		__atomic_store_n(&qp->record->dw1, 0, __ATOMIC_RELAXED);
		udma_to_device_barrier();
		memset(qp->record, 0, sizeof(*qp->record));
	}
	err = ibv_cmd_modify_qp(ibqp, attr, mask, &cmd, sizeof(cmd));
	if (!err && reset) {
		vu_clean(qp);
		vu_rewind(qp);
	}
	return err;
}

int vu_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask,
		struct ibv_qp_init_attr *init)
{
	struct vu_qp *qp = to_vu_qp(ibqp);
	struct ibv_query_qp cmd = {};
	int err = ibv_cmd_query_qp(ibqp, attr, mask, init, &cmd, sizeof(cmd));

	if (err)
		return err;
	init->cap.max_send_wr = qp->sq.max_wr;
	init->cap.max_recv_wr = qp->rq.max_wr;
	init->cap.max_send_sge = qp->sq.max_sge;
	init->cap.max_recv_sge = qp->rq.max_sge;
	init->cap.max_inline_data = qp->max_inline;
	init->sq_sig_all = qp->signal_all;
	attr->cap = init->cap;
	return 0;
}

/* Pollers find neither the QP nor its entries once this returns. */
int vu_destroy_qp(struct ibv_qp *ibqp)
{
	struct vu_qp *qp = to_vu_qp(ibqp);
	int err = ibv_cmd_destroy_qp(ibqp);

	if (err)
		return err;
	vu_clean(qp);
	vu_table_remove(qp->context, qp);
	vu_clean(qp);
	vu_free_qp(qp);
	return 0;
}
