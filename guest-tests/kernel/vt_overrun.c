// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Full completion and event queues: one error event, no entry overwritten, the
 * users of the queue in ERR, all other objects unaffected.
 */

#include "vt.h"

static bool vt_wait_error(struct vt_cq *watch)
{
	return wait_event_timeout(watch->wait, atomic_read(&watch->errors),
				  msecs_to_jiffies(VT_TIMEOUT_MS)) > 0;
}

/* Four entries, five completions, no poll. */
static void vt_cq_full(struct vt *t)
{
	struct vt_qp_options options = { .port = 1 };
	struct vuhca_completion_entry before[4];
	struct vuhca_cq_attributes now;
	struct vt_cq small = {};
	struct vuhca_qp *qp;
	u32 faults = vt_fault_count(t, VUHCA_FAULT_KIND_CQ_OVERRUN);

	VT_REQUIRE(t, vt_create_cq(t, &small, 2, 1), "create");
	options.send_cq = small.cq;
	qp = vt_create_qp(t, NULL, &options);
	VT_REQUIRE(t, qp, "create");
	vt_clear_first_fault(t);
	VT_EQUAL(t, vt_post_nops(qp, 4), 0);
	VT_WAIT(t, vt_has_entries(small.cq, 4));
	VT_EQUAL(t, atomic_read(&small.errors), 0);
	memcpy(before, small.cq->entries, sizeof(before));

	VT_EQUAL(t, vt_post_nops(qp, 3), 0);
	VT_CHECK(t, vt_wait_error(&small), "no error event");
	VT_EQUAL(t, small.error_fault, VUHCA_FAULT_KIND_CQ_OVERRUN);
	vt_expect_first_fault(t, VUHCA_FAULT_KIND_CQ_OVERRUN, small.cq->cqn);
	VT_WAIT(t, vt_qp_state(qp) == VUHCA_QP_STATE_ERR);
	msleep(VT_QUIET_MS);
	VT_EQUAL(t, atomic_read(&small.errors), 1);
	VT_EQUAL(t, vt_fault_count(t, VUHCA_FAULT_KIND_CQ_OVERRUN), faults + 1);
	VT_CHECK(t, !memcmp(before, small.cq->entries, sizeof(before)),
		 "entries were overwritten");
	VT_EQUAL(t, vuhca_query_cq(small.cq, &now), 0);
	VT_EQUAL(t, vuhca_cq_attributes_get_error(&now), 1);
	vt_clear_first_fault(t);
	vt_roundtrip(t, 0, 1, 100, VUHCA_POST_AUTO);
	VT_EQUAL(t, vuhca_destroy_qp(qp), 0);
	VT_EQUAL(t, vuhca_destroy_cq(small.cq), 0);
}

/* Exactly full, polled, and exactly full again many times: no error. */
static void vt_cq_exactly_full(struct vt *t)
{
	struct vt_qp_options options = { .port = 1 };
	struct vt_cq small = {};
	struct vuhca_wc wc[4];
	struct vuhca_qp *qp;
	unsigned int round;

	VT_REQUIRE(t, vt_create_cq(t, &small, 2, 1), "create");
	options.send_cq = small.cq;
	qp = vt_create_qp(t, NULL, &options);
	VT_REQUIRE(t, qp, "create");
	for (round = 0; round < 50; round++) {
		VT_EQUAL(t, vt_post_nops(qp, 4), 0);
		if (!VT_EQUAL(t, vt_poll(small.cq, wc, 4, VT_TIMEOUT_MS), 4))
			break;
		VT_EQUAL(t, wc[3].sequence, round * 4 + 3);
	}
	VT_EQUAL(t, atomic_read(&small.errors), 0);
	VT_EQUAL(t, vuhca_destroy_qp(qp), 0);
	VT_EQUAL(t, vuhca_destroy_cq(small.cq), 0);
}

/* The smallest CQ there is. */
static void vt_cq_of_one(struct vt *t)
{
	struct vt_qp_options options = { .port = 1 };
	struct vt_cq tiny = {};
	struct vuhca_qp *qp;
	struct vuhca_wc wc;
	unsigned int round;

	VT_REQUIRE(t, vt_create_cq(t, &tiny, 0, 1), "create");
	options.send_cq = tiny.cq;
	qp = vt_create_qp(t, NULL, &options);
	VT_REQUIRE(t, qp, "create");
	for (round = 0; round < 10; round++) {
		VT_EQUAL(t, vt_post_nops(qp, 1), 0);
		VT_EQUAL(t, vt_poll(tiny.cq, &wc, 1, VT_TIMEOUT_MS), 1);
	}
	VT_EQUAL(t, vuhca_destroy_qp(qp), 0);
	VT_EQUAL(t, vuhca_destroy_cq(tiny.cq), 0);
}

