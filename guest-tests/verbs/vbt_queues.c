// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Queues: shared receives, queries, drain, and events. */
#include <linux/completion.h>

#include "vbt.h"

struct vbt_heard {
	struct completion done;
	enum ib_event_type type;
};

static void vbt_srq_event(struct ib_event *event, void *context)
{
	struct vbt_heard *heard = context;

	heard->type = event->event;
	complete(&heard->done);
}

/* Receives a message by the SRQ of end 1, whose limit is then reached. */
static void vbt_shared(struct vbt *t)
{
	struct vbt_heard heard;
	struct ib_srq_init_attr init = {
		.event_handler = vbt_srq_event,
		.srq_context = &heard,
		.attr = { .max_wr = 8, .max_sge = 1 },
		.srq_type = IB_SRQT_BASIC,
	};
	struct ib_sge sge[2] = { vbt_sge(t, 1, 0, 64), vbt_sge(t, 0, 0, 64) };
	struct ib_recv_wr recv = { .wr_id = 3, .num_sge = 1 };
	struct ib_send_wr send = { .num_sge = 1, .opcode = IB_WR_SEND };
	struct ib_srq_attr limit = { .srq_limit = 1 };
	struct ib_srq *srq;
	struct ib_wc wc;

	init_completion(&heard.done);
	vbt_pair_destroy(t);
	srq = ib_create_srq(t->pd, &init);
	if (!VBT_CHECK(t, !IS_ERR(srq), "%pe", srq))
		return;
	if (vbt_pair_create(t, IB_QPT_RC, srq)) {
		sge[0] = vbt_sge(t, 1, 0, 64);
		sge[1] = vbt_sge(t, 0, 0, 64);
		recv.sg_list = &sge[0];
		send.sg_list = &sge[1];
		VBT_OK(t, ib_post_srq_recv(srq, &recv, NULL));
		VBT_OK(t, ib_modify_srq(srq, &limit, IB_SRQ_LIMIT));
		memset(&limit, 0, sizeof(limit));
		VBT_OK(t, ib_query_srq(srq, &limit));
		VBT_CHECK(t, limit.srq_limit == 1 && limit.max_wr == 8, "%u, %u",
			  limit.srq_limit, limit.max_wr);
		vbt_send(t, 0, &send);
		if (vbt_completes(t, 1, IB_WC_SUCCESS, IB_WC_RECV, &wc))
			VBT_CHECK(t, wc.wr_id == 3, "%llu", wc.wr_id);
		if (VBT_CHECK(t, wait_for_completion_timeout(&heard.done,
							     msecs_to_jiffies(VBT_WAIT_MS)),
			      "no event"))
			VBT_CHECK(t, heard.type == IB_EVENT_SRQ_LIMIT_REACHED,
				  "%d", heard.type);
	}
	vbt_pair_destroy(t);
	memset(t->end, 0, sizeof(t->end));
	ib_destroy_srq(srq);
}

/* A drain ends when all posted work has completed as flushed. */
static void vbt_drain(struct vbt *t)
{
	int i;

	/* Has no handler, which the core finds by the number of a request. */
	for (i = 0; i < 4; i++)
		vbt_recv(t, 1, 0, 64, 0);
	for (i = 0; i < 2; i++)
		ib_drain_qp(t->end[i].qp);
}

static void vbt_query(struct vbt *t)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr found;

	VBT_OK(t, ib_query_qp(t->end[0].qp, &found,
			      IB_QP_STATE | IB_QP_AV | IB_QP_DEST_QPN, &init));
	VBT_CHECK(t, found.qp_state == IB_QPS_RTS, "%d", found.qp_state);
	VBT_CHECK(t, found.dest_qp_num == t->end[1].qp->qp_num, "%u",
		  found.dest_qp_num);
	VBT_CHECK(t, rdma_ah_get_dlid(&found.ah_attr) == t->end[1].lid, "%u",
		  rdma_ah_get_dlid(&found.ah_attr));
	VBT_CHECK(t, found.port_num == t->end[0].port, "%u", found.port_num);
	VBT_CHECK(t, found.path_mtu == IB_MTU_2048, "%d", found.path_mtu);
	VBT_CHECK(t, found.cap.max_send_wr >= VBT_ENTRIES, "%u",
		  found.cap.max_send_wr);
	VBT_CHECK(t, init.qp_type == IB_QPT_RC, "%d", init.qp_type);
}

