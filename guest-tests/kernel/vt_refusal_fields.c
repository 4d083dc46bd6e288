// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Management commands with one field out of its range: each is refused with the
 * status of its fault and the offset of the field.
 */
#include "vt_refusal.h"

#define VT_VERB_MODIFY 1

u32 vt_refused_count(struct vt *t)
{
	return vuhca_read_csr(t->dev, VUHCA_CSR_MANAGEMENT_REFUSED_OFF);
}

/*
 * The attributes that a refused command must not change: those of the object
 * that it names, and of the PD.
 */
struct vt_snapshot {
	struct vuhca_answer pd;
	struct vuhca_answer object;
};

static void vt_take_snapshot(struct vt *t, u8 opcode, u32 object,
			     struct vt_snapshot *snapshot)
{
	u8 query = (opcode & 0xf0) | VUHCA_MANAGEMENT_OPCODE_QUERY_ADAPTER;

	memset(snapshot, 0, sizeof(*snapshot));
	vt_command(t, VUHCA_MANAGEMENT_OPCODE_QUERY_PD, t->pd->pdn, NULL, 0,
		   &snapshot->pd);
	if ((opcode & 0xf) == VT_VERB_MODIFY)
		vt_command(t, query, object, NULL, 0, &snapshot->object);
}

/* Expects @status, and the fault at payload offset @at (-1: not checked). */
void vt_refuse(struct vt *t, const char *what, u8 opcode, u32 object,
	       const void *payload, size_t payload_bytes, u8 status,
	       int at)
{
	static struct vt_snapshot before_it, behind_it;
	struct vuhca_answer answer = {};
	u32 before;
	int err;

	vt_take_snapshot(t, opcode, object, &before_it);
	before = vt_refused_count(t);
	err = vt_command(t, opcode, object, payload, payload_bytes, &answer);
	if (!VT_CHECK(t, !err, "%s: no answer, %d", what, err))
		return;
	VT_CHECK(t, answer.status == status, "%s: status %u, not %u (offset %u)",
		 what, answer.status, status, answer.bad_offset);
	if (at >= 0)
		VT_CHECK(t, answer.bad_offset == VT_HEADER + at,
			 "%s: bad offset %u, not %zu", what, answer.bad_offset,
			 VT_HEADER + at);
	VT_CHECK(t, vt_refused_count(t) == before + 1, "%s: not counted", what);
	vt_take_snapshot(t, opcode, object, &behind_it);
	VT_CHECK(t, !memcmp(&before_it, &behind_it, sizeof(before_it)),
		 "%s: something changed", what);
}

/* Returns MR attributes that would be accepted. */
static struct vuhca_mr_attributes vt_good_mr(struct vt *t)
{
	struct vuhca_mr_attributes mr = {
		.start_address = cpu_to_le64(0x1000),
		.length = cpu_to_le64(PAGE_SIZE),
		.page_list_address = cpu_to_le64(t->dma),
		.page_count = cpu_to_le32(1),
		.page_shift = PAGE_SHIFT,
	};

	*(__le64 *)t->memory = cpu_to_le64(t->dma + PAGE_SIZE);
	vuhca_mr_attributes_set_pd(&mr, t->pd->pdn);
	vuhca_mr_attributes_set_kind(&mr, VUHCA_MR_KIND_PAGED);
	return mr;
}

#define VT_AT(type, member) offsetof(struct vuhca_##type, member)

#define VT_BAD(t, type, opcode, number, good, expected, at, change)	\
	do {								\
		struct vuhca_##type bad = good;				\
									\
		change;							\
		vt_refuse(t, #opcode ": " #change,			\
			  VUHCA_MANAGEMENT_OPCODE_##opcode, number, &bad, \
			  sizeof(bad), VUHCA_MANAGEMENT_STATUS_##expected, \
			  at);						\
	} while (0)

