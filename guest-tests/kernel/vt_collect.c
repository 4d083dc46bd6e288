// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Collect buffers with stores that verbs never use: any order and size, words
 * missing or repeated, half-written commands cancelled. The buffer belongs to
 * the case alone.
 */
#include "vt_collect_command.h"

/*
 * Makes all stores of @size in the order given by @order, one entry for each
 * store.
 */
static void vt_store_ordered(struct vt_collect_command *c, unsigned int size,
			     const u16 *order)
{
	size_t i;

	for (i = 0; i < c->length / size; i++)
		vt_collect_store(c, order[i] * size, size);
	vt_drain_stores();
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
	struct vt_collect_command c;
	unsigned int i;

	if (!vt_collect_begin(t, &c, 0))
		return;
	for (i = 0; i < 8; i++) {
		if (!vt_collect_post(&c, 1 + prandom_u32_state(&t->random) % 256))
			break;
		if (i % 2)
			vt_shuffle(t, order, c.length / size);
		else
			vt_ascending(order, c.length / size);
		vt_store_ordered(&c, size, order);
		if (!vt_collect_arrives(&c))
			break;
	}
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_COMMANDS_COLLECTED_OFF), collected + 8);
	vt_collect_finish(&c);
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

/* Several sizes of stores within one command. */
static void vt_mixed(struct vt *t)
{
	u16 order[VUHCA_COMMAND_MAX_BYTES / 8];
	struct vt_collect_command c;
	unsigned int round, i, size, at;

	if (!vt_collect_begin(t, &c, 0))
		return;
	for (round = 0; round < 16; round++) {
		if (!vt_collect_post(&c, 1 + prandom_u32_state(&t->random) % 256))
			break;
		vt_shuffle(t, order, c.length / 8);
		for (i = 0; i < c.length / 8; i++) {
			size = 1 << prandom_u32_state(&t->random) % 4;
			for (at = 0; at < 8; at += size)
				vt_collect_store(&c, order[i] * 8 + at, size);
		}
		vt_drain_stores();
		if (!vt_collect_arrives(&c))
			break;
	}
	vt_collect_finish(&c);
}

/*
 * A write-combining buffer may be flushed more than once (docs/HAZARDS.md,
 * hazard 5).
 */
static void vt_repeated(struct vt *t)
{
	struct vt_collect_command c;
	size_t at;

	if (!vt_collect_begin(t, &c, 0))
		return;
	if (vt_collect_post(&c, 200)) {
		for (at = 0; at + 8 < c.length; at += 8) {
			vt_collect_store(&c, at, 8);
			vt_collect_store(&c, at, 8);
			vt_collect_store(&c, 0, 4);
		}
		vt_collect_nothing_arrives(&c);
		vt_collect_store(&c, at, 8);
		vt_drain_stores();
		vt_collect_arrives(&c);
	}
	vt_collect_finish(&c);
}

/* There is no kick before the length is known. */
static void vt_length_last(struct vt *t)
{
	struct vt_collect_command c;
	size_t at;

	if (!vt_collect_begin(t, &c, 0))
		return;
	if (vt_collect_post(&c, 120)) {
		for (at = 8; at < c.length; at += 8)
			vt_collect_store(&c, at, 8);
		vt_drain_stores();
		VT_CHECK(t, vt_vcb_in_use(t, c.vcb), "not collecting");
		vt_collect_nothing_arrives(&c);
		vt_collect_store(&c, 0, 4);
		vt_collect_nothing_arrives(&c);
		vt_collect_store(&c, 4, 4);
		vt_drain_stores();
		vt_collect_arrives(&c);
	}
	vt_collect_finish(&c);
}

/* Without one word there is no kick; cancelling frees the buffer. */
static void vt_cancel(struct vt *t)
{
	u32 cancels = vt_csr(t, VUHCA_CSR_COLLECT_CANCELS_OFF);
	u32 bound = vt_csr(t, VUHCA_CSR_PCB_IN_USE_OFF);
	struct vt_collect_command c;
	size_t at;

	if (!vt_collect_begin(t, &c, 0))
		return;
	if (vt_collect_post(&c, 64)) {
		for (at = 0; at < c.length; at += 8)
			if (at != 40)
				vt_collect_store(&c, at, 8);
		vt_drain_stores();
		VT_CHECK(t, vt_vcb_in_use(t, c.vcb), "not collecting");
		VT_EQUAL(t, vt_csr(t, VUHCA_CSR_PCB_IN_USE_OFF), bound + 1);
		vt_collect_nothing_arrives(&c);
		vuhca_vcb_cancel(c.vcb);
		VT_CHECK(t, !vt_vcb_in_use(t, c.vcb), "still collecting");
		VT_EQUAL(t, vt_csr(t, VUHCA_CSR_PCB_IN_USE_OFF), bound);
		VT_EQUAL(t, vt_csr(t, VUHCA_CSR_COLLECT_CANCELS_OFF),
			 cancels + 1);
		/*
		 * The missing word alone does not complete the cancelled
		 * command.
		 */
		vt_collect_store(&c, 40, 8);
		vuhca_vcb_cancel(c.vcb);
		vt_collect_nothing_arrives(&c);
		vuhca_vcb_write(c.vcb, c.bytes, c.length);
		vt_collect_arrives(&c);
	}
	vt_collect_finish(&c);
}

