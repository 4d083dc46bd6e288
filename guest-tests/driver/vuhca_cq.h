/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Completion queues. */
#ifndef VUHCA_CQ_H
#define VUHCA_CQ_H

#include <linux/mutex.h>
#include <linux/spinlock.h>

#include "vuhca_eq.h"
#include "vuhca_hw.h"

struct vuhca_collect_context;
struct vuhca_cq;
struct vuhca_user_memory;
struct vuhca_wc;

/**
 * typedef vuhca_cq_handler - Called when an armed CQ has completions.
 * @cq: The CQ.
 * @context: Context given at creation of the CQ.
 *
 * Context: Any context, under the lock of an event queue.
 */
typedef void (*vuhca_cq_handler)(struct vuhca_cq *cq, void *context);

/**
 * struct vuhca_cq_init - Parameters of a new CQ.
 * @entries_log2: log2 of the number of entries.
 * @eq_index: Event queue that reports completions, an index of dev->eqs.
 * @collect: Collect context of the process that requests events of the CQ by
 *	its pages, NULL: only the kernel does. The completion handler must not
 *	request them.
 * @user: Memory that a process allocated and polls, NULL: the driver
 *	allocates it.
 * @completion: Completion handler, or NULL.
 * @event: Handler of errors of the CQ, or NULL.
 * @context: Argument of both handlers.
 */
struct vuhca_cq_init {
	unsigned int entries_log2;
	unsigned int eq_index;
	struct vuhca_collect_context *collect;
	const struct vuhca_user_memory *user;
	vuhca_cq_handler completion;
	vuhca_event_handler event;
	void *context;
};

/**
 * struct vuhca_cq - Completion queue.
 * @dev: Function of the CQ.
 * @eq: Event queue that reports completions.
 * @lock: Protects the consumer side.
 * @cqn: Number of the CQ.
 * @summary_index: Secondary summary byte of the CQ.
 * @generation: dev->generation at creation.
 * @entries_log2: log2 of the number of entries.
 * @entries: The ring; NULL: a process polls it.
 * @record: Memory with the count of entries consumed, for the adapter.
 * @dma: Bus address of @entries.
 * @record_dma: Bus address of @record.
 * @bytes: Length of @entries.
 * @consumed: Running count of entries consumed.
 * @resize_lock: Held while entries not yet polled are moved or edited.
 * @resizing: The CQ is being resized; polls find nothing.
 * @completion: Completion handler, or NULL.
 * @event: Handler of errors of the CQ, or NULL.
 * @context: Argument of both handlers.
 * @collect: Collect context, or NULL.
 * @seen: Entry of a CQ with a collect context whose event was handled.
 * @kept: Entry of a CQ that polls look at without arming it.
 * @keeping: The handler runs; its request for the next event keeps the CQ.
 * @wanted: The handler has requested it.
 * @notifies: Count of stores that requested an event.
 * @stale_entries: Count of entries without an outstanding work request.
 */
struct vuhca_cq {
	struct vuhca_dev *dev;
	struct vuhca_eq *eq;
	spinlock_t lock;	/* consumer side */
	u32 cqn;
	u16 summary_index;
	u32 generation;
	unsigned int entries_log2;
	struct vuhca_completion_entry *entries;
	struct vuhca_completion_queue_record *record;
	dma_addr_t dma;
	dma_addr_t record_dma;
	size_t bytes;
	u32 consumed;
	struct mutex resize_lock;	/* entries not yet polled */
	bool resizing;
	vuhca_cq_handler completion;
	vuhca_event_handler event;
	void *context;
	struct vuhca_collect_context *collect;
	struct vuhca_seen seen;
	struct vuhca_kept kept;
	bool keeping;
	bool wanted;
	u64 notifies;
	u64 stale_entries;
};

struct vuhca_cq *vuhca_create_cq(struct vuhca_dev *dev,
				 const struct vuhca_cq_init *init);
int vuhca_destroy_cq(struct vuhca_cq *cq);
int vuhca_query_cq(struct vuhca_cq *cq, struct vuhca_cq_attributes *attributes);
int vuhca_moderate_cq(struct vuhca_cq *cq, u16 count, u16 period_us);
int vuhca_resize_cq(struct vuhca_cq *cq, unsigned int entries_log2);
int vuhca_resize_user_cq(struct vuhca_cq *cq, dma_addr_t pages,
			 unsigned int entries_log2);
int vuhca_poll_cq(struct vuhca_cq *cq, unsigned int count, struct vuhca_wc *wc);
void vuhca_arm_cq(struct vuhca_cq *cq, bool solicited_only);

#endif /* VUHCA_CQ_H */
