// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Exactly-once execution: a command comes by collect buffer, by doorbell, by
 * both and again much later, across the wrap of its sequence number; foreign,
 * early and stale doorbells; overwritten links in guest memory.
 */
#include "vt_qp_set.h"

/* Posted in batches, except near the wrap of the sequence number. */
#define VT_BATCH	64
#define VT_NEAR		128

struct vt_once {
	struct vt *t;
	struct vuhca_qp *qp;
	u32 posted;
	u32 completed;
	/* Earlier commands, to be written again. */
	u8 old[8][VUHCA_COMMAND_HEADER_BYTES] __aligned(8);
};

static bool vt_take(struct vt_once *once)
{
	struct vt *t = once->t;
	struct vuhca_wc wc[16];
	unsigned int i, found;

	while (once->completed != once->posted) {
		found = vt_poll(t->send_cq.cq, wc,
				min_t(u32, ARRAY_SIZE(wc),
				      once->posted - once->completed),
				VT_TIMEOUT_MS);
		if (!VT_CHECK(t, found, "%u of %u complete", once->completed,
			      once->posted))
			return false;
		for (i = 0; i < found; i++, once->completed++)
			if (!VT_CHECK(t, wc[i].sequence == (u16)once->completed &&
				      wc[i].wr_id == once->completed &&
				      !wc[i].status,
				      "command %u completes as %u, status %u",
				      once->completed, wc[i].sequence,
				      wc[i].status))
				return false;
	}
	return VT_EQUAL(t, vuhca_poll_cq(t->send_cq.cq, 1, wc), 0);
}

static bool vt_post_batch(struct vt_once *once)
{
	/* One suite runs at a time. */
	static struct vuhca_send_wr wrs[VT_BATCH];
	unsigned int i;

	for (i = 0; i < VT_BATCH; i++) {
		wrs[i].opcode = VUHCA_SEND_OPCODE_NOP;
		wrs[i].signaled = true;
		wrs[i].wr_id = once->posted++;
	}
	return VT_EQUAL(once->t, vuhca_post_send(once->qp, wrs, VT_BATCH,
						 VUHCA_POST_DOORBELL), VT_BATCH) &&
	       vt_take(once);
}

/* Posts one command by several ways, with repeated old commands in between. */
static bool vt_post_many_ways(struct vt_once *once, struct vuhca_vcb *vcb)
{
	struct vt *t = once->t;
	u32 random = prandom_u32_state(&t->random);
	u8 *old = once->old[random % ARRAY_SIZE(once->old)];
	struct vuhca_send_wr wr = {
		.opcode = VUHCA_SEND_OPCODE_NOP,
		.signaled = true,
		.wr_id = once->posted,
	};
	u8 copy[VUHCA_COMMAND_HEADER_BYTES] __aligned(8);
	size_t length;
	u16 sequence;
	void *slot;

	spin_lock_irq(&once->qp->sq.lock);
	slot = vuhca_build_send_wqe(once->qp, &wr, &length, &sequence);
	if (slot) {
		memcpy(copy, slot, sizeof(copy));
		vuhca_publish_send_tail(once->qp);
	}
	spin_unlock_irq(&once->qp->sq.lock);
	if (!VT_CHECK(t, slot, "the send queue is full"))
		return false;
	once->posted++;
	if (random & 0x100)
		vuhca_ring_doorbell(once->qp, sequence - 1 - (random >> 28));
	if (random & 0x200 && old[0])
		vuhca_vcb_write(vcb, old, sizeof(copy));
	if (random & 0x400)
		vuhca_ring_doorbell(once->qp, sequence + 1 + (random >> 28));
	vuhca_vcb_write(vcb, copy, sizeof(copy));
	if (random & 0x800)
		vuhca_ring_doorbell(once->qp, sequence);
	if (random & 0x1000)
		vuhca_vcb_write(vcb, copy, sizeof(copy));
	memcpy(old, copy, sizeof(copy));
	return random & 0x2000 || vt_take(once);
}

/*
 * Once through all sequence numbers; near the wrap every command by all ways.
 */
