// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Collect buffers as verbs never use them: any order and size of stores, words
 * missing or repeated, half-written commands cancelled, copies that are
 * damaged, late or stale. The buffer is the case's own.
 */
#include <linux/delay.h>

#include "vt.h"

#define VT_RECEIVE_AT 16384

struct vt_collecting {
	struct vt *t;
	struct vuhca_vcb *vcb;
	u8 bytes[VUHCA_COMMAND_MAX_BYTES] __aligned(8);
	size_t length;
	u16 sequence;
	u32 key;
	u32 payload_bytes;
};

static u32 vt_csr(struct vt *t, unsigned int offset)
{
	return vuhca_read_csr(t->dev, offset);
}

static bool vt_vcb_in_use(struct vt *t, const struct vuhca_vcb *vcb)
{
	u32 word = vt_csr(t, VUHCA_CSR_VCB_IN_USE_OFF +
			  vcb->index / 32 * VUHCA_CSR_VCB_IN_USE_STRIDE);

	return word & BIT(vcb->index % 32);
}

static bool vt_begin(struct vt *t, struct vt_collecting *c, u8 qos_level)
{
	memset(c, 0, sizeof(*c));
	c->t = t;
	c->vcb = vuhca_alloc_vcb(t->dev, qos_level);
	return VT_CHECK(t, !IS_ERR(c->vcb), "%pe", c->vcb);
}

static void vt_finish(struct vt_collecting *c)
{
	VT_CHECK(c->t, !vt_vcb_in_use(c->t, c->vcb), "VCB left in use");
	vuhca_free_vcb(c->t->dev, c->vcb);
}

/* Posts an inline datagram to its slot only, and keeps a copy to collect. */
static bool vt_post_slot(struct vt_collecting *c, u32 payload_bytes)
{
	struct vt *t = c->t;
	struct vuhca_qp *qp = t->end[0].qp;
	struct vuhca_send_wr wr = vt_send_wr(t, 0, 1, NULL);
	void *slot;

	c->key = prandom_u32_state(&t->random);
	c->payload_bytes = payload_bytes;
	vt_fill(t->memory, payload_bytes, c->key);
	wr.inline_data = t->memory;
	wr.inline_bytes = payload_bytes;
	if (!VT_EQUAL(t, vt_post_recv(t, t->end[1].qp, VT_RECEIVE_AT, 512, 0), 0))
		return false;
	spin_lock_irq(&qp->sq.lock);
	slot = vuhca_fill_send(qp, &wr, &c->length, &c->sequence);
	if (slot) {
		memcpy(c->bytes, slot, c->length);
		vuhca_publish_sends(qp);
	}
	spin_unlock_irq(&qp->sq.lock);
	return VT_CHECK(t, slot, "the send queue is full");
}

/* One datagram arrives, whole, and one send completes; no more than that. */
static bool vt_arrives_once(struct vt_collecting *c)
{
	struct vt *t = c->t;
	struct vuhca_wc wc[2] = {};

	return VT_EQUAL(t, vt_poll(t->send_cq.cq, wc, 1, VT_TIMEOUT_MS), 1) &&
	       VT_EQUAL(t, wc[0].status, VUHCA_COMPLETION_STATUS_SUCCESS) &&
	       VT_EQUAL(t, wc[0].sequence, c->sequence) &&
	       VT_EQUAL(t, vt_poll(t->recv_cq.cq, wc, 1, VT_TIMEOUT_MS), 1) &&
	       VT_EQUAL(t, wc[0].byte_length,
			VUHCA_GRH_AREA_BYTES + c->payload_bytes) &&
	       VT_CHECK(t, vt_holds(t->memory + VT_RECEIVE_AT +
				    VUHCA_GRH_AREA_BYTES, c->payload_bytes,
				    c->key), "payload") &&
	       VT_EQUAL(t, vuhca_poll_cq(t->send_cq.cq, 2, wc), 0) &&
	       VT_EQUAL(t, vuhca_poll_cq(t->recv_cq.cq, 2, wc), 0);
}

static bool vt_nothing_arrives(struct vt_collecting *c)
{
	struct vuhca_wc wc;

	return VT_EQUAL(c->t, vt_poll(c->t->send_cq.cq, &wc, 1, VT_QUIET_MS), 0) &&
	       VT_EQUAL(c->t, vt_poll(c->t->recv_cq.cq, &wc, 1, 0), 0);
}

