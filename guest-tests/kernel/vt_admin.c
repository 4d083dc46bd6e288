// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Management commands that succeed: every verb of every object class. */
#include <linux/dma-mapping.h>

#include "vt.h"

/* Executes a command and expects the status OK. */
static bool vt_do(struct vt *t, u8 opcode, u32 object, const void *payload,
		  size_t payload_bytes, struct vuhca_answer *answer)
{
	int err = vt_command(t, opcode, object, payload, payload_bytes, answer);

	return VT_EQUAL(t, err, 0) &&
	       VT_CHECK(t, answer->status == VUHCA_MANAGEMENT_STATUS_OK,
			"opcode %#x: status %u, offset %u", opcode,
			answer->status, answer->bad_offset);
}

static u32 vt_pd_references(struct vt *t)
{
	const struct vuhca_pd_attributes *pd;
	struct vuhca_answer answer;

	if (!vt_do(t, VUHCA_MANAGEMENT_OPCODE_QUERY_PD, t->pd->pdn, NULL, 0,
		   &answer))
		return U32_MAX;
	pd = (const void *)answer.payload;
	return le32_to_cpu(pd->references);
}

static void vt_pd(struct vt *t)
{
	struct vuhca_pd_attributes attributes = {
		.token = cpu_to_le64(0x1234567890abcdefULL),
	};
	const struct vuhca_pd_attributes *answered;
	struct vuhca_answer answer;

	/* One MR and two QPs of the environment use the PD. */
	VT_EQUAL(t, vt_pd_references(t), 3);
	VT_REQUIRE(t, vt_do(t, VUHCA_MANAGEMENT_OPCODE_MODIFY_PD, t->pd->pdn,
			    &attributes, sizeof(attributes), &answer), "modify");
	VT_REQUIRE(t, vt_do(t, VUHCA_MANAGEMENT_OPCODE_QUERY_PD, t->pd->pdn,
			    NULL, 0, &answer), "query");
	VT_EQUAL(t, answer.object, t->pd->pdn);
	answered = (const void *)answer.payload;
	VT_EQUAL(t, le64_to_cpu(answered->token), 0x1234567890abcdefULL);
	VT_EQUAL(t, vuhca_dealloc_pd(t->pd), -EBUSY);
	VT_EQUAL(t, vt_pd_references(t), 3);
}

/* Two pages in reverse order, so that a wrong translation is detected. */
static void vt_paged_mr(struct vt *t)
{
	__le64 *list = (void *)t->memory;
	struct vuhca_mr_attributes change = {
		.attribute_mask = cpu_to_le32(VUHCA_MR_MASK_ACCESS),
	};
	const struct vuhca_mr_attributes *answered;
	struct vuhca_answer answer;
	struct vuhca_buffer buffer;
	struct vuhca_send_wr wr;
	struct vuhca_wc wc = {};
	struct vuhca_mr *mr;

	list[0] = cpu_to_le64(t->dma + 2 * PAGE_SIZE);
	list[1] = cpu_to_le64(t->dma + PAGE_SIZE);
	mr = vuhca_reg_pages(t->pd, 0, 0x10000100, 2 * PAGE_SIZE - 0x100,
			     t->dma, 2, PAGE_SHIFT);
	VT_REQUIRE(t, !IS_ERR(mr), "%pe", mr);
	VT_EQUAL(t, vt_pd_references(t), 4);
	/* 100 bytes before the page boundary, 100 bytes behind it. */
	vt_fill(t->memory + 3 * PAGE_SIZE - 100, 100, 1);
	vt_fill(t->memory + PAGE_SIZE, 100, 2);
	buffer = (struct vuhca_buffer) {
		.address = 0x10000000 + PAGE_SIZE - 100,
		.length = 200,
		.lkey = mr->lkey,
	};
	wr = vt_send_wr(t, 0, 1, &buffer);
	VT_EQUAL(t, vt_post_recv(t, t->end[1].qp, 8 * PAGE_SIZE, 512, 0), 0);
	VT_EQUAL(t, vuhca_post_send(t->end[0].qp, &wr, 1, VUHCA_POST_AUTO), 1);
	VT_EQUAL(t, vt_poll(t->recv_cq.cq, &wc, 1, VT_TIMEOUT_MS), 1);
	VT_EQUAL(t, wc.byte_length, VUHCA_GRH_AREA_BYTES + 200);
	VT_CHECK(t, vt_holds(t->memory + 8 * PAGE_SIZE + VUHCA_GRH_AREA_BYTES,
			     100, 1), "first page");
	VT_CHECK(t, vt_holds(t->memory + 8 * PAGE_SIZE + VUHCA_GRH_AREA_BYTES +
			     100, 100, 2), "second page");

	change.access = cpu_to_le32(VUHCA_ACCESS_FLAG_LOCAL_WRITE);
	vt_do(t, VUHCA_MANAGEMENT_OPCODE_MODIFY_MR, mr->number, &change,
	      sizeof(change), &answer);
	if (vt_do(t, VUHCA_MANAGEMENT_OPCODE_QUERY_MR, mr->number, NULL, 0,
		  &answer)) {
		answered = (const void *)answer.payload;
		VT_EQUAL(t, le32_to_cpu(answered->access),
			 VUHCA_ACCESS_FLAG_LOCAL_WRITE);
		VT_EQUAL(t, vuhca_mr_attributes_get_pd(answered), t->pd->pdn);
		VT_EQUAL(t, le32_to_cpu(answered->lkey), mr->lkey);
		VT_EQUAL(t, le64_to_cpu(answered->start_address), 0x10000100);
	}
	VT_EQUAL(t, vuhca_dereg_mr(mr), 0);
	VT_EQUAL(t, vt_pd_references(t), 3);
}