void vt_refusal_mr_fields(struct vt *t)
{
	struct vuhca_mr_attributes good = vt_good_mr(t);

#define VT_BAD_MR(expected, member, plus, change) \
	VT_BAD(t, mr_attributes, CREATE_MR, 0, good, expected, \
	       VT_AT(mr_attributes, member) + (plus), change)
	VT_BAD_MR(BAD_OBJECT, dw0, 0, vuhca_mr_attributes_set_pd(&bad, VT_ABSENT));
	VT_BAD_MR(BAD_OBJECT, dw0, 0, vuhca_mr_attributes_set_pd(&bad, 0));
	VT_BAD_MR(BAD_FIELD, dw0, 3, vuhca_mr_attributes_set_kind(&bad, 9));
	VT_BAD_MR(BAD_FIELD, access, 0, bad.access = cpu_to_le32(0x80000000));
	VT_BAD_MR(BAD_FIELD, access, 0,
		  bad.access = cpu_to_le32(VUHCA_ACCESS_FLAG_REMOTE_WRITE));
	VT_BAD_MR(BAD_FIELD, page_shift, 0, bad.page_shift = 11);
	VT_BAD_MR(BAD_FIELD, page_shift, 0, bad.page_shift = 32);
	VT_BAD_MR(BAD_FIELD, page_count, 0, bad.page_count = 0);
	VT_BAD_MR(BAD_FIELD, page_count, 0, bad.page_count = cpu_to_le32(~0));
	VT_BAD_MR(BAD_FIELD, length, 0, bad.length = 0);
	VT_BAD_MR(BAD_FIELD, length, 0, bad.length = cpu_to_le64(PAGE_SIZE + 1));
	VT_BAD_MR(BAD_FIELD, length, 0, bad.length = cpu_to_le64(~0ULL));
	VT_BAD_MR(BAD_ADDRESS, page_list_address, 0,
		  bad.page_list_address = cpu_to_le64(VT_HOLE));
	VT_BAD_MR(BAD_ADDRESS, page_list_address, 0,
		  bad.page_list_address = cpu_to_le64(t->dma + 4));
#undef VT_BAD_MR
	VT_BAD(t, mr_attributes, MODIFY_MR, t->mr->number, good, BAD_FIELD,
	       VT_AT(mr_attributes, attribute_mask), bad.attribute_mask = cpu_to_le32(0x80));
}

void vt_refusal_cq_fields(struct vt *t)
{
	struct vuhca_cq_attributes good = {
		.queue_address = cpu_to_le64(t->dma),
		.record_address = cpu_to_le64(t->dma + PAGE_SIZE),
	};

	vuhca_cq_attributes_set_entries_log2(&good, 4);
	vuhca_cq_attributes_set_event_queue(&good, t->dev->eqs[1].eqn);
#define VT_BAD_CQ(expected, member, plus, change) \
	VT_BAD(t, cq_attributes, CREATE_CQ, 0, good, expected, \
	       VT_AT(cq_attributes, member) + (plus), change)
	VT_BAD_CQ(BAD_FIELD, dw4, 0,
		  vuhca_cq_attributes_set_entries_log2(&bad, 23));
	VT_BAD_CQ(BAD_ADDRESS, queue_address, 0,
		  bad.queue_address = cpu_to_le64(t->dma + 32));
	VT_BAD_CQ(BAD_ADDRESS, record_address, 0,
		  bad.record_address = cpu_to_le64(t->dma + 4));
	VT_BAD_CQ(BAD_OBJECT, dw5, 0,
		  vuhca_cq_attributes_set_event_queue(&bad, VT_ABSENT));
#undef VT_BAD_CQ
	VT_BAD(t, cq_attributes, MODIFY_CQ, t->send_cq.cq->cqn, good, BAD_FIELD,
	       VT_AT(cq_attributes, attribute_mask), bad.attribute_mask = cpu_to_le32(0x100));
	VT_BAD(t, cq_attributes, MODIFY_CQ, t->send_cq.cq->cqn, good, BAD_OBJECT,
	       VT_AT(cq_attributes, dw5), ({
			bad.attribute_mask =
				cpu_to_le32(VUHCA_CQ_MASK_EVENT_QUEUE);
			vuhca_cq_attributes_set_event_queue(&bad, VT_ABSENT);
		}));
}

