/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The connections of the load (interrupts_queues.c). */
#ifndef INTERRUPTS_QUEUES_H
#define INTERRUPTS_QUEUES_H

#include "vuhca.h"

#define LOAD_QUEUES	8
/* Messages read its first half and write its second half. */
#define LOAD_MEMORY	4096

/*
 * A QP of port 1 that writes to its peer on port 2; its sends complete on a CQ of
 * their own.
 */
struct load_queue {
	struct vuhca_cq *cq;
	struct vuhca_qp *qp;
	struct vuhca_qp *peer;
	u32 posted;
	u32 completed;
	u64 waited_ns;
	/*
	 * Stores by which the handler requested events, and requests while the
	 * queue was polled.
	 */
	u64 asked;
	u64 asked_polled;
};

extern struct vuhca_dev *load_dev;
extern struct vuhca_mr *load_mr;
extern dma_addr_t load_dma;
extern struct load_queue load_queues[LOAD_QUEUES];

int load_alloc(void);
void load_free(void);
int load_create_queues(vuhca_cq_handler completed);
void load_destroy_queues(void);

#endif /* INTERRUPTS_QUEUES_H */
