// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Traffic for demonstrations and long runs: from the time the module is loaded
 * until it is unloaded, datagrams flow from each port to the other. debugfs:
 * vuhca-traffic/counters.
 */
#include <linux/debugfs.h>
#include <linux/dma-mapping.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "traffic.h"

static DEFINE_MUTEX(traffic_lock);	/* protects what follows */
static struct vuhca_dev *traffic_dev;
static struct traffic_lane traffic_lanes[TRAFFIC_PORTS];
static struct dentry *traffic_root;

static int traffic_ready(struct vuhca_qp *qp, unsigned int port)
{
	return vuhca_qp_to_init(qp, port + 1, 0, TRAFFIC_QKEY) ?:
	       vuhca_qp_to_rtr(qp) ?: vuhca_qp_to_rts(qp, TRAFFIC_PSN);
}

static int traffic_create_qp(struct traffic_lane *lane, unsigned int port,
			     struct vuhca_qp **qp)
{
	struct vuhca_qp_init init = {
		.pd = lane->pd,
		.send_cq = lane->cq,
		.recv_cq = lane->cq,
		.send_entries_log2 = TRAFFIC_QUEUE_LOG2,
		.recv_entries_log2 = TRAFFIC_QUEUE_LOG2,
		.send_sge = 1,
		.recv_sge = 1,
		.service_type = VUHCA_SERVICE_TYPE_UD,
	};
	struct vuhca_qp *created = vuhca_create_qp(lane->dev, &init);

	if (IS_ERR(created))
		return PTR_ERR(created);
	*qp = created;
	return traffic_ready(created, port);
}

static int traffic_create(struct traffic_lane *lane)
{
	struct vuhca_dev *dev = lane->dev;
	unsigned int to = 1 - lane->from;
	struct vuhca_cq_init cq = {
		.entries_log2 = TRAFFIC_QUEUE_LOG2 + 1,
		.eq_index = (1 + lane->from) % dev->eq_count,
		.completion = traffic_event,
		.context = lane,
	};
	u32 lid = vuhca_read_csr(dev, VUHCA_CSR_PORT_LID_OFF +
				      to * VUHCA_CSR_PORT_LID_STRIDE);
	int err;

	lane->memory = dma_alloc_coherent(&dev->pdev->dev, TRAFFIC_MEMORY_BYTES,
					  &lane->dma, GFP_KERNEL);
	if (!lane->memory)
		return -ENOMEM;
	lane->pd = vuhca_alloc_pd(dev);
	if (IS_ERR(lane->pd))
		return PTR_ERR(lane->pd);
	lane->mr = vuhca_get_dma_mr(lane->pd, VUHCA_ACCESS_FLAG_LOCAL_WRITE);
	if (IS_ERR(lane->mr))
		return PTR_ERR(lane->mr);
	lane->cq = vuhca_create_cq(dev, &cq);
	if (IS_ERR(lane->cq))
		return PTR_ERR(lane->cq);
	lane->ah = vuhca_create_ah(lane->pd, lane->from + 1, lid, 0, NULL);
	if (IS_ERR(lane->ah))
		return PTR_ERR(lane->ah);
	err = traffic_create_qp(lane, to, &lane->receiver);
	return err ?: traffic_create_qp(lane, lane->from, &lane->sender);
}

/* Undoes any part of traffic_start(). */
static void traffic_stop(struct traffic_lane *lane)
{
	if (!IS_ERR_OR_NULL(lane->thread))
		kthread_stop(lane->thread);
	if (lane->sender)
		vuhca_destroy_qp(lane->sender);
	if (lane->receiver)
		vuhca_destroy_qp(lane->receiver);
	if (!IS_ERR_OR_NULL(lane->ah))
		vuhca_destroy_ah(lane->ah);
	if (!IS_ERR_OR_NULL(lane->cq))
		vuhca_destroy_cq(lane->cq);
	if (!IS_ERR_OR_NULL(lane->mr))
		vuhca_dereg_mr(lane->mr);
	if (!IS_ERR_OR_NULL(lane->pd))
		vuhca_dealloc_pd(lane->pd);
	if (lane->memory)
		dma_free_coherent(&lane->dev->pdev->dev, TRAFFIC_MEMORY_BYTES,
				  lane->memory, lane->dma);
}

static int traffic_start(struct traffic_lane *lane, struct vuhca_dev *dev,
			 unsigned int from)
{
	int err;

	memset(lane, 0, sizeof(*lane));
	lane->dev = dev;
	lane->from = from;
	init_waitqueue_head(&lane->wait);
	err = traffic_create(lane);
	if (err)
		return err;
	lane->thread = kthread_run(traffic_thread, lane, "vuhca-traffic/%u",
				   from + 1);
	return PTR_ERR_OR_ZERO(lane->thread);
}

static void traffic_add(struct vuhca_dev *dev)
{
	unsigned int i;
	int err;

	mutex_lock(&traffic_lock);
	if (!traffic_dev) {
		traffic_dev = dev;
		for (i = 0; i < TRAFFIC_PORTS; i++) {
			err = traffic_start(&traffic_lanes[i], dev, i);
			if (err)
				dev_err(&dev->pdev->dev,
					"no traffic from port %u: %d\n", i + 1,
					err);
		}
	}
	mutex_unlock(&traffic_lock);
}

static void traffic_remove(struct vuhca_dev *dev)
{
	unsigned int i;

	mutex_lock(&traffic_lock);
	if (traffic_dev == dev) {
		for (i = 0; i < TRAFFIC_PORTS; i++)
			traffic_stop(&traffic_lanes[i]);
		traffic_dev = NULL;
	}
	mutex_unlock(&traffic_lock);
}

static struct vuhca_client traffic_client = {
	.add = traffic_add,
	.remove = traffic_remove,
};

static int counters_show(struct seq_file *file, void *unused)
{
	const struct traffic_lane *lane;
	unsigned int i;

	mutex_lock(&traffic_lock);
	for (i = 0; traffic_dev && i < TRAFFIC_PORTS; i++) {
		lane = &traffic_lanes[i];
		seq_printf(file,
			   "port %u collected %llu rung %llu delivered %u bytes %llu interrupts %d errors %llu\n",
			   i + 1, lane->collected, lane->rung, lane->delivered,
			   lane->bytes, atomic_read(&lane->events),
			   lane->errors);
	}
	mutex_unlock(&traffic_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(counters);

static int __init traffic_init(void)
{
	int err;

	traffic_root = debugfs_create_dir("vuhca-traffic", NULL);
	debugfs_create_file("counters", 0400, traffic_root, NULL,
			    &counters_fops);
	err = vuhca_register_client(&traffic_client);
	if (err)
		debugfs_remove(traffic_root);
	return err;
}
module_init(traffic_init);

static void __exit traffic_exit(void)
{
	vuhca_unregister_client(&traffic_client);
	debugfs_remove(traffic_root);
}
module_exit(traffic_exit);

MODULE_DESCRIPTION("Traffic between the ports of a vuhca adapter");
MODULE_AUTHOR("The vuhca authors");
MODULE_LICENSE("Dual BSD/GPL");
