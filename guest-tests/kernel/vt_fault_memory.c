// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Queues, records and answers at addresses without memory, and doorbells and
 * tails that name no work: the fault is counted and recorded, other objects are
 * not affected.
 */
#include "vt_faults.h"

void vt_alive_at_last(struct vt *t)
{
	vt_clear_first_fault(t);
	vt_alive(t);
}

/* A CQ at an address without memory: the CQ fails, and its QP with it. */
void vt_fault_cq_hole(struct vt *t)
{
	struct vuhca_cq_attributes attributes = {
		.queue_address = cpu_to_le64(VT_HOLE),
		.record_address = cpu_to_le64(VT_HOLE),
	};
	struct vuhca_answer answer;

	vuhca_cq_attributes_set_entries_log2(&attributes, 4);
	vuhca_cq_attributes_set_event_queue(&attributes, t->dev->eqs[1].eqn);
	vt_command(t, VUHCA_MANAGEMENT_OPCODE_CREATE_CQ, 0, &attributes,
		   sizeof(attributes), &answer);
	if (answer.status == VUHCA_MANAGEMENT_STATUS_OK) {
		u32 real = t->send_cq.cq->cqn;
		struct vt_qp_options options = { .port = 1 };
		struct vuhca_qp *qp;

		t->send_cq.cq->cqn = answer.object;
		qp = vt_create_qp(t, NULL, &options);
		t->send_cq.cq->cqn = real;
		if (qp) {
			VT_EQUAL(t, vt_post_nops(qp, 1), 0);
			VT_WAIT(t, vt_qp_state(qp) == VUHCA_QP_STATE_ERR);
			VT_EQUAL(t, vuhca_destroy_qp(qp), 0);
		}
		vt_command(t, VUHCA_MANAGEMENT_OPCODE_DESTROY_CQ, answer.object,
			   NULL, 0, &answer);
		VT_EQUAL(t, answer.status, VUHCA_MANAGEMENT_STATUS_OK);
	} else {
		VT_EQUAL(t, answer.status, VUHCA_MANAGEMENT_STATUS_BAD_ADDRESS);
	}
	vt_alive_at_last(t);
}

/*
 * A QP at addresses without memory. Failed reads and writes are recorded; the
 * QP may fail, other QPs do not.
 */
void vt_fault_qp_hole(struct vt *t)
{
	struct vuhca_qp_creation creation = {
		.send_queue_address = cpu_to_le64(VT_HOLE),
		.receive_queue_address = cpu_to_le64(VT_HOLE + 0x10000),
		.record_address = cpu_to_le64(t->dma),
		.send_entries_log2 = 4,
		.send_stride_log2 = 6,
		.receive_entries_log2 = 4,
		.receive_stride_log2 = 5,
	};
	struct vuhca_queue_pair_record *record = (void *)t->memory;
	struct vuhca_qp ghost = { .dev = t->dev };
	struct vuhca_answer answer;
	unsigned int round;

	vuhca_qp_creation_set_pd(&creation, t->pd->pdn);
	vuhca_qp_creation_set_service_type(&creation, VUHCA_SERVICE_TYPE_UD);
	vuhca_qp_creation_set_send_cq(&creation, t->send_cq.cq->cqn);
	vuhca_qp_creation_set_receive_cq(&creation, t->recv_cq.cq->cqn);
	memset(record, 0, sizeof(*record));
	creation.descriptor_address = cpu_to_le64(VT_HOLE + 0x30000);
	vt_command(t, VUHCA_MANAGEMENT_OPCODE_CREATE_QP, 0, &creation,
		   sizeof(creation), &answer);
	VT_EQUAL(t, answer.status, VUHCA_MANAGEMENT_STATUS_BAD_ADDRESS);
	creation.descriptor_address = cpu_to_le64(t->dma + 64);
	for (round = 0; round < 2; round++) {
		u32 faults = vt_fault_count(t, VUHCA_FAULT_KIND_DMA_READ);

		/* First the slots are missing, then the record as well. */
		if (round)
			creation.record_address = cpu_to_le64(VT_HOLE + 0x20000);
		vt_command(t, VUHCA_MANAGEMENT_OPCODE_CREATE_QP, 0, &creation,
			   sizeof(creation), &answer);
		if (!VT_EQUAL(t, answer.status, VUHCA_MANAGEMENT_STATUS_OK))
			break;
		ghost.qpn = answer.object;
		ghost.generation = t->dev->generation;
		VT_EQUAL(t, vt_ready(&ghost, 1), 0);
		record->send_tail = cpu_to_le16(2);
		record->receive_tail = cpu_to_le16(2);
		/* Write the tails before the doorbell. */
		wmb();
		vuhca_ring_doorbell(&ghost, 0);
		VT_WAIT(t, vt_fault_count(t, VUHCA_FAULT_KIND_DMA_READ) > faults);
		vt_command(t, VUHCA_MANAGEMENT_OPCODE_DESTROY_QP, ghost.qpn,
			   NULL, 0, &answer);
		VT_EQUAL(t, answer.status, VUHCA_MANAGEMENT_STATUS_OK);
		memset(record, 0, sizeof(*record));
	}
	vt_alive_at_last(t);
}

