// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The connections of the load, each with a CQ of its own, and the memory that
 * their messages read and write.
 */
#include <linux/dma-mapping.h>

#include "interrupts_queues.h"

#define LOAD_LOG2	8

struct vuhca_dev *load_dev;
struct vuhca_mr *load_mr;
dma_addr_t load_dma;
struct load_queue load_queues[LOAD_QUEUES];
static struct vuhca_pd *load_pd;
static void *load_memory;

static struct vuhca_qp *load_create_qp(struct vuhca_cq *cq)
{
	struct vuhca_qp_init init = {
		.pd = load_pd,
		.send_cq = cq,
		.recv_cq = cq,
		.send_entries_log2 = LOAD_LOG2,
		.recv_entries_log2 = 1,
		.send_sge = 1,
		.recv_sge = 1,
		.service_type = VUHCA_SERVICE_TYPE_RC,
	};

	return vuhca_create_qp(load_dev, &init);
}

static int load_connect(struct vuhca_qp *qp, struct vuhca_qp *peer,
			unsigned int port)
{
	u32 lid = vuhca_read_csr(load_dev, VUHCA_CSR_PORT_LID_OFF +
				 (2 - port) * VUHCA_CSR_PORT_LID_STRIDE);
	struct vuhca_connection connection = {
		.port = port,
		.dlid = lid,
		.remote_qpn = peer->qpn,
		.access = VUHCA_ACCESS_FLAG_REMOTE_WRITE,
		.path_mtu = 3,
		.min_rnr_timer = 1,
		/* The cable loses no packet, so no timeout is needed. */
		.timeout = 0,
		.retry_count = 7,
		.rnr_retry = 7,
	};

	return vuhca_qp_connect(qp, &connection);
}

static int load_create(struct load_queue *queue, vuhca_cq_handler completed)
{
	struct vuhca_cq_init cq = {
		.entries_log2 = LOAD_LOG2,
		.eq_index = load_dev->eq_count - 1,
		.completion = completed,
		.context = queue,
	};

	queue->cq = vuhca_create_cq(load_dev, &cq);
	if (IS_ERR(queue->cq))
		return PTR_ERR(queue->cq);
	queue->qp = load_create_qp(queue->cq);
	if (IS_ERR(queue->qp))
		return PTR_ERR(queue->qp);
	queue->peer = load_create_qp(queue->cq);
	if (IS_ERR(queue->peer))
		return PTR_ERR(queue->peer);
	vuhca_arm_cq(queue->cq, false);
	return load_connect(queue->qp, queue->peer, 1) ?:
	       load_connect(queue->peer, queue->qp, 2);
}

void load_destroy_queues(void)
{
	unsigned int i;

	for (i = 0; i < LOAD_QUEUES; i++) {
		if (!IS_ERR_OR_NULL(load_queues[i].peer))
			vuhca_destroy_qp(load_queues[i].peer);
		if (!IS_ERR_OR_NULL(load_queues[i].qp))
			vuhca_destroy_qp(load_queues[i].qp);
		if (!IS_ERR_OR_NULL(load_queues[i].cq))
			vuhca_destroy_cq(load_queues[i].cq);
	}
	memset(load_queues, 0, sizeof(load_queues));
}

int load_create_queues(vuhca_cq_handler completed)
{
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < LOAD_QUEUES; i++)
		err = load_create(&load_queues[i], completed);
	if (err)
		load_destroy_queues();
	return err;
}

void load_free(void)
{
	if (!IS_ERR_OR_NULL(load_mr))
		vuhca_dereg_mr(load_mr);
	if (load_memory)
		dma_free_coherent(&load_dev->pdev->dev, LOAD_MEMORY, load_memory,
				  load_dma);
	if (!IS_ERR_OR_NULL(load_pd))
		vuhca_dealloc_pd(load_pd);
	load_mr = NULL;
	load_memory = NULL;
	load_pd = NULL;
}

int load_alloc(void)
{
	load_pd = vuhca_alloc_pd(load_dev);
	if (IS_ERR(load_pd))
		return PTR_ERR(load_pd);
	load_memory = dma_alloc_coherent(&load_dev->pdev->dev, LOAD_MEMORY,
					 &load_dma, GFP_KERNEL);
	if (!load_memory)
		return -ENOMEM;
	load_mr = vuhca_get_dma_mr(load_pd, VUHCA_ACCESS_FLAG_LOCAL_WRITE |
				   VUHCA_ACCESS_FLAG_REMOTE_WRITE);
	return PTR_ERR_OR_ZERO(load_mr);
}