/* A QP in error flushes requests that are posted to it. */
static void vbt_flush(struct vbt *t)
{
	struct ib_qp_attr error = { .qp_state = IB_QPS_ERR };
	struct ib_sge sge = vbt_sge(t, 0, 0, 64);
	struct ib_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
	};
	struct ib_wc wc;

	vbt_recv(t, 0, 0, 64, 1);
	VBT_OK(t, ib_modify_qp(t->end[0].qp, &error, IB_QP_STATE));
	vbt_completes(t, 0, IB_WC_WR_FLUSH_ERR, IB_WC_RECV, &wc);
	vbt_send(t, 0, &wr);
	vbt_completes(t, 0, IB_WC_WR_FLUSH_ERR, IB_WC_SEND, &wc);
	vbt_recv(t, 0, 0, 64, 2);
	vbt_completes(t, 0, IB_WC_WR_FLUSH_ERR, IB_WC_RECV, &wc);
}

/* Destroys a new QP, whose capacities of receives are 0 where it has none. */
static void vbt_take_ignoring(struct vbt *t, struct ib_qp_init_attr *init)
{
	struct ib_qp *qp = ib_create_qp(t->pd, init);

	if (!VBT_CHECK(t, !IS_ERR(qp), "type %d: %pe", init->qp_type, qp))
		return;
	VBT_CHECK(t, !init->cap.max_recv_wr && !init->cap.max_recv_sge,
		  "%u, %u", init->cap.max_recv_wr, init->cap.max_recv_sge);
	VBT_OK(t, ib_destroy_qp(qp));
}

/* Attributes that a verb ignores may have any value (IBTA 11.2.5.1). */
static void vbt_ignored(struct vbt *t)
{
	static const enum ib_qp_type types[] = {
		IB_QPT_RC, IB_QPT_UC, IB_QPT_UD, IB_QPT_XRC_INI,
	};
	struct ib_srq_init_attr shared = {
		.attr = { .max_wr = 1, .max_sge = 1, .srq_limit = U32_MAX },
		.srq_type = IB_SRQT_BASIC,
	};
	struct ib_srq *srq = ib_create_srq(t->pd, &shared);
	struct ib_srq_attr found = {};
	unsigned int i;

	if (!VBT_CHECK(t, !IS_ERR(srq), "%pe", srq))
		return;
	VBT_OK(t, ib_query_srq(srq, &found));
	VBT_CHECK(t, !found.srq_limit, "%u", found.srq_limit);
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		struct ib_qp_init_attr init = {
			.send_cq = t->end[0].cq,
			.recv_cq = t->end[0].cq,
			.srq = types[i] == IB_QPT_XRC_INI ? NULL : srq,
			.cap = {
				.max_send_wr = 1,
				.max_send_sge = 1,
				.max_recv_wr = INT_MAX,
				.max_recv_sge = 1000,
			},
			.qp_type = types[i],
		};

		vbt_take_ignoring(t, &init);
	}
	ib_destroy_srq(srq);
}

const struct vbt_case vbt_queue_cases[] = {
	{ "shared", IB_QPT_RC, vbt_shared },
	{ "drain", IB_QPT_RC, vbt_drain },
	{ "query", IB_QPT_RC, vbt_query },
	{ "flush", IB_QPT_RC, vbt_flush },
	{ "ignored", IB_QPT_RC, vbt_ignored },
};
const unsigned int vbt_queue_count = ARRAY_SIZE(vbt_queue_cases);
