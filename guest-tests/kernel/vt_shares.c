// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Collect buffers in short supply: which QoS level gets a PCB, which is
 * refused, what the registers show; and the divider of the BAR.
 */
#include "vt_shares.h"

#define VT_HELD 64

/* Buffers with half a command each; each binds a PCB. */
struct vt_holders {
	struct vuhca_vcb *vcbs[VT_HELD];
	unsigned int count;
};

static bool vt_hold_one(struct vt *t, struct vt_holders *holders, u8 level)
{
	struct vuhca_vcb *vcb;

	if (holders->count == VT_HELD)
		return false;
	vcb = vuhca_alloc_vcb(t->dev, level);
	if (IS_ERR(vcb))
		return false;
	writeq(0, vcb->page + 8);
	vt_drain_stores();
	holders->vcbs[holders->count++] = vcb;
	return true;
}

static void vt_release_all(struct vt *t, struct vt_holders *holders)
{
	while (holders->count)
		vuhca_free_vcb(t->dev, holders->vcbs[--holders->count]);
}

/*
 * PCBs guaranteed to the level come first, then the function's, then shared
 * ones.
 */
static void vt_expect_accounts(struct vt *t, unsigned int level, u32 bound)
{
	u32 own = min(bound, vt_pcb_level(t, VUHCA_CSR_PCB_ALLOCATED_OFF, level));
	u32 shared = min(bound - own, vt_csr(t, VUHCA_CSR_PCB_SHARED_FUNCTION_OFF));

	VT_EQUAL(t, vt_pcb_level(t, VUHCA_CSR_PCB_IN_USE_OFF, level), bound);
	VT_EQUAL(t, vt_pcb_level(t, VUHCA_CSR_PCB_IN_USE_OFF, !level), 0);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_PCB_IN_USE_FUNCTION_OFF), shared);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_PCB_IN_USE_DEVICE_OFF),
		 bound - own - shared);
}

static void vt_accounts(struct vt *t)
{
	struct vt_holders holders = {};
	unsigned int level;

	for (level = 0; level < VUHCA_QOS_LEVELS; level++) {
		VT_REQUIRE(t, VT_WAIT(t, vt_pcbs_quiet(t)), "PCBs in use");
		vt_expect_accounts(t, level, 0);
		while (vt_pcb_level(t, VUHCA_CSR_PCB_AVAILABLE_OFF, level) &&
		       vt_hold_one(t, &holders, level))
			vt_expect_accounts(t, level, holders.count);
		vt_note(t, "level %u: %u bound", level, holders.count);
		VT_CHECK(t, holders.count, "none");
		vt_release_all(t, &holders);
		vt_expect_accounts(t, level, 0);
	}
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_PCB_COUNT_OFF),
		 vt_pcb_level(t, VUHCA_CSR_PCB_ALLOCATED_OFF, 0) +
		 vt_pcb_level(t, VUHCA_CSR_PCB_ALLOCATED_OFF, 1) +
		 vt_csr(t, VUHCA_CSR_PCB_SHARED_FUNCTION_OFF));
}

/* One level has no PCB left; the other one still has its guaranteed PCBs. */
static void vt_check_shortage(struct vt *t, unsigned int level)
{
	u32 refusals = vt_pcb_level(t, VUHCA_CSR_PCB_REFUSALS_OFF, level);
	u32 others = vt_pcb_level(t, VUHCA_CSR_PCB_REFUSALS_OFF, !level);
	u32 collected = vt_csr(t, VUHCA_CSR_COMMANDS_COLLECTED_OFF);
	u32 fetched = vt_csr(t, VUHCA_CSR_COMMANDS_FETCHED_OFF);
	struct vt_qp_options options = { .port = 1 };
	struct vuhca_qp *qps[VUHCA_QOS_LEVELS];
	unsigned int i;

	for (i = 0; i < VUHCA_QOS_LEVELS; i++) {
		options.qos_level = i;
		qps[i] = vt_create_qp(t, NULL, &options);
		VT_REQUIRE(t, qps[i], "level %u", i);
	}
	vt_collect_nop(t, qps[level]);
	VT_EQUAL(t, vt_pcb_level(t, VUHCA_CSR_PCB_REFUSALS_OFF, level), refusals + 1);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_COMMANDS_FETCHED_OFF), fetched + 1);
	if (vt_pcb_level(t, VUHCA_CSR_PCB_ALLOCATED_OFF, !level)) {
		VT_EQUAL(t, vt_pcb_level(t, VUHCA_CSR_PCB_AVAILABLE_OFF, !level),
			 vt_pcb_level(t, VUHCA_CSR_PCB_ALLOCATED_OFF, !level));
		vt_collect_nop(t, qps[!level]);
		VT_EQUAL(t, vt_csr(t, VUHCA_CSR_COMMANDS_COLLECTED_OFF),
			 collected + 1);
	}
	VT_EQUAL(t, vt_pcb_level(t, VUHCA_CSR_PCB_REFUSALS_OFF, !level), others);
	for (i = 0; i < VUHCA_QOS_LEVELS; i++)
		VT_EQUAL(t, vuhca_destroy_qp(qps[i]), 0);
}

