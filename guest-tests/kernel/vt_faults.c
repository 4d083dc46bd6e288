// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Bad commands, bad keys, addresses without memory: each gets its completion
 * status and cause, is counted and recorded, and affects no other object.
 */
#include "vt_faults.h"

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
	/* Later requests are flushed. */
	VT_EQUAL(t, vt_post_nops(qp, 1), 0);
	VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_TIMEOUT_MS), 1);
	VT_EQUAL(t, wc.status, VUHCA_COMPLETION_STATUS_FLUSHED);
	/* The QP works again after RESET. */
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

/* One byte before and one byte after a region of one page. */
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

/* The keys are right, but there is no memory. */
static void vt_send_hole(struct vt *t)
{
	struct vuhca_buffer pieces[2] = {
		{ VT_HOLE, 64, t->mr->lkey }, { VT_HOLE, 8, t->mr->lkey },
	};
	struct vuhca_send_wr wr = vt_send_wr(t, 0, 1, pieces);

	vt_send_fails(t, &wr, VUHCA_POST_COLLECT,
		      VUHCA_COMPLETION_STATUS_LOCAL_PROTECTION_ERROR,
		      VUHCA_FAULT_KIND_DMA_READ);
	/* Memory first, then an address without memory. */
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

/* Posts a receive of @sge and sends 100 bytes to it, which must fail. */
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
	VT_CHECK(t, vt_is_poison(t->memory + 4096, 512), "the memory changed");
	vt_alive_at_last(t);
}

/* A region without local write access takes no message. */
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
	VT_CHECK(t, vt_is_poison(t->memory + 4096, 512), "the memory changed");
	VT_EQUAL(t, vuhca_dereg_mr(mr), 0);
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
	{ "cq-hole", vt_fault_cq_hole },
	{ "qp-hole", vt_fault_qp_hole },
	{ "response-hole", vt_fault_response_hole },
	{ "doorbells", vt_fault_doorbells },
	{ "wild-tail", vt_fault_wild_tail },
};
VT_SUITE(faults, vt_cases);
