// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Copies of commands that the adapter does not accept: damaged, stale, early,
 * refused for want of a PCB, dropped because of choking. The command in the
 * send queue is executed exactly once nevertheless.
 */
#include "vt_collect_command.h"

/* A damaged copy is dropped; the adapter executes the slot instead. */
static void vt_damaged(struct vt *t)
{
	u32 faults = vt_fault_count(t, VUHCA_FAULT_KIND_COMMAND_CHECKSUM);
	struct vt_collect_command c;

	if (!vt_collect_begin(t, &c, 0))
		return;
	if (vt_collect_post(&c, 100)) {
		c.bytes[70] ^= 0x10;
		vuhca_vcb_write(c.vcb, c.bytes, c.length);
		vt_collect_arrives(&c);
		VT_EQUAL(t, vt_fault_count(t, VUHCA_FAULT_KIND_COMMAND_CHECKSUM),
			 faults + 1);
	}
	vt_collect_finish(&c);
}

/*
 * A command that comes by collect buffer and by doorbell, twice, is executed
 * once.
 */
static void vt_stale(struct vt *t)
{
	struct vt_collect_command c;
	u32 stale;

	if (!vt_collect_begin(t, &c, 0))
		return;
	if (vt_collect_post(&c, 100)) {
		vuhca_vcb_write(c.vcb, c.bytes, c.length);
		vuhca_ring_doorbell(t->end[0].qp, c.sequence);
		vt_collect_arrives(&c);
		stale = vt_csr(t, VUHCA_CSR_COMMANDS_STALE_OFF);
		vuhca_vcb_write(c.vcb, c.bytes, c.length);
		vuhca_ring_doorbell(t->end[0].qp, c.sequence);
		vt_collect_nothing_arrives(&c);
		VT_CHECK(t, vt_csr(t, VUHCA_CSR_COMMANDS_STALE_OFF) > stale,
			 "not counted");
	}
	vt_collect_finish(&c);
}

/*
 * A copy ahead of its turn makes the adapter execute the earlier commands
 * first.
 */
static void vt_early(struct vt *t)
{
	struct vuhca_wc wc[4] = {};
	struct vt_collect_command first, second;
	unsigned int i;

	if (!vt_collect_begin(t, &first, 0))
		return;
	second = first;
	if (vt_collect_post(&first, 10) && vt_collect_post(&second, 20)) {
		vuhca_vcb_write(second.vcb, second.bytes, second.length);
		VT_EQUAL(t, vt_poll(t->send_cq.cq, wc, 2, VT_TIMEOUT_MS), 2);
		for (i = 0; i < 2; i++)
			VT_EQUAL(t, wc[i].sequence, first.sequence + i);
		VT_EQUAL(t, vt_poll(t->recv_cq.cq, wc, 2, VT_TIMEOUT_MS), 2);
		VT_EQUAL(t, wc[0].byte_length, VUHCA_GRH_AREA_BYTES + 10);
		VT_EQUAL(t, wc[1].byte_length, VUHCA_GRH_AREA_BYTES + 20);
		vuhca_vcb_write(first.vcb, first.bytes, first.length);
		vt_collect_nothing_arrives(&first);
	}
	vt_collect_finish(&first);
}

/* The words of a page beside its data area. */
static void vt_page_words(struct vt *t)
{
	struct vuhca_doorbell doorbell = {};
	struct vt_collect_command c;
	__le64 any = 0;

	if (!vt_collect_begin(t, &c, 0))
		return;
	if (vt_collect_post(&c, 30)) {
		vuhca_doorbell_set_qpn(&doorbell, t->end[0].qp->qpn);
		vuhca_doorbell_set_sequence(&doorbell, c.sequence);
		vuhca_write_eight(c.vcb->page + VUHCA_DOORBELL_OFFSET, &doorbell);
		vt_drain_stores();
		vt_collect_arrives(&c);
	}
	if (vt_collect_post(&c, 30)) {
		/*
		 * Half of the command and an explicit kick: the adapter
		 * executes the slot.
		 */
		vt_collect_store(&c, 0, 8);
		vt_collect_store(&c, 8, 8);
		vuhca_write_eight(c.vcb->page + VUHCA_KICK_OFFSET, &any);
		vt_drain_stores();
		vt_collect_arrives(&c);
	}
	vt_clear_first_fault(t);
	writeq(0, c.vcb->page + 0x800);
	vt_drain_stores();
	vt_expect_first_fault(t, VUHCA_FAULT_KIND_COLLECT_RESERVED,
			      c.vcb->index);
	vt_clear_first_fault(t);
	vt_collect_finish(&c);
}

