/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Declarations for the two files of the module vuhca_traffic. */
#ifndef VUHCA_TRAFFIC_H
#define VUHCA_TRAFFIC_H

#include <linux/wait.h>

#include "vuhca.h"

#define TRAFFIC_PORTS		2
#define TRAFFIC_WINDOW		16
#define TRAFFIC_STRETCH		128
#define TRAFFIC_SLOT_BYTES	2048
#define TRAFFIC_PAYLOAD_MAX	1024
#define TRAFFIC_MEMORY_BYTES	(2 * TRAFFIC_WINDOW * TRAFFIC_SLOT_BYTES)
#define TRAFFIC_QUEUE_LOG2	6
#define TRAFFIC_QKEY		0x74726166
#define TRAFFIC_PSN		1000

/* One direction between the ports: two QPs, one CQ for both, one thread. */
struct traffic_flow {
	struct vuhca_dev *dev;
	unsigned int from;
	struct vuhca_pd *pd;
	struct vuhca_mr *mr;
	struct vuhca_cq *cq;
	struct vuhca_qp *sender;
	struct vuhca_qp *receiver;
	struct vuhca_ah *ah;
	u8 *memory;
	dma_addr_t dma;
	struct task_struct *thread;
	wait_queue_head_t wait;
	atomic_t events;
	u32 posted;
	u32 completed;
	u32 delivered;
	u64 bytes;
	u64 collected;
	u64 rung;
	u64 errors;
};

/* traffic_flow.c */
void traffic_event(struct vuhca_cq *cq, void *context);
int traffic_thread(void *data);

#endif /* VUHCA_TRAFFIC_H */
