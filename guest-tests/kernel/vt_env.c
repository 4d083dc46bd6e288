// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What each case is given: a PD, a DMA MR, two CQs, a QP on each port ready to
 * send, address handles from each port to each, and memory. Also the small
 * things that most cases do.
 */
#include <linux/dma-mapping.h>
#include <linux/iopoll.h>
#include <linux/slab.h>

#include "vt.h"

#define VT_CQ_LOG2	9
#define VT_QP_LOG2	6
/* vt_roundtrip() uses the end of the memory, which cases leave alone. */
#define VT_ROUNDTRIP	(VT_MEMORY_BYTES - 16384)

static void vt_cq_completed(struct vuhca_cq *cq, void *context)
{
	struct vt_cq *watch = context;

	atomic_inc(&watch->completions);
	wake_up(&watch->wait);
}

static void vt_cq_failed(enum vuhca_event_type type, u8 fault, void *context)
{
	struct vt_cq *watch = context;

	watch->error_fault = fault;
	atomic_inc(&watch->errors);
	wake_up(&watch->wait);
}

static void vt_qp_event(enum vuhca_event_type type, u8 fault, void *context)
{
	struct vt_end *end = context;

	end->last_event = type;
	end->last_fault = fault;
	atomic_inc(&end->events);
}

/* NULL, with a complaint, when it was not created. */
struct vuhca_cq *vt_create_cq(struct vt *t, struct vt_cq *watch,
			      unsigned int entries_log2, unsigned int eq_index)
{
	struct vuhca_cq_init init = {
		.entries_log2 = entries_log2,
		.eq_index = eq_index,
		.completion = vt_cq_completed,
		.event = vt_cq_failed,
		.context = watch,
	};
	struct vuhca_cq *cq;

	memset(watch, 0, sizeof(*watch));
	init_waitqueue_head(&watch->wait);
	cq = vuhca_create_cq(t->dev, &init);
	if (!VT_CHECK(t, !IS_ERR(cq), "%pe", cq))
		return NULL;
	watch->cq = cq;
	return cq;
}

/* RESET to RTS. */
int vt_ready(struct vuhca_qp *qp, u8 port)
{
	u32 reads;
	int err;

	err = vuhca_qp_to_init(qp, port, 0, VT_QKEY);
	if (!err)
		err = vuhca_qp_to_rtr(qp);
	if (!err)
		err = vuhca_qp_to_rts(qp, 0x123456);
	if (err)
		return err;
	/* It looks once whether there is work: not while a case posts some. */
	return readl_poll_timeout(qp->dev->csr + VUHCA_CSR_BUS_READS_OFF, reads,
				  !reads, 20, VT_TIMEOUT_MS * USEC_PER_MSEC);
}

/* A QP in RTS, or in RESET when options->port is 0. */
struct vuhca_qp *vt_create_qp(struct vt *t, struct vt_end *end,
			      const struct vt_qp_options *options)
{
	struct vuhca_qp_init init = {
		.pd = t->pd,
		.send_cq = options->send_cq ?: t->send_cq.cq,
		.recv_cq = options->recv_cq ?: t->recv_cq.cq,
		.srq = options->srq,
		.send_entries_log2 = options->entries_log2 ?: VT_QP_LOG2,
		.recv_entries_log2 = options->entries_log2 ?: VT_QP_LOG2,
		.send_sge = options->sge ?: VUHCA_SGE_MAX,
		.recv_sge = options->sge ?: VUHCA_SGE_MAX,
		.inline_bytes = VUHCA_INLINE_MAX_BYTES,
		.service_type = options->connected ? options->service_type :
				VUHCA_SERVICE_TYPE_UD,
		.qos_level = options->qos_level,
		.signal_all = options->signal_all,
		.checksum_off = options->checksum_off,
		.event = end ? vt_qp_event : NULL,
		.context = end,
	};
	struct vuhca_qp *qp;
	int err;

	if (end)
		memset(end, 0, sizeof(*end));
	qp = vuhca_create_qp(t->dev, &init);
	if (!VT_CHECK(t, !IS_ERR(qp), "%pe", qp))
		return NULL;
	if (end)
		end->qp = qp;
	err = options->port ? vt_ready(qp, options->port) : 0;
	VT_CHECK(t, !err, "QP on port %u did not become ready: %d",
		 options->port, err);
	return qp;
}

