/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Declarations for the two files of the module vuhca_tenant. */
#ifndef VUHCA_TENANT_H
#define VUHCA_TENANT_H

#include <linux/wait.h>

#include "vuhca.h"

/* Queue pairs over which the commands of a QoS level are spread. */
#define TENANT_PAIRS		16
#define TENANT_QUEUE_LOG2	4
#define TENANT_WINDOW_MAX	(TENANT_PAIRS << TENANT_QUEUE_LOG2)
#define TENANT_CQ_LOG2		9
#define TENANT_PORTS		2
#define TENANT_MESSAGE_MAX	(1024 * 1024)

/* A connection through the cable, from port 1 to port 2. */
struct tenant_pair {
	struct vuhca_qp *qp[TENANT_PORTS];
	u32 outstanding;
};

/* RDMA WRITEs at one QoS level; `window` commands are in flight at any time. */
struct tenant_load {
	struct vuhca_dev *dev;
	struct vuhca_pd *pd;
	struct vuhca_mr *mr;
	dma_addr_t source;
	dma_addr_t target;
	u32 message_bytes;
	u8 qos_level;
	struct vuhca_cq *cq;
	struct tenant_pair pairs[TENANT_PAIRS];
	unsigned int next;
	struct task_struct *thread;
	wait_queue_head_t wait;
	atomic_t events;
	u32 window;
	u64 posted;
	u64 completed;
	u64 errors;
};

/* tenant_load.c */
int tenant_load_start(struct tenant_load *load);
void tenant_load_stop(struct tenant_load *load);

#endif /* VUHCA_TENANT_H */
