// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Collect contexts: garbage in the pages of one context changes nothing for the
 * queues of another and of the kernel, and a context that requests events
 * endlessly does not overrun the event queue that it shares.
 */

#include <linux/dma-mapping.h>
#include "vt.h"

#define VT_GARBAGE_ROUNDS	200
#define VT_GARBAGE_STORES	64
#define VT_STORM		5000
/* A region beyond 2 GiB in pages of 4 KiB. */
#define VT_LARGE_PAGES		(768 * 1024)
#define VT_LIST_ENTRIES		(VUHCA_PAGE_BYTES / sizeof(__le64))

/* A context with one page, which a process could have mapped. */
struct vt_process {
	struct vuhca_collect_context *context;
	struct vuhca_vcb *vcb;
};

static bool vt_process_begin(struct vt *t, struct vt_process *process)
{
	process->vcb = NULL;
	process->context = vuhca_create_collect_context(t->dev);
	if (!VT_CHECK(t, !IS_ERR(process->context), "%pe", process->context)) {
		process->context = NULL;
		return false;
	}
	process->vcb = vuhca_give_vcb(process->context, 0);
	if (VT_CHECK(t, !IS_ERR(process->vcb), "%pe", process->vcb))
		return true;
	process->vcb = NULL;
	return false;
}

static void vt_process_end(struct vt *t, struct vt_process *process)
{
	if (process->vcb)
		VT_EQUAL(t, vuhca_take_back_vcb(process->context, process->vcb),
			 0);
	if (process->context)
		VT_EQUAL(t, vuhca_destroy_collect_context(process->context), 0);
}

/* Posts a NOP by the page of a process. */
static bool vt_process_post(struct vt *t, struct vuhca_qp *qp,
			    struct vt_process *process)
{
	struct vuhca_send_wr wr = {
		.opcode = VUHCA_SEND_OPCODE_NOP,
		.signaled = true,
	};
	u64 bytes[VUHCA_COMMAND_MAX_BYTES / sizeof(u64)];
	size_t length;
	u16 sequence;
	void *slot;

	spin_lock_irq(&qp->sq.lock);
	slot = vuhca_build_send_wqe(qp, &wr, &length, &sequence);
	if (slot) {
		memcpy(bytes, slot, length);
		vuhca_publish_send_tail(qp);
	}
	spin_unlock_irq(&qp->sq.lock);
	if (!VT_CHECK(t, slot, "the send queue is full"))
		return false;
	vuhca_vcb_write(process->vcb, bytes, length);
	return true;
}

static void vt_process_arm(struct vt_process *process, struct vuhca_cq *cq,
			   u32 consumed)
{
	struct vuhca_cq_notify word = { .consumed = cpu_to_le32(consumed) };

	vuhca_cq_notify_set_cqn(&word, cq->cqn);
	vuhca_write_eight(process->vcb->page + VUHCA_NOTIFY_OFFSET, &word);
}

static u64 vt_garbage(struct vt *t, const struct vuhca_qp *victim)
{
	u64 value = prandom_u32_state(&t->random);
	u32 words[] = { 0, U32_MAX, victim->qpn << 8, victim->send_cq->cqn,
			prandom_u32_state(&t->random) };

	return value << 32 | words[value % ARRAY_SIZE(words)];
}

/* Writes garbage anywhere in the page, and control words for others' queues. */
static void vt_attack(struct vt *t, struct vt_process *process,
		      const struct vuhca_qp *victim)
{
	static const u16 controls[] = { VUHCA_STOP_OFFSET, VUHCA_DOORBELL_OFFSET,
					VUHCA_NOTIFY_OFFSET, VUHCA_KICK_OFFSET };
	u8 __iomem *page = process->vcb->page;
	unsigned int i;

	for (i = 0; i < VT_GARBAGE_STORES; i++)
		writeq(vt_garbage(t, victim),
		       page + prandom_u32_state(&t->random) %
		       VUHCA_PAGE_BYTES / 8 * 8);
	for (i = 0; i < ARRAY_SIZE(controls); i++)
		writeq((u64)victim->qpn << 8, page + controls[i]);
	vt_process_arm(process, victim->send_cq, 0);
	vt_drain_stores();
}

