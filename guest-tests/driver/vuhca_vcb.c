// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Collect buffers. Each QoS level has its part of the collect BAR; the kernel
 * keeps one buffer per CPU and level, the others are handed out whole. Two
 * writers in one buffer would mix two commands, so a kernel buffer is used
 * under its lock only, and whoever finds it busy rings the doorbell instead.
 */
#include <linux/slab.h>

#include "vuhca.h"

static void vuhca_vcb_setup(struct vuhca_dev *dev, struct vuhca_vcb *vcb,
			    unsigned int index, u8 qos_level)
{
	spin_lock_init(&vcb->lock);
	vcb->index = index;
	vcb->qos_level = qos_level;
	vcb->page = dev->collect + (size_t)index * VUHCA_PAGE_BYTES;
}

/* Drops what the buffer holds of a command. */
void vuhca_vcb_cancel(struct vuhca_vcb *vcb)
{
	__le64 word = cpu_to_le64((u64)VUHCA_CANCEL_VALUE_HIGH << 32);

	wmb();
	vuhca_write_eight(vcb->page + VUHCA_CANCEL_OFFSET, &word);
	wmb();
}
EXPORT_SYMBOL_GPL(vuhca_vcb_cancel);

static int vuhca_vcb_set_init(struct vuhca_dev *dev, u8 qos_level,
			      unsigned int first, unsigned int count)
{
	struct vuhca_vcb_set *set = &dev->vcbs[qos_level];
	unsigned int i;

	ida_init(&set->ida);
	set->first = first;
	set->count = count;
	/* A small function keeps half of its buffers for other users. */
	set->cpu_count = min(nr_cpu_ids, DIV_ROUND_UP(count, 2));
	if (!set->cpu_count)
		return 0;
	set->cpu_vcbs = kcalloc(set->cpu_count, sizeof(*set->cpu_vcbs),
				GFP_KERNEL);
	if (!set->cpu_vcbs) {
		set->cpu_count = 0;
		return -ENOMEM;
	}
	for (i = 0; i < set->cpu_count; i++)
		vuhca_vcb_setup(dev, &set->cpu_vcbs[i], first + i, qos_level);
	return 0;
}

/* A quarter of the function's buffers is kept for the low-latency level. */
int vuhca_vcbs_init(struct vuhca_dev *dev)
{
	u32 total = vuhca_read_csr(dev, VUHCA_CSR_VCB_COUNT_OFF);
	u32 split = total - total / 4;
	int err;

	if ((u64)total * VUHCA_PAGE_BYTES > dev->collect_bytes) {
		dev_err(&dev->pdev->dev,
			"%u collect buffers do not fit a BAR of %pa bytes\n",
			total, &dev->collect_bytes);
		return -ENODEV;
	}
	err = vuhca_vcb_set_init(dev, 0, 0, split);
	if (!err)
		err = vuhca_vcb_set_init(dev, 1, split, total - split);
	if (err)
		vuhca_vcbs_cleanup(dev);
	return err;
}

void vuhca_vcbs_cleanup(struct vuhca_dev *dev)
{
	unsigned int level;

	for (level = 0; level < VUHCA_QOS_LEVELS; level++) {
		kfree(dev->vcbs[level].cpu_vcbs);
		dev->vcbs[level].cpu_vcbs = NULL;
		ida_destroy(&dev->vcbs[level].ida);
	}
}

/* After each reset: sets the divider, and cancels what a former owner left. */
void vuhca_vcbs_start(struct vuhca_dev *dev)
{
	unsigned int level, i;

	vuhca_write_csr64(dev, VUHCA_CSR_QOS_DIVIDER_OFF,
			  (u64)dev->vcbs[1].first * VUHCA_PAGE_BYTES);
	for (level = 0; level < VUHCA_QOS_LEVELS; level++)
		for (i = 0; i < dev->vcbs[level].cpu_count; i++)
			vuhca_vcb_cancel(&dev->vcbs[level].cpu_vcbs[i]);
}

/* Writes a whole command. It is the adapter's when this returns. */
void vuhca_vcb_write(struct vuhca_vcb *vcb, const void *bytes, size_t length)
{
	__iowrite64_copy(vcb->page + VUHCA_DATA_OFFSET, bytes, length / 8);
	/* Drain write-combining before the buffer is used for another one. */
	wmb();
}
EXPORT_SYMBOL_GPL(vuhca_vcb_write);

/*
 * Writes a command to this CPU's buffer; false when there is none or it is
 * busy. The caller has interrupts off, or the buffer would change under it.
 */
bool vuhca_vcb_try_write(struct vuhca_dev *dev, u8 qos_level, const void *bytes,
			 size_t length)
{
	struct vuhca_vcb_set *set = &dev->vcbs[qos_level];
	struct vuhca_vcb *vcb;

	if (!set->cpu_count)
		return false;
	vcb = &set->cpu_vcbs[smp_processor_id() % set->cpu_count];
	if (!spin_trylock(&vcb->lock)) {
		atomic64_inc(&set->busy);
		return false;
	}
	vuhca_vcb_write(vcb, bytes, length);
	spin_unlock(&vcb->lock);
	return true;
}

/* A buffer for the caller alone, for example a user context. */
struct vuhca_vcb *vuhca_alloc_vcb(struct vuhca_dev *dev, u8 qos_level)
{
	struct vuhca_vcb_set *set;
	struct vuhca_vcb *vcb;
	int index;

	if (qos_level >= VUHCA_QOS_LEVELS)
		return ERR_PTR(-EINVAL);
	set = &dev->vcbs[qos_level];
	if (set->cpu_count == set->count)
		return ERR_PTR(-ENOSPC);
	vcb = kzalloc(sizeof(*vcb), GFP_KERNEL);
	if (!vcb)
		return ERR_PTR(-ENOMEM);
	index = ida_alloc_range(&set->ida, set->first + set->cpu_count,
				set->first + set->count - 1, GFP_KERNEL);
	if (index < 0) {
		kfree(vcb);
		return ERR_PTR(index);
	}
	vuhca_vcb_setup(dev, vcb, index, qos_level);
	vuhca_vcb_cancel(vcb);
	return vcb;
}
EXPORT_SYMBOL_GPL(vuhca_alloc_vcb);

void vuhca_free_vcb(struct vuhca_dev *dev, struct vuhca_vcb *vcb)
{
	vuhca_vcb_cancel(vcb);
	ida_free(&dev->vcbs[vcb->qos_level].ida, vcb->index);
	kfree(vcb);
}
EXPORT_SYMBOL_GPL(vuhca_free_vcb);
