// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The debugfs files of shares: `resources` shows all shares and takes requests,
 * `lanes` shows the lanes, `last-error` tells why the last request failed.
 */
#include <linux/bitmap.h>
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "vuhca_internal.h"

#define VUHCA_REQUEST_BYTES 2048

static void vuhca_show_map(struct seq_file *file, const u8 *bytes)
{
	DECLARE_BITMAP(map, VUHCA_TVL_MAX);
	unsigned int lane;

	bitmap_zero(map, VUHCA_TVL_MAX);
	for (lane = 0; lane < VUHCA_TVL_MAX; lane++)
		if (bytes[lane / 8] & BIT(lane % 8))
			__set_bit(lane, map);
	if (bitmap_empty(map, VUHCA_TVL_MAX))
		seq_puts(file, " none");
	else
		seq_printf(file, " %*pbl", VUHCA_TVL_MAX, map);
}

static void vuhca_show_share(struct seq_file *file,
			     const struct vuhca_resource_share *share)
{
	const __le32 *const numbers[] = {
		&share->vcb_base, &share->vcbs, &share->level_vcbs,
		&share->vcbs_in_use, &share->pcbs, &share->pcbs_level0,
		&share->pcbs_level1, &share->pcbs_in_use_level0,
		&share->pcbs_in_use_level1, &share->scheduler_buffers,
		&share->send_contexts, &share->send_contexts_in_use,
		&share->send_blocks, &share->send_blocks_in_use, &share->tvls,
	};
	unsigned int i;

	seq_printf(file, "%8u", share->function);
	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		seq_printf(file, " %7u", le32_to_cpu(*numbers[i]));
	vuhca_show_map(file, share->tvl_map);
	vuhca_show_map(file, share->tvl_map_level0);
	vuhca_show_map(file, share->tvl_map_level1);
	seq_putc(file, '\n');
}

