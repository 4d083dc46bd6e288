// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Traffic for demonstrations and long runs: while the module is loaded,
 * datagrams flow from each port to the other. Counters are in debugfs,
 * vuhca-traffic/counters.
 */
#include <linux/debugfs.h>
#include <linux/dma-mapping.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "traffic.h"

static DEFINE_MUTEX(traffic_lock);	/* protects the variables below */
static struct vuhca_dev *traffic_dev;
static struct traffic_flow traffic_flows[TRAFFIC_PORTS];
static struct dentry *traffic_root;

static int traffic_ready(struct vuhca_qp *qp, unsigned int port)
{
	return vuhca_qp_to_init(qp, port + 1, 0, TRAFFIC_QKEY) ?:
	       vuhca_qp_to_rtr(qp) ?: vuhca_qp_to_rts(qp, TRAFFIC_PSN);
}

static int traffic_create_qp(struct traffic_flow *flow, unsigned int port,
			     struct vuhca_qp **qp)
{
	struct vuhca_qp_init init = {
		.pd = flow->pd,
		.send_cq = flow->cq,
		.recv_cq = flow->cq,
		.send_entries_log2 = TRAFFIC_QUEUE_LOG2,
		.recv_entries_log2 = TRAFFIC_QUEUE_LOG2,
		.send_sge = 1,
		.recv_sge = 1,
		.service_type = VUHCA_SERVICE_TYPE_UD,
	};
	struct vuhca_qp *created = vuhca_create_qp(flow->dev, &init);

	if (IS_ERR(created))
		return PTR_ERR(created);
	*qp = created;
	return traffic_ready(created, port);
}

static int traffic_create(struct traffic_flow *flow)
{
	struct vuhca_dev *dev = flow->dev;
	unsigned int to = 1 - flow->from;
	struct vuhca_cq_init cq = {
		.entries_log2 = TRAFFIC_QUEUE_LOG2 + 1,
		.eq_index = (1 + flow->from) % dev->eq_count,
		.completion = traffic_event,
		.context = flow,
	};
	u32 lid = vuhca_read_csr(dev, VUHCA_CSR_PORT_LID_OFF +
				      to * VUHCA_CSR_PORT_LID_STRIDE);
	int err;

	flow->memory = dma_alloc_coherent(&dev->pdev->dev, TRAFFIC_MEMORY_BYTES,
					  &flow->dma, GFP_KERNEL);
	if (!flow->memory)
		return -ENOMEM;
	flow->pd = vuhca_alloc_pd(dev);
	if (IS_ERR(flow->pd))
		return PTR_ERR(flow->pd);
	flow->mr = vuhca_get_dma_mr(flow->pd, VUHCA_ACCESS_FLAG_LOCAL_WRITE);
	if (IS_ERR(flow->mr))
		return PTR_ERR(flow->mr);
	flow->cq = vuhca_create_cq(dev, &cq);
	if (IS_ERR(flow->cq))
		return PTR_ERR(flow->cq);
	flow->ah = vuhca_create_ah(flow->pd, flow->from + 1, lid, 0, NULL);
	if (IS_ERR(flow->ah))
		return PTR_ERR(flow->ah);
	err = traffic_create_qp(flow, to, &flow->receiver);
	return err ?: traffic_create_qp(flow, flow->from, &flow->sender);
}

/* Undoes traffic_start(), also after a failure. */
static void traffic_stop(struct traffic_flow *flow)
{
	if (!IS_ERR_OR_NULL(flow->thread))
		kthread_stop(flow->thread);
	if (flow->sender)
		vuhca_destroy_qp(flow->sender);
	if (flow->receiver)
		vuhca_destroy_qp(flow->receiver);
	if (!IS_ERR_OR_NULL(flow->ah))
		vuhca_destroy_ah(flow->ah);
	if (!IS_ERR_OR_NULL(flow->cq))
		vuhca_destroy_cq(flow->cq);
	if (!IS_ERR_OR_NULL(flow->mr))
		vuhca_dereg_mr(flow->mr);
	if (!IS_ERR_OR_NULL(flow->pd))
		vuhca_dealloc_pd(flow->pd);
	if (flow->memory)
		dma_free_coherent(&flow->dev->pdev->dev, TRAFFIC_MEMORY_BYTES,
				  flow->memory, flow->dma);
}

static int traffic_start(struct traffic_flow *flow, struct vuhca_dev *dev,
			 unsigned int from)
{
	int err;

	memset(flow, 0, sizeof(*flow));
	flow->dev = dev;
	flow->from = from;
	init_waitqueue_head(&flow->wait);
	err = traffic_create(flow);
	if (err)
		return err;
	flow->thread = kthread_run(traffic_thread, flow, "vuhca-traffic/%u",
				   from + 1);
	return PTR_ERR_OR_ZERO(flow->thread);
}

static void traffic_add(struct vuhca_dev *dev)
{
	unsigned int i;
	int err;

	mutex_lock(&traffic_lock);
	if (!traffic_dev) {
		traffic_dev = dev;
		for (i = 0; i < TRAFFIC_PORTS; i++) {
			err = traffic_start(&traffic_flows[i], dev, i);
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
			traffic_stop(&traffic_flows[i]);
		traffic_dev = NULL;
	}
	mutex_unlock(&traffic_lock);
}

static struct vuhca_client traffic_client = {
	.add = traffic_add,
	.remove = traffic_remove,
	.reset_prepare = traffic_remove,
	.reset_done = traffic_add,
};

static int counters_show(struct seq_file *file, void *unused)
{
	const struct traffic_flow *flow;
	unsigned int i;

	mutex_lock(&traffic_lock);
	for (i = 0; traffic_dev && i < TRAFFIC_PORTS; i++) {
		flow = &traffic_flows[i];
		seq_printf(file,
			   "port %u collected %llu rung %llu delivered %u bytes %llu interrupts %d errors %llu\n",
			   i + 1, flow->collected, flow->rung, flow->delivered,
			   flow->bytes, atomic_read(&flow->events),
			   flow->errors);
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
