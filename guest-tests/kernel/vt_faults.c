// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Bad commands, bad keys, addresses with no memory behind them: each gets its
 * completion status and cause, is counted and recorded, and hurts nobody else.
 */

#include "vt.h"

static void vt_alive_at_last(struct vt *t)
{
	vt_clear_first_fault(t);
	vt_alive(t);
}

/* Posts @wr and expects it to fail; the QP's send queue stops. */
static void vt_send_fails(struct vt *t, struct vuhca_send_wr *wr,
			  enum vuhca_post_mode mode, u8 status, u8 fault)
{
	u32 faults = vt_fault_count(t, fault);
	struct vuhca_qp *qp = t->end[0].qp;
	struct vuhca_wc wc = {};

	vt_clear_first_fault(t);
	VT_EQUAL(t, vuhca_post_send(qp, wr, 1, mode), 1);
	VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_TIMEOUT_MS), 1);
	VT_EQUAL(t, wc.status, status);
	VT_EQUAL(t, wc.vendor_error, fault);
	VT_EQUAL(t, vt_fault_count(t, fault), faults + 1);
	vt_expect_first_fault(t, fault, qp->qpn);
	VT_EQUAL(t, vt_qp_state(qp), VUHCA_QP_STATE_SQE);
	/* What follows is flushed. */
	VT_EQUAL(t, vt_post_nops(qp, 1), 0);
	VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_TIMEOUT_MS), 1);
	VT_EQUAL(t, wc.status, VUHCA_COMPLETION_STATUS_FLUSHED);
	/* Back to work through RESET. */
	VT_EQUAL(t, vuhca_qp_to_state(qp, VUHCA_QP_STATE_RESET), 0);
	VT_EQUAL(t, vt_ready(qp, 1), 0);
}

static void vt_bad_opcode(struct vt *t)
{
	static const u8 opcodes[] = {
		VUHCA_SEND_OPCODE_RDMA_WRITE, VUHCA_SEND_OPCODE_RDMA_READ,
		VUHCA_SEND_OPCODE_FETCH_ADD, 0x55, 0xff,
	};
	struct vuhca_buffer buffer = vt_buffer(t, 0, 64);
	struct vuhca_send_wr wr = vt_send_wr(t, 0, 1, &buffer);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		wr.opcode = opcodes[i];
		vt_send_fails(t, &wr, i % 2 ? VUHCA_POST_COLLECT :
					      VUHCA_POST_DOORBELL,
			      VUHCA_COMPLETION_STATUS_LOCAL_QP_OPERATION_ERROR,
			      VUHCA_FAULT_KIND_COMMAND_OPCODE);
	}
	vt_alive_at_last(t);
}

static void vt_too_long(struct vt *t)
{
	struct vuhca_buffer buffer = vt_buffer(t, 0, t->mtu_bytes + 1);
	struct vuhca_send_wr wr = vt_send_wr(t, 0, 1, &buffer);

	vt_send_fails(t, &wr, VUHCA_POST_COLLECT,
		      VUHCA_COMPLETION_STATUS_LOCAL_LENGTH_ERROR,
		      VUHCA_FAULT_KIND_COMMAND_LENGTH);
	vt_alive_at_last(t);
}

static void vt_send_keys(struct vt *t)
{
	struct vuhca_buffer buffer = vt_buffer(t, 0, 64);
	struct vuhca_send_wr wr = vt_send_wr(t, 0, 1, &buffer);
	struct vuhca_pd *other = vuhca_alloc_pd(t->dev);
	struct vuhca_mr *mr;

	buffer.lkey = t->mr->lkey ^ 0xff;
	vt_send_fails(t, &wr, VUHCA_POST_COLLECT,
		      VUHCA_COMPLETION_STATUS_LOCAL_PROTECTION_ERROR,
		      VUHCA_FAULT_KIND_KEY_INVALID);
	VT_REQUIRE(t, !IS_ERR(other), "%pe", other);
	mr = vuhca_get_dma_mr(other, VUHCA_ACCESS_FLAG_LOCAL_WRITE);
	if (VT_CHECK(t, !IS_ERR(mr), "%pe", mr)) {
		buffer.lkey = mr->lkey;
		vt_send_fails(t, &wr, VUHCA_POST_DOORBELL,
			      VUHCA_COMPLETION_STATUS_LOCAL_PROTECTION_ERROR,
			      VUHCA_FAULT_KIND_KEY_PD);
		VT_EQUAL(t, vuhca_dereg_mr(mr), 0);
	}
	VT_EQUAL(t, vuhca_dealloc_pd(other), 0);
	vt_alive_at_last(t);
}