static bool vt_move_cq(struct vt *t, struct vuhca_cq *cq, u32 eqn)
{
	struct vuhca_cq_attributes change = {
		.attribute_mask = cpu_to_le32(VUHCA_CQ_MASK_EVENT_QUEUE),
	};
	struct vuhca_answer answer;

	vuhca_cq_attributes_set_event_queue(&change, eqn);
	vt_command(t, VUHCA_MANAGEMENT_OPCODE_MODIFY_CQ, cq->cqn, &change,
		   sizeof(change), &answer);
	return VT_EQUAL(t, answer.status, VUHCA_MANAGEMENT_STATUS_OK);
}

/* Creates an EQ of one entry without interrupts; returns its number, or 0. */
static u32 vt_create_tiny_eq(struct vt *t)
{
	struct vuhca_eq_attributes attributes = {
		.queue_address = cpu_to_le64(t->dma),
		.vector = cpu_to_le16(1),
		.controls = VUHCA_EQ_CONTROL_NOTHING,
	};
	struct vuhca_answer answer;

	memset(t->memory, 0, 2 * sizeof(struct vuhca_event_entry));
	vt_command(t, VUHCA_MANAGEMENT_OPCODE_CREATE_EQ, 0, &attributes,
		   sizeof(attributes), &answer);
	VT_EQUAL(t, answer.status, VUHCA_MANAGEMENT_STATUS_OK);
	return answer.object;
}

/* One entry, two events: the second causes an error, the first stays. */
static void vt_eq_full(struct vt *t)
{
	u32 faults = vt_fault_count(t, VUHCA_FAULT_KIND_EQ_OVERRUN);
	const struct vuhca_event_entry *entries = (void *)t->memory;
	const struct vuhca_eq_attributes *attributes;
	struct vuhca_answer answer;
	u32 eqn = vt_create_tiny_eq(t);
	struct vuhca_wc wc;

	if (!eqn || !vt_move_cq(t, t->send_cq.cq, eqn))
		return;
	vuhca_arm_cq(t->send_cq.cq, false);
	VT_EQUAL(t, vt_post_nops(t->end[0].qp, 1), 0);
	VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_TIMEOUT_MS), 1);
	VT_WAIT(t, le32_to_cpu(READ_ONCE(entries[0].sequence)) == 1);
	VT_EQUAL(t, entries[0].event_type, VUHCA_EVENT_TYPE_COMPLETION);
	VT_EQUAL(t, vuhca_event_entry_get_object_number(&entries[0]),
		 t->send_cq.cq->cqn);

	vuhca_arm_cq(t->send_cq.cq, false);
	VT_EQUAL(t, vt_post_nops(t->end[0].qp, 1), 0);
	VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_TIMEOUT_MS), 1);
	VT_WAIT(t, vt_fault_count(t, VUHCA_FAULT_KIND_EQ_OVERRUN) == faults + 1);
	VT_EQUAL(t, le32_to_cpu(entries[0].sequence), 1);
	VT_EQUAL(t, le32_to_cpu(entries[1].sequence), 0);
	vt_command(t, VUHCA_MANAGEMENT_OPCODE_QUERY_EQ, eqn, NULL, 0, &answer);
	attributes = (const void *)answer.payload;
	VT_EQUAL(t, vuhca_eq_attributes_get_error(attributes), 1);

	vt_move_cq(t, t->send_cq.cq, t->send_cq.cq->eq->eqn);
	vt_command(t, VUHCA_MANAGEMENT_OPCODE_DESTROY_EQ, eqn, NULL, 0, &answer);
	VT_EQUAL(t, answer.status, VUHCA_MANAGEMENT_STATUS_OK);
	vt_clear_first_fault(t);
	vuhca_arm_cq(t->send_cq.cq, false);
	VT_EQUAL(t, vt_post_nops(t->end[0].qp, 1), 0);
	VT_CHECK(t, vt_wait_event(&t->send_cq, 1, VT_TIMEOUT_MS), "no event");
}

/* A send queue never takes more requests than it has entries. */
static void vt_sq_full(struct vt *t)
{
	struct vt_qp_options options = { .entries_log2 = 2, .port = 1 };
	struct vuhca_send_wr wr = { .opcode = VUHCA_SEND_OPCODE_NOP };
	struct vuhca_qp *qp = vt_create_qp(t, NULL, &options);
	unsigned int i;

	VT_REQUIRE(t, qp, "create");
	for (i = 0; i < 4; i++)
		VT_EQUAL(t, vuhca_post_send(qp, &wr, 1, VUHCA_POST_AUTO), 1);
	/*
	 * An unsignalled request without a later signalled one frees no entry.
	 */
	VT_EQUAL(t, vuhca_post_send(qp, &wr, 1, VUHCA_POST_AUTO), -ENOMEM);
	VT_EQUAL(t, vuhca_destroy_qp(qp), 0);
}

static const struct vt_case vt_cases[] = {
	{ "cq-full", vt_cq_full },
	{ "cq-exactly-full", vt_cq_exactly_full },
	{ "cq-of-one", vt_cq_of_one },
	{ "eq-full", vt_eq_full },
	{ "sq-full", vt_sq_full },
};
VT_SUITE(overrun, vt_cases);