static void vt_wrap(struct vt *t)
{
	struct vt_qp_options options = { .port = 1, .entries_log2 = 8, .sge = 1 };
	struct vt_once once = { .t = t };
	u32 until, stale = vuhca_read_csr(t->dev, VUHCA_CSR_COMMANDS_STALE_OFF);
	struct vuhca_vcb *vcb = vuhca_alloc_vcb(t->dev, 0);
	u32 end = vt_count() < 1000 ? 0x10000 : 0x20000;
	struct vuhca_wc wc;

	VT_REQUIRE(t, !IS_ERR(vcb), "%pe", vcb);
	once.qp = vt_create_qp(t, NULL, &options);
	for (until = 0x10000; once.qp && until <= end; until += 0x10000) {
		while (!t->failed && once.posted < until - VT_NEAR)
			vt_post_batch(&once);
		while (!t->failed && once.posted < until + VT_NEAR)
			vt_post_many_ways(&once, vcb);
	}
	if (!t->failed && vt_take(&once))
		VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_QUIET_MS), 0);
	VT_CHECK(t, vuhca_read_csr(t->dev, VUHCA_CSR_COMMANDS_STALE_OFF) > stale,
		 "no stale copy came");
	vt_note(t, "%u commands", once.completed);
	if (once.qp)
		VT_EQUAL(t, vuhca_destroy_qp(once.qp), 0);
	vuhca_free_vcb(t->dev, vcb);
}

/* A few thousand commands by random ways. */
static void vt_mixture(struct vt *t)
{
	struct vt_once once = { .t = t, .qp = t->end[0].qp };
	struct vuhca_vcb *vcb = vuhca_alloc_vcb(t->dev, 0);
	struct vuhca_wc wc;

	VT_REQUIRE(t, !IS_ERR(vcb), "%pe", vcb);
	while (!t->failed && once.posted < 2000)
		if (vt_post_many_ways(&once, vcb) && once.posted % 16 == 0)
			vt_take(&once);
	if (!t->failed && vt_take(&once))
		VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_QUIET_MS), 0);
	vuhca_free_vcb(t->dev, vcb);
}

/*
 * Each doorbell for a QP of another function is a fault without other effect.
 */
static void vt_foreign(struct vt *t)
{
	u32 faults = vt_fault_count(t, VUHCA_FAULT_KIND_COMMAND_BAD_QP);
	u32 explicit = vuhca_read_csr(t->dev, VUHCA_CSR_DOORBELLS_EXPLICIT_OFF);
	struct vuhca_qp other = { .dev = t->dev };
	unsigned int i, foreign = 0;
	struct vuhca_wc wc;

	for (i = 0; i < 1000; i++) {
		/* Low numbers belong to other functions, if there are any. */
		other.qpn = prandom_u32_state(&t->random) %
			    (i % 2 ? VUHCA_UD_TARGET_REMOTE_QPN_MASK : 64);
		if (xa_load(&t->dev->qps, other.qpn))
			continue;
		vuhca_ring_doorbell(&other, prandom_u32_state(&t->random));
		foreign++;
	}
	VT_EQUAL(t, vuhca_read_csr(t->dev, VUHCA_CSR_DOORBELLS_EXPLICIT_OFF),
		 explicit + foreign);
	VT_EQUAL(t, vt_fault_count(t, VUHCA_FAULT_KIND_COMMAND_BAD_QP),
		 faults + foreign);
	VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_QUIET_MS), 0);
	vt_roundtrip(t, 0, 1, 100, VUHCA_POST_DOORBELL);
}

/* The adapter repairs an overwritten link, and no command is lost. */
static void vt_scribbled(struct vt *t)
{
	u32 faults = vt_fault_count(t, VUHCA_FAULT_KIND_DESCRIPTOR_LINK);
	struct vt_qp_set *set = vt_qp_set_create(t, 8);
	unsigned int round, i;

	VT_REQUIRE(t, set, "no QPs");
	for (round = 0; round < 20; round++) {
		vt_qp_set_post(set, 2);
		for (i = 0; i < set->count; i++)
			WRITE_ONCE(set->qps[i]->descriptor->dw0,
				   cpu_to_le32(round % 2 ? 0x00fffffe :
					       prandom_u32_state(&t->random)));
		/* Overwrite the links before the doorbells. */
		wmb();
		vt_qp_set_ring(set);
		if (!vt_qp_set_completes(set))
			break;
	}
	VT_CHECK(t, vt_fault_count(t, VUHCA_FAULT_KIND_DESCRIPTOR_LINK) > faults,
		 "no link was repaired");
	vt_qp_set_destroy(set);
}

static const struct vt_case vt_cases[] = {
	{ "wrap", vt_wrap },
	{ "mixture", vt_mixture },
	{ "foreign", vt_foreign },
	{ "scribbled", vt_scribbled },
};
VT_SUITE(once, vt_cases);
