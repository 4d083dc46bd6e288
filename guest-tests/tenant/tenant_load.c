// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The load of one QoS level: RDMA WRITEs from port 1 to port 2, each through a
 * collect buffer, with `window` commands in flight. An interrupt wakes a
 * thread, which posts a new command for each completed one.
 */
#include <linux/kthread.h>

#include "tenant.h"

#define TENANT_PATH_MTU	5
#define TENANT_PSN	1000

static void tenant_event(struct vuhca_cq *cq, void *context)
{
	struct tenant_load *load = context;

	atomic_inc(&load->events);
	wake_up(&load->wait);
}

static int tenant_connect(struct tenant_load *load, struct tenant_pair *pair,
			  unsigned int end)
{
	u32 lid = vuhca_read_csr(load->dev, VUHCA_CSR_PORT_LID_OFF +
				 !end * VUHCA_CSR_PORT_LID_STRIDE);
	struct vuhca_connection connection = {
		.port = end + 1,
		.dlid = lid,
		.remote_qpn = pair->qp[!end]->qpn,
		.send_psn = TENANT_PSN,
		.receive_psn = TENANT_PSN,
		.access = VUHCA_ACCESS_FLAG_REMOTE_WRITE,
		.path_mtu = TENANT_PATH_MTU,
		/* The cable loses no packet, so no timeout is needed. */
		.timeout = 0,
	};

	return vuhca_qp_connect(pair->qp[end], &connection);
}

static int tenant_create_pair(struct tenant_load *load,
			      struct tenant_pair *pair)
{
	struct vuhca_qp_init init = {
		.pd = load->pd,
		.send_cq = load->cq,
		.recv_cq = load->cq,
		.send_entries_log2 = TENANT_QUEUE_LOG2,
		.recv_entries_log2 = 1,
		.send_sge = 1,
		.recv_sge = 1,
		.service_type = VUHCA_SERVICE_TYPE_RC,
		.qos_level = load->qos_level,
	};
	struct vuhca_qp *qp;
	unsigned int end;

	for (end = 0; end < TENANT_PORTS; end++) {
		qp = vuhca_create_qp(load->dev, &init);
		if (IS_ERR(qp))
			return PTR_ERR(qp);
		pair->qp[end] = qp;
	}
	return tenant_connect(load, pair, 0) ?: tenant_connect(load, pair, 1);
}

static bool tenant_post(struct tenant_load *load, unsigned int index)
{
	struct vuhca_buffer from = {
		.address = load->source,
		.length = load->message_bytes,
		.lkey = load->mr->lkey,
	};
	struct vuhca_send_wr wr = {
		.wr_id = index,
		.opcode = VUHCA_SEND_OPCODE_RDMA_WRITE,
		.signaled = true,
		.sge = &from,
		.sge_count = 1,
		.remote.address = load->target,
		.remote.rkey = load->mr->rkey,
	};

	return vuhca_post_send(load->pairs[index].qp[0], &wr, 1,
			       VUHCA_POST_COLLECT) == 1;
}

/* Commands that a queue pair posts at a time. */
static u32 tenant_batch(struct tenant_load *load)
{
	return clamp(READ_ONCE(load->window) / TENANT_PAIRS, 1U,
		     1U << TENANT_QUEUE_LOG2);
}

static bool tenant_has_room(struct tenant_load *load)
{
	return load->posted - load->completed < READ_ONCE(load->window);
}

/*
 * Posts a batch on each idle queue pair. After a command that was posted by
 * doorbell the adapter refuses collected commands, because they come too early;
 * it takes those of the next batch.
 */
static void tenant_fill(struct tenant_load *load)
{
	unsigned int i;

	for (i = 0; i < TENANT_PAIRS; i++) {
		unsigned int index = load->next++ % TENANT_PAIRS;
		struct tenant_pair *pair = &load->pairs[index];
		u32 left = pair->outstanding ? 0 : tenant_batch(load);

		for (; left && tenant_has_room(load); left--) {
			if (!tenant_post(load, index)) {
				load->errors++;
				WRITE_ONCE(load->window, 0);
				return;
			}
			pair->outstanding++;
			WRITE_ONCE(load->posted, load->posted + 1);
		}
	}
}

static void tenant_take(struct tenant_load *load)
{
	struct vuhca_wc wc[16];
	int i, found;

	while ((found = vuhca_poll_cq(load->cq, ARRAY_SIZE(wc), wc)) > 0)
		for (i = 0; i < found; i++) {
			if (wc[i].status != VUHCA_COMPLETION_STATUS_SUCCESS)
				load->errors++;
			load->pairs[wc[i].wr_id % TENANT_PAIRS].outstanding--;
			WRITE_ONCE(load->completed, load->completed + 1);
		}
}

static int tenant_thread(void *data)
{
	struct tenant_load *load = data;
	u32 window;
	int seen;

	while (!kthread_should_stop()) {
		window = READ_ONCE(load->window);
		tenant_fill(load);
		seen = atomic_read(&load->events);
		vuhca_arm_cq(load->cq, false);
		wait_event_interruptible(load->wait,
					 atomic_read(&load->events) != seen ||
					 READ_ONCE(load->window) != window ||
					 kthread_should_stop());
		tenant_take(load);
		wake_up(&load->wait);
	}
	return 0;
}

/* After a failure, tenant_load_stop() frees what was created. */
int tenant_load_start(struct tenant_load *load)
{
	struct vuhca_cq_init init = {
		.entries_log2 = TENANT_CQ_LOG2,
		.eq_index = (1 + load->qos_level) % load->dev->eq_count,
		.completion = tenant_event,
		.context = load,
	};
	unsigned int i;
	int err = 0;

	init_waitqueue_head(&load->wait);
	load->cq = vuhca_create_cq(load->dev, &init);
	if (IS_ERR(load->cq))
		return PTR_ERR(load->cq);
	for (i = 0; !err && i < TENANT_PAIRS; i++)
		err = tenant_create_pair(load, &load->pairs[i]);
	if (err)
		return err;
	load->thread = kthread_run(tenant_thread, load, "vuhca-tenant/%u",
				   load->qos_level);
	return PTR_ERR_OR_ZERO(load->thread);
}

void tenant_load_stop(struct tenant_load *load)
{
	unsigned int i, end;

	if (!IS_ERR_OR_NULL(load->thread))
		kthread_stop(load->thread);
	for (i = 0; i < TENANT_PAIRS; i++)
		for (end = 0; end < TENANT_PORTS; end++)
			if (load->pairs[i].qp[end])
				vuhca_destroy_qp(load->pairs[i].qp[end]);
	if (!IS_ERR_OR_NULL(load->cq))
		vuhca_destroy_cq(load->cq);
}
