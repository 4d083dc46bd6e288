// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Choice between collect buffer and doorbell for a lone send request under
 * VUHCA_POST_AUTO. Where stores are combined, a collect buffer costs about as
 * much as a doorbell and saves the adapter a read of memory. Where each store
 * is trapped, it costs a trap for each 8 bytes. The driver measures both at
 * start and takes the cheaper, unless the parameter `collect` decides.
 * Processes choose likewise (guest-tests/provider/vu_posting.c); they get the
 * result of the measurement in VUHCA_UCONTEXT_COLLECTS.
 */
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/string.h>

#include "vuhca_internal.h"

/*
 * Number of tries; the shortest counts, because the host may interrupt the
 * others.
 */
#define VUHCA_POSTING_TRIES	8
/* Bytes of the shortest command. */
#define VUHCA_POSTING_BYTES	64

static const char * const vuhca_collect_names[] = {
	[VUHCA_COLLECT_AUTO] = "auto",
	[VUHCA_COLLECT_ALWAYS] = "always",
	[VUHCA_COLLECT_NEVER] = "never",
};

static enum vuhca_collect_policy collect;

static int vuhca_collect_set(const char *text, const struct kernel_param *param)
{
	int policy = sysfs_match_string(vuhca_collect_names, text);

	if (policy < 0) {
		pr_err(VUHCA_NAME ": collect is always, never or auto, not %s\n",
		       text);
		return policy;
	}
	WRITE_ONCE(collect, policy);
	return 0;
}

static int vuhca_collect_get(char *text, const struct kernel_param *param)
{
	return sysfs_emit(text, "%s\n", vuhca_collect_names[READ_ONCE(collect)]);
}

static const struct kernel_param_ops vuhca_collect_ops = {
	.set = vuhca_collect_set,
	.get = vuhca_collect_get,
};
module_param_cb(collect, &vuhca_collect_ops, NULL, 0644);
MODULE_PARM_DESC(collect, "Lone send requests go by collect buffer: always, never, auto (what the driver measured as cheaper)");

static bool shadow_tails = true;
module_param(shadow_tails, bool, 0644);
MODULE_PARM_DESC(shadow_tails, "The adapter looks at the tails of active send queues by itself, which saves doorbells; taken when a function comes into service");

/**
 * vuhca_set_collect() - Choose how lone send requests of VUHCA_POST_AUTO reach
 *	the adapter.
 * @policy: The choice.
 *
 * For tests and comparisons.
 *
 * Context: Any context.
 * Return: The former choice.
 */
enum vuhca_collect_policy vuhca_set_collect(enum vuhca_collect_policy policy)
{
	return xchg(&collect, policy);
}
EXPORT_SYMBOL_GPL(vuhca_set_collect);

/**
 * vuhca_collects_lone() - Tell how a lone send request of VUHCA_POST_AUTO
 *	reaches the adapter.
 * @dev: Function of the adapter.
 *
 * Context: Any context.
 * Return: true: by collect buffer; false: by doorbell.
 */
bool vuhca_collects_lone(struct vuhca_dev *dev)
{
	switch (READ_ONCE(collect)) {
	case VUHCA_COLLECT_ALWAYS:
		return true;
	case VUHCA_COLLECT_NEVER:
		return false;
	default:
		return dev->posting.copy_ns <= dev->posting.doorbell_ns;
	}
}
EXPORT_SYMBOL_GPL(vuhca_collects_lone);

/*
 * Copies a command without its first 8 bytes, so that the adapter cannot
 * execute it, and cancels it. Returns U64_MAX when there is no buffer.
 */
static u64 vuhca_time_copy(struct vuhca_vcb *vcb)
{
	static const u64 nothing[VUHCA_POSTING_BYTES / sizeof(u64)];
	u64 begin, taken = U64_MAX;

	spin_lock_irq(&vcb->lock);
	if (vcb->page) {
		begin = ktime_get_ns();
		__iowrite64_copy(vcb->page + VUHCA_DATA_OFFSET + sizeof(u64),
				 nothing, ARRAY_SIZE(nothing));
		/* The copy ends when write-combining buffers are drained. */
		wmb();
		taken = ktime_get_ns() - begin;
		vuhca_vcb_cancel(vcb);
	}
	spin_unlock_irq(&vcb->lock);
	return taken;
}

/*
 * Writes a register that costs as much as a doorbell: the consumer count of an
 * event queue, which does not change.
 */
static u64 vuhca_time_doorbell(struct vuhca_eq *eq)
{
	u64 begin, taken;

	spin_lock_irq(&eq->lock);
	begin = ktime_get_ns();
	vuhca_eq_write_consumed(eq);
	wmb();
	taken = ktime_get_ns() - begin;
	spin_unlock_irq(&eq->lock);
	return taken;
}

/* Measures both ways. The event queues exist and carry no load yet. */
void vuhca_posting_measure(struct vuhca_dev *dev)
{
	struct vuhca_posting least = { U64_MAX, U64_MAX };
	struct vuhca_vcb *vcb = &dev->vcbs[0].cpu_vcbs[0];
	unsigned int i;

	for (i = 0; i < VUHCA_POSTING_TRIES; i++) {
		least.copy_ns = min(least.copy_ns, vuhca_time_copy(vcb));
		least.doorbell_ns = min(least.doorbell_ns,
					vuhca_time_doorbell(&dev->eqs[0]));
	}
	dev->posting = least;
}

/*
 * Lets the adapter watch the tails of active send queues, so that streams of
 * requests need no doorbells. A reset has turned it off.
 */
void vuhca_tails_start(struct vuhca_dev *dev)
{
	u32 capabilities = le32_to_cpu(dev->attributes.capabilities);

	dev->shadow_tails = READ_ONCE(shadow_tails) &&
			    capabilities & VUHCA_CAPABILITY_SHADOW_TAILS;
	if (dev->shadow_tails)
		vuhca_write_csr(dev, VUHCA_CSR_SHADOW_TAILS_OFF,
				VUHCA_CSR_SHADOW_TAILS_ENABLE_MASK);
}

/* Shows how a lone request is posted, and why. */
void vuhca_posting_show(struct vuhca_dev *dev, struct seq_file *file)
{
	seq_printf(file, "posting: a lone request goes by %s (collect=%s); ",
		   vuhca_collects_lone(dev) ? "collect buffer" : "doorbell",
		   vuhca_collect_names[READ_ONCE(collect)]);
	if (dev->posting.copy_ns == U64_MAX)
		seq_puts(file, "there was no collect buffer to measure");
	else
		seq_printf(file, "a copy of %u bytes took %llu ns",
			   VUHCA_POSTING_BYTES, dev->posting.copy_ns);
	seq_printf(file, ", a doorbell %llu ns\n", dev->posting.doorbell_ns);
}