/* Stores between the last VCB and the dedicated buffers, and behind these. */
static void vt_out_of_range(struct vt *t)
{
	u32 faults = vt_fault_count(t, VUHCA_FAULT_KIND_COLLECT_OUT_OF_RANGE);
	u32 count = vt_csr(t, VUHCA_CSR_DEDICATED_COUNT_OFF);
	size_t behind = t->dev->dedicated - t->dev->collect +
			(size_t)count * VUHCA_PAGE_BYTES;

	if (behind >= t->dev->collect_bytes)
		return vt_skip(t, "the dedicated buffers end the BAR");
	writeq(0, t->dev->collect + behind);
	vt_drain_stores();
	VT_EQUAL(t, vt_fault_count(t, VUHCA_FAULT_KIND_COLLECT_OUT_OF_RANGE),
		 faults + 1);
}

/* A page takes only commands of its QoS level. */
static void vt_qos(struct vt *t)
{
	struct vt_qp_options options = { .port = 1, .qos_level = 1 };
	u32 collected = vt_csr(t, VUHCA_CSR_COMMANDS_COLLECTED_OFF);
	struct vuhca_send_wr wr = { .opcode = VUHCA_SEND_OPCODE_NOP,
				    .signaled = true };
	struct vuhca_qp *qp;
	struct vuhca_wc wc;

	if (!t->dev->vcbs[1].cpu_count)
		return vt_skip(t, "no collect buffers of QoS level 1");
	qp = vt_create_qp(t, NULL, &options);
	VT_REQUIRE(t, qp, "create");
	VT_EQUAL(t, vuhca_post_send(qp, &wr, 1, VUHCA_POST_COLLECT), 1);
	VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_TIMEOUT_MS), 1);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_COMMANDS_COLLECTED_OFF), collected + 1);
	VT_EQUAL(t, vuhca_destroy_qp(qp), 0);
}

#define VT_HELD 32

/* Binds @available PCBs by incomplete commands. Returns how many. */
static unsigned int vt_hold_pcbs(struct vt *t, struct vuhca_vcb **held,
				 u32 available)
{
	unsigned int count;

	for (count = 0; count < available; count++) {
		held[count] = vuhca_alloc_vcb(t->dev, 0);
		if (!VT_CHECK(t, !IS_ERR(held[count]), "VCB %u", count))
			break;
		writeq(0, held[count]->page + 8);
	}
	vt_drain_stores();
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_PCB_AVAILABLE_OFF), 0);
	return count;
}

/*
 * Incomplete commands bind all PCBs: the next command is refused and becomes a
 * doorbell. It stays a doorbell even if a PCB becomes free before its end.
 */
