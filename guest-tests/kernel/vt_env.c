// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The objects that each case gets: a PD, a DMA MR, two CQs, a QP on each port
 * ready to send, address handles from each port to each port, and memory.
 */
#include <linux/dma-mapping.h>
#include <linux/iopoll.h>

#include "vt.h"

#define VT_CQ_LOG2	9
#define VT_QP_LOG2	6

static void vt_cq_completed(struct vuhca_cq *cq, void *context)
{
	struct vt_cq *watch = context;

	atomic_inc(&watch->completions);
	wake_up(&watch->wait);
}

static void vt_cq_failed(enum vuhca_event_type type, u8 fault, void *context)
{
	struct vt_cq *watch = context;

	watch->error_fault = fault;
	atomic_inc(&watch->errors);
	wake_up(&watch->wait);
}

static void vt_qp_event(enum vuhca_event_type type, u8 fault, void *context)
{
	struct vt_end *end = context;

	end->last_event = type;
	end->last_fault = fault;
	atomic_inc(&end->events);
}

static struct vuhca_cq *vt_watch_cq(struct vt *t, struct vt_cq *watch,
				    struct vuhca_cq_init *init)
{
	struct vuhca_cq *cq;

	memset(watch, 0, sizeof(*watch));
	init_waitqueue_head(&watch->wait);
	init->completion = vt_cq_completed;
	init->event = vt_cq_failed;
	init->context = watch;
	cq = vuhca_create_cq(t->dev, init);
	if (!VT_CHECK(t, !IS_ERR(cq), "%pe", cq))
		return NULL;
	watch->cq = cq;
	return cq;
}

/* Returns NULL, and fails the case, when the CQ was not created. */
struct vuhca_cq *vt_create_cq(struct vt *t, struct vt_cq *watch,
			      unsigned int entries_log2, unsigned int eq_index)
{
	struct vuhca_cq_init init = {
		.entries_log2 = entries_log2,
		.eq_index = eq_index,
	};

	return vt_watch_cq(t, watch, &init);
}

/* The same for a CQ whose events a collect context requests. */
struct vuhca_cq *vt_create_user_cq(struct vt *t, struct vt_cq *watch,
				   struct vuhca_collect_context *collect)
{
	struct vuhca_cq_init init = {
		.entries_log2 = 4,
		.eq_index = 1,
		.collect = collect,
	};

	return vt_watch_cq(t, watch, &init);
}

/* Takes a UD QP from RESET to RTS. */
int vt_ready(struct vuhca_qp *qp, u8 port)
{
	u32 reads;
	int err;

	err = vuhca_qp_to_init(qp, port, 0, VT_QKEY);
	if (!err)
		err = vuhca_qp_to_rtr(qp);
	if (!err)
		err = vuhca_qp_to_rts(qp, 0x123456);
	if (err)
		return err;
	/*
	 * A new QP in RTS reads its send tail once; wait until that read is
	 * over.
	 */
	return readl_poll_timeout(qp->dev->csr + VUHCA_CSR_BUS_READS_OFF, reads,
				  !reads, 20, VT_TIMEOUT_MS * USEC_PER_MSEC);
}

/* Each half of an XRC connection lacks the objects that it does not use. */
static void vt_drop_unused(struct vuhca_qp_init *init)
{
	if (init->service_type == VUHCA_SERVICE_TYPE_XRC_INITIATOR ||
	    init->xrcd)
		init->recv_cq = NULL;
	if (init->xrcd) {
		init->send_cq = NULL;
		init->pd = NULL;
	}
}

/* Creates a QP in RTS, or in RESET when options->port is 0. */
struct vuhca_qp *vt_create_qp(struct vt *t, struct vt_end *end,
			      const struct vt_qp_options *options)
{
	struct vuhca_qp_init init = {
		.pd = t->pd,
		.send_cq = options->send_cq ?: t->send_cq.cq,
		.recv_cq = options->recv_cq ?: t->recv_cq.cq,
		.srq = options->srq,
		.xrcd = options->xrcd,
		.collect = options->collect,
		.send_entries_log2 = options->entries_log2 ?: VT_QP_LOG2,
		.recv_entries_log2 = options->entries_log2 ?: VT_QP_LOG2,
		.send_sge = options->sge ?: VUHCA_SGE_MAX,
		.recv_sge = options->sge ?: VUHCA_SGE_MAX,
		.inline_bytes = VUHCA_INLINE_MAX_BYTES,
		.service_type = options->connected ? options->service_type :
				VUHCA_SERVICE_TYPE_UD,
		.qos_level = options->qos_level,
		.signal_all = options->signal_all,
		.checksum_off = options->checksum_off,
		.event = end ? vt_qp_event : NULL,
		.context = end,
	};
	struct vuhca_qp *qp;
	int err;

	if (end)
		memset(end, 0, sizeof(*end));
	vt_drop_unused(&init);
	qp = vuhca_create_qp(t->dev, &init);
	if (!VT_CHECK(t, !IS_ERR(qp), "%pe", qp))
		return NULL;
	if (end)
		end->qp = qp;
	err = options->port ? vt_ready(qp, options->port) : 0;
	VT_CHECK(t, !err, "QP on port %u did not become ready: %d",
		 options->port, err);
	return qp;
}