/* One byte before and one byte behind a region of a page. */
static void vt_send_bounds(struct vt *t)
{
	struct vuhca_buffer buffer = {};
	struct vuhca_send_wr wr = vt_send_wr(t, 0, 1, &buffer);
	struct vuhca_mr *mr;

	*(__le64 *)t->memory = cpu_to_le64(t->dma + PAGE_SIZE);
	mr = vuhca_reg_pages(t->pd, 0, 0x5000, PAGE_SIZE, t->dma, 1, PAGE_SHIFT);
	VT_REQUIRE(t, !IS_ERR(mr), "%pe", mr);
	buffer = (struct vuhca_buffer) { 0x4fff, 64, mr->lkey };
	vt_send_fails(t, &wr, VUHCA_POST_COLLECT,
		      VUHCA_COMPLETION_STATUS_LOCAL_PROTECTION_ERROR,
		      VUHCA_FAULT_KIND_KEY_BOUNDS);
	buffer.address = 0x5000 + PAGE_SIZE - 63;
	vt_send_fails(t, &wr, VUHCA_POST_COLLECT,
		      VUHCA_COMPLETION_STATUS_LOCAL_PROTECTION_ERROR,
		      VUHCA_FAULT_KIND_KEY_BOUNDS);
	VT_EQUAL(t, vuhca_dereg_mr(mr), 0);
	vt_alive_at_last(t);
}

/* Keys are right, but no memory is there. */
static void vt_send_hole(struct vt *t)
{
	struct vuhca_buffer pieces[2] = {
		{ VT_HOLE, 64, t->mr->lkey }, { VT_HOLE, 8, t->mr->lkey },
	};
	struct vuhca_send_wr wr = vt_send_wr(t, 0, 1, pieces);

	vt_send_fails(t, &wr, VUHCA_POST_COLLECT,
		      VUHCA_COMPLETION_STATUS_LOCAL_PROTECTION_ERROR,
		      VUHCA_FAULT_KIND_DMA_READ);
	/* Good memory first, then the hole. */
	pieces[0] = vt_buffer(t, 0, 64);
	wr.sge_count = 2;
	vt_send_fails(t, &wr, VUHCA_POST_DOORBELL,
		      VUHCA_COMPLETION_STATUS_LOCAL_PROTECTION_ERROR,
		      VUHCA_FAULT_KIND_DMA_READ);
	vt_alive_at_last(t);
}

static void vt_address_handles(struct vt *t)
{
	struct vuhca_buffer buffer = vt_buffer(t, 0, 64);
	struct vuhca_send_wr wr = vt_send_wr(t, 0, 1, &buffer);
	struct vuhca_address_handle *entry = vuhca_ah_entry(t->ah[0][1]);
	struct vuhca_address_handle good = *entry;
	u8 status = VUHCA_COMPLETION_STATUS_LOCAL_QP_OPERATION_ERROR;
	u8 fault = VUHCA_FAULT_KIND_ADDRESS_HANDLE;

	wr.ud.ah = t->dev->ahs.count;
	vt_send_fails(t, &wr, VUHCA_POST_COLLECT, status, fault);
	wr.ud.ah = t->ah[0][1]->index;
	vuhca_address_handle_set_valid(entry, 0);
	vt_send_fails(t, &wr, VUHCA_POST_COLLECT, status, fault);
	*entry = good;
	vuhca_address_handle_set_pd(entry, t->pd->pdn + 1);
	vt_send_fails(t, &wr, VUHCA_POST_COLLECT, status, fault);
	*entry = good;
	vuhca_address_handle_set_port(entry, 2);
	vt_send_fails(t, &wr, VUHCA_POST_COLLECT, status, fault);
	*entry = good;
	vt_roundtrip(t, 0, 1, 64, VUHCA_POST_COLLECT);
}