/* A command whose answer cannot be written is executed and counted. */
void vt_fault_response_hole(struct vt *t)
{
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_QUERY_ADAPTER,
	};
	struct vuhca_admin *admin = &t->dev->admin;
	u32 faults = vt_fault_count(t, VUHCA_FAULT_KIND_MANAGEMENT_RESPONSE);
	u32 done = vuhca_read_csr(t->dev, VUHCA_CSR_MANAGEMENT_COMMANDS_OFF);
	struct vuhca_management_command *header = (void *)admin->command;
	size_t length;

	mutex_lock(&admin->lock);
	length = vuhca_admin_prepare(t->dev, &command, header);
	header->response_address = cpu_to_le64(VT_HOLE);
	vuhca_management_command_set_notify(header, 0);
	vuhca_admin_seal(header, length);
	VT_EQUAL(t, vuhca_read_csr(t->dev, VUHCA_CSR_DEDICATED_LOCK_OFF), 1);
	__iowrite64_copy(t->dev->dedicated, header, length / 8);
	vt_drain_stores();
	VT_WAIT(t, vuhca_read_csr(t->dev, VUHCA_CSR_MANAGEMENT_COMMANDS_OFF) >
		   done);
	vuhca_write_csr(t->dev, VUHCA_CSR_DEDICATED_LOCK_OFF, 0);
	mutex_unlock(&admin->lock);
	VT_WAIT(t, vt_fault_count(t, VUHCA_FAULT_KIND_MANAGEMENT_RESPONSE) >
		   faults);
	vt_alive_at_last(t);
}

/* Doorbells for QPs that do not exist or have no work. */
void vt_fault_doorbells(struct vt *t)
{
	u32 faults = vt_fault_count(t, VUHCA_FAULT_KIND_COMMAND_BAD_QP);
	u32 idle = vuhca_read_csr(t->dev, VUHCA_CSR_DOORBELLS_IDLE_OFF);
	struct vuhca_qp ghost = { .dev = t->dev, .qpn = VT_ABSENT };
	unsigned int i;

	vt_clear_first_fault(t);
	for (i = 0; i < 10; i++)
		vuhca_ring_doorbell(&ghost, i);
	VT_EQUAL(t, vt_fault_count(t, VUHCA_FAULT_KIND_COMMAND_BAD_QP),
		 faults + 10);
	vt_expect_first_fault(t, VUHCA_FAULT_KIND_COMMAND_BAD_QP, VT_ABSENT);
	vuhca_ring_doorbell(t->end[0].qp, 0);
	VT_WAIT(t, vuhca_read_csr(t->dev, VUHCA_CSR_DOORBELLS_IDLE_OFF) > idle);
	vt_alive_at_last(t);
}

/* A tail that announces more WQEs than the queue holds. */
void vt_fault_wild_tail(struct vt *t)
{
	u32 faults = vt_fault_count(t, VUHCA_FAULT_KIND_DOORBELL_BEYOND_TAIL);
	struct vuhca_qp *qp = t->end[0].qp;
	struct vuhca_wc wc;

	WRITE_ONCE(qp->record->send_tail, cpu_to_le16(0x7000));
	/* Write the tail before the doorbell. */
	wmb();
	vuhca_ring_doorbell(qp, 0);
	VT_WAIT(t, vt_fault_count(t, VUHCA_FAULT_KIND_DOORBELL_BEYOND_TAIL) >
		   faults);
	VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_QUIET_MS), 0);
	vt_alive_at_last(t);
}
