// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Collect buffers in short supply: who gets one at each QoS level, who is turned
 * away, what the registers say about it; the sub-BAR; pages beyond the share;
 * and a share that changes under the driver.
 */
#include "vt_collecting.h"

#define VT_HELD 64

/* Buffers that hold half a command each, and with it a PCB. */
struct vt_holders {
	struct vuhca_vcb *vcbs[VT_HELD];
	unsigned int count;
};

static u32 vt_level(struct vt *t, unsigned int offset, unsigned int level)
{
	return vt_csr(t, offset + level * VUHCA_CSR_PCB_IN_USE_STRIDE);
}

static bool vt_hold_one(struct vt *t, struct vt_holders *holders, u8 level)
{
	struct vuhca_vcb *vcb;

	if (holders->count == VT_HELD)
		return false;
	vcb = vuhca_alloc_vcb(t->dev, level);
	if (IS_ERR(vcb))
		return false;
	writeq(0, vcb->page + 8);
	wmb();
	holders->vcbs[holders->count++] = vcb;
	return true;
}

static void vt_let_go(struct vt *t, struct vt_holders *holders)
{
	while (holders->count)
		vuhca_free_vcb(t->dev, holders->vcbs[--holders->count]);
}

/* Nothing is bound that a case did not bind. */
static bool vt_is_quiet(struct vt *t)
{
	return !vt_level(t, VUHCA_CSR_PCB_IN_USE_OFF, 0) &&
	       !vt_level(t, VUHCA_CSR_PCB_IN_USE_OFF, 1);
}

/* One signalled NOP through a collect buffer of the QP's level. */
static void vt_collect_nop(struct vt *t, struct vuhca_qp *qp)
{
	struct vuhca_send_wr wr = {
		.opcode = VUHCA_SEND_OPCODE_NOP,
		.signaled = true,
	};
	struct vuhca_wc wc = {};

	VT_EQUAL(t, vuhca_post_send(qp, &wr, 1, VUHCA_POST_COLLECT), 1);
	VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_TIMEOUT_MS), 1);
	VT_EQUAL(t, wc.status, VUHCA_COMPLETION_STATUS_SUCCESS);
	VT_EQUAL(t, vuhca_poll_cq(t->send_cq.cq, 1, &wc), 0);
}

/* Guaranteed ones of the level first, then the function's, then everybody's. */
static void vt_expect_accounts(struct vt *t, unsigned int level, u32 bound)
{
	u32 own = min(bound, vt_level(t, VUHCA_CSR_PCB_ALLOCATED_OFF, level));
	u32 shared = min(bound - own, vt_csr(t, VUHCA_CSR_PCB_SHARED_FUNCTION_OFF));

	VT_EQUAL(t, vt_level(t, VUHCA_CSR_PCB_IN_USE_OFF, level), bound);
	VT_EQUAL(t, vt_level(t, VUHCA_CSR_PCB_IN_USE_OFF, !level), 0);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_PCB_IN_USE_FUNCTION_OFF), shared);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_PCB_IN_USE_DEVICE_OFF),
		 bound - own - shared);
}

static void vt_accounts(struct vt *t)
{
	struct vt_holders holders = {};
	unsigned int level;

	for (level = 0; level < VUHCA_QOS_LEVELS; level++) {
		VT_REQUIRE(t, VT_WAIT(t, vt_is_quiet(t)), "PCBs in use");
		vt_expect_accounts(t, level, 0);
		while (vt_level(t, VUHCA_CSR_PCB_AVAILABLE_OFF, level) &&
		       vt_hold_one(t, &holders, level))
			vt_expect_accounts(t, level, holders.count);
		vt_note(t, "level %u: %u bound", level, holders.count);
		VT_CHECK(t, holders.count, "none");
		vt_let_go(t, &holders);
		vt_expect_accounts(t, level, 0);
	}
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_PCB_COUNT_OFF),
		 vt_level(t, VUHCA_CSR_PCB_ALLOCATED_OFF, 0) +
		 vt_level(t, VUHCA_CSR_PCB_ALLOCATED_OFF, 1) +
		 vt_csr(t, VUHCA_CSR_PCB_SHARED_FUNCTION_OFF));
}

/* The level has no PCB left; the other one still has what it was promised. */
static void vt_check_shortage(struct vt *t, unsigned int level)
{
	u32 refusals = vt_level(t, VUHCA_CSR_PCB_REFUSALS_OFF, level);
	u32 others = vt_level(t, VUHCA_CSR_PCB_REFUSALS_OFF, !level);
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
	VT_EQUAL(t, vt_level(t, VUHCA_CSR_PCB_REFUSALS_OFF, level), refusals + 1);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_COMMANDS_FETCHED_OFF), fetched + 1);
	if (vt_level(t, VUHCA_CSR_PCB_ALLOCATED_OFF, !level)) {
		VT_EQUAL(t, vt_level(t, VUHCA_CSR_PCB_AVAILABLE_OFF, !level),
			 vt_level(t, VUHCA_CSR_PCB_ALLOCATED_OFF, !level));
		vt_collect_nop(t, qps[!level]);
		VT_EQUAL(t, vt_csr(t, VUHCA_CSR_COMMANDS_COLLECTED_OFF),
			 collected + 1);
	}
	VT_EQUAL(t, vt_level(t, VUHCA_CSR_PCB_REFUSALS_OFF, !level), others);
	for (i = 0; i < VUHCA_QOS_LEVELS; i++)
		VT_EQUAL(t, vuhca_destroy_qp(qps[i]), 0);
}

