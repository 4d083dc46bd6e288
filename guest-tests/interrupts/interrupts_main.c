// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Cost of interrupts: messages of connections at a given rate, whose completions
 * go to several CQs of one event queue, and the number of interrupts for them.
 * debugfs, vuhca-interrupts/run: write "WAY RATE MS" (rate 0: as many as
 * possible), read a line of JSON. The host measures the processor time.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/wait.h>

#include "interrupts_count.h"

#define LOAD_WINDOW	128
#define LOAD_BURST	8
#define LOAD_SLEEP_MAX_US 5000
#define LOAD_SLEEP_MIN_US 100
/*
 * A sender without room waits until a queue has this much room, or for this
 * long.
 */
#define LOAD_ROOM	(LOAD_WINDOW / 2)
#define LOAD_WAIT_MS	20
/* Bytes that a message writes to the memory of the peer. */
#define LOAD_BYTES	64

/*
 * Ways to serve events, one part of the document after the other. The numbers
 * are those of report.ts.
 */
static const struct {
	bool adaptive;
	bool separate;
	unsigned int parts;
	unsigned int period_us;	/* 0: the driver's own */
} load_ways[] = {
	{ .separate = true },
	{ },
	{ .adaptive = true },
	{ .adaptive = true, .parts = VUHCA_POLL_TIMERS },
	{ .adaptive = true, .parts = VUHCA_POLL_TIMERS | VUHCA_POLL_BYTES },
	{ .adaptive = true, .parts = VUHCA_POLL_TIMERS | VUHCA_POLL_BYTES,
	  .period_us = 2000 },
	{ .adaptive = true, .parts = VUHCA_POLL_TIMERS | VUHCA_POLL_BYTES,
	  .period_us = 8000 },
};

static DEFINE_MUTEX(load_lock);	/* protects the variables below and the queues */
static struct load_result load_result;
static DECLARE_WAIT_QUEUE_HEAD(load_wait);
static struct dentry *load_root;

static u32 load_open(const struct load_queue *queue)
{
	return READ_ONCE(queue->posted) - READ_ONCE(queue->completed);
}

static bool load_has_room(void)
{
	unsigned int i;

	for (i = 0; i < LOAD_QUEUES; i++)
		if (load_open(&load_queues[i]) <= LOAD_WINDOW - LOAD_ROOM)
			return true;
	return false;
}

static void load_completed(struct vuhca_cq *cq, void *context)
{
	struct load_queue *queue = context;
	u64 now = ktime_get_ns();
	struct vuhca_wc wc[8];
	int i, found;

	while ((found = vuhca_poll_cq(cq, ARRAY_SIZE(wc), wc)) > 0) {
		for (i = 0; i < found; i++)
			queue->waited_ns += now - min(now, wc[i].wr_id);
		WRITE_ONCE(queue->completed, queue->completed + found);
	}
	load_ask(queue);
	if (load_open(queue) <= LOAD_WINDOW - LOAD_ROOM)
		wake_up(&load_wait);
}

/* Posts up to @count writes; returns how many the queue had room for. */
static unsigned int load_post(struct load_queue *queue, unsigned int count)
{
	struct vuhca_buffer bytes = {
		.address = load_dma,
		.length = LOAD_BYTES,
		.lkey = load_mr->lkey,
	};
	struct vuhca_send_wr wrs[LOAD_BURST] = {};
	u32 open = load_open(queue);
	/*
	 * The clock is read only once: in an emulated guest a read costs as
	 * much as a post.
	 */
	u64 now = ktime_get_ns();
	unsigned int i;
	int posted;

	count = min(count, LOAD_WINDOW - min_t(u32, open, LOAD_WINDOW));
	for (i = 0; i < count; i++) {
		wrs[i].opcode = VUHCA_SEND_OPCODE_RDMA_WRITE;
		wrs[i].signaled = true;
		wrs[i].sge = &bytes;
		wrs[i].sge_count = 1;
		wrs[i].remote.address = load_dma + LOAD_MEMORY / 2;
		wrs[i].remote.rkey = load_mr->rkey;
		wrs[i].wr_id = now;
	}
	posted = vuhca_post_send(queue->qp, wrs, count, VUHCA_POST_DOORBELL);
	posted = max(posted, 0);
	WRITE_ONCE(queue->posted, queue->posted + posted);
	return posted;
}

/*
 * Posts at the given rate for the given time, spread over the queues. A sender
 * that looked for room by itself would cost more than all completions.
 */