static void vt_hostile_page(struct vt *t)
{
	u32 before = vt_fault_count(t, VUHCA_FAULT_KIND_COLLECT_CONTEXT);
	struct vuhca_collect_context_attributes counts = {};
	struct vt_qp_options options = { .port = 1 };
	struct vt_process hostile, other = {};
	struct vuhca_eq_attributes eq;
	struct vuhca_qp *qp = NULL;
	unsigned int round;
	struct vuhca_wc wc;

	if (!vt_process_begin(t, &hostile) || !vt_process_begin(t, &other))
		goto end;
	options.collect = other.context;
	qp = vt_create_qp(t, NULL, &options);
	if (!qp)
		goto end;
	for (round = 0; round < VT_GARBAGE_ROUNDS && !t->failed; round++) {
		vt_attack(t, &hostile, round % 2 ? qp : t->end[0].qp);
		if (!vt_process_post(t, qp, &other))
			break;
		vt_attack(t, &hostile, qp);
		VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_TIMEOUT_MS), 1);
		VT_EQUAL(t, wc.status, VUHCA_COMPLETION_STATUS_SUCCESS);
		if (round % 20 == 0)
			vt_roundtrip(t, 0, 1, 100, VUHCA_POST_AUTO);
	}
	VT_EQUAL(t, vt_qp_state(qp), VUHCA_QP_STATE_RTS);
	VT_EQUAL(t, vuhca_query_eq(t->send_cq.cq->eq, &eq), 0);
	VT_EQUAL(t, vuhca_eq_attributes_get_error(&eq), 0);
	VT_EQUAL(t, vuhca_query_collect_context(hostile.context, &counts), 0);
	VT_CHECK(t, le32_to_cpu(counts.refused) >= 3 * VT_GARBAGE_ROUNDS,
		 "%u stores were refused", le32_to_cpu(counts.refused));
	VT_CHECK(t, vt_fault_count(t, VUHCA_FAULT_KIND_COLLECT_CONTEXT) > before,
		 "no fault");
	vt_clear_first_fault(t);
	VT_EQUAL(t, vuhca_destroy_collect_context(other.context), (u64)-EBUSY);
end:
	if (qp)
		VT_EQUAL(t, vuhca_destroy_qp(qp), 0);
	vt_process_end(t, &other);
	vt_process_end(t, &hostile);
	vt_alive(t);
}

/* A process that arms endlessly gets its events, and others get theirs. */
static void vt_event_storm(struct vt *t)
{
	u32 before = vt_fault_count(t, VUHCA_FAULT_KIND_EQ_OVERRUN);
	struct vt_qp_options options = { .port = 1 };
	struct vt_process process;
	struct vt_cq watch = {};
	struct vuhca_qp *qp = NULL;
	struct vuhca_wc wc;
	unsigned int i;

	if (!vt_process_begin(t, &process))
		goto end;
	options.collect = process.context;
	if (!vt_create_user_cq(t, &watch, process.context))
		goto end;
	options.send_cq = watch.cq;
	qp = vt_create_qp(t, NULL, &options);
	if (!qp)
		goto end;
	vt_process_arm(&process, watch.cq, 0);
	vt_process_post(t, qp, &process);
	VT_CHECK(t, vt_wait_event(&watch, 1, VT_TIMEOUT_MS), "no event");
	for (i = 0; i < VT_STORM; i++)
		vt_process_arm(&process, watch.cq, 0);
	VT_CHECK(t, vt_wait_event(&watch, 2, VT_TIMEOUT_MS), "no further event");
	VT_EQUAL(t, vt_fault_count(t, VUHCA_FAULT_KIND_EQ_OVERRUN), before);
	/* The last request stands until its event has come. */
	VT_EQUAL(t, vt_poll(watch.cq, &wc, 1, VT_TIMEOUT_MS), 1);
	vuhca_arm_cq(t->send_cq.cq, false);
	VT_EQUAL(t, vt_post_nops(t->end[0].qp, 1), 0);
	VT_CHECK(t, vt_wait_event(&t->send_cq, 1, VT_TIMEOUT_MS),
		 "no event of the kernel's queue");
end:
	if (qp)
		VT_EQUAL(t, vuhca_destroy_qp(qp), 0);
	if (watch.cq)
		VT_EQUAL(t, vuhca_destroy_cq(watch.cq), 0);
	vt_process_end(t, &process);
}