/* Stores the bytes from @at on with one access of @size. */
static void vt_store(struct vt_collecting *c, size_t at, unsigned int size)
{
	u8 __iomem *to = c->vcb->page + VUHCA_DATA_OFFSET + at;
	const u8 *from = c->bytes + at;

	switch (size) {
	case 1:
		writeb(*from, to);
		break;
	case 2:
		writew(get_unaligned_le16(from), to);
		break;
	case 4:
		writel(get_unaligned_le32(from), to);
		break;
	default:
		writeq(get_unaligned_le64(from), to);
	}
}

/* Every store of @size in the order of @order, which has one item per store. */
static void vt_store_ordered(struct vt_collecting *c, unsigned int size,
			     const u16 *order)
{
	size_t i;

	for (i = 0; i < c->length / size; i++)
		vt_store(c, order[i] * size, size);
	wmb();
}

static void vt_ascending(u16 *order, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		order[i] = i;
}

static void vt_shuffle(struct vt *t, u16 *order, size_t count)
{
	size_t i, j;

	vt_ascending(order, count);
	for (i = count - 1; i > 0; i--) {
		j = prandom_u32_state(&t->random) % (i + 1);
		swap(order[i], order[j]);
	}
}

static void vt_with_size(struct vt *t, unsigned int size)
{
	u16 order[VUHCA_COMMAND_MAX_BYTES];
	u32 collected = vt_csr(t, VUHCA_CSR_COMMANDS_COLLECTED_OFF);
	struct vt_collecting c;
	unsigned int i;

	if (!vt_begin(t, &c, 0))
		return;
	for (i = 0; i < 8; i++) {
		if (!vt_post_slot(&c, 1 + prandom_u32_state(&t->random) % 256))
			break;
		if (i % 2)
			vt_shuffle(t, order, c.length / size);
		else
			vt_ascending(order, c.length / size);
		vt_store_ordered(&c, size, order);
		if (!vt_arrives_once(&c))
			break;
	}
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_COMMANDS_COLLECTED_OFF), collected + 8);
	vt_finish(&c);
}

static void vt_bytes(struct vt *t)
{
	vt_with_size(t, 1);
}

static void vt_words(struct vt *t)
{
	vt_with_size(t, 2);
}

static void vt_dwords(struct vt *t)
{
	vt_with_size(t, 4);
}

static void vt_qwords(struct vt *t)
{
	vt_with_size(t, 8);
}

/* Sizes mixed within one command. */
static void vt_mixed(struct vt *t)
{
	u16 order[VUHCA_COMMAND_MAX_BYTES / 8];
	struct vt_collecting c;
	unsigned int round, i, size, at;

	if (!vt_begin(t, &c, 0))
		return;
	for (round = 0; round < 16; round++) {
		if (!vt_post_slot(&c, 1 + prandom_u32_state(&t->random) % 256))
			break;
		vt_shuffle(t, order, c.length / 8);
		for (i = 0; i < c.length / 8; i++) {
			size = 1 << prandom_u32_state(&t->random) % 4;
			for (at = 0; at < 8; at += size)
				vt_store(&c, order[i] * 8 + at, size);
		}
		wmb();
		if (!vt_arrives_once(&c))
			break;
	}
	vt_finish(&c);
}

/* A write-combining buffer may be flushed more than once. */
static void vt_repeated(struct vt *t)
{
	struct vt_collecting c;
	size_t at;

	if (!vt_begin(t, &c, 0))
		return;
	if (vt_post_slot(&c, 200)) {
		for (at = 0; at + 8 < c.length; at += 8) {
			vt_store(&c, at, 8);
			vt_store(&c, at, 8);
			vt_store(&c, 0, 4);
		}
		vt_nothing_arrives(&c);
		vt_store(&c, at, 8);
		wmb();
		vt_arrives_once(&c);
	}
	vt_finish(&c);
}

/* No kick before the length is known, whatever else is there. */
static void vt_length_last(struct vt *t)
{
	struct vt_collecting c;
	size_t at;

	if (!vt_begin(t, &c, 0))
		return;
	if (vt_post_slot(&c, 120)) {
		for (at = 8; at < c.length; at += 8)
			vt_store(&c, at, 8);
		wmb();
		VT_CHECK(t, vt_vcb_in_use(t, c.vcb), "not collecting");
		vt_nothing_arrives(&c);
		vt_store(&c, 0, 4);
		vt_nothing_arrives(&c);
		vt_store(&c, 4, 4);
		wmb();
		vt_arrives_once(&c);
	}
	vt_finish(&c);
}

