/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The queues of the benchmark of messages; post_queues.c makes them. */
#ifndef BENCH_POST_H
#define BENCH_POST_H

#include "vuhca.h"

#define QKEY		0x11223344
#define MESSAGE_BYTES	64
#define QUEUE_LOG2	6
#define QUEUE		BIT(QUEUE_LOG2)

/* A sender on port 1, and a receiver on port 2 whose queue is kept full. */
struct bench {
	struct vuhca_dev *dev;
	struct vuhca_pd *pd;
	struct vuhca_mr *mr;
	struct vuhca_cq *send_cq;
	struct vuhca_cq *recv_cq;
	struct vuhca_qp *sender;
	struct vuhca_qp *receiver;
	struct vuhca_ah *ah;
	u8 *memory;
	dma_addr_t dma;
};

int bench_post_receive(struct bench *bench, unsigned int slot);
int bench_create(struct bench *bench, struct vuhca_dev *dev);
void bench_destroy(struct bench *bench);

#endif /* BENCH_POST_H */
