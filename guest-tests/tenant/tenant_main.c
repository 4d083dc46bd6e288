// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The load of a tenant in the demonstration of shares: RDMA WRITEs at both QoS
 * levels. debugfs, vuhca-tenant/load: write the number of commands to keep in
 * flight at level 0 and at level 1 (0 0 returns when all have completed); read
 * the counters.
 */
#include <linux/debugfs.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>

#include "tenant.h"

/*
 * Ends only waits that would never end; shorter than the silence after which
 * the host ends a guest.
 */
#define TENANT_QUIET_MS	240000

static unsigned int message_bytes = 65536;
module_param(message_bytes, uint, 0444);
MODULE_PARM_DESC(message_bytes, "Length of each WRITE");

static DEFINE_MUTEX(tenant_lock);	/* protects the variables below */
static struct vuhca_dev *tenant_dev;
static struct vuhca_pd *tenant_pd;
static struct vuhca_mr *tenant_mr;
static void *tenant_memory;
static dma_addr_t tenant_dma;
static struct tenant_load tenant_loads[VUHCA_QOS_LEVELS];
static struct dentry *tenant_root;

static bool tenant_is_quiet(struct tenant_load *load)
{
	return READ_ONCE(load->completed) == READ_ONCE(load->posted);
}

/* Sets the windows; a window of 0 waits for the commands in flight. */
static int tenant_set(const u32 *windows)
{
	unsigned int i;

	for (i = 0; i < VUHCA_QOS_LEVELS; i++) {
		WRITE_ONCE(tenant_loads[i].window, windows[i]);
		wake_up(&tenant_loads[i].wait);
	}
	for (i = 0; i < VUHCA_QOS_LEVELS; i++)
		if (!windows[i] &&
		    !wait_event_timeout(tenant_loads[i].wait,
					tenant_is_quiet(&tenant_loads[i]),
					msecs_to_jiffies(TENANT_QUIET_MS)))
			return -ETIMEDOUT;
	return 0;
}

static ssize_t tenant_write(struct file *file, const char __user *buffer,
			    size_t length, loff_t *offset)
{
	u32 windows[VUHCA_QOS_LEVELS];
	char text[64] = {};
	int err = -ENODEV;

	if (length >= sizeof(text) || copy_from_user(text, buffer, length) ||
	    sscanf(text, "%u %u", &windows[0], &windows[1]) != 2 ||
	    max(windows[0], windows[1]) > TENANT_WINDOW_MAX)
		return -EINVAL;
	mutex_lock(&tenant_lock);
	if (tenant_dev)
		err = tenant_set(windows);
	mutex_unlock(&tenant_lock);
	return err ? err : length;
}

static ssize_t tenant_read(struct file *file, char __user *buffer,
			   size_t length, loff_t *offset)
{
	char text[256];
	int i, used = 0;

	for (i = 0; i < VUHCA_QOS_LEVELS; i++)
		used += scnprintf(text + used, sizeof(text) - used,
				  "level %d posted %llu completed %llu errors %llu\n",
				  i, READ_ONCE(tenant_loads[i].posted),
				  READ_ONCE(tenant_loads[i].completed),
				  READ_ONCE(tenant_loads[i].errors));
	return simple_read_from_buffer(buffer, length, offset, text, used);
}

static const struct file_operations tenant_fops = {
	.owner = THIS_MODULE,
	.write = tenant_write,
	.read = tenant_read,
};

static int tenant_create(struct vuhca_dev *dev)
{
	unsigned int i;
	int err = 0;

	/* Each WRITE copies the first half to the second. */
	tenant_memory = dma_alloc_coherent(&dev->pdev->dev, 2 * message_bytes,
					   &tenant_dma, GFP_KERNEL);
	if (!tenant_memory)
		return -ENOMEM;
	tenant_pd = vuhca_alloc_pd(dev);
	if (IS_ERR(tenant_pd))
		return PTR_ERR(tenant_pd);
	tenant_mr = vuhca_get_dma_mr(tenant_pd, VUHCA_ACCESS_FLAG_LOCAL_WRITE |
				     VUHCA_ACCESS_FLAG_REMOTE_WRITE);
	if (IS_ERR(tenant_mr))
		return PTR_ERR(tenant_mr);
	for (i = 0; !err && i < VUHCA_QOS_LEVELS; i++) {
		tenant_loads[i] = (struct tenant_load) {
			.dev = dev,
			.pd = tenant_pd,
			.mr = tenant_mr,
			.source = tenant_dma,
			.target = tenant_dma + message_bytes,
			.message_bytes = message_bytes,
			.qos_level = i,
		};
		err = tenant_load_start(&tenant_loads[i]);
	}
	return err;
}

static void tenant_destroy(struct vuhca_dev *dev)
{
	unsigned int i;

	for (i = 0; i < VUHCA_QOS_LEVELS; i++)
		tenant_load_stop(&tenant_loads[i]);
	if (!IS_ERR_OR_NULL(tenant_mr))
		vuhca_dereg_mr(tenant_mr);
	if (!IS_ERR_OR_NULL(tenant_pd))
		vuhca_dealloc_pd(tenant_pd);
	if (tenant_memory)
		dma_free_coherent(&dev->pdev->dev, 2 * message_bytes,
				  tenant_memory, tenant_dma);
	memset(tenant_loads, 0, sizeof(tenant_loads));
	tenant_mr = NULL;
	tenant_pd = NULL;
	tenant_memory = NULL;
}

static void tenant_add(struct vuhca_dev *dev)
{
	int err;

	mutex_lock(&tenant_lock);
	if (!tenant_dev) {
		err = tenant_create(dev);
		if (err) {
			dev_err(&dev->pdev->dev, "no tenant: %d\n", err);
			tenant_destroy(dev);
		} else {
			tenant_dev = dev;
		}
	}
	mutex_unlock(&tenant_lock);
}

static void tenant_remove(struct vuhca_dev *dev)
{
	mutex_lock(&tenant_lock);
	if (tenant_dev == dev) {
		tenant_destroy(dev);
		tenant_dev = NULL;
	}
	mutex_unlock(&tenant_lock);
}

static struct vuhca_client tenant_client = {
	.add = tenant_add,
	.remove = tenant_remove,
	.reset_prepare = tenant_remove,
	.reset_done = tenant_add,
};

static int __init tenant_init(void)
{
	int err;

	if (!message_bytes || message_bytes > TENANT_MESSAGE_MAX)
		return -EINVAL;
	tenant_root = debugfs_create_dir("vuhca-tenant", NULL);
	debugfs_create_file("load", 0600, tenant_root, NULL, &tenant_fops);
	err = vuhca_register_client(&tenant_client);
	if (err)
		debugfs_remove(tenant_root);
	return err;
}
module_init(tenant_init);

static void __exit tenant_exit(void)
{
	debugfs_remove(tenant_root);
	vuhca_unregister_client(&tenant_client);
}
module_exit(tenant_exit);

MODULE_DESCRIPTION("Load of a tenant of a vuhca adapter");
MODULE_AUTHOR("The vuhca authors");
MODULE_LICENSE("Dual BSD/GPL");