static int vt_create_ahs(struct vt *t)
{
	unsigned int from, to;
	struct vuhca_ah *ah;

	for (from = 0; from < VT_PORTS; from++) {
		for (to = 0; to < VT_PORTS; to++) {
			u32 lid = vuhca_read_csr(t->dev,
						 VUHCA_CSR_PORT_LID_OFF +
						 to * VUHCA_CSR_PORT_LID_STRIDE);

			ah = vuhca_create_ah(t->pd, from + 1, lid, 0, NULL);
			if (IS_ERR(ah))
				return PTR_ERR(ah);
			t->ah[from][to] = ah;
		}
	}
	return 0;
}

static int vt_read_mtu(struct vt *t)
{
	struct vuhca_port_attributes port;
	int err = vuhca_query_port(t->dev, 1, &port);

	if (!err)
		t->mtu_bytes = 128 << vuhca_port_attributes_get_active_mtu(&port);
	return err;
}

int vt_env_create(struct vt *t)
{
	struct vt_qp_options options = {};
	unsigned int i;
	int err;

	t->memory = dma_alloc_coherent(&t->dev->pdev->dev, VT_MEMORY_BYTES,
				       &t->dma, GFP_KERNEL);
	if (!t->memory)
		return -ENOMEM;
	t->pd = vuhca_alloc_pd(t->dev);
	if (IS_ERR(t->pd))
		return PTR_ERR(t->pd);
	t->mr = vuhca_get_dma_mr(t->pd, VUHCA_ACCESS_FLAG_LOCAL_WRITE);
	if (IS_ERR(t->mr))
		return PTR_ERR(t->mr);
	/* The last event queue is a completion queue's own on every guest. */
	if (!vt_create_cq(t, &t->send_cq, VT_CQ_LOG2, t->dev->eq_count - 1) ||
	    !vt_create_cq(t, &t->recv_cq, VT_CQ_LOG2, 1))
		return -EIO;
	for (i = 0; i < VT_PORTS; i++) {
		options.port = i + 1;
		if (!vt_create_qp(t, &t->end[i], &options))
			return -EIO;
	}
	err = vt_create_ahs(t);
	return err ? err : vt_read_mtu(t);
}

static void vt_destroy_ahs(struct vt *t)
{
	unsigned int from, to;

	for (from = 0; from < VT_PORTS; from++)
		for (to = 0; to < VT_PORTS; to++)
			if (t->ah[from][to])
				vuhca_destroy_ah(t->ah[from][to]);
	memset(t->ah, 0, sizeof(t->ah));
}

/* A refusal here means that a case left something behind: it fails. */
void vt_env_destroy(struct vt *t)
{
	unsigned int i;

	vt_destroy_ahs(t);
	for (i = 0; i < VT_PORTS; i++)
		if (t->end[i].qp)
			VT_CHECK(t, !vuhca_destroy_qp(t->end[i].qp), "end %u", i);
	if (t->send_cq.cq)
		VT_CHECK(t, !vuhca_destroy_cq(t->send_cq.cq), "send CQ");
	if (t->recv_cq.cq)
		VT_CHECK(t, !vuhca_destroy_cq(t->recv_cq.cq), "receive CQ");
	if (!IS_ERR_OR_NULL(t->mr))
		VT_CHECK(t, !vuhca_dereg_mr(t->mr), "MR");
	if (!IS_ERR_OR_NULL(t->pd))
		VT_CHECK(t, !vuhca_dealloc_pd(t->pd), "PD");
	if (t->memory)
		dma_free_coherent(&t->dev->pdev->dev, VT_MEMORY_BYTES,
				  t->memory, t->dma);
	memset(t->end, 0, sizeof(t->end));
	t->send_cq.cq = NULL;
	t->recv_cq.cq = NULL;
	t->mr = NULL;
	t->pd = NULL;
	t->memory = NULL;
}

