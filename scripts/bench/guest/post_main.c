// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The cost of messages through the driver: datagrams of 64 bytes from port 1 to
 * port 2, posted by collect buffer and by doorbell in turn. Reading debugfs
 * vuhca-bench-post runs one round and yields its JSON lines
 * (scripts/bench/samples.ts): one message at a time for the latency until its
 * completions are visible, then a full queue for the rate.
 */
#include <linux/debugfs.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/sort.h>
#include <linux/vmalloc.h>

#include "post.h"

#define BATCH		16
#define TIMEOUT_NS	(2 * NSEC_PER_SEC)
#define WARM_UP		50

static unsigned int pings = 500;
module_param(pings, uint, 0444);
MODULE_PARM_DESC(pings, "Messages one at a time in a round");

static unsigned int messages = 4000;
module_param(messages, uint, 0444);
MODULE_PARM_DESC(messages, "Messages with a full queue in a round");

static const char *const mode_names[] = {
	[VUHCA_POST_COLLECT] = "collect",
	[VUHCA_POST_DOORBELL] = "doorbell",
};

static struct bench bench;
static u32 *sent, *received;
static struct dentry *file;
static u8 payload[MESSAGE_BYTES];

static int by_value(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

static void fill_send(struct vuhca_send_wr *wr)
{
	*wr = (struct vuhca_send_wr) {
		.opcode = VUHCA_SEND_OPCODE_SEND,
		.signaled = true,
		.inline_data = payload,
		.inline_bytes = MESSAGE_BYTES,
		.ud.remote_qpn = bench.receiver->qpn,
		.ud.qkey = QKEY,
		.ud.ah = bench.ah->index,
	};
}

/* Polls for one completion, which must be a success; posts its receive again. */
static int await(struct vuhca_cq *cq, u64 start, u32 *elapsed)
{
	struct vuhca_wc wc;
	u64 now;

	while (!vuhca_poll_cq(cq, 1, &wc)) {
		if (ktime_get_ns() - start > TIMEOUT_NS)
			return -ETIMEDOUT;
		cpu_relax();
	}
	now = ktime_get_ns();
	*elapsed = now - start;
	if (wc.status != VUHCA_COMPLETION_STATUS_SUCCESS)
		return -EIO;
	return wc.receive ? bench_post_receive(&bench, wc.wr_id) : 0;
}

static int ping(enum vuhca_post_mode mode, unsigned int number)
{
	struct vuhca_send_wr wr;
	u64 start;
	int err;

	fill_send(&wr);
	start = ktime_get_ns();
	if (vuhca_post_send(bench.sender, &wr, 1, mode) != 1)
		return -EIO;
	err = await(bench.send_cq, start, &sent[number]);
	return err ?: await(bench.recv_cq, start, &received[number]);
}

static void report_latency(struct seq_file *out, enum vuhca_post_mode mode,
			   const char *what, u32 *times)
{
	sort(times, pings, sizeof(*times), by_value, NULL);
	seq_printf(out, "{\"kind\":\"latency\",\"device\":\"%s\",\"until\":\"%s\",\"count\":%u,\"p50Ns\":%u,\"p99Ns\":%u}\n",
		   mode_names[mode], what, pings, times[pings / 2],
		   times[pings * 99ULL / 100]);
}

static int measure_latency(struct seq_file *out, enum vuhca_post_mode mode)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < WARM_UP && !err; i++)
		err = ping(mode, 0);
	for (i = 0; i < pings && !err; i++)
		err = ping(mode, i);
	if (err)
		return err;
	report_latency(out, mode, "sent", sent);
	report_latency(out, mode, "received", received);
	return 0;
}

/* Takes completions of @cq; returns their number, or an error. */
static int reap(struct vuhca_cq *cq)
{
	struct vuhca_wc wc[BATCH];
	int i, err = 0, count = vuhca_poll_cq(cq, BATCH, wc);

	for (i = 0; i < count && !err; i++) {
		if (wc[i].status != VUHCA_COMPLETION_STATUS_SUCCESS)
			err = -EIO;
		else if (wc[i].receive)
			err = bench_post_receive(&bench, wc[i].wr_id);
	}
	return err ?: count;
}

