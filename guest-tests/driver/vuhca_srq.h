/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Work queues, and shared receive queues. */
#ifndef VUHCA_SRQ_H
#define VUHCA_SRQ_H

#include <linux/mutex.h>
#include <linux/spinlock.h>

#include "vuhca_eq.h"
#include "vuhca_hw.h"

struct vuhca_cq;
struct vuhca_dev;
struct vuhca_pd;
struct vuhca_recv_wr;
struct vuhca_user_memory;
struct vuhca_xrcd;

/**
 * struct vuhca_wq - Work queue: one direction of a QP, or an SRQ.
 * @lock: Protects the producer side.
 * @slots: WQEs; NULL: a process posts.
 * @wr_ids: wr_id of the request in each slot.
 * @entries_log2: log2 of the number of slots.
 * @stride_log2: log2 of the length of a slot.
 * @head: Number of the oldest request not completed, modulo 2^16.
 * @tail: Number of the next request, modulo 2^16.
 */
struct vuhca_wq {
	spinlock_t lock;	/* producer side */
	u8 *slots;
	u64 *wr_ids;
	unsigned int entries_log2;
	unsigned int stride_log2;
	u16 head;
	u16 tail;
};

/**
 * struct vuhca_srq_init - Parameters of a new SRQ.
 * @entries_log2: log2 of the number of entries.
 * @sge: Most scatter/gather elements of a request.
 * @limit: An event reports when fewer entries than this are posted, 0: none.
 * @xrcd: XRC domain of an XRC SRQ, or NULL.
 * @cq: CQ of an XRC SRQ, or NULL.
 * @user: Memory of a process that posts, NULL: the driver allocates it.
 * @event: Event handler, or NULL.
 * @context: Argument of @event.
 */
struct vuhca_srq_init {
	unsigned int entries_log2;
	unsigned int sge;
	u32 limit;
	struct vuhca_xrcd *xrcd;
	struct vuhca_cq *cq;
	const struct vuhca_user_memory *user;
	vuhca_event_handler event;
	void *context;
};

/**
 * struct vuhca_srq - Shared receive queue.
 * @dev: Function of the SRQ.
 * @pd: PD of the SRQ.
 * @xrcd: XRC domain of an XRC SRQ, or NULL.
 * @cq: CQ of an XRC SRQ, or NULL.
 * @srqn: Number of the SRQ.
 * @generation: dev->generation at creation.
 * @rq: The receive queue.
 * @completed: Slots that completed while an older one, rq.head, has not.
 * @record: Memory with the count of entries posted, for the adapter.
 * @record_dma: Bus address of @record.
 * @dma: Bus address of the slots.
 * @bytes: Length of the slots; 0: a process has allocated them.
 * @resize_lock: Held during a resize.
 * @resizing: Posting is off. Under rq.lock.
 * @event: Event handler, or NULL.
 * @context: Argument of @event.
 */
struct vuhca_srq {
	struct vuhca_dev *dev;
	struct vuhca_pd *pd;
	struct vuhca_xrcd *xrcd;
	struct vuhca_cq *cq;
	u32 srqn;
	u32 generation;
	struct vuhca_wq rq;
	unsigned long *completed;
	struct vuhca_srq_record *record;
	dma_addr_t record_dma;
	dma_addr_t dma;
	size_t bytes;
	struct mutex resize_lock;
	bool resizing;
	vuhca_event_handler event;
	void *context;
};

struct vuhca_srq *vuhca_create_srq(struct vuhca_pd *pd,
				   const struct vuhca_srq_init *init);
int vuhca_destroy_srq(struct vuhca_srq *srq);
int vuhca_set_srq_limit(struct vuhca_srq *srq, u32 limit);
int vuhca_resize_srq(struct vuhca_srq *srq, unsigned int entries_log2);
int vuhca_resize_user_srq(struct vuhca_srq *srq, dma_addr_t pages,
			  unsigned int entries_log2);
int vuhca_post_srq_recv(struct vuhca_srq *srq, const struct vuhca_recv_wr *wrs,
			unsigned int count);

#endif /* VUHCA_SRQ_H */