static void vt_cq(struct vt *t)
{
	struct vuhca_cq_attributes change = {
		.attribute_mask = cpu_to_le32(VUHCA_CQ_MASK_EVENT_QUEUE),
	};
	struct vuhca_cq_attributes now;
	struct vuhca_answer answer;
	struct vt_cq watch;

	VT_REQUIRE(t, vt_create_cq(t, &watch, 4, 1), "create");
	VT_REQUIRE(t, !vuhca_query_cq(watch.cq, &now), "query");
	VT_EQUAL(t, vuhca_cq_attributes_get_entries_log2(&now), 4);
	VT_EQUAL(t, vuhca_cq_attributes_get_event_queue(&now),
		 t->dev->eqs[1].eqn);
	VT_EQUAL(t, vuhca_cq_attributes_get_notify_state(&now),
		 VUHCA_NOTIFY_STATE_UNARMED);
	VT_EQUAL(t, le32_to_cpu(now.producer_count), 0);
	vuhca_arm_cq(watch.cq, true);
	VT_REQUIRE(t, !vuhca_query_cq(watch.cq, &now), "query");
	VT_EQUAL(t, vuhca_cq_attributes_get_notify_state(&now),
		 VUHCA_NOTIFY_STATE_ARMED_SOLICITED);
	vuhca_cq_attributes_set_event_queue(&change, t->dev->eqs[0].eqn);
	vt_do(t, VUHCA_MANAGEMENT_OPCODE_MODIFY_CQ, watch.cq->cqn, &change,
	      sizeof(change), &answer);
	VT_REQUIRE(t, !vuhca_query_cq(watch.cq, &now), "query");
	VT_EQUAL(t, vuhca_cq_attributes_get_event_queue(&now),
		 t->dev->eqs[0].eqn);
	VT_EQUAL(t, vuhca_destroy_cq(t->send_cq.cq), -EBUSY);
	VT_EQUAL(t, vuhca_destroy_cq(watch.cq), 0);
}

static void vt_eq(struct vt *t)
{
	struct vuhca_eq_attributes attributes = {
		.queue_address = cpu_to_le64(t->dma),
		.vector = cpu_to_le16(1),
		.controls = VUHCA_EQ_CONTROL_INTERRUPT,
	};
	const struct vuhca_eq_attributes *answered;
	struct vuhca_answer answer;
	u32 eqn;

	vuhca_eq_attributes_set_entries_log2(&attributes, 3);
	VT_REQUIRE(t, vt_do(t, VUHCA_MANAGEMENT_OPCODE_CREATE_EQ, 0, &attributes,
			    sizeof(attributes), &answer), "create");
	eqn = answer.object;
	VT_CHECK(t, eqn, "number 0 was given");
	attributes.attribute_mask = cpu_to_le32(VUHCA_EQ_MASK_VECTOR);
	attributes.vector = cpu_to_le16(2);
	vt_do(t, VUHCA_MANAGEMENT_OPCODE_MODIFY_EQ, eqn, &attributes,
	      sizeof(attributes), &answer);
	if (vt_do(t, VUHCA_MANAGEMENT_OPCODE_QUERY_EQ, eqn, NULL, 0, &answer)) {
		answered = (const void *)answer.payload;
		VT_EQUAL(t, le16_to_cpu(answered->vector), 2);
		VT_EQUAL(t, vuhca_eq_attributes_get_entries_log2(answered), 3);
		VT_EQUAL(t, le32_to_cpu(answered->producer_count), 0);
	}
	vt_do(t, VUHCA_MANAGEMENT_OPCODE_DESTROY_EQ, eqn, NULL, 0, &answer);
	/* The EQ of a CQ cannot be destroyed. */
	vt_command(t, VUHCA_MANAGEMENT_OPCODE_DESTROY_EQ, t->dev->eqs[1].eqn,
		   NULL, 0, &answer);
	VT_EQUAL(t, answer.status, VUHCA_MANAGEMENT_STATUS_IN_USE);
}