/* The last bytes of a region of 3 GiB, whose list names one page many times. */
static void vt_large_region(struct vt *t)
{
	size_t bytes = VT_LARGE_PAGES / VT_LIST_ENTRIES * sizeof(__le64);
	u64 start = 0x7f0000000000, length = (u64)VT_LARGE_PAGES * VUHCA_PAGE_BYTES;
	struct device *device = &t->dev->pdev->dev;
	__le64 *directory, *list = (void *)t->memory;
	struct vuhca_buffer sge = { .length = 100 };
	dma_addr_t dma, page = t->dma + VUHCA_PAGE_BYTES;
	struct vuhca_send_wr wr;
	struct vuhca_wc wc = {};
	struct vuhca_mr *mr;
	unsigned int i;

	VT_CHECK(t, IS_ALIGNED(t->dma, VUHCA_PAGE_BYTES), "memory");
	directory = dma_alloc_coherent(device, bytes, &dma, GFP_KERNEL);
	VT_REQUIRE(t, directory, "no memory");
	for (i = 0; i < VT_LIST_ENTRIES; i++)
		list[i] = cpu_to_le64(page);
	for (i = 0; i < bytes / sizeof(__le64); i++)
		directory[i] = cpu_to_le64(t->dma);
	mr = vuhca_reg_indirect(t->pd, VUHCA_ACCESS_FLAG_LOCAL_WRITE, start,
				length, dma, VT_LARGE_PAGES, PAGE_SHIFT);
	dma_free_coherent(device, bytes, directory, dma);
	VT_REQUIRE(t, !IS_ERR(mr), "%pe", mr);
	vt_fill(t->memory + 2 * VUHCA_PAGE_BYTES - 100, 100, 7);
	sge.address = start + length - 100;
	sge.lkey = mr->lkey;
	VT_EQUAL(t, vt_post_recv(t, t->end[1].qp, 0x10000, 512, 0), 0);
	wr = vt_send_wr(t, 0, 1, &sge);
	VT_EQUAL(t, vuhca_post_send(t->end[0].qp, &wr, 1, VUHCA_POST_AUTO), 1);
	VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_TIMEOUT_MS), 1);
	VT_EQUAL(t, wc.status, VUHCA_COMPLETION_STATUS_SUCCESS);
	VT_EQUAL(t, vt_poll(t->recv_cq.cq, &wc, 1, VT_TIMEOUT_MS), 1);
	VT_CHECK(t, vt_holds(t->memory + 0x10000 + VUHCA_GRH_AREA_BYTES, 100, 7),
		 "payload");
	VT_EQUAL(t, vuhca_dereg_mr(mr), 0);
}

/* A table queried in blocks shows the same as entry by entry. */
static void vt_port_tables(struct vt *t)
{
	struct vuhca_pkey_block pkeys;
	struct vuhca_gid_block gids;
	struct vuhca_answer answer;
	unsigned int last = VUHCA_GID_TABLE_ENTRIES / VUHCA_GID_BLOCK_ENTRIES;
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_QUERY_GID,
		.modifier = 1,
	};

	VT_EQUAL(t, vuhca_query_pkeys(t->dev, 1, 0, &pkeys), 0);
	VT_CHECK(t, get_unaligned_le16(pkeys.pkeys) & 0x7fff, "no P_Key");
	VT_EQUAL(t, vuhca_query_gids(t->dev, 1, 0, &gids), 0);
	VT_EQUAL(t, vuhca_admin_execute(t->dev, &command, &answer), 0);
	VT_CHECK(t, !memcmp(answer.payload, gids.gids, 16), "GID 0");
	VT_EQUAL(t, gids.present[0] & 1, 1);
	VT_EQUAL(t, vuhca_query_gids(t->dev, 1, last, &gids), (u64)-ENOENT);
}

static const struct vt_case vt_cases[] = {
	{ "hostile-page", vt_hostile_page },
	{ "event-storm", vt_event_storm },
	{ "large-region", vt_large_region },
	{ "port-tables", vt_port_tables },
};
VT_SUITE(isolation, vt_cases);