/* One word never comes: no kick; cancelling frees the buffer for the next. */
static void vt_cancel(struct vt *t)
{
	u32 cancels = vt_csr(t, VUHCA_CSR_COLLECT_CANCELS_OFF);
	u32 bound = vt_csr(t, VUHCA_CSR_PCB_IN_USE_OFF);
	struct vt_collecting c;
	size_t at;

	if (!vt_begin(t, &c, 0))
		return;
	if (vt_post_slot(&c, 64)) {
		for (at = 0; at < c.length; at += 8)
			if (at != 40)
				vt_store(&c, at, 8);
		wmb();
		VT_CHECK(t, vt_vcb_in_use(t, c.vcb), "not collecting");
		VT_EQUAL(t, vt_csr(t, VUHCA_CSR_PCB_IN_USE_OFF), bound + 1);
		vt_nothing_arrives(&c);
		vuhca_vcb_cancel(c.vcb);
		VT_CHECK(t, !vt_vcb_in_use(t, c.vcb), "still collecting");
		VT_EQUAL(t, vt_csr(t, VUHCA_CSR_PCB_IN_USE_OFF), bound);
		VT_EQUAL(t, vt_csr(t, VUHCA_CSR_COLLECT_CANCELS_OFF),
			 cancels + 1);
		/* The missing word alone makes no command of what is gone. */
		vt_store(&c, 40, 8);
		vuhca_vcb_cancel(c.vcb);
		vt_nothing_arrives(&c);
		vuhca_vcb_write(c.vcb, c.bytes, c.length);
		vt_arrives_once(&c);
	}
	vt_finish(&c);
}

/* A value without the top byte does not cancel. */
static void vt_bad_cancel(struct vt *t)
{
	u32 faults = vt_fault_count(t, VUHCA_FAULT_KIND_COLLECT_RESERVED);
	struct vt_collecting c;
	__le64 nothing = 0;
	size_t at;

	if (!vt_begin(t, &c, 0))
		return;
	if (vt_post_slot(&c, 8)) {
		vt_store(&c, 0, 8);
		vuhca_write_eight(c.vcb->page + VUHCA_CANCEL_OFFSET, &nothing);
		wmb();
		VT_CHECK(t, vt_vcb_in_use(t, c.vcb), "cancelled");
		VT_EQUAL(t, vt_fault_count(t, VUHCA_FAULT_KIND_COLLECT_RESERVED),
			 faults + 1);
		for (at = 8; at < c.length; at += 8)
			vt_store(&c, at, 8);
		wmb();
		vt_arrives_once(&c);
	}
	vt_finish(&c);
}

/* A damaged copy is dropped; the slot is executed in its place. */
static void vt_damaged(struct vt *t)
{
	u32 faults = vt_fault_count(t, VUHCA_FAULT_KIND_COMMAND_CHECKSUM);
	struct vt_collecting c;

	if (!vt_begin(t, &c, 0))
		return;
	if (vt_post_slot(&c, 100)) {
		c.bytes[70] ^= 0x10;
		vuhca_vcb_write(c.vcb, c.bytes, c.length);
		vt_arrives_once(&c);
		VT_EQUAL(t, vt_fault_count(t, VUHCA_FAULT_KIND_COMMAND_CHECKSUM),
			 faults + 1);
	}
	vt_finish(&c);
}

/* By collect buffer, by doorbell, and by both again: executed once. */
static void vt_stale(struct vt *t)
{
	struct vt_collecting c;
	u32 stale;

	if (!vt_begin(t, &c, 0))
		return;
	if (vt_post_slot(&c, 100)) {
		vuhca_vcb_write(c.vcb, c.bytes, c.length);
		vuhca_ring_doorbell(t->end[0].qp, c.sequence);
		vt_arrives_once(&c);
		stale = vt_csr(t, VUHCA_CSR_COMMANDS_STALE_OFF);
		vuhca_vcb_write(c.vcb, c.bytes, c.length);
		vuhca_ring_doorbell(t->end[0].qp, c.sequence);
		vt_nothing_arrives(&c);
		VT_CHECK(t, vt_csr(t, VUHCA_CSR_COMMANDS_STALE_OFF) > stale,
			 "not counted");
	}
	vt_finish(&c);
}

/* A copy ahead of its turn waits for, or brings on, what is before it. */
static void vt_early(struct vt *t)
{
	struct vuhca_wc wc[4] = {};
	struct vt_collecting first, second;
	unsigned int i;

	if (!vt_begin(t, &first, 0))
		return;
	second = first;
	if (vt_post_slot(&first, 10) && vt_post_slot(&second, 20)) {
		vuhca_vcb_write(second.vcb, second.bytes, second.length);
		VT_EQUAL(t, vt_poll(t->send_cq.cq, wc, 2, VT_TIMEOUT_MS), 2);
		for (i = 0; i < 2; i++)
			VT_EQUAL(t, wc[i].sequence, first.sequence + i);
		VT_EQUAL(t, vt_poll(t->recv_cq.cq, wc, 2, VT_TIMEOUT_MS), 2);
		VT_EQUAL(t, wc[0].byte_length, VUHCA_GRH_AREA_BYTES + 10);
		VT_EQUAL(t, wc[1].byte_length, VUHCA_GRH_AREA_BYTES + 20);
		vuhca_vcb_write(first.vcb, first.bytes, first.length);
		vt_nothing_arrives(&first);
	}
	vt_finish(&first);
}