static void vt_qp(struct vt *t)
{
	struct vt_qp_options options = { .entries_log2 = 4, .qos_level = 1 };
	struct vuhca_qp_attributes change = {
		.attribute_mask = cpu_to_le32(VUHCA_QP_MASK_QKEY),
		.qkey = cpu_to_le32(0x5a5a5a5a),
	};
	struct vuhca_qp_creation creation;
	struct vuhca_qp_attributes now;
	struct vuhca_qp *qp;

	qp = vt_create_qp(t, NULL, &options);
	VT_REQUIRE(t, qp, "create");
	VT_EQUAL(t, vt_qp_state(qp), VUHCA_QP_STATE_RESET);
	VT_EQUAL(t, vt_ready(qp, 2), 0);
	VT_EQUAL(t, vuhca_modify_qp(qp, &change), 0);
	VT_REQUIRE(t, !vuhca_query_qp(qp, &creation, &now), "query");
	VT_EQUAL(t, vuhca_qp_creation_get_pd(&creation), t->pd->pdn);
	VT_EQUAL(t, vuhca_qp_creation_get_send_cq(&creation),
		 t->send_cq.cq->cqn);
	VT_EQUAL(t, vuhca_qp_creation_get_receive_cq(&creation),
		 t->recv_cq.cq->cqn);
	VT_EQUAL(t, vuhca_qp_creation_get_qos_level(&creation), 1);
	VT_EQUAL(t, le64_to_cpu(creation.token), (uintptr_t)qp);
	VT_EQUAL(t, vuhca_qp_attributes_get_state(&now), VUHCA_QP_STATE_RTS);
	VT_EQUAL(t, vuhca_qp_attributes_get_port(&now), 2);
	VT_EQUAL(t, le32_to_cpu(now.qkey), 0x5a5a5a5a);
	VT_EQUAL(t, vuhca_qp_to_state(qp, VUHCA_QP_STATE_ERR), 0);
	VT_EQUAL(t, vt_qp_state(qp), VUHCA_QP_STATE_ERR);
	VT_EQUAL(t, vuhca_qp_to_state(qp, VUHCA_QP_STATE_RESET), 0);
	VT_EQUAL(t, vt_qp_state(qp), VUHCA_QP_STATE_RESET);
	VT_EQUAL(t, vt_ready(qp, 1), 0);
	VT_EQUAL(t, vuhca_destroy_qp(qp), 0);
}

static void vt_counters(struct vt *t)
{
	u32 commands = vuhca_read_csr(t->dev, VUHCA_CSR_MANAGEMENT_COMMANDS_OFF);
	u32 refused = vuhca_read_csr(t->dev, VUHCA_CSR_MANAGEMENT_REFUSED_OFF);
	struct vuhca_answer answer;

	vt_do(t, VUHCA_MANAGEMENT_OPCODE_QUERY_PD, t->pd->pdn, NULL, 0, &answer);
	vt_command(t, 0xff, 0, NULL, 0, &answer);
	VT_EQUAL(t, vuhca_read_csr(t->dev, VUHCA_CSR_MANAGEMENT_COMMANDS_OFF),
		 commands + 2);
	VT_EQUAL(t, vuhca_read_csr(t->dev, VUHCA_CSR_MANAGEMENT_REFUSED_OFF),
		 refused + 1);
}

/* Numbers are not leaked, and objects are independent of each other. */
static void vt_many(struct vt *t)
{
	struct vt_qp_options options = { .entries_log2 = 1, .sge = 1 };
	struct vuhca_qp *qps[16] = {};
	unsigned int round, i;

	for (round = 0; round < 3; round++) {
		for (i = 0; i < ARRAY_SIZE(qps); i++)
			qps[i] = vt_create_qp(t, NULL, &options);
		for (i = 0; i < ARRAY_SIZE(qps); i++)
			if (qps[i])
				VT_EQUAL(t, vuhca_destroy_qp(qps[i]), 0);
	}
	VT_EQUAL(t, vt_pd_references(t), 3);
}

static const struct vt_case vt_cases[] = {
	{ "pd", vt_pd },
	{ "paged-mr", vt_paged_mr },
	{ "cq", vt_cq },
	{ "eq", vt_eq },
	{ "qp", vt_qp },
	{ "counters", vt_counters },
	{ "many", vt_many },
};
VT_SUITE(management, vt_cases);
