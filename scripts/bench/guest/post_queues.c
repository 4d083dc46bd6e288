// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The queues of the benchmark of messages: a UD QP on each port, one CQ for
 * each direction, and memory for as many datagrams as the receive queue takes.
 */
#include <linux/dma-mapping.h>

#include "post.h"

#define CQ_LOG2		(QUEUE_LOG2 + 1)
#define SLOT_BYTES	128

int bench_post_receive(struct bench *bench, unsigned int slot)
{
	struct vuhca_buffer buffer = {
		.address = bench->dma + slot * SLOT_BYTES,
		.length = SLOT_BYTES,
		.lkey = bench->mr->lkey,
	};
	struct vuhca_recv_wr wr = {
		.wr_id = slot,
		.sge = &buffer,
		.sge_count = 1,
	};

	return vuhca_post_recv(bench->receiver, &wr, 1) == 1 ? 0 : -EIO;
}

static struct vuhca_cq *create_cq(struct bench *bench)
{
	struct vuhca_cq_init init = { .entries_log2 = CQ_LOG2 };

	return vuhca_create_cq(bench->dev, &init);
}

static struct vuhca_qp *create_qp(struct bench *bench, u8 port)
{
	struct vuhca_qp_init init = {
		.pd = bench->pd,
		.send_cq = bench->send_cq,
		.recv_cq = bench->recv_cq,
		.send_entries_log2 = QUEUE_LOG2,
		.recv_entries_log2 = QUEUE_LOG2,
		.send_sge = 1,
		.recv_sge = 1,
		.inline_bytes = MESSAGE_BYTES,
		.service_type = VUHCA_SERVICE_TYPE_UD,
	};
	struct vuhca_qp *qp = vuhca_create_qp(bench->dev, &init);
	int err;

	if (IS_ERR(qp))
		return qp;
	err = vuhca_qp_to_init(qp, port, 0, QKEY);
	err = err ?: vuhca_qp_to_rtr(qp);
	err = err ?: vuhca_qp_to_rts(qp, 1);
	if (!err)
		return qp;
	vuhca_destroy_qp(qp);
	return ERR_PTR(err);
}

static int create_queues(struct bench *bench)
{
	bench->send_cq = create_cq(bench);
	if (IS_ERR(bench->send_cq))
		return PTR_ERR(bench->send_cq);
	bench->recv_cq = create_cq(bench);
	if (IS_ERR(bench->recv_cq))
		return PTR_ERR(bench->recv_cq);
	bench->sender = create_qp(bench, 1);
	if (IS_ERR(bench->sender))
		return PTR_ERR(bench->sender);
	bench->receiver = create_qp(bench, 2);
	return PTR_ERR_OR_ZERO(bench->receiver);
}

static int create(struct bench *bench)
{
	unsigned int slot;
	int err = 0;
	u32 lid;

	bench->pd = vuhca_alloc_pd(bench->dev);
	if (IS_ERR(bench->pd))
		return PTR_ERR(bench->pd);
	bench->mr = vuhca_get_dma_mr(bench->pd, VUHCA_ACCESS_FLAG_LOCAL_WRITE);
	if (IS_ERR(bench->mr))
		return PTR_ERR(bench->mr);
	bench->memory = dma_alloc_coherent(&bench->dev->pdev->dev,
					   QUEUE * SLOT_BYTES, &bench->dma,
					   GFP_KERNEL);
	if (!bench->memory)
		return -ENOMEM;
	err = create_queues(bench);
	for (slot = 0; slot < QUEUE && !err; slot++)
		err = bench_post_receive(bench, slot);
	if (err)
		return err;
	lid = vuhca_read_csr(bench->dev, VUHCA_CSR_PORT_LID_OFF +
			     VUHCA_CSR_PORT_LID_STRIDE);
	bench->ah = vuhca_create_ah(bench->pd, 1, lid, 0, NULL);
	return PTR_ERR_OR_ZERO(bench->ah);
}

void bench_destroy(struct bench *bench)
{
	if (!IS_ERR_OR_NULL(bench->ah))
		vuhca_destroy_ah(bench->ah);
	if (!IS_ERR_OR_NULL(bench->receiver))
		vuhca_destroy_qp(bench->receiver);
	if (!IS_ERR_OR_NULL(bench->sender))
		vuhca_destroy_qp(bench->sender);
	if (!IS_ERR_OR_NULL(bench->recv_cq))
		vuhca_destroy_cq(bench->recv_cq);
	if (!IS_ERR_OR_NULL(bench->send_cq))
		vuhca_destroy_cq(bench->send_cq);
	if (bench->memory)
		dma_free_coherent(&bench->dev->pdev->dev, QUEUE * SLOT_BYTES,
				  bench->memory, bench->dma);
	if (!IS_ERR_OR_NULL(bench->mr))
		vuhca_dereg_mr(bench->mr);
	if (!IS_ERR_OR_NULL(bench->pd))
		vuhca_dealloc_pd(bench->pd);
	memset(bench, 0, sizeof(*bench));
}

/* Makes the queues ready to send; on an error nothing is left. */
int bench_create(struct bench *bench, struct vuhca_dev *dev)
{
	int err;

	bench->dev = dev;
	err = create(bench);
	if (err)
		bench_destroy(bench);
	return err;
}