static void vt_refused(struct vt *t)
{
	u32 available = vt_csr(t, VUHCA_CSR_PCB_AVAILABLE_OFF);
	u32 refusals = vt_csr(t, VUHCA_CSR_COLLECT_REFUSALS_OFF);
	struct vuhca_vcb *held[VT_HELD];
	struct vt_collect_command c;
	unsigned int i, count;
	size_t at;

	if (available > VT_HELD)
		return vt_skip(t, "%u PCBs are too many to bind", available);
	if (!vt_collect_begin(t, &c, 0))
		return;
	count = vt_hold_pcbs(t, held, available);
	if (vt_collect_post(&c, 100)) {
		vuhca_vcb_write(c.vcb, c.bytes, c.length);
		vt_collect_arrives(&c);
		VT_EQUAL(t, vt_csr(t, VUHCA_CSR_COLLECT_REFUSALS_OFF),
			 refusals + 1);
	}
	if (count && vt_collect_post(&c, 100)) {
		vt_collect_store(&c, 0, 8);
		vuhca_free_vcb(t->dev, held[--count]);
		for (at = 8; at < c.length; at += 8)
			vt_collect_store(&c, at, 8);
		vt_drain_stores();
		vt_collect_arrives(&c);
		VT_EQUAL(t, vt_csr(t, VUHCA_CSR_COLLECT_REFUSALS_OFF),
			 refusals + 2);
	}
	for (i = 0; i < count; i++)
		vuhca_free_vcb(t->dev, held[i]);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_PCB_AVAILABLE_OFF), available);
	vt_collect_finish(&c);
}

#define VT_WAITING 8

/*
 * Commands without a PCB wait as doorbells on the bus, or in the FIFO in
 * memory, where each takes a write and a read.
 */
static void vt_wait_in(struct vt_collect_command *c, bool fifo)
{
	struct vt *t = c->t;
	u32 policy = vt_csr(t, VUHCA_CSR_DOORBELL_POLICY_OFF);
	u32 refusals = vt_csr(t, VUHCA_CSR_COLLECT_REFUSALS_OFF);
	u32 queued = vt_csr(t, VUHCA_CSR_COMMANDS_QUEUED_OFF);
	u32 drained = vt_csr(t, VUHCA_CSR_DOORBELLS_DRAINED_OFF);
	unsigned int i;

	vuhca_write_csr(t->dev, VUHCA_CSR_DOORBELL_POLICY_OFF, fifo ?
			policy | VUHCA_CSR_DOORBELL_POLICY_HOST_QUEUE_MASK :
			policy & ~VUHCA_CSR_DOORBELL_POLICY_HOST_QUEUE_MASK);
	for (i = 0; i < VT_WAITING && vt_collect_post(c, 100); i++) {
		vuhca_vcb_write(c->vcb, c->bytes, c->length);
		vt_collect_arrives(c);
	}
	refusals = vt_csr(t, VUHCA_CSR_COLLECT_REFUSALS_OFF) - refusals;
	queued = vt_csr(t, VUHCA_CSR_COMMANDS_QUEUED_OFF) - queued;
	drained = vt_csr(t, VUHCA_CSR_DOORBELLS_DRAINED_OFF) - drained;
	VT_EQUAL(t, refusals, VT_WAITING);
	VT_EQUAL(t, queued, fifo ? VT_WAITING : 0);
	VT_EQUAL(t, drained, queued);
	vt_note(t, "%s: %u refused and executed, %u written to memory, %u read back",
		fifo ? "FIFO in memory" : "doorbells", refusals, queued,
		drained);
	vuhca_write_csr(t->dev, VUHCA_CSR_DOORBELL_POLICY_OFF, policy);
}

static void vt_host_queue(struct vt *t)
{
	u32 available = vt_csr(t, VUHCA_CSR_PCB_AVAILABLE_OFF);
	struct vuhca_vcb *held[VT_HELD];
	struct vt_collect_command c;
	unsigned int count;

	if (available > VT_HELD)
		return vt_skip(t, "%u PCBs are too many to bind", available);
	if (!vt_collect_begin(t, &c, 0))
		return;
	count = vt_hold_pcbs(t, held, available);
	vt_wait_in(&c, false);
	vt_wait_in(&c, true);
	while (count)
		vuhca_free_vcb(t->dev, held[--count]);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_PCB_AVAILABLE_OFF), available);
	vt_collect_finish(&c);
}

#define VT_NAMED 3

/*
 * A doorbell stands for all commands that are posted or, if it is exact, for
 * those up to its own (US 8,484,392 par. 105; US 9,069,485 par. 10, 95).
 */