static void vt_shortage(struct vt *t, unsigned int level)
{
	struct vt_holders holders = {};

	VT_REQUIRE(t, VT_WAIT(t, vt_is_quiet(t)), "PCBs in use");
	if (!t->dev->vcbs[level].cpu_count)
		return vt_skip(t, "no collect buffers of level %u", level);
	while (vt_level(t, VUHCA_CSR_PCB_AVAILABLE_OFF, level) &&
	       vt_hold_one(t, &holders, level))
		;
	if (vt_level(t, VUHCA_CSR_PCB_AVAILABLE_OFF, level))
		vt_skip(t, "more PCBs than VCBs");
	else
		vt_check_shortage(t, level);
	vt_let_go(t, &holders);
}

static void vt_shortage_0(struct vt *t)
{
	vt_shortage(t, 0);
}

static void vt_shortage_1(struct vt *t)
{
	vt_shortage(t, 1);
}

/* The page belongs to the level that the divider gives it to. */
static void vt_divider(struct vt *t)
{
	u64 before = vuhca_read_csr64(t->dev, VUHCA_CSR_QOS_DIVIDER_OFF);
	struct vuhca_vcb *vcb = vuhca_alloc_vcb(t->dev, 0);
	unsigned int i;
	u64 dividers[4];

	VT_REQUIRE(t, !IS_ERR(vcb), "%pe", vcb);
	VT_WAIT(t, vt_is_quiet(t));
	dividers[0] = 0;
	dividers[1] = (u64)vcb->index * VUHCA_PAGE_BYTES;
	dividers[2] = dividers[1] + VUHCA_PAGE_BYTES;
	dividers[3] = t->dev->dedicated - t->dev->collect;
	for (i = 0; i < ARRAY_SIZE(dividers); i++) {
		unsigned int level = i < 2;

		vuhca_write_csr64(t->dev, VUHCA_CSR_QOS_DIVIDER_OFF,
				  dividers[i]);
		writeq(0, vcb->page + 8);
		wmb();
		VT_CHECK(t, vt_level(t, VUHCA_CSR_PCB_IN_USE_OFF, level) == 1 &&
			 !vt_level(t, VUHCA_CSR_PCB_IN_USE_OFF, !level),
			 "divider %#llx: not level %u", dividers[i], level);
		vuhca_vcb_cancel(vcb);
	}
	vuhca_write_csr64(t->dev, VUHCA_CSR_QOS_DIVIDER_OFF, before);
	vuhca_free_vcb(t->dev, vcb);
	vt_roundtrip(t, 0, 1, 100, VUHCA_POST_COLLECT);
}

static struct vuhca_resource_change vt_vcbs_change(struct vt *t, u32 amount)
{
	struct vuhca_resource_change change = { .amount = cpu_to_le32(amount) };

	vuhca_resource_change_set_resource(&change, VUHCA_RESOURCE_KIND_VCBS);
	vuhca_resource_change_set_qos_level(&change, VUHCA_RESOURCE_NO_LEVEL);
	vuhca_resource_change_set_target(&change, t->dev->function);
	return change;
}

/* Asks for one change of the own function's VCBs. */
static int vt_ask_vcbs(struct vt *t, u32 amount)
{
	struct vuhca_resource_change change = vt_vcbs_change(t, amount);
	struct vuhca_answer answer;

	return vuhca_request_resources(t->dev, &change, 1, &answer);
}

static void vt_write_outside(struct vt *t, u32 page)
{
	u32 faults = vt_fault_count(t, VUHCA_FAULT_KIND_COLLECT_OUT_OF_RANGE);
	u32 kicks = vt_csr(t, VUHCA_CSR_COLLECT_KICKS_OFF);

	vt_clear_first_fault(t);
	writeq(0, t->dev->collect + (size_t)page * VUHCA_PAGE_BYTES);
	wmb();
	VT_EQUAL(t, vt_fault_count(t, VUHCA_FAULT_KIND_COLLECT_OUT_OF_RANGE),
		 faults + 1);
	vt_expect_first_fault(t, VUHCA_FAULT_KIND_COLLECT_OUT_OF_RANGE, page);
	vt_clear_first_fault(t);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_COLLECT_KICKS_OFF), kicks);
	VT_CHECK(t, vt_is_quiet(t), "a PCB was bound");
}

