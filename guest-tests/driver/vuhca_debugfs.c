// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The folder vuhca/<PCI address>/ in debugfs: counters and status of the driver,
 * and the files of vuhca_shares_debugfs.c.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "vuhca_internal.h"

static struct dentry *vuhca_debugfs_root;

static int vuhca_counters_show(struct seq_file *file, void *unused)
{
	struct vuhca_dev *dev = file->private;
	unsigned int i;

	seq_printf(file, "state %u generation %u\n", dev->state,
		   dev->generation);
	seq_printf(file,
		   "admin commands %llu refusals %llu timeouts %llu missed_events %llu\n",
		   dev->admin.commands, dev->admin.refusals,
		   dev->admin.timeouts, dev->admin.missed_events);
	for (i = 0; i < dev->eq_count; i++)
		seq_printf(file,
			   "eq %u events %llu interrupts %llu empty %llu stranded %llu\n",
			   i, dev->eqs[i].events, dev->eqs[i].interrupts,
			   dev->eqs[i].empty_interrupts, dev->eqs[i].stranded);
	for (i = 0; i < VUHCA_QOS_LEVELS; i++)
		seq_printf(file, "qos %u collect_buffers %u busy %lld\n", i,
			   dev->vcbs[i].count, atomic64_read(&dev->vcbs[i].busy));
	seq_printf(file, "share changed %llu\n", dev->shares.events);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(vuhca_counters);

static int vuhca_status_show(struct seq_file *file, void *unused)
{
	vuhca_posting_show(file->private, file);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(vuhca_status);

void vuhca_debugfs_init(void)
{
	vuhca_debugfs_root = debugfs_create_dir(VUHCA_NAME, NULL);
}

void vuhca_debugfs_exit(void)
{
	debugfs_remove(vuhca_debugfs_root);
}

void vuhca_debugfs_add(struct vuhca_dev *dev)
{
	dev->debugfs = debugfs_create_dir(pci_name(dev->pdev),
					  vuhca_debugfs_root);
	debugfs_create_file("counters", 0444, dev->debugfs, dev,
			    &vuhca_counters_fops);
	debugfs_create_file("status", 0444, dev->debugfs, dev,
			    &vuhca_status_fops);
	vuhca_shares_create_files(dev);
}

void vuhca_debugfs_remove(struct vuhca_dev *dev)
{
	debugfs_remove(dev->debugfs);
}