#define vuhca_field(value, name) \
	(((value) & VUHCA_CSR_##name##_MASK) >> VUHCA_CSR_##name##_SHIFT)

/* Shows the policy for doorbells of this function when resources run short. */
static void vuhca_show_doorbells(struct seq_file *file, struct vuhca_dev *dev)
{
	u32 policy = vuhca_read_csr(dev, VUHCA_CSR_DOORBELL_POLICY_OFF);
	u32 thresholds = vuhca_read_csr(dev, VUHCA_CSR_DOORBELL_THRESHOLDS_OFF);

	seq_printf(file, "doorbells: policy %u link-check %u adaptive %u low %u high %u host-queue %u spill-buffered %u spill-commands %u\n",
		   vuhca_field(policy, DOORBELL_POLICY_OVERFLOW),
		   vuhca_field(policy, DOORBELL_POLICY_LINK_CHECK),
		   vuhca_field(policy, DOORBELL_POLICY_ADAPTIVE),
		   vuhca_field(thresholds, DOORBELL_THRESHOLDS_LOW),
		   vuhca_field(thresholds, DOORBELL_THRESHOLDS_HIGH),
		   vuhca_field(policy, DOORBELL_POLICY_HOST_QUEUE),
		   vuhca_field(policy, DOORBELL_POLICY_SPILL_BUFFERED),
		   vuhca_field(policy, DOORBELL_POLICY_SPILL_COMMANDS));
}

/* A virtual function sees only its own share. */
static int vuhca_resources_show(struct seq_file *file, void *unused)
{
	struct vuhca_dev *dev = file->private;
	struct vuhca_resource_share share;
	unsigned int number = dev->function;
	int err;

	seq_puts(file, "function    base    vcbs  level1  in-use    pcbs  level0  level1 in-use0 in-use1 buffers sctxts  in-use sblocks  in-use    tvls lanes lanes0 lanes1\n");
	do {
		err = vuhca_query_resources(dev, number, &share);
		if (err)
			return err;
		vuhca_show_share(file, &share);
	} while (!dev->function && ++number < share.functions);
	seq_printf(file, "vcb addresses: level 0 from %#llx, level 1 from %#llx, end %#llx\n",
		   vuhca_read_csr64(dev, VUHCA_CSR_VCB_BASE_OFF),
		   vuhca_read_csr64(dev, VUHCA_CSR_VCB_LEVEL_BASE_OFF),
		   vuhca_read_csr64(dev, VUHCA_CSR_VCB_END_OFF));
	vuhca_show_doorbells(file, dev);
	if (dev->function)
		return 0;
	seq_printf(file,
		   "unallocated: vcbs %u pcbs %u contexts %u send-blocks %u tvls %u execution %u completion %u\n",
		   le32_to_cpu(share.vcbs_unallocated),
		   le32_to_cpu(share.pcbs_shared),
		   le32_to_cpu(share.send_contexts_unallocated),
		   le32_to_cpu(share.send_blocks_unallocated),
		   le32_to_cpu(share.tvls_shared),
		   le32_to_cpu(share.execution_credits_shared),
		   le32_to_cpu(share.completion_credits_shared));
	seq_puts(file, "dedicated lanes:");
	vuhca_show_map(file, share.tvl_map_dedicated);
	seq_printf(file, "\nadapter control %#x disabled %u\n",
		   vuhca_read_csr(dev, VUHCA_CSR_ADAPTER_CONTROL_OFF),
		   vuhca_adapter_disabled(dev));
	return 0;
}

static int vuhca_resources_open(struct inode *inode, struct file *file)
{
	return single_open(file, vuhca_resources_show, inode->i_private);
}

static ssize_t vuhca_resources_write(struct file *file,
				     const char __user *buffer, size_t length,
				     loff_t *offset)
{
	struct vuhca_dev *dev = file_inode(file)->i_private;
	char *text;
	int err;

	if (length > VUHCA_REQUEST_BYTES)
		return -E2BIG;
	text = memdup_user_nul(buffer, length);
	if (IS_ERR(text))
		return PTR_ERR(text);
	mutex_lock(&dev->shares.lock);
	err = vuhca_shares_request_text(dev, text);
	mutex_unlock(&dev->shares.lock);
	kfree(text);
	return err ? err : length;
}

static const struct file_operations vuhca_resources_fops = {
	.owner = THIS_MODULE,
	.open = vuhca_resources_open,
	.read = seq_read,
	.write = vuhca_resources_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static void vuhca_show_lane(struct seq_file *file, unsigned int number,
			    const struct vuhca_lane_attributes *lane)
{
	static const char *const states[] = { "none", "shared", "allocated",
					      "dedicated" };

	seq_printf(file, "%4u %9s", number,
		   lane->state < ARRAY_SIZE(states) ? states[lane->state] : "?");
	seq_printf(file, " %8u %6u %6u", lane->function, lane->weight,
		   lane->shared_credits);
	seq_printf(file, " %6u/%u+%u", le32_to_cpu(lane->execution_credits_used),
		   le32_to_cpu(lane->execution_credits),
		   le32_to_cpu(lane->execution_shared_used));
	seq_printf(file, " %6u/%u+%u",
		   le32_to_cpu(lane->completion_credits_used),
		   le32_to_cpu(lane->completion_credits),
		   le32_to_cpu(lane->completion_shared_used));
	seq_printf(file, " %5u/%u %u\n", le32_to_cpu(lane->list_length),
		   le32_to_cpu(lane->list_size), le32_to_cpu(lane->launches));
}

/* Shows the lanes that this function may query. */
static int vuhca_lanes_show(struct seq_file *file, void *unused)
{
	struct vuhca_dev *dev = file->private;
	u32 count = vuhca_read_csr(dev, VUHCA_CSR_TVL_COUNT_OFF);
	struct vuhca_lane_attributes lane;
	unsigned int number;
	int err;

	seq_puts(file, "lane     state function weight shared execution-used/own+shared completion-used/own+shared list launches\n");
	for (number = 0; number < min_t(u32, count, VUHCA_TVL_MAX); number++) {
		err = vuhca_query_lane(dev, number, &lane);
		if (!err)
			vuhca_show_lane(file, number, &lane);
		else if (err != -EPERM)
			return err;
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(vuhca_lanes);

static int vuhca_last_error_show(struct seq_file *file, void *unused)
{
	struct vuhca_dev *dev = file->private;

	mutex_lock(&dev->shares.lock);
	seq_printf(file, "%s\n", dev->shares.last_error[0] ?
		   dev->shares.last_error : "none");
	mutex_unlock(&dev->shares.lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(vuhca_last_error);

void vuhca_shares_create_files(struct vuhca_dev *dev)
{
	debugfs_create_file("resources", 0644, dev->debugfs, dev,
			    &vuhca_resources_fops);
	debugfs_create_file("lanes", 0444, dev->debugfs, dev,
			    &vuhca_lanes_fops);
	debugfs_create_file("last-error", 0444, dev->debugfs, dev,
			    &vuhca_last_error_fops);
}
