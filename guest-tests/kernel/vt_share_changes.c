// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Collect pages beyond the share, and a share that changes while the driver
 * works.
 */
#include "vt_shares.h"

u32 vt_pcb_level(struct vt *t, unsigned int offset, unsigned int level)
{
	return vt_csr(t, offset + level * VUHCA_CSR_PCB_IN_USE_STRIDE);
}

/* Tests that no PCB is bound. */
bool vt_pcbs_quiet(struct vt *t)
{
	return !vt_pcb_level(t, VUHCA_CSR_PCB_IN_USE_OFF, 0) &&
	       !vt_pcb_level(t, VUHCA_CSR_PCB_IN_USE_OFF, 1);
}

/* Sends one signalled NOP through a collect buffer of the QP's level. */
void vt_collect_nop(struct vt *t, struct vuhca_qp *qp)
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

static struct vuhca_resource_change vt_vcbs_change(struct vt *t, u32 amount)
{
	struct vuhca_resource_change change = { .amount = cpu_to_le32(amount) };

	vuhca_resource_change_set_resource(&change, VUHCA_RESOURCE_KIND_VCBS);
	vuhca_resource_change_set_qos_level(&change, VUHCA_RESOURCE_NO_LEVEL);
	vuhca_resource_change_set_target(&change, t->dev->function);
	return change;
}

/* Requests one change of the function's own VCBs. */
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
	vt_drain_stores();
	VT_EQUAL(t, vt_fault_count(t, VUHCA_FAULT_KIND_COLLECT_OUT_OF_RANGE),
		 faults + 1);
	vt_expect_first_fault(t, VUHCA_FAULT_KIND_COLLECT_OUT_OF_RANGE, page);
	vt_clear_first_fault(t);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_COLLECT_KICKS_OFF), kicks);
	VT_CHECK(t, vt_pcbs_quiet(t), "a PCB was bound");
}

/* Pages of the BAR behind the function's VCBs. */
void vt_share_outside(struct vt *t)
{
	u32 pages = (t->dev->dedicated - t->dev->collect) / VUHCA_PAGE_BYTES;
	u32 count = vt_csr(t, VUHCA_CSR_VCB_COUNT_OFF);

	VT_REQUIRE(t, VT_WAIT(t, vt_pcbs_quiet(t)), "PCBs in use");
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

/* Checks that the driver uses all buffers of the share, and no others. */
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
	/*
	 * After a request has split the pages between the levels, the driver
	 * keeps the split.
	 */
	VT_CHECK(t, t->dev->vcbs_split ||
		 expected == (count > 3 ? 2 : !!count),
		 "%u VCBs, %u levels with buffers", count, expected);
	collected = vt_csr(t, VUHCA_CSR_COMMANDS_COLLECTED_OFF) - collected;
	VT_CHECK(t, collected == expected,
		 "%u VCBs: %u collected, %u refusals, %u implicit", count,
		 collected, vt_csr(t, VUHCA_CSR_COLLECT_REFUSALS_OFF),
		 vt_csr(t, VUHCA_CSR_DOORBELLS_IMPLICIT_OFF));
	VT_EQUAL(t, vt_fault_count(t, VUHCA_FAULT_KIND_COLLECT_OUT_OF_RANGE),
		 faults);
}

void vt_share_follows(struct vt *t)
{
	u32 count = vt_csr(t, VUHCA_CSR_VCB_COUNT_OFF);
	const u32 steps[] = { count / 2, 4, 1, 0, 2, count };
	unsigned int i;

	if (t->dev->function || count < 8 ||
	    vt_pcb_level(t, VUHCA_CSR_PCB_ALLOCATED_OFF, 1) < 1)
		return vt_skip(t, "the function cannot give VCBs back");
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		VT_REQUIRE(t, !vt_ask_vcbs(t, steps[i]), "%u", steps[i]);
		vt_expect_buffers(t, steps[i]);
	}
}

/*
 * Pages are removed before the driver knows: commands written to them are not
 * lost.
 */
void vt_share_lost_copies(struct vt *t)
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