/* Posts a receive from @buffer and sends 100 bytes to it, which must fail. */
static void vt_receive_fails(struct vt *t, const struct vuhca_buffer *sge,
			     unsigned int sge_count, u8 status, u8 fault)
{
	struct vuhca_recv_wr recv = { .wr_id = 77, .sge = sge,
				      .sge_count = sge_count };
	struct vuhca_buffer buffer = vt_buffer(t, 0, 100);
	struct vuhca_send_wr wr = vt_send_wr(t, 0, 1, &buffer);
	struct vuhca_qp *qp = t->end[1].qp;
	struct vuhca_wc wc = {};
	u32 faults = vt_fault_count(t, fault);

	vt_clear_first_fault(t);
	VT_EQUAL(t, vuhca_post_recv(qp, &recv, 1), 1);
	VT_EQUAL(t, vuhca_post_send(t->end[0].qp, &wr, 1, VUHCA_POST_AUTO), 1);
	VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_TIMEOUT_MS), 1);
	VT_EQUAL(t, wc.status, VUHCA_COMPLETION_STATUS_SUCCESS);
	VT_EQUAL(t, vt_poll(t->recv_cq.cq, &wc, 1, VT_TIMEOUT_MS), 1);
	VT_EQUAL(t, wc.wr_id, 77);
	VT_EQUAL(t, wc.status, status);
	VT_EQUAL(t, wc.vendor_error, fault);
	VT_EQUAL(t, vt_fault_count(t, fault), faults + 1);
	vt_expect_first_fault(t, fault, qp->qpn);
	VT_EQUAL(t, vt_qp_state(qp), VUHCA_QP_STATE_ERR);
	VT_EQUAL(t, vuhca_qp_to_state(qp, VUHCA_QP_STATE_RESET), 0);
	VT_EQUAL(t, vt_ready(qp, 2), 0);
}

static void vt_receive_hole(struct vt *t)
{
	struct vuhca_buffer pieces[2] = {
		{ VT_HOLE, 512, t->mr->lkey }, { VT_HOLE, 512, t->mr->lkey },
	};

	vt_receive_fails(t, pieces, 1,
			 VUHCA_COMPLETION_STATUS_LOCAL_PROTECTION_ERROR,
			 VUHCA_FAULT_KIND_DMA_WRITE);
	pieces[0] = vt_buffer(t, 4096, 80);
	vt_receive_fails(t, pieces, 2,
			 VUHCA_COMPLETION_STATUS_LOCAL_PROTECTION_ERROR,
			 VUHCA_FAULT_KIND_DMA_WRITE);
	vt_alive_at_last(t);
}

static void vt_receive_short(struct vt *t)
{
	struct vuhca_buffer buffer = vt_buffer(t, 4096,
					       VUHCA_GRH_AREA_BYTES + 99);

	memset(t->memory + 4096, VT_POISON, 512);
	vt_receive_fails(t, &buffer, 1,
			 VUHCA_COMPLETION_STATUS_LOCAL_LENGTH_ERROR,
			 VUHCA_FAULT_KIND_RECEIVE_TOO_SHORT);
	VT_CHECK(t, vt_is_poison(t->memory + 4096, 512), "it was written to");
	vt_alive_at_last(t);
}

/* Readable is not writable. */
static void vt_receive_read_only(struct vt *t)
{
	struct vuhca_mr *mr = vuhca_get_dma_mr(t->pd, 0);
	struct vuhca_buffer buffer = vt_buffer(t, 4096, 512);

	VT_REQUIRE(t, !IS_ERR(mr), "%pe", mr);
	buffer.lkey = mr->lkey;
	memset(t->memory + 4096, VT_POISON, 512);
	vt_receive_fails(t, &buffer, 1,
			 VUHCA_COMPLETION_STATUS_LOCAL_PROTECTION_ERROR,
			 VUHCA_FAULT_KIND_KEY_ACCESS);
	VT_CHECK(t, vt_is_poison(t->memory + 4096, 512), "it was written to");
	VT_EQUAL(t, vuhca_dereg_mr(mr), 0);
	vt_alive_at_last(t);
}

