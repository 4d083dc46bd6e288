// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Several CPUs at once, each with its QPs and CQs: posting, polling, creating;
 * with a collect buffer for each CPU, and with one for all, where a CPU that
 * finds it busy must ring the doorbell.
 */
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/slab.h>

#include "vt.h"

#define VT_WORKERS	4
#define VT_MESSAGES	500
#define VT_PART_BYTES	32768

struct vt_worker {
	struct vt *t;
	unsigned int index;
	struct vt_cq send_cq;
	struct vt_cq recv_cq;
	struct vuhca_qp *from;
	struct vuhca_qp *to;
	unsigned int done;
	struct completion finished;
	const char *trouble;
};

static int vt_worker_setup(struct vt *t, struct vt_worker *worker,
			   unsigned int index)
{
	struct vt_qp_options options = { .port = 1 };

	worker->t = t;
	worker->index = index;
	init_completion(&worker->finished);
	if (!vt_create_cq(t, &worker->send_cq, 7, 1 + index %
			  (t->dev->eq_count - 1)) ||
	    !vt_create_cq(t, &worker->recv_cq, 7, 1))
		return -EIO;
	options.send_cq = worker->send_cq.cq;
	options.recv_cq = worker->recv_cq.cq;
	worker->from = vt_create_qp(t, NULL, &options);
	options.port = 2;
	worker->to = vt_create_qp(t, NULL, &options);
	return worker->from && worker->to ? 0 : -EIO;
}

static void vt_worker_cleanup(struct vt *t, struct vt_worker *worker)
{
	if (worker->from)
		VT_EQUAL(t, vuhca_destroy_qp(worker->from), 0);
	if (worker->to)
		VT_EQUAL(t, vuhca_destroy_qp(worker->to), 0);
	if (worker->send_cq.cq)
		VT_EQUAL(t, vuhca_destroy_cq(worker->send_cq.cq), 0);
	if (worker->recv_cq.cq)
		VT_EQUAL(t, vuhca_destroy_cq(worker->recv_cq.cq), 0);
}

/*
 * Sends one message; returns NULL, or the failure. Workers do not report it
 * themselves, because the report has no lock.
 */
static const char *vt_worker_step(struct vt_worker *worker, unsigned int number)
{
	struct vt *t = worker->t;
	size_t here = worker->index * VT_PART_BYTES, there = here + 8192;
	u32 length = 1 + number % 200, key = worker->index * 65536 + number;
	struct vuhca_buffer out = vt_buffer(t, here, length);
	struct vuhca_buffer in = vt_buffer(t, there, 512);
	struct vuhca_recv_wr recv = { .wr_id = key, .sge = &in, .sge_count = 1 };
	struct vuhca_send_wr wr = vt_send_wr(t, 0, 1, &out);
	struct vuhca_wc wc;

	wr.ud.remote_qpn = worker->to->qpn;
	vt_fill(t->memory + here, length, key);
	if (vuhca_post_recv(worker->to, &recv, 1) != 1)
		return "receive not posted";
	if (vuhca_post_send(worker->from, &wr, 1, VUHCA_POST_COLLECT) != 1)
		return "send not posted";
	if (vt_poll(worker->send_cq.cq, &wc, 1, VT_TIMEOUT_MS) != 1 || wc.status)
		return "send not completed";
	if (vt_poll(worker->recv_cq.cq, &wc, 1, VT_TIMEOUT_MS) != 1 || wc.status)
		return "receive not completed";
	if (wc.wr_id != key || wc.source_qpn != worker->from->qpn ||
	    wc.byte_length != length + VUHCA_GRH_AREA_BYTES)
		return "the message of another worker";
	if (!vt_holds(t->memory + there + VUHCA_GRH_AREA_BYTES, length, key))
		return "another payload";
	return NULL;
}

static int vt_worker_run(void *data)
{
	struct vt_worker *worker = data;

	while (worker->done < VT_MESSAGES && !worker->trouble) {
		worker->trouble = vt_worker_step(worker, worker->done);
		worker->done += !worker->trouble;
	}
	complete(&worker->finished);
	return 0;
}

