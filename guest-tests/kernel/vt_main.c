// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The test module: one debugfs file for each suite. Opening it starts the suite
 * in a thread; reading returns the KTAP line by line as it is printed, so a
 * reader has everything up to a crash. One suite runs at a time.
 *
 * Parameters: seed and count (vt_run.c), and only (the one case to run in a
 * suite).
 */
#include <linux/debugfs.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/poll.h>

#include "vt.h"
#include "vt_run.h"

static const struct vt_suite *const vt_suites[] = {
	&vt_suite_identity,
	&vt_suite_management,
	&vt_suite_dedicated,
	&vt_suite_refusal,
	&vt_suite_datagram,
	&vt_suite_collect,
	&vt_suite_collect_errors,
	&vt_suite_parallel,
	&vt_suite_events,
	&vt_suite_interrupt,
	&vt_suite_overrun,
	&vt_suite_isolation,
	&vt_suite_ports,
	&vt_suite_port_count,
	&vt_suite_faults,
	&vt_suite_flush,
	&vt_suite_connected,
	&vt_suite_connected_bulk,
	&vt_suite_connected_errors,
	&vt_suite_connected_breaks,
	&vt_suite_connected_keys,
	&vt_suite_shared_receive,
	&vt_suite_xrc,
	&vt_suite_windows,
	&vt_suite_device_memory,
	&vt_suite_drain,
	&vt_suite_global,
	&vt_suite_mad,
	&vt_suite_shares,
	&vt_suite_stop,
	&vt_suite_overflow,
	&vt_suite_overload,
	&vt_suite_blocked_bus,
	&vt_suite_waiting,
	&vt_suite_pipeline,
	&vt_suite_once,
	&vt_suite_share_requests,
	&vt_suite_share_allocation,
	&vt_suite_lane_table,
	&vt_suite_converge,
	&vt_suite_lend,
	&vt_suite_timers,
	&vt_suite_polling,
	&vt_suite_resize,
	&vt_suite_pio,
	&vt_suite_pio_halts,
	&vt_suite_trace,
	&vt_suite_reset,
	&vt_suite_peer,
	&vt_suite_flood,
};

static DEFINE_SPINLOCK(vt_lock);	/* protects the next two */
static struct vuhca_dev *vt_dev;
static bool vt_busy;			/* a suite runs on vt_dev */
static DECLARE_WAIT_QUEUE_HEAD(vt_idle);
static atomic_t vt_open_count = ATOMIC_INIT(0);
static struct dentry *vt_root;
static char vt_only[64];

/* The device, which stays until vt_release_device(), or NULL. */
static struct vuhca_dev *vt_hold_device(void)
{
	struct vuhca_dev *dev;

	spin_lock(&vt_lock);
	dev = vt_dev;
	vt_busy = dev;
	spin_unlock(&vt_lock);
	return dev;
}

static void vt_release_device(void)
{
	spin_lock(&vt_lock);
	vt_busy = false;
	spin_unlock(&vt_lock);
	wake_up(&vt_idle);
}

static int vt_thread(void *data)
{
	struct vuhca_dev *dev = vt_hold_device();
	struct vt_run *run = data;

	if (dev)
		vt_run_suite(run, run->suite, dev, vt_only);
	else
		vt_emit(run, "Bail out! no device\n", 20);
	vt_release_device();
	WRITE_ONCE(run->done, true);
	wake_up_interruptible(&run->wait);
	/*
	 * The opener stops the thread; until then its task_struct must exist.
	 */
	wait_event_interruptible(run->wait, kthread_should_stop());
	return 0;
}

static int vt_open(struct inode *inode, struct file *file)
{
	struct vt_run *run;
	int err;

	if (atomic_cmpxchg(&vt_open_count, 0, 1))
		return -EBUSY;
	run = kzalloc(sizeof(*run), GFP_KERNEL);
	err = -ENOMEM;
	if (!run)
		goto closed;
	err = vt_run_init(run);
	if (err)
		goto free;
	run->suite = inode->i_private;
	run->thread = kthread_run(vt_thread, run, "vuhca-test");
	err = PTR_ERR_OR_ZERO(run->thread);
	if (err)
		goto free_output;
	file->private_data = run;
	return stream_open(inode, file);

free_output:
	vt_run_cleanup(run);
free:
	kfree(run);
closed:
	atomic_set(&vt_open_count, 0);
	return err;
}

static ssize_t vt_read(struct file *file, char __user *buffer, size_t length,
		       loff_t *offset)
{
	struct vt_run *run = file->private_data;
	unsigned int copied;
	int err;

	err = wait_event_interruptible(run->wait,
				       !kfifo_is_empty(&run->output) ||
				       READ_ONCE(run->done));
	if (err)
		return err;
	err = kfifo_to_user(&run->output, buffer, length, &copied);
	wake_up(&run->wait);
	return err ? err : copied;
}

static int vt_release(struct inode *inode, struct file *file)
{
	struct vt_run *run = file->private_data;

	kthread_stop(run->thread);
	vt_run_cleanup(run);
	kfree(run);
	atomic_set(&vt_open_count, 0);
	return 0;
}

static const struct file_operations vt_suite_fops = {
	.owner = THIS_MODULE,
	.open = vt_open,
	.read = vt_read,
	.release = vt_release,
};

static void vt_add(struct vuhca_dev *dev)
{
	spin_lock(&vt_lock);
	if (!vt_dev)
		vt_dev = dev;
	spin_unlock(&vt_lock);
}

/*
 * Waits for a running suite, which destroys its objects before the device
 * goes. The driver holds its list of clients meanwhile. A suite that registers
 * a client would then wait forever, so no device may be unbound while it runs.
 */
static void vt_remove(struct vuhca_dev *dev)
{
	bool is_ours;

	spin_lock(&vt_lock);
	is_ours = vt_dev == dev;
	if (is_ours)
		vt_dev = NULL;
	spin_unlock(&vt_lock);
	if (is_ours)
		wait_event(vt_idle, !READ_ONCE(vt_busy));
}

static struct vuhca_client vt_client = {
	.add = vt_add,
	.remove = vt_remove,
};

static int vt_only_set(const char *value, const struct kernel_param *param)
{
	strscpy(vt_only, value, sizeof(vt_only));
	strim(vt_only);
	return 0;
}

static const struct kernel_param_ops vt_only_ops = { .set = vt_only_set };
module_param_cb(only, &vt_only_ops, NULL, 0200);
MODULE_PARM_DESC(only, "The one case to run in a suite, empty for all");

static int __init vt_init(void)
{
	struct dentry *suites;
	unsigned int i;

	vt_root = debugfs_create_dir("vuhca-test", NULL);
	suites = debugfs_create_dir("suites", vt_root);
	for (i = 0; i < ARRAY_SIZE(vt_suites); i++)
		debugfs_create_file(vt_suites[i]->name, 0400, suites,
				    (void *)vt_suites[i], &vt_suite_fops);
	debugfs_create_file("peer", 0200, vt_root, NULL, &vt_peer_fops);
	return vuhca_register_client(&vt_client);
}
module_init(vt_init);

static void __exit vt_exit(void)
{
	debugfs_remove(vt_root);
	vuhca_unregister_client(&vt_client);
}
module_exit(vt_exit);

MODULE_DESCRIPTION("In-kernel tests of the vuhca adapter");
MODULE_AUTHOR("The vuhca authors");
MODULE_LICENSE("Dual BSD/GPL");