/* Keeps no more under way than receives are posted: none may be dropped. */
static int stream(enum vuhca_post_mode mode)
{
	unsigned int posted = 0, done = 0, arrived = 0, room;
	static struct vuhca_send_wr wrs[BATCH];
	u64 last = ktime_get_ns();
	int count;

	for (room = 0; room < BATCH; room++)
		fill_send(&wrs[room]);
	while (done < messages || arrived < messages) {
		room = min3(messages - posted,
			    (unsigned int)QUEUE - (posted - arrived),
			    (unsigned int)QUEUE - (posted - done));
		if (room >= BATCH || (room && room == messages - posted)) {
			count = vuhca_post_send(bench.sender, wrs,
						min(room, (unsigned int)BATCH), mode);
			if (count < 0)
				return count;
			posted += count;
		}
		count = reap(bench.send_cq);
		if (count < 0)
			return count;
		done += count;
		if (count)
			last = ktime_get_ns();
		count = reap(bench.recv_cq);
		if (count < 0)
			return count;
		arrived += count;
		if (ktime_get_ns() - last > TIMEOUT_NS)
			return -ETIMEDOUT;
	}
	return 0;
}

static int measure_rate(struct seq_file *out, enum vuhca_post_mode mode)
{
	u64 start = ktime_get_ns();
	int err = stream(mode);

	if (!err)
		seq_printf(out, "{\"kind\":\"rate\",\"device\":\"%s\",\"count\":%u,\"totalNs\":%llu}\n",
			   mode_names[mode], messages, ktime_get_ns() - start);
	return err;
}

static int bench_show(struct seq_file *out, void *unused)
{
	static const enum vuhca_post_mode modes[] = {
		VUHCA_POST_COLLECT, VUHCA_POST_DOORBELL,
	};
	static unsigned int rounds;
	unsigned int turn;
	int err = 0;

	if (!bench.ah)
		return -ENODEV;
	seq_printf(out, "{\"kind\":\"round\",\"number\":%u}\n", rounds);
	for (turn = 0; turn < ARRAY_SIZE(modes) && !err; turn++)
		err = measure_latency(out, modes[(rounds + turn) % ARRAY_SIZE(modes)]);
	for (turn = 0; turn < ARRAY_SIZE(modes) && !err; turn++)
		err = measure_rate(out, modes[(rounds + turn) % ARRAY_SIZE(modes)]);
	rounds++;
	return err;
}
DEFINE_SHOW_ATTRIBUTE(bench);

static void client_add(struct vuhca_dev *dev)
{
	int err;

	if (bench.dev)
		return;
	err = bench_create(&bench, dev);
	if (err)
		dev_err(&dev->pdev->dev, "vuhca-bench: no queues: %d\n", err);
}

static void client_remove(struct vuhca_dev *dev)
{
	if (bench.dev == dev)
		bench_destroy(&bench);
}

static struct vuhca_client client = {
	.add = client_add,
	.remove = client_remove,
};

static int __init bench_init(void)
{
	sent = vmalloc_array(pings, sizeof(*sent));
	received = vmalloc_array(pings, sizeof(*received));
	if (!sent || !received || !pings || !messages) {
		vfree(sent);
		vfree(received);
		return -ENOMEM;
	}
	file = debugfs_create_file("vuhca-bench-post", 0400, NULL, NULL,
				   &bench_fops);
	return vuhca_register_client(&client);
}
module_init(bench_init);

static void __exit bench_exit(void)
{
	debugfs_remove(file);
	vuhca_unregister_client(&client);
	vfree(sent);
	vfree(received);
}
module_exit(bench_exit);

MODULE_DESCRIPTION("Latency and rate of datagrams through vuhca");
MODULE_AUTHOR("The vuhca authors");
MODULE_LICENSE("Dual BSD/GPL");
