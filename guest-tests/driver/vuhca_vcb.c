// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Collect buffers. Each QoS level has its part of the collect BAR. The kernel
 * keeps one buffer for each CPU and level, users get the others. Two writers in
 * one buffer would mix their commands, so a kernel buffer is used only under
 * its lock, and a sender that finds it busy rings the doorbell instead. The
 * function's share may change at any time; buffers then get other pages.
 */
#include <linux/slab.h>

#include "vuhca_internal.h"

/**
 * vuhca_vcb_cancel() - Drop an unfinished command in a collect buffer.
 * @vcb: Buffer that only the caller uses.
 *
 * Context: Any context.
 */
void vuhca_vcb_cancel(struct vuhca_vcb *vcb)
{
	__le64 word = cpu_to_le64((u64)VUHCA_CANCEL_VALUE_HIGH << 32);

	/* Earlier stores to the page come before the cancel word. */
	wmb();
	vuhca_write_eight(vcb->page + VUHCA_CANCEL_OFFSET, &word);
	/* Drain write-combining before the buffer is used again. */
	wmb();
}
EXPORT_SYMBOL_GPL(vuhca_vcb_cancel);

int vuhca_vcbs_init(struct vuhca_dev *dev)
{
	unsigned int level, i;

	mutex_init(&dev->vcb_lock);
	ida_init(&dev->vcb_ida);
	for (level = 0; level < VUHCA_QOS_LEVELS; level++) {
		struct vuhca_vcb_set *set = &dev->vcbs[level];

		set->cpu_vcbs = kcalloc(nr_cpu_ids, sizeof(*set->cpu_vcbs),
					GFP_KERNEL);
		if (!set->cpu_vcbs) {
			vuhca_vcbs_cleanup(dev);
			return -ENOMEM;
		}
		for (i = 0; i < nr_cpu_ids; i++) {
			spin_lock_init(&set->cpu_vcbs[i].lock);
			set->cpu_vcbs[i].qos_level = level;
		}
	}
	return 0;
}

void vuhca_vcbs_cleanup(struct vuhca_dev *dev)
{
	unsigned int level;

	for (level = 0; level < VUHCA_QOS_LEVELS; level++) {
		kfree(dev->vcbs[level].cpu_vcbs);
		dev->vcbs[level].cpu_vcbs = NULL;
	}
	ida_destroy(&dev->vcb_ida);
	mutex_destroy(&dev->vcb_lock);
}

/* No writer uses the buffer's former page once this returns. */
static void vuhca_vcb_move(struct vuhca_vcb *vcb, u8 __iomem *page)
{
	spin_lock_irq(&vcb->lock);
	vcb->page = page;
	spin_unlock_irq(&vcb->lock);
}

/* Gives back the pages that the level no longer has. */
static void vuhca_vcb_set_shrink(struct vuhca_dev *dev,
				 struct vuhca_vcb_set *set, unsigned int first,
				 unsigned int count)
{
	struct vuhca_vcb *vcb;
	unsigned int i;

	/*
	 * A function with few pages keeps half of them for vuhca_alloc_vcb().
	 */
	set->first = first;
	set->count = count;
	WRITE_ONCE(set->cpu_count, min(nr_cpu_ids, DIV_ROUND_UP(count, 2)));
	for (i = 0; i < nr_cpu_ids; i++) {
		vcb = &set->cpu_vcbs[i];
		if (!vcb->page || (i < set->cpu_count && vcb->index >= first &&
				   vcb->index - first < count))
			continue;
		vuhca_vcb_move(vcb, NULL);
		ida_free(&dev->vcb_ida, vcb->index);
	}
}

/* A CPU without a buffer rings doorbells. */
static void vuhca_vcb_set_fill(struct vuhca_dev *dev, struct vuhca_vcb_set *set)
{
	struct vuhca_vcb *vcb;
	unsigned int i;
	int index;

	for (i = 0; i < set->cpu_count; i++) {
		vcb = &set->cpu_vcbs[i];
		if (vcb->page)
			continue;
		index = ida_alloc_range(&dev->vcb_ida, set->first,
					set->first + set->count - 1, GFP_KERNEL);
		if (index < 0)
			return;
		vcb->index = index;
		vuhca_vcb_move(vcb, dev->collect +
			       (size_t)index * VUHCA_PAGE_BYTES);
	}
}

/*
 * Adopts the function's present share of collect pages. Unless a request has
 * split them between the levels, level 1 gets a quarter. May sleep.
 */
void vuhca_vcbs_update(struct vuhca_dev *dev)
{
	u32 pages = (dev->dedicated - dev->collect) / VUHCA_PAGE_BYTES;
	u32 total, split;

	mutex_lock(&dev->vcb_lock);
	total = min(vuhca_read_csr(dev, VUHCA_CSR_VCB_COUNT_OFF), pages);
	split = total - total / 4;
	if (dev->vcbs_split)
		split = min_t(u64, total,
			      vuhca_read_csr64(dev, VUHCA_CSR_QOS_DIVIDER_OFF) /
			      VUHCA_PAGE_BYTES);
	else
		vuhca_write_csr64(dev, VUHCA_CSR_QOS_DIVIDER_OFF,
				  (u64)split * VUHCA_PAGE_BYTES);
	vuhca_vcb_set_shrink(dev, &dev->vcbs[0], 0, split);
	vuhca_vcb_set_shrink(dev, &dev->vcbs[1], split, total - split);
	vuhca_vcb_set_fill(dev, &dev->vcbs[0]);
	vuhca_vcb_set_fill(dev, &dev->vcbs[1]);
	mutex_unlock(&dev->vcb_lock);
}

