/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * On-demand regions of processes (docs/verbs/VERBS.md, "On-demand paging"):
 * their pages are made present when the adapter misses them or on request of
 * the process, and taken back when the kernel takes them from the process.
 */
#ifndef VIB_ODP_H
#define VIB_ODP_H

#include <linux/completion.h>
#include <linux/refcount.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_umem_odp.h>

#include "vib.h"

/* Pages that one command makes present. */
#define VIB_ODP_PAGES	512
/* Most pending faults of a region; the adapter has fewer outstanding. */
#define VIB_ODP_FAULTS	128

/**
 * struct vib_page_fault - A pending page fault.
 * @address: First virtual address of the access.
 * @length: Length that the message will access.
 * @write: The access writes.
 */
struct vib_page_fault {
	u64 address;
	u32 length;
	bool write;
};

/**
 * struct vib_odp - An on-demand region.
 * @hw: The region of the adapter.
 * @dev: Device of the region.
 * @pd: PD of the region.
 * @umem: Memory of the process; of an implicit region the root of @children.
 * @children: Memory of an implicit region by its address in the process.
 * @children_lock: Held while a child is added.
 * @offset: Address of the process minus virtual address of the region.
 * @map_lock: Held while the core maps pages. Taken before the lock of a umem.
 * @list_lock: Held while @list is in use. Taken under the lock of a umem.
 * @list: Pages for one command of the adapter.
 * @list_dma: Bus address of @list.
 * @lock: Protects @faults, @head and @tail.
 * @faults: Ring of faults.
 * @head: Count of faults taken.
 * @tail: Count of faults added.
 * @work: Resolves faults.
 * @users: Holders: the region, and prefetches.
 * @idle: Completed when the last holder has gone.
 */
struct vib_odp {
	struct vuhca_mr *hw;
	struct vib_dev *dev;
	struct ib_pd *pd;
	struct ib_umem_odp *umem;
	struct xarray children;
	struct mutex children_lock;	/* adding children */
	u64 offset;
	struct mutex map_lock;		/* pfn_list of each umem */
	struct mutex list_lock;		/* list */
	__le64 *list;
	dma_addr_t list_dma;
	spinlock_t lock;		/* ring of faults */
	struct vib_page_fault faults[VIB_ODP_FAULTS];
	unsigned int head;
	unsigned int tail;
	struct work_struct work;
	refcount_t users;
	struct completion idle;
};

/* vib_odp_pages.c */
extern const struct mmu_interval_notifier_ops vib_odp_ops;
int vib_odp_map_range(struct vib_odp *odp, u64 user, u64 length, bool write,
		      bool fault);
void vib_odp_fault(void *context, u64 address, u32 length, bool write);
void vib_odp_work(struct work_struct *work);
int vib_odp_start(void);
void vib_odp_stop(void);
bool vib_odp_queue(struct work_struct *work);

#endif /* VIB_ODP_H */