/* Polls until there are @count completions or time is up; how many came. */
unsigned int vt_poll(struct vuhca_cq *cq, struct vuhca_wc *wc,
		     unsigned int count, unsigned int timeout_ms)
{
	ktime_t end = ktime_add_ms(ktime_get(), timeout_ms);
	unsigned int found = vuhca_poll_cq(cq, count, wc);

	while (found < count && ktime_before(ktime_get(), end)) {
		usleep_range(20, 50);
		found += vuhca_poll_cq(cq, count - found, wc + found);
	}
	return found;
}

/* The CQ has had @count entries in all, and they are not overwritten yet. */
bool vt_has_entries(struct vuhca_cq *cq, u32 count)
{
	u32 slot = (count - 1) & (BIT(cq->entries_log2) - 1);

	return le32_to_cpu(READ_ONCE(cq->entries[slot].sequence)) == count;
}

/* Waits until the CQ has had @count events in all. */
bool vt_wait_event(struct vt_cq *watch, int count, unsigned int timeout_ms)
{
	return wait_event_timeout(watch->wait,
				  atomic_read(&watch->completions) >= count,
				  msecs_to_jiffies(timeout_ms)) > 0;
}

/* Every key gives another payload, and every offset in it another word. */
static u32 vt_word(u32 key, u32 index)
{
	return key * 0x9e3779b1u + index * 0x85ebca6bu + (index << 7);
}

void vt_fill(void *bytes, size_t length, u32 key)
{
	size_t i;
	u32 word;

	for (i = 0; i + 4 <= length; i += 4)
		put_unaligned(vt_word(key, i / 4), (u32 *)(bytes + i));
	if (i < length) {
		word = vt_word(key, i / 4);
		memcpy(bytes + i, &word, length - i);
	}
}

bool vt_holds(const void *bytes, size_t length, u32 key)
{
	size_t i;
	u32 word;

	for (i = 0; i + 4 <= length; i += 4)
		if (get_unaligned((const u32 *)(bytes + i)) != vt_word(key, i / 4))
			return false;
	word = vt_word(key, i / 4);
	return !memcmp(bytes + i, &word, length - i);
}

bool vt_is_poison(const void *bytes, size_t length)
{
	return !memchr_inv(bytes, VT_POISON, length);
}

struct vuhca_buffer vt_buffer(struct vt *t, size_t offset, u32 length)
{
	return (struct vuhca_buffer) {
		.address = t->dma + offset,
		.length = length,
		.lkey = t->mr->lkey,
	};
}

int vt_post_recv(struct vt *t, struct vuhca_qp *qp, size_t offset, u32 length,
		 u64 wr_id)
{
	struct vuhca_buffer buffer = vt_buffer(t, offset, length);
	struct vuhca_recv_wr wr = {
		.wr_id = wr_id,
		.sge = &buffer,
		.sge_count = 1,
	};

	return vuhca_post_recv(qp, &wr, 1) == 1 ? 0 : -EIO;
}

/* A signalled datagram of one SGE between two ends (0 or 1). */
struct vuhca_send_wr vt_send_wr(struct vt *t, unsigned int from, unsigned int to,
				const struct vuhca_buffer *sge)
{
	return (struct vuhca_send_wr) {
		.opcode = VUHCA_SEND_OPCODE_SEND,
		.signaled = true,
		.sge = sge,
		.sge_count = sge ? 1 : 0,
		.ud.remote_qpn = t->end[to].qp->qpn,
		.ud.qkey = VT_QKEY,
		.ud.ah = t->ah[from][to]->index,
	};
}

int vt_post_nops(struct vuhca_qp *qp, unsigned int nops)
{
	struct vuhca_send_wr wr = {
		.opcode = VUHCA_SEND_OPCODE_NOP,
		.signaled = true,
	};
	int err = 0;

	while (nops-- && !err)
		err = vuhca_post_send(qp, &wr, 1, VUHCA_POST_DOORBELL) == 1 ?
		      0 : -EIO;
	return err;
}