static void vt_ring_first(struct vt *t, struct vt_collect_command *c, bool exact)
{
	struct vuhca_qp *qp = t->end[0].qp;
	u32 policy = vt_csr(t, VUHCA_CSR_DOORBELL_POLICY_OFF);
	struct vuhca_wc wc[VT_NAMED];
	unsigned int i;
	u16 first = 0;

	vuhca_write_csr(t->dev, VUHCA_CSR_DOORBELL_POLICY_OFF, exact ?
			policy | VUHCA_CSR_DOORBELL_POLICY_EXACT_MASK :
			policy & ~VUHCA_CSR_DOORBELL_POLICY_EXACT_MASK);
	for (i = 0; i < VT_NAMED && vt_collect_post(c, 10); i++)
		first = i ? first : c->sequence;
	vuhca_ring_doorbell(qp, first);
	if (exact) {
		VT_EQUAL(t, vt_poll(t->send_cq.cq, wc, 1, VT_TIMEOUT_MS), 1);
		VT_EQUAL(t, wc[0].sequence, first);
		VT_EQUAL(t, vt_poll(t->recv_cq.cq, wc, 1, VT_TIMEOUT_MS), 1);
		vt_collect_nothing_arrives(c);
		vuhca_ring_doorbell(qp, c->sequence);
	}
	for (i = exact; i < VT_NAMED; i++) {
		VT_EQUAL(t, vt_poll(t->send_cq.cq, wc, 1, VT_TIMEOUT_MS), 1);
		VT_EQUAL(t, wc[0].sequence, (u16)(first + i));
	}
	VT_EQUAL(t, vt_poll(t->recv_cq.cq, wc, VT_NAMED - exact, VT_TIMEOUT_MS),
		 VT_NAMED - exact);
	vuhca_write_csr(t->dev, VUHCA_CSR_DOORBELL_POLICY_OFF, policy);
}

static void vt_exact(struct vt *t)
{
	struct vt_collect_command c;

	if (!vt_collect_begin(t, &c, 0))
		return;
	vt_hide_tails(t);
	vt_ring_first(t, &c, false);
	vt_ring_first(t, &c, true);
	vt_collect_nothing_arrives(&c);
	vt_collect_finish(&c);
}

/* While choked, copies are dropped and counted, and doorbells still work. */
static void vt_choke(struct vt *t)
{
	u32 choked = vt_csr(t, VUHCA_CSR_COLLECT_CHOKED_OFF);
	struct vt_collect_command c;

	if (!vt_collect_begin(t, &c, 0))
		return;
	vuhca_write_csr(t->dev, VUHCA_CSR_COLLECT_CONTROL_OFF,
			VUHCA_CSR_COLLECT_CONTROL_CHOKE_MASK);
	if (vt_collect_post(&c, 50)) {
		vuhca_vcb_write(c.vcb, c.bytes, c.length);
		vt_collect_nothing_arrives(&c);
		VT_EQUAL(t, vt_csr(t, VUHCA_CSR_COLLECT_CHOKED_OFF),
			 choked + 1);
		vuhca_ring_doorbell(t->end[0].qp, c.sequence);
		vt_collect_arrives(&c);
	}
	vuhca_write_csr(t->dev, VUHCA_CSR_COLLECT_CONTROL_OFF, 0);
	vt_collect_finish(&c);
	vt_roundtrip(t, 0, 1, 50, VUHCA_POST_COLLECT);
}

static const struct vt_case vt_cases[] = {
	{ "damaged", vt_damaged },
	{ "stale", vt_stale },
	{ "early", vt_early },
	{ "page-words", vt_page_words },
	{ "out-of-range", vt_out_of_range },
	{ "qos", vt_qos },
	{ "refused", vt_refused },
	{ "host-queue", vt_host_queue },
	{ "exact", vt_exact },
	{ "choke", vt_choke },
};
VT_SUITE(collect_errors, vt_cases);