static void load_run(u32 rate, u32 ms)
{
	unsigned int next = 0, posted, burst = rate ? 1 : LOAD_BURST;
	unsigned long sleep_us = clamp(USEC_PER_SEC / (rate ?: USEC_PER_SEC),
				       LOAD_SLEEP_MIN_US, LOAD_SLEEP_MAX_US);
	u64 begin = ktime_get_ns(), due, total = 0, idle;

	for (;;) {
		u64 elapsed = ktime_get_ns() - begin;

		if (total && elapsed >= (u64)ms * NSEC_PER_MSEC)
			return;
		due = rate ? div_u64(elapsed * rate, NSEC_PER_SEC) : U64_MAX;
		for (idle = 0; total < due && idle < LOAD_QUEUES; next++) {
			posted = load_post(&load_queues[next % LOAD_QUEUES],
					   burst);
			total += posted;
			idle = posted ? 0 : idle + 1;
			if (ktime_get_ns() - begin >= (u64)ms * NSEC_PER_MSEC)
				return;
			cond_resched();
		}
		if (rate)
			usleep_range(sleep_us, 2 * sleep_us);
		else
			wait_event_timeout(load_wait, load_has_room(),
					   msecs_to_jiffies(LOAD_WAIT_MS));
	}
}

static void load_set_way(unsigned int way)
{
	u32 control = vuhca_read_csr(load_dev, VUHCA_CSR_ADAPTER_CONTROL_OFF);

	vuhca_set_adaptive(load_ways[way].adaptive);
	vuhca_set_poll_parts(load_ways[way].parts);
	control &= ~VUHCA_CSR_ADAPTER_CONTROL_SEPARATE_INTERRUPTS_MASK;
	if (load_ways[way].separate)
		control |= VUHCA_CSR_ADAPTER_CONTROL_SEPARATE_INTERRUPTS_MASK;
	vuhca_write_csr(load_dev, VUHCA_CSR_ADAPTER_CONTROL_OFF, control);
	/* The previous way may have left the queue polled. */
	while (!load_ways[way].adaptive && READ_ONCE(load_eq()->poller.active))
		usleep_range(1000, 2000);
}

/* The queues are those of the measurement: a CQ keeps its summary byte. */
static int load_measure(unsigned int way, u32 rate, u32 ms)
{
	struct load_result result = { .way = way, .rate = rate };
	unsigned int own_us = 0, period_us = load_ways[way].period_us;
	u64 begin, before;
	int err;

	load_set_way(way);
	err = load_create_queues(load_completed);
	if (err)
		return err;
	if (period_us)
		own_us = vuhca_set_poll_period(period_us);
	/* Runs until the driver has settled on interrupts or polling. */
	load_run(rate, 200);
	err = load_begin(&result);
	begin = ktime_get_ns();
	before = load_completions();
	load_run(rate, ms);
	/* A busy host may have run only this thread. */
	while (load_completions() == before)
		usleep_range(100, 200);
	err = err ?: load_end(&result);
	result.elapsed_ns = ktime_get_ns() - begin;
	load_result = result;
	if (period_us)
		vuhca_set_poll_period(own_us);
	load_destroy_queues();
	return err;
}

static ssize_t load_write(struct file *file, const char __user *buffer,
			  size_t length, loff_t *offset)
{
	unsigned int way, rate, ms;
	char text[64] = {};
	int err = -ENODEV;

	if (length >= sizeof(text) || copy_from_user(text, buffer, length) ||
	    sscanf(text, "%u %u %u", &way, &rate, &ms) != 3 ||
	    way >= ARRAY_SIZE(load_ways))
		return -EINVAL;
	mutex_lock(&load_lock);
	if (load_dev)
		err = load_measure(way, rate, ms);
	mutex_unlock(&load_lock);
	return err ? err : length;
}

static ssize_t load_read(struct file *file, char __user *buffer, size_t length,
			 loff_t *offset)
{
	char text[600];
	int used;

	mutex_lock(&load_lock);
	used = load_print(&load_result, text, sizeof(text));
	mutex_unlock(&load_lock);
	return simple_read_from_buffer(buffer, length, offset, text, used);
}

static const struct file_operations load_fops = {
	.owner = THIS_MODULE,
	.write = load_write,
	.read = load_read,
};

static void load_add(struct vuhca_dev *dev)
{
	int err;

	mutex_lock(&load_lock);
	if (load_dev)
		goto unlock;
	load_dev = dev;
	err = load_alloc();
	if (err) {
		dev_err(&dev->pdev->dev, "no load: %d\n", err);
		load_free();
		load_dev = NULL;
	}
unlock:
	mutex_unlock(&load_lock);
}

static void load_remove(struct vuhca_dev *dev)
{
	mutex_lock(&load_lock);
	if (load_dev == dev) {
		load_free();
		load_dev = NULL;
	}
	mutex_unlock(&load_lock);
}

static struct vuhca_client load_client = {
	.add = load_add,
	.remove = load_remove,
	.reset_prepare = load_remove,
	.reset_done = load_add,
};

static int __init load_init(void)
{
	load_root = debugfs_create_dir("vuhca-interrupts", NULL);
	debugfs_create_file("run", 0600, load_root, NULL, &load_fops);
	return vuhca_register_client(&load_client);
}
module_init(load_init);

static void __exit load_exit(void)
{
	debugfs_remove(load_root);
	vuhca_unregister_client(&load_client);
}
module_exit(load_exit);

MODULE_DESCRIPTION("What interrupts of a vuhca adapter cost");
MODULE_AUTHOR("The vuhca authors");
MODULE_LICENSE("Dual BSD/GPL");