void vt_refusal_eq_fields(struct vt *t)
{
	struct vuhca_eq_attributes good = {
		.queue_address = cpu_to_le64(t->dma),
		.controls = VUHCA_EQ_CONTROL_INTERRUPT,
	};

	vuhca_eq_attributes_set_entries_log2(&good, 2);
#define VT_BAD_EQ(expected, member, plus, change) \
	VT_BAD(t, eq_attributes, CREATE_EQ, 0, good, expected, \
	       VT_AT(eq_attributes, member) + (plus), change)
	VT_BAD_EQ(BAD_FIELD, dw2, 0, vuhca_eq_attributes_set_entries_log2(&bad, 17));
	VT_BAD_EQ(BAD_FIELD, vector, 0, bad.vector = cpu_to_le16(64));
	VT_BAD_EQ(BAD_FIELD, controls, 0, bad.controls = 3);
	VT_BAD_EQ(BAD_ADDRESS, queue_address, 0,
		  bad.queue_address = cpu_to_le64(t->dma + 8));
#undef VT_BAD_EQ
	VT_BAD(t, eq_attributes, MODIFY_EQ, t->dev->eqs[1].eqn, good, BAD_FIELD,
	       VT_AT(eq_attributes, attribute_mask), bad.attribute_mask = cpu_to_le32(0x100));
}

static struct vuhca_qp_creation vt_good_qp(struct vt *t)
{
	struct vuhca_qp_creation qp = {
		.send_queue_address = cpu_to_le64(t->dma),
		.receive_queue_address = cpu_to_le64(t->dma + PAGE_SIZE),
		.record_address = cpu_to_le64(t->dma + 2 * PAGE_SIZE),
		.descriptor_address = cpu_to_le64(t->dma + 3 * PAGE_SIZE),
		.send_entries_log2 = 2,
		.send_stride_log2 = 9,
		.receive_entries_log2 = 2,
		.receive_stride_log2 = 5,
	};

	vuhca_qp_creation_set_pd(&qp, t->pd->pdn);
	vuhca_qp_creation_set_service_type(&qp, VUHCA_SERVICE_TYPE_UD);
	vuhca_qp_creation_set_send_cq(&qp, t->send_cq.cq->cqn);
	vuhca_qp_creation_set_receive_cq(&qp, t->recv_cq.cq->cqn);
	return qp;
}

void vt_refusal_qp_fields(struct vt *t)
{
	struct vuhca_qp_creation good = vt_good_qp(t);

#define VT_BAD_QP(expected, member, plus, change) \
	VT_BAD(t, qp_creation, CREATE_QP, 0, good, expected, \
	       VT_AT(qp_creation, member) + (plus), change)
	VT_BAD_QP(BAD_OBJECT, dw0, 0, vuhca_qp_creation_set_pd(&bad, VT_ABSENT));
	VT_BAD_QP(BAD_OBJECT, dw1, 0, vuhca_qp_creation_set_send_cq(&bad, VT_ABSENT));
	VT_BAD_QP(BAD_OBJECT, dw2, 0,
		  vuhca_qp_creation_set_receive_cq(&bad, VT_ABSENT));
	VT_BAD_QP(BAD_FIELD, dw2, 0,
		  vuhca_qp_creation_set_service_type(&bad, VUHCA_SERVICE_TYPE_XRC_INITIATOR));
	VT_BAD_QP(BAD_FIELD, dw0, 0,
		  vuhca_qp_creation_set_service_type(&bad, VUHCA_SERVICE_TYPE_XRC_TARGET));
	VT_BAD_QP(BAD_FIELD, dw0, 3,
		  vuhca_qp_creation_set_service_type(&bad, 0x55));
	VT_BAD_QP(BAD_FIELD, send_entries_log2, 0, bad.send_entries_log2 = 16);
	VT_BAD_QP(BAD_FIELD, receive_entries_log2, 0, bad.receive_entries_log2 = 16);
	VT_BAD_QP(BAD_FIELD, send_stride_log2, 0, bad.send_stride_log2 = 5);
	VT_BAD_QP(BAD_FIELD, send_stride_log2, 0, bad.send_stride_log2 = 10);
	VT_BAD_QP(BAD_FIELD, receive_stride_log2, 0, bad.receive_stride_log2 = 4);
	VT_BAD_QP(BAD_FIELD, receive_stride_log2, 0, bad.receive_stride_log2 = 10);
	VT_BAD_QP(BAD_ADDRESS, send_queue_address, 0,
		  bad.send_queue_address = cpu_to_le64(t->dma + 8));
	VT_BAD_QP(BAD_ADDRESS, receive_queue_address, 0,
		  bad.receive_queue_address = cpu_to_le64(t->dma + 8));
	VT_BAD_QP(BAD_ADDRESS, record_address, 0,
		  bad.record_address = cpu_to_le64(t->dma + 2));
	VT_BAD_QP(BAD_ADDRESS, descriptor_address, 0,
		  bad.descriptor_address = cpu_to_le64(t->dma + 2));
#undef VT_BAD_QP
}