/* One datagram, checked at both ends; complains and returns false if not. */
bool vt_roundtrip(struct vt *t, unsigned int from, unsigned int to, u32 length,
		  enum vuhca_post_mode mode)
{
	size_t there = VT_ROUNDTRIP + 8192;
	u32 total = VUHCA_GRH_AREA_BYTES + length;
	struct vuhca_buffer buffer = vt_buffer(t, VT_ROUNDTRIP, length);
	struct vuhca_send_wr wr = vt_send_wr(t, from, to, &buffer);
	struct vuhca_wc wc = {};
	u32 key = prandom_u32_state(&t->random);

	vt_fill(t->memory + VT_ROUNDTRIP, length, key);
	memset(t->memory + there, VT_POISON, total + 1);
	return VT_EQUAL(t, vt_post_recv(t, t->end[to].qp, there, total, key), 0) &&
	       VT_EQUAL(t, vuhca_post_send(t->end[from].qp, &wr, 1, mode), 1) &&
	       VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_TIMEOUT_MS), 1) &&
	       VT_EQUAL(t, wc.status, VUHCA_COMPLETION_STATUS_SUCCESS) &&
	       VT_EQUAL(t, vt_poll(t->recv_cq.cq, &wc, 1, VT_TIMEOUT_MS), 1) &&
	       VT_EQUAL(t, wc.status, VUHCA_COMPLETION_STATUS_SUCCESS) &&
	       VT_EQUAL(t, wc.wr_id, key) &&
	       VT_EQUAL(t, wc.byte_length, total) &&
	       VT_EQUAL(t, wc.source_qpn, t->end[from].qp->qpn) &&
	       VT_CHECK(t, vt_holds(t->memory + there + VUHCA_GRH_AREA_BYTES,
				    length, key), "payload of %u bytes", length) &&
	       VT_EQUAL(t, t->memory[there + total], VT_POISON);
}

/* The adapter still works for somebody who did nothing wrong. */
bool vt_alive(struct vt *t)
{
	struct vt fresh = {
		.dev = t->dev,
		.run = t->run,
		.random = t->random,
	};
	bool alive;
	int err = vt_env_create(&fresh);

	alive = VT_EQUAL(t, err, 0) &&
		vt_roundtrip(&fresh, 0, 1, 100, VUHCA_POST_COLLECT) &&
		vt_roundtrip(&fresh, 1, 0, 1000, VUHCA_POST_DOORBELL);
	vt_env_destroy(&fresh);
	return VT_CHECK(t, alive && !fresh.failed, "the adapter does not work");
}

u32 vt_fault_count(struct vt *t, enum vuhca_fault_kind kind)
{
	return vuhca_read_csr(t->dev, VUHCA_CSR_FAULT_COUNT_OFF +
			      kind * VUHCA_CSR_FAULT_COUNT_STRIDE);
}

void vt_clear_first_fault(struct vt *t)
{
	vuhca_write_csr(t->dev, VUHCA_CSR_FIRST_FAULT_KIND_OFF, U32_MAX);
	VT_EQUAL(t, vuhca_read_csr(t->dev, VUHCA_CSR_FIRST_FAULT_KIND_OFF),
		 VUHCA_FAULT_KIND_NONE);
}

void vt_expect_first_fault(struct vt *t, enum vuhca_fault_kind kind, u32 object)
{
	VT_EQUAL(t, vuhca_read_csr(t->dev, VUHCA_CSR_FIRST_FAULT_KIND_OFF), kind);
	VT_EQUAL(t, vuhca_read_csr(t->dev, VUHCA_CSR_FIRST_FAULT_OBJECT_OFF),
		 object);
	VT_CHECK(t, vuhca_read_csr64(t->dev, VUHCA_CSR_FIRST_FAULT_TIME_OFF),
		 "the record has no time");
}

u64 vt_port_drops(struct vt *t, unsigned int port)
{
	return vuhca_read_csr64(t->dev, VUHCA_CSR_PORT_RECEIVE_DROPS_OFF +
				(port - 1) *
				VUHCA_CSR_PORT_RECEIVE_DROPS_STRIDE);
}

/* As the adapter sees it, or an error. */
int vt_qp_state(struct vuhca_qp *qp)
{
	struct vuhca_qp_creation creation;
	struct vuhca_qp_attributes attributes;
	int err = vuhca_query_qp(qp, &creation, &attributes);

	return err ? err : (int)vuhca_qp_attributes_get_state(&attributes);
}
