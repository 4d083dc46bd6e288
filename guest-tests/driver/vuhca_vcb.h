/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Virtual collect buffers (VCBs) and the doorbell overflow buffer. */
#ifndef VUHCA_VCB_H
#define VUHCA_VCB_H

#include <linux/atomic.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct vuhca_dev;

/**
 * struct vuhca_vcb - A collect buffer: a 4 KiB page of the collect BAR.
 * @page: The page, NULL while the driver has none for this buffer.
 * @lock: Protects @page, and a command that is being written.
 * @index: Number of the page in the BAR.
 * @qos_level: Level of the commands that the page takes.
 */
struct vuhca_vcb {
	u8 __iomem *page;
	spinlock_t lock;	/* page */
	unsigned int index;
	u8 qos_level;
};

/**
 * struct vuhca_vcb_set - The collect buffers of one QoS level.
 * @first: Number of the level's first page.
 * @count: Pages of the level.
 * @cpu_vcbs: Buffers of the CPUs, one for each possible CPU.
 * @cpu_count: How many of @cpu_vcbs are in use; CPUs share them.
 * @busy: Count of commands that found their buffer in use.
 */
struct vuhca_vcb_set {
	unsigned int first;
	unsigned int count;
	struct vuhca_vcb *cpu_vcbs;
	unsigned int cpu_count;
	atomic64_t busy;
};

/**
 * struct vuhca_overflow - Memory for doorbells that do not fit into the
 *	adapter.
 * @entries: The memory; only the adapter uses it while the function is enabled.
 * @dma: Bus address of @entries.
 * @entries_log2: log2 of the number of doorbells that fit.
 */
struct vuhca_overflow {
	void *entries;
	dma_addr_t dma;
	unsigned int entries_log2;
};

/**
 * enum vuhca_collect_policy - Way of posting a lone send request of
 *	VUHCA_POST_AUTO; the module parameter `collect`.
 * @VUHCA_COLLECT_AUTO: By the way that was measured as cheaper.
 * @VUHCA_COLLECT_ALWAYS: By collect buffer.
 * @VUHCA_COLLECT_NEVER: By doorbell.
 */
enum vuhca_collect_policy {
	VUHCA_COLLECT_AUTO,
	VUHCA_COLLECT_ALWAYS,
	VUHCA_COLLECT_NEVER,
};

/**
 * struct vuhca_posting - Processor time of each way of posting.
 * @copy_ns: Time of a copy of 64 bytes to a collect buffer; U64_MAX: the
 *	function had no buffer.
 * @doorbell_ns: Time of a doorbell.
 */
struct vuhca_posting {
	u64 copy_ns;
	u64 doorbell_ns;
};

enum vuhca_collect_policy vuhca_set_collect(enum vuhca_collect_policy policy);
bool vuhca_collects_lone(struct vuhca_dev *dev);
struct vuhca_vcb *vuhca_alloc_vcb(struct vuhca_dev *dev, u8 qos_level);
void vuhca_free_vcb(struct vuhca_dev *dev, struct vuhca_vcb *vcb);
void vuhca_vcb_write(struct vuhca_vcb *vcb, const void *bytes, size_t length);
void vuhca_vcb_cancel(struct vuhca_vcb *vcb);
void vuhca_overflow_start(struct vuhca_dev *dev);

#endif /* VUHCA_VCB_H */