/* Pages of the BAR behind the function's VCBs. */
static void vt_outside(struct vt *t)
{
	u32 pages = (t->dev->dedicated - t->dev->collect) / VUHCA_PAGE_BYTES;
	u32 count = vt_csr(t, VUHCA_CSR_VCB_COUNT_OFF);

	VT_REQUIRE(t, VT_WAIT(t, vt_is_quiet(t)), "PCBs in use");
	if (count == pages && t->dev->function)
		return vt_skip(t, "the BAR has VCBs only");
	if (count == pages) {
		VT_REQUIRE(t, !vt_ask_vcbs(t, count - 1), "refused");
		vt_write_outside(t, count - 1);
		VT_EQUAL(t, vt_ask_vcbs(t, count), 0);
	} else {
		vt_write_outside(t, count);
		vt_write_outside(t, pages - 1);
	}
	vt_alive(t);
}

/* The driver uses what there is, and nothing beside it. */
static void vt_expect_buffers(struct vt *t, u32 count)
{
	u32 faults = vt_fault_count(t, VUHCA_FAULT_KIND_COLLECT_OUT_OF_RANGE);
	u32 collected = vt_csr(t, VUHCA_CSR_COMMANDS_COLLECTED_OFF);
	struct vt_qp_options options = { .port = 1 };
	struct vuhca_qp *qp;
	u32 expected = 0;

	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_VCB_COUNT_OFF), count);
	VT_EQUAL(t, t->dev->vcbs[0].count + t->dev->vcbs[1].count, count);
	for (; options.qos_level < VUHCA_QOS_LEVELS; options.qos_level++) {
		expected += !!t->dev->vcbs[options.qos_level].cpu_count;
		qp = vt_create_qp(t, NULL, &options);
		VT_REQUIRE(t, qp, "level %u", options.qos_level);
		vt_collect_nop(t, qp);
		VT_EQUAL(t, vuhca_destroy_qp(qp), 0);
	}
	/* Once the levels were given theirs by request, the driver leaves it at that. */
	VT_CHECK(t, t->dev->vcbs_split ||
		 expected == (count > 3 ? 2 : !!count),
		 "%u VCBs, %u levels with buffers", count, expected);
	VT_CHECK(t, vt_csr(t, VUHCA_CSR_COMMANDS_COLLECTED_OFF) ==
		 collected + expected, "%u VCBs: %u collected, %u refusals, %u implicit", count,
		 vt_csr(t, VUHCA_CSR_COMMANDS_COLLECTED_OFF) - collected,
		 vt_csr(t, VUHCA_CSR_COLLECT_REFUSALS_OFF), vt_csr(t, VUHCA_CSR_DOORBELLS_IMPLICIT_OFF));
	VT_EQUAL(t, vt_fault_count(t, VUHCA_FAULT_KIND_COLLECT_OUT_OF_RANGE),
		 faults);
}

static void vt_follows(struct vt *t)
{
	u32 count = vt_csr(t, VUHCA_CSR_VCB_COUNT_OFF);
	const u32 steps[] = { count / 2, 4, 1, 0, 2, count };
	unsigned int i;

	if (t->dev->function || count < 8 ||
	    vt_level(t, VUHCA_CSR_PCB_ALLOCATED_OFF, 1) < 1)
		return vt_skip(t, "the function cannot give VCBs back");
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		VT_REQUIRE(t, !vt_ask_vcbs(t, steps[i]), "%u", steps[i]);
		vt_expect_buffers(t, steps[i]);
	}
}

/* Pages go before the driver hears of it: what it wrote there is not lost. */
static void vt_lost_copies(struct vt *t)
{
	u32 faults = vt_fault_count(t, VUHCA_FAULT_KIND_COLLECT_OUT_OF_RANGE);
	u32 count = vt_csr(t, VUHCA_CSR_VCB_COUNT_OFF);
	struct vuhca_resource_change change = vt_vcbs_change(t, 0);
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_REQUEST_RESOURCES,
		.modifier = 1,
		.payload = &change,
		.payload_bytes = sizeof(change),
	};
	struct vuhca_send_wr wr = {
		.opcode = VUHCA_SEND_OPCODE_NOP,
		.signaled = true,
	};
	struct vuhca_answer answer;
	struct vuhca_wc wc;

	if (t->dev->function)
		return vt_skip(t, "a virtual function");
	VT_REQUIRE(t, !vuhca_admin_execute(t->dev, &command, &answer), "refused");
	VT_EQUAL(t, vuhca_post_send(t->end[0].qp, &wr, 1, VUHCA_POST_COLLECT), 1);
	VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_QUIET_MS), 0);
	VT_CHECK(t, vt_fault_count(t, VUHCA_FAULT_KIND_COLLECT_OUT_OF_RANGE) >
		 faults, "the copy was taken");
	vuhca_shares_refresh(t->dev);
	VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_TIMEOUT_MS), 1);
	VT_WAIT(t, !READ_ONCE(t->dev->vcbs[0].count));
	VT_EQUAL(t, vt_ask_vcbs(t, count), 0);
	vt_alive(t);
}

static const struct vt_case vt_cases[] = {
	{ "accounts", vt_accounts },
	{ "shortage-level-0", vt_shortage_0 },
	{ "shortage-level-1", vt_shortage_1 },
	{ "divider", vt_divider },
	{ "outside", vt_outside },
	{ "follows", vt_follows },
	{ "lost-copies", vt_lost_copies },
};
VT_SUITE(shares, vt_cases);
