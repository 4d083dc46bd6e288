/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Objects of a user process: its context, and the memory of its queues. */
#ifndef VIB_PROCESS_H
#define VIB_PROCESS_H

#include <linux/mutex.h>
#include <rdma/ib_verbs.h>

/* Longest slot of a queue. */
#define VIB_MAX_STRIDE_LOG2	9
/* Sizes of the pages of a memory region. */
#define VIB_PAGE_SIZES		GENMASK_ULL(31, 12)
/* Time stamps are in ns. */
#define VIB_CLOCK_KHZ		1000000

struct ib_umem;
struct vuhca_collect_context;

/**
 * struct vib_context - Context of a user process.
 * @ibuc: The context of the core.
 * @collect: Collect context; its pages act only on the queues of this context.
 * @pages_lock: Protects @pages. Taken under the lock of the process's memory.
 * @pages: Collect pages that the process has mapped.
 * @records_lock: Protects @records. The process's memory is locked under it.
 * @records: Pages of records.
 */
struct vib_context {
	struct ib_ucontext ibuc;
	struct vuhca_collect_context *collect;
	struct mutex pages_lock;	/* mapped pages */
	struct list_head pages;
	struct mutex records_lock;	/* pages of records */
	struct list_head records;
};

/**
 * struct vib_record_page - A pinned page of records of a process.
 * @node: In the list of the context.
 * @umem: The pinned memory.
 * @user: Its address in the process.
 * @at: Its address in the kernel.
 * @dma: Its bus address.
 * @users: Records in use.
 */
struct vib_record_page {
	struct list_head node;
	struct ib_umem *umem;
	u64 user;
	void *at;
	dma_addr_t dma;
	unsigned int users;
};

/**
 * struct vib_user_queue - Memory of a queue of a process.
 * @context: The process's context; NULL: the queue is the kernel's.
 * @umems: The rings; of a QP those of sends and of receives.
 * @record: The page of the record.
 * @dead: For a CQ: tells the process that no further entry comes.
 */
struct vib_user_queue {
	struct vib_context *context;
	struct ib_umem *umems[2];
	struct vib_record_page *record;
	u32 *dead;
};

#endif /* VIB_PROCESS_H */