static void vt_start_worker(struct vt *t, struct vt_worker *worker)
{
	struct task_struct *thread;

	thread = kthread_create(vt_worker_run, worker, "vuhca-test/%u",
				worker->index);
	if (IS_ERR(thread)) {
		worker->trouble = "no thread";
		complete(&worker->finished);
		return;
	}
	kthread_bind(thread, worker->index % num_online_cpus());
	wake_up_process(thread);
}

static void vt_workers(struct vt *t)
{
	struct vt_worker *workers = kcalloc(VT_WORKERS, sizeof(*workers),
					    GFP_KERNEL);
	unsigned int i;

	VT_REQUIRE(t, workers, "no memory");
	for (i = 0; i < VT_WORKERS; i++)
		if (vt_worker_setup(t, &workers[i], i))
			goto cleanup;
	for (i = 0; i < VT_WORKERS; i++)
		vt_start_worker(t, &workers[i]);
	for (i = 0; i < VT_WORKERS; i++) {
		wait_for_completion(&workers[i].finished);
		VT_CHECK(t, !workers[i].trouble, "worker %u: %s at message %u", i,
			 workers[i].trouble, workers[i].done);
	}
cleanup:
	for (i = 0; i < VT_WORKERS; i++)
		vt_worker_cleanup(t, &workers[i]);
	kfree(workers);
}

static void vt_own_buffers(struct vt *t)
{
	vt_workers(t);
	vt_alive(t);
}

/* All CPUs use one buffer: its lock makes some of them ring the doorbell. */
static void vt_one_buffer(struct vt *t)
{
	struct vuhca_vcb_set *set = &t->dev->vcbs[0];
	u32 doorbells = vuhca_read_csr(t->dev, VUHCA_CSR_DOORBELLS_EXPLICIT_OFF);
	u32 checksums = vt_fault_count(t, VUHCA_FAULT_KIND_COMMAND_CHECKSUM);
	unsigned int cpu_count = set->cpu_count;
	s64 busy = atomic64_read(&set->busy);

	set->cpu_count = 1;
	vt_workers(t);
	set->cpu_count = cpu_count;
	busy = atomic64_read(&set->busy) - busy;
	doorbells = vuhca_read_csr(t->dev, VUHCA_CSR_DOORBELLS_EXPLICIT_OFF) -
		    doorbells;
	VT_EQUAL(t, doorbells, busy);
	VT_EQUAL(t, vt_fault_count(t, VUHCA_FAULT_KIND_COMMAND_CHECKSUM),
		 checksums);
	vt_note(t, "busy %lld times of %u", busy, VT_WORKERS * VT_MESSAGES);
}

static int vt_create_loop(void *data)
{
	struct vt_worker *worker = data;
	struct vuhca_pd *pd;
	unsigned int i;

	for (i = 0; i < 50 && !worker->trouble; i++) {
		pd = vuhca_alloc_pd(worker->t->dev);
		if (IS_ERR(pd))
			worker->trouble = "no PD";
		else if (vuhca_dealloc_pd(pd))
			worker->trouble = "PD stayed";
	}
	complete(&worker->finished);
	return 0;
}

/* Management commands from several threads at once. */
static void vt_commands(struct vt *t)
{
	struct vt_worker *workers = kcalloc(VT_WORKERS, sizeof(*workers),
					    GFP_KERNEL);
	struct task_struct *thread;
	unsigned int i;

	VT_REQUIRE(t, workers, "no memory");
	for (i = 0; i < VT_WORKERS; i++) {
		workers[i].t = t;
		init_completion(&workers[i].finished);
		thread = kthread_run(vt_create_loop, &workers[i],
				     "vuhca-test/%u", i);
		if (!VT_CHECK(t, !IS_ERR(thread), "%pe", thread))
			complete(&workers[i].finished);
	}
	for (i = 0; i < VT_WORKERS; i++) {
		wait_for_completion(&workers[i].finished);
		VT_CHECK(t, !workers[i].trouble, "%s", workers[i].trouble);
	}
	kfree(workers);
}

static const struct vt_case vt_cases[] = {
	{ "own-buffers", vt_own_buffers },
	{ "one-buffer", vt_one_buffer },
	{ "commands", vt_commands },
};
VT_SUITE(parallel, vt_cases);
