// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A hostile function: it floods the adapter by every way of posting, keeps PCBs
 * bound, and writes to pages and QPs of other functions, until the module
 * parameter `flood` is cleared. Its own commands must still complete once and in
 * order. Suites in other guests show that it does not harm other functions.
 */
#include <linux/module.h>

#include "vt_qp_set.h"

#define VT_QUEUES	12
#define VT_HELD		6
#define VT_WORD_MS	5000
#define VT_PAUSE_US	20000

static bool flood;
module_param(flood, bool, 0644);
MODULE_PARM_DESC(flood, "Keep the suite flood running");

/* Writes half a command to each buffer; cancels every second one. */
static void vt_hold(struct vt *t, struct vuhca_vcb *const *held)
{
	unsigned int i;

	for (i = 0; i < VT_HELD; i++) {
		writeq(prandom_u32_state(&t->random), held[i]->page + 8);
		if (prandom_u32_state(&t->random) % 2)
			vuhca_vcb_cancel(held[i]);
	}
}

/* QP numbers of other functions are among the low ones. */
static u32 vt_foreign_qpn(struct vt *t)
{
	u32 qpn;

	do {
		qpn = prandom_u32_state(&t->random) % 1024;
	} while (xa_load(&t->dev->qps, qpn));
	return qpn;
}

/*
 * A whole command, a doorbell and a stop request for a QP of another function.
 */
static void vt_write_foreign(struct vt *t, struct vuhca_vcb *vcb)
{
	u8 bytes[VUHCA_COMMAND_HEADER_BYTES] __aligned(8);
	struct vuhca_send_command *command = (void *)bytes;
	struct vuhca_qp other = { .dev = t->dev, .qpn = vt_foreign_qpn(t) };
	struct vuhca_doorbell word = {};

	prandom_bytes_state(&t->random, bytes, sizeof(bytes));
	vuhca_send_command_set_qpn(command, other.qpn);
	vuhca_send_command_set_collect_length(command, sizeof(bytes));
	vuhca_vcb_write(vcb, bytes, sizeof(bytes));
	vuhca_vcb_cancel(vcb);
	vuhca_ring_doorbell(&other, prandom_u32_state(&t->random));
	vuhca_doorbell_set_qpn(&word, other.qpn);
	vuhca_write_eight(vcb->page + VUHCA_STOP_OFFSET, &word);
	/* A page that belongs to no function. */
	writeq(U64_MAX, t->dev->collect + t->dev->collect_bytes -
	       VUHCA_PAGE_BYTES);
	vt_drain_stores();
}

/*
 * Posts some commands by collect buffer, some by doorbell, and some without:
 * they wait for a later doorbell.
 */
static void vt_post_flood(struct vt *t, struct vt_qp_set *set)
{
	struct vuhca_send_wr wr = {
		.opcode = VUHCA_SEND_OPCODE_NOP,
		.signaled = true,
	};
	unsigned int i;

	for (i = 0; i < set->count; i++) {
		wr.wr_id = set->posted[i];
		set->posted[i] +=
			VT_EQUAL(t, vuhca_post_send(set->qps[i], &wr, 1, i % 3 ?
						    VUHCA_POST_COLLECT :
						    VUHCA_POST_DOORBELL), 1);
	}
	vt_qp_set_post(set, 2);
	vt_qp_set_ring(set);
	vt_qp_set_ring(set);
}

static void vt_hostile(struct vt *t)
{
	struct vt_qp_set *set = vt_qp_set_create(t, VT_QUEUES);
	ktime_t next = ktime_add_ms(ktime_get(), VT_WORD_MS);
	struct vuhca_vcb *held[VT_HELD];
	unsigned int i, count;
	u32 rounds = 0;

	VT_REQUIRE(t, set, "no QPs");
	for (count = 0; count < VT_HELD; count++) {
		held[count] = vuhca_alloc_vcb(t->dev, count % VUHCA_QOS_LEVELS);
		if (!VT_CHECK(t, !IS_ERR(held[count]), "%pe", held[count]))
			break;
	}
	while (READ_ONCE(flood) && count == VT_HELD && !t->failed) {
		vt_hold(t, held);
		for (i = 0; i < 8; i++)
			vt_write_foreign(t, held[i % VT_HELD]);
		vt_post_flood(t, set);
		vt_qp_set_take_all(set);
		rounds++;
		if (ktime_after(ktime_get(), next)) {
			vt_note(t, "%u rounds", rounds);
			next = ktime_add_ms(ktime_get(), VT_WORD_MS);
		}
		/*
		 * What it holds stays held. More rounds would only take the
		 * processor from the guest that is tested.
		 */
		usleep_range(VT_PAUSE_US, 2 * VT_PAUSE_US);
	}
	vt_qp_set_completes(set);
	vt_note(t, "%u rounds", rounds);
	for (i = 0; i < count; i++)
		vuhca_free_vcb(t->dev, held[i]);
	vt_qp_set_destroy(set);
	vt_alive(t);
}

static const struct vt_case vt_cases[] = {
	{ "hostile", vt_hostile },
};
VT_SUITE(flood, vt_cases);