static void vt_shortage(struct vt *t, unsigned int level)
{
	struct vt_holders holders = {};

	VT_REQUIRE(t, VT_WAIT(t, vt_pcbs_quiet(t)), "PCBs in use");
	if (!t->dev->vcbs[level].cpu_count)
		return vt_skip(t, "no collect buffers of level %u", level);
	while (vt_pcb_level(t, VUHCA_CSR_PCB_AVAILABLE_OFF, level) &&
	       vt_hold_one(t, &holders, level))
		;
	if (vt_pcb_level(t, VUHCA_CSR_PCB_AVAILABLE_OFF, level))
		vt_skip(t, "more PCBs than VCBs");
	else
		vt_check_shortage(t, level);
	vt_release_all(t, &holders);
}

static void vt_shortage_0(struct vt *t)
{
	vt_shortage(t, 0);
}

static void vt_shortage_1(struct vt *t)
{
	vt_shortage(t, 1);
}

/* A page belongs to the level that the divider assigns it to. */
static void vt_divider(struct vt *t)
{
	u64 before = vuhca_read_csr64(t->dev, VUHCA_CSR_QOS_DIVIDER_OFF);
	struct vuhca_vcb *vcb = vuhca_alloc_vcb(t->dev, 0);
	unsigned int i;
	u64 dividers[4];

	VT_REQUIRE(t, !IS_ERR(vcb), "%pe", vcb);
	VT_WAIT(t, vt_pcbs_quiet(t));
	dividers[0] = 0;
	dividers[1] = (u64)vcb->index * VUHCA_PAGE_BYTES;
	dividers[2] = dividers[1] + VUHCA_PAGE_BYTES;
	dividers[3] = t->dev->dedicated - t->dev->collect;
	for (i = 0; i < ARRAY_SIZE(dividers); i++) {
		unsigned int level = i < 2;

		vuhca_write_csr64(t->dev, VUHCA_CSR_QOS_DIVIDER_OFF,
				  dividers[i]);
		writeq(0, vcb->page + 8);
		vt_drain_stores();
		VT_CHECK(t, vt_pcb_level(t, VUHCA_CSR_PCB_IN_USE_OFF, level) == 1 &&
			 !vt_pcb_level(t, VUHCA_CSR_PCB_IN_USE_OFF, !level),
			 "divider %#llx: not level %u", dividers[i], level);
		vuhca_vcb_cancel(vcb);
	}
	vuhca_write_csr64(t->dev, VUHCA_CSR_QOS_DIVIDER_OFF, before);
	vuhca_free_vcb(t->dev, vcb);
	vt_roundtrip(t, 0, 1, 100, VUHCA_POST_COLLECT);
}

static const struct vt_case vt_cases[] = {
	{ "accounts", vt_accounts },
	{ "shortage-level-0", vt_shortage_0 },
	{ "shortage-level-1", vt_shortage_1 },
	{ "divider", vt_divider },
	{ "outside", vt_share_outside },
	{ "follows", vt_share_follows },
	{ "lost-copies", vt_share_lost_copies },
};
VT_SUITE(shares, vt_cases);