/* A value without all ones in its top byte does not cancel. */
static void vt_bad_cancel(struct vt *t)
{
	u32 faults = vt_fault_count(t, VUHCA_FAULT_KIND_COLLECT_RESERVED);
	struct vt_collect_command c;
	__le64 nothing = 0;
	size_t at;

	if (!vt_collect_begin(t, &c, 0))
		return;
	if (vt_collect_post(&c, 8)) {
		vt_collect_store(&c, 0, 8);
		vuhca_write_eight(c.vcb->page + VUHCA_CANCEL_OFFSET, &nothing);
		vt_drain_stores();
		VT_CHECK(t, vt_vcb_in_use(t, c.vcb), "cancelled");
		VT_EQUAL(t, vt_fault_count(t, VUHCA_FAULT_KIND_COLLECT_RESERVED),
			 faults + 1);
		for (at = 8; at < c.length; at += 8)
			vt_collect_store(&c, at, 8);
		vt_drain_stores();
		vt_collect_arrives(&c);
	}
	vt_collect_finish(&c);
}

/*
 * The policy decides whether a lone request is posted by collect buffer or by
 * doorbell; AUTO chooses as measured at probe. Several requests are posted by
 * doorbell.
 */
static void vt_posting(struct vt *t)
{
	static const enum vuhca_collect_policy policies[] = {
		VUHCA_COLLECT_ALWAYS, VUHCA_COLLECT_NEVER, VUHCA_COLLECT_AUTO,
	};
	const struct vuhca_posting *posting = &t->dev->posting;
	enum vuhca_collect_policy before = vuhca_set_collect(VUHCA_COLLECT_AUTO);
	bool cheaper = posting->copy_ns <= posting->doorbell_ns;
	struct vuhca_send_wr wrs[2] = {
		{ .opcode = VUHCA_SEND_OPCODE_NOP, .signaled = true },
		{ .opcode = VUHCA_SEND_OPCODE_NOP, .signaled = true },
	};
	struct vuhca_wc wc[2];
	unsigned int i;
	u32 collected;
	bool expected;

	VT_CHECK(t, posting->copy_ns && posting->copy_ns < U64_MAX,
		 "the copy was not measured");
	VT_CHECK(t, posting->doorbell_ns && posting->doorbell_ns < U64_MAX,
		 "the doorbell was not measured");
	vt_note(t, "copy %llu ns, doorbell %llu ns", posting->copy_ns,
		posting->doorbell_ns);
	for (i = 0; i < ARRAY_SIZE(policies); i++) {
		vuhca_set_collect(policies[i]);
		expected = policies[i] == VUHCA_COLLECT_ALWAYS ||
			   (policies[i] == VUHCA_COLLECT_AUTO && cheaper);
		VT_EQUAL(t, vuhca_collects_lone(t->dev), expected);
		collected = vt_csr(t, VUHCA_CSR_COMMANDS_COLLECTED_OFF);
		VT_EQUAL(t, vuhca_post_send(t->end[0].qp, wrs, 1,
					    VUHCA_POST_AUTO), 1);
		VT_EQUAL(t, vt_poll(t->send_cq.cq, wc, 1, VT_TIMEOUT_MS), 1);
		VT_EQUAL(t, vt_csr(t, VUHCA_CSR_COMMANDS_COLLECTED_OFF),
			 collected + expected);
		VT_EQUAL(t, vuhca_post_send(t->end[0].qp, wrs, 2,
					    VUHCA_POST_AUTO), 2);
		VT_EQUAL(t, vt_poll(t->send_cq.cq, wc, 2, VT_TIMEOUT_MS), 2);
		VT_EQUAL(t, vt_csr(t, VUHCA_CSR_COMMANDS_COLLECTED_OFF),
			 collected + expected);
	}
	vuhca_set_collect(before);
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
	{ "posting", vt_posting },
};
VT_SUITE(collect, vt_cases);