/* The port of an end. */
static unsigned int vt_end_port(struct vt *t, unsigned int end)
{
	return min(end + 1, t->dev->port_count);
}

static int vt_create_ahs(struct vt *t)
{
	unsigned int from, to;
	struct vuhca_ah *ah;

	for (from = 0; from < VT_PORTS; from++) {
		for (to = 0; to < VT_PORTS; to++) {
			u32 lid = vuhca_read_csr(t->dev,
						 VUHCA_CSR_PORT_LID_OFF +
						 (vt_end_port(t, to) - 1) *
						 VUHCA_CSR_PORT_LID_STRIDE);

			ah = vuhca_create_ah(t->pd, vt_end_port(t, from), lid,
					     0, NULL);
			if (IS_ERR(ah))
				return PTR_ERR(ah);
			t->ah[from][to] = ah;
		}
	}
	return 0;
}

static int vt_read_mtu(struct vt *t)
{
	struct vuhca_port_attributes port;
	int err = vuhca_query_port(t->dev, 1, &port);

	if (!err)
		t->mtu_bytes = 128 << vuhca_port_attributes_get_active_mtu(&port);
	return err;
}

int vt_env_create(struct vt *t)
{
	struct vt_qp_options options = {};
	unsigned int i;
	int err;

	t->memory = dma_alloc_coherent(&t->dev->pdev->dev, VT_MEMORY_BYTES,
				       &t->dma, GFP_KERNEL);
	if (!t->memory)
		return -ENOMEM;
	t->pd = vuhca_alloc_pd(t->dev);
	if (IS_ERR(t->pd))
		return PTR_ERR(t->pd);
	t->mr = vuhca_get_dma_mr(t->pd, VUHCA_ACCESS_FLAG_LOCAL_WRITE);
	if (IS_ERR(t->mr))
		return PTR_ERR(t->mr);
	/* The last event queue serves completion queues on every guest. */
	if (!vt_create_cq(t, &t->send_cq, VT_CQ_LOG2, t->dev->eq_count - 1) ||
	    !vt_create_cq(t, &t->recv_cq, VT_CQ_LOG2, 1))
		return -EIO;
	for (i = 0; i < VT_PORTS; i++) {
		options.port = vt_end_port(t, i);
		if (!vt_create_qp(t, &t->end[i], &options))
			return -EIO;
	}
	err = vt_create_ahs(t);
	return err ? err : vt_read_mtu(t);
}

static void vt_destroy_ahs(struct vt *t)
{
	unsigned int from, to;

	for (from = 0; from < VT_PORTS; from++)
		for (to = 0; to < VT_PORTS; to++)
			if (t->ah[from][to])
				vuhca_destroy_ah(t->ah[from][to]);
	memset(t->ah, 0, sizeof(t->ah));
}

/*
 * An object that cannot be destroyed is still used by another one that the case
 * has left: the case fails.
 */
void vt_env_destroy(struct vt *t)
{
	unsigned int i;

	vt_destroy_ahs(t);
	for (i = 0; i < VT_PORTS; i++)
		if (t->end[i].qp)
			VT_CHECK(t, !vuhca_destroy_qp(t->end[i].qp), "end %u", i);
	if (t->send_cq.cq)
		VT_CHECK(t, !vuhca_destroy_cq(t->send_cq.cq), "send CQ");
	if (t->recv_cq.cq)
		VT_CHECK(t, !vuhca_destroy_cq(t->recv_cq.cq), "receive CQ");
	if (!IS_ERR_OR_NULL(t->mr))
		VT_CHECK(t, !vuhca_dereg_mr(t->mr), "MR");
	if (!IS_ERR_OR_NULL(t->pd))
		VT_CHECK(t, !vuhca_dealloc_pd(t->pd), "PD");
	if (t->memory)
		dma_free_coherent(&t->dev->pdev->dev, VT_MEMORY_BYTES,
				  t->memory, t->dma);
	memset(t->end, 0, sizeof(t->end));
	t->send_cq.cq = NULL;
	t->recv_cq.cq = NULL;
	t->mr = NULL;
	t->pd = NULL;
	t->memory = NULL;
}