/* The words of a page beside its data area. */
static void vt_page_words(struct vt *t)
{
	struct vuhca_doorbell doorbell = {};
	struct vt_collecting c;
	__le64 any = 0;

	if (!vt_begin(t, &c, 0))
		return;
	if (vt_post_slot(&c, 30)) {
		vuhca_doorbell_set_qpn(&doorbell, t->end[0].qp->qpn);
		vuhca_doorbell_set_sequence(&doorbell, c.sequence);
		vuhca_write_eight(c.vcb->page + VUHCA_DOORBELL_OFFSET, &doorbell);
		wmb();
		vt_arrives_once(&c);
	}
	if (vt_post_slot(&c, 30)) {
		/* Half of it, and an explicit kick: the slot is executed. */
		vt_store(&c, 0, 8);
		vt_store(&c, 8, 8);
		vuhca_write_eight(c.vcb->page + VUHCA_KICK_OFFSET, &any);
		wmb();
		vt_arrives_once(&c);
	}
	vt_clear_first_fault(t);
	writeq(0, c.vcb->page + 0x800);
	wmb();
	vt_expect_first_fault(t, VUHCA_FAULT_KIND_COLLECT_RESERVED,
			      c.vcb->index);
	vt_clear_first_fault(t);
	vt_finish(&c);
}

/* Between the last VCB and the dedicated buffers, and behind these. */
static void vt_out_of_range(struct vt *t)
{
	u32 faults = vt_fault_count(t, VUHCA_FAULT_KIND_COLLECT_OUT_OF_RANGE);
	u32 count = vt_csr(t, VUHCA_CSR_DEDICATED_COUNT_OFF);
	size_t behind = t->dev->dedicated - t->dev->collect +
			(size_t)count * VUHCA_PAGE_BYTES;

	if (behind >= t->dev->collect_bytes)
		return vt_skip(t, "the dedicated buffers end the BAR");
	writeq(0, t->dev->collect + behind);
	wmb();
	VT_EQUAL(t, vt_fault_count(t, VUHCA_FAULT_KIND_COLLECT_OUT_OF_RANGE),
		 faults + 1);
}

/* Each QoS level has its buffers; a command of the other level is not taken. */
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

/* Choked: copies are dropped and counted, doorbells still work. */
static void vt_choke(struct vt *t)
{
	u32 choked = vt_csr(t, VUHCA_CSR_COLLECT_CHOKED_OFF);
	struct vt_collecting c;

	if (!vt_begin(t, &c, 0))
		return;
	vuhca_write_csr(t->dev, VUHCA_CSR_COLLECT_CONTROL_OFF,
			VUHCA_CSR_COLLECT_CONTROL_CHOKE_MASK);
	if (vt_post_slot(&c, 50)) {
		vuhca_vcb_write(c.vcb, c.bytes, c.length);
		vt_nothing_arrives(&c);
		VT_EQUAL(t, vt_csr(t, VUHCA_CSR_COLLECT_CHOKED_OFF),
			 choked + c.length / 8);
		vuhca_ring_doorbell(t->end[0].qp, c.sequence);
		vt_arrives_once(&c);
	}
	vuhca_write_csr(t->dev, VUHCA_CSR_COLLECT_CONTROL_OFF, 0);
	vt_finish(&c);
	vt_roundtrip(t, 0, 1, 50, VUHCA_POST_COLLECT);
}

static const struct vt_case vt_cases[] = {
	{ "bytes", vt_bytes },
	{ "words", vt_words },
	{ "dwords", vt_dwords },
	{ "qwords", vt_qwords },
	{ "mixed-sizes", vt_mixed },
	{ "repeated", vt_repeated },
	{ "length-last", vt_length_last },
	{ "cancel", vt_cancel },
	{ "bad-cancel", vt_bad_cancel },
	{ "damaged", vt_damaged },
	{ "stale", vt_stale },
	{ "early", vt_early },
	{ "page-words", vt_page_words },
	{ "out-of-range", vt_out_of_range },
	{ "qos", vt_qos },
	{ "choke", vt_choke },
};
VT_SUITE(collect, vt_cases);