/*
 * Called after a reset: buffers hold no commands, and the divider has its
 * default.
 */
void vuhca_vcbs_start(struct vuhca_dev *dev)
{
	dev->vcbs_split = false;
	vuhca_vcbs_update(dev);
}

/**
 * vuhca_vcb_write() - Write a whole command to a collect buffer.
 * @vcb: Buffer that only the caller uses.
 * @bytes: Command, aligned to 8 bytes.
 * @length: Length of @bytes, a multiple of 8.
 *
 * The adapter has received the command when this call returns.
 *
 * Context: Any context.
 */
void vuhca_vcb_write(struct vuhca_vcb *vcb, const void *bytes, size_t length)
{
	__iowrite64_copy(vcb->page + VUHCA_DATA_OFFSET, bytes, length / 8);
	/*
	 * Drain write-combining before the buffer is used for another command.
	 */
	wmb();
}
EXPORT_SYMBOL_GPL(vuhca_vcb_write);

/*
 * Writes a command to this CPU's buffer; false when there is none or it is
 * busy. The caller has interrupts off, so that the CPU stays the same.
 */
bool vuhca_vcb_try_write(struct vuhca_dev *dev, u8 qos_level, const void *bytes,
			 size_t length)
{
	struct vuhca_vcb_set *set = &dev->vcbs[qos_level];
	unsigned int cpu_count = READ_ONCE(set->cpu_count);
	struct vuhca_vcb *vcb;
	bool there;

	if (!cpu_count)
		return false;
	vcb = &set->cpu_vcbs[smp_processor_id() % cpu_count];
	if (!spin_trylock(&vcb->lock)) {
		atomic64_inc(&set->busy);
		return false;
	}
	there = vcb->page;
	if (there)
		vuhca_vcb_write(vcb, bytes, length);
	spin_unlock(&vcb->lock);
	return there;
}

/*
 * Writes eight bytes beside the data area of any page; false when there is
 * none.
 */
bool vuhca_vcb_write_word(struct vuhca_dev *dev, unsigned int offset,
			  const void *word)
{
	unsigned int level;
	bool there = false;

	for (level = 0; !there && level < VUHCA_QOS_LEVELS; level++) {
		struct vuhca_vcb *vcb = &dev->vcbs[level].cpu_vcbs[0];

		spin_lock_irq(&vcb->lock);
		there = vcb->page;
		if (there)
			vuhca_write_eight(vcb->page + offset, word);
		/* Drain write-combining before another CPU uses the page. */
		wmb();
		spin_unlock_irq(&vcb->lock);
	}
	return there;
}

/**
 * vuhca_alloc_vcb() - Allocate a collect buffer for the caller alone.
 * @dev: Function of the adapter.
 * @qos_level: QoS level, 0 or 1.
 *
 * The buffer still belongs to the caller when the function's share shrinks, but
 * the adapter may then drop commands written to it.
 *
 * Context: May sleep.
 * Return: The buffer, or ERR_PTR() of -EINVAL (no such level), -ENOMEM or
 *	-ENOSPC.
 */
struct vuhca_vcb *vuhca_alloc_vcb(struct vuhca_dev *dev, u8 qos_level)
{
	struct vuhca_vcb_set *set;
	struct vuhca_vcb *vcb;
	int index = -ENOSPC;

	if (qos_level >= VUHCA_QOS_LEVELS)
		return ERR_PTR(-EINVAL);
	vcb = kzalloc(sizeof(*vcb), GFP_KERNEL);
	if (!vcb)
		return ERR_PTR(-ENOMEM);
	set = &dev->vcbs[qos_level];
	mutex_lock(&dev->vcb_lock);
	if (set->count)
		index = ida_alloc_range(&dev->vcb_ida, set->first,
					set->first + set->count - 1, GFP_KERNEL);
	mutex_unlock(&dev->vcb_lock);
	if (index < 0) {
		kfree(vcb);
		return ERR_PTR(index);
	}
	vcb->index = index;
	vcb->qos_level = qos_level;
	vcb->page = dev->collect + (size_t)index * VUHCA_PAGE_BYTES;
	vuhca_vcb_cancel(vcb);
	return vcb;
}
EXPORT_SYMBOL_GPL(vuhca_alloc_vcb);

/**
 * vuhca_free_vcb() - Cancel an unfinished command in a collect buffer, and
 *	free the buffer.
 * @dev: Function of the adapter.
 * @vcb: Buffer of vuhca_alloc_vcb().
 *
 * Context: May sleep.
 */
void vuhca_free_vcb(struct vuhca_dev *dev, struct vuhca_vcb *vcb)
{
	vuhca_vcb_cancel(vcb);
	ida_free(&dev->vcb_ida, vcb->index);
	kfree(vcb);
}
EXPORT_SYMBOL_GPL(vuhca_free_vcb);