/* The first port that the adapter does not have. */
static void vt_port_beyond(struct vt *t, struct vuhca_qp_attributes *attributes)
{
	unsigned int port = t->dev->port_count + 1;

	vuhca_qp_attributes_set_port(attributes, port);
	vuhca_qp_attributes_set_port_high(attributes, port >> 2);
}

/* Each refused change leaves the QP in its state. */
void vt_refusal_qp_changes(struct vt *t)
{
	struct vt_qp_options options = { .entries_log2 = 2 };
	struct vuhca_qp_attributes good = {
		.attribute_mask = cpu_to_le32(VUHCA_QP_MASK_STATE |
					      VUHCA_QP_MASK_PKEY_INDEX |
					      VUHCA_QP_MASK_PORT |
					      VUHCA_QP_MASK_QKEY),
	};
	struct vuhca_qp *qp = vt_create_qp(t, NULL, &options);

	VT_REQUIRE(t, qp, "create");
	vuhca_qp_attributes_set_state(&good, VUHCA_QP_STATE_INIT);
	vuhca_qp_attributes_set_port(&good, 1);
#define VT_BAD_CHANGE(expected, member, plus, change) \
	VT_BAD(t, qp_attributes, MODIFY_QP, qp->qpn, good, expected, \
	       VT_AT(qp_attributes, member) + (plus), change)
	VT_BAD_CHANGE(BAD_FIELD, dw1, 1, vuhca_qp_attributes_set_port(&bad, 0));
	VT_BAD_CHANGE(BAD_FIELD, dw1, 1, vt_port_beyond(t, &bad));
	VT_BAD_CHANGE(BAD_FIELD, dw1, 2,
		      vuhca_qp_attributes_set_pkey_index(&bad, 128));
	VT_BAD_CHANGE(BAD_FIELD, attribute_mask, 0,
		      bad.attribute_mask |= cpu_to_le32(0x80000000));
	VT_EQUAL(t, vt_qp_state(qp), VUHCA_QP_STATE_RESET);
	/* Transitions that are not allowed from RESET, or lack attributes. */
	VT_EQUAL(t, vuhca_qp_to_rtr(qp), -EINVAL);
	VT_EQUAL(t, vuhca_qp_to_rts(qp, 0), -EINVAL);
	VT_EQUAL(t, vuhca_qp_to_state(qp, VUHCA_QP_STATE_INIT), -EINVAL);
	VT_EQUAL(t, vt_qp_state(qp), VUHCA_QP_STATE_RESET);
	VT_EQUAL(t, vuhca_qp_to_init(qp, 1, 0, 0), 0);
	VT_EQUAL(t, vuhca_qp_to_rts(qp, 0), -EINVAL);
	VT_EQUAL(t, vt_qp_state(qp), VUHCA_QP_STATE_INIT);
#undef VT_BAD_CHANGE
	VT_EQUAL(t, vuhca_destroy_qp(qp), 0);
}