/* A CQ somewhere where nothing is: the CQ fails, and the QP with it. */
static void vt_cq_hole(struct vt *t)
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
 * A QP whose memory is not there. What cannot be read or written is recorded;
 * the QP may fail, nobody else does.
 */
static void vt_qp_hole(struct vt *t)
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

		/* First the slots are missing, then the record, too. */
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

/* The answer of a command goes nowhere: it is done all the same, and counted. */
static void vt_response_hole(struct vt *t)
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
	wmb();
	VT_WAIT(t, vuhca_read_csr(t->dev, VUHCA_CSR_MANAGEMENT_COMMANDS_OFF) >
		   done);
	vuhca_write_csr(t->dev, VUHCA_CSR_DEDICATED_LOCK_OFF, 0);
	mutex_unlock(&admin->lock);
	VT_WAIT(t, vt_fault_count(t, VUHCA_FAULT_KIND_MANAGEMENT_RESPONSE) >
		   faults);
	vt_alive_at_last(t);
}

/* Doorbells for QPs that are not there, or have nothing to do. */
static void vt_bad_doorbells(struct vt *t)
{
	u32 faults = vt_fault_count(t, VUHCA_FAULT_KIND_COMMAND_BAD_QP);
	u32 idle = vuhca_read_csr(t->dev, VUHCA_CSR_DOORBELLS_IDLE_OFF);
	struct vuhca_qp ghost = { .dev = t->dev, .qpn = 0xabcdef };
	unsigned int i;

	vt_clear_first_fault(t);
	for (i = 0; i < 10; i++)
		vuhca_ring_doorbell(&ghost, i);
	VT_EQUAL(t, vt_fault_count(t, VUHCA_FAULT_KIND_COMMAND_BAD_QP),
		 faults + 10);
	vt_expect_first_fault(t, VUHCA_FAULT_KIND_COMMAND_BAD_QP, 0xabcdef);
	vuhca_ring_doorbell(t->end[0].qp, 0);
	VT_WAIT(t, vuhca_read_csr(t->dev, VUHCA_CSR_DOORBELLS_IDLE_OFF) > idle);
	vt_alive_at_last(t);
}

/* A tail that claims more than the queue holds. */
static void vt_wild_tail(struct vt *t)
{
	u32 faults = vt_fault_count(t, VUHCA_FAULT_KIND_DOORBELL_BEYOND_TAIL);
	struct vuhca_qp *qp = t->end[0].qp;
	struct vuhca_wc wc;

	WRITE_ONCE(qp->record->send_tail, cpu_to_le16(0x7000));
	wmb();
	vuhca_ring_doorbell(qp, 0);
	VT_WAIT(t, vt_fault_count(t, VUHCA_FAULT_KIND_DOORBELL_BEYOND_TAIL) >
		   faults);
	VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_QUIET_MS), 0);
	vt_alive_at_last(t);
}

static const struct vt_case vt_cases[] = {
	{ "opcode", vt_bad_opcode },
	{ "too-long", vt_too_long },
	{ "keys", vt_send_keys },
	{ "bounds", vt_send_bounds },
	{ "send-hole", vt_send_hole },
	{ "address-handle", vt_address_handles },
	{ "receive-hole", vt_receive_hole },
	{ "receive-short", vt_receive_short },
	{ "receive-read-only", vt_receive_read_only },
	{ "cq-hole", vt_cq_hole },
	{ "qp-hole", vt_qp_hole },
	{ "response-hole", vt_response_hole },
	{ "doorbells", vt_bad_doorbells },
	{ "wild-tail", vt_wild_tail },
};
VT_SUITE(faults, vt_cases);
