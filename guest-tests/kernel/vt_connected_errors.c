// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What connected QPs refuse, how each end is told, and that a pair is as good
 * as new after it was reset.
 */
#include <linux/slab.h>

#include "vt_pair.h"

#define VT_RC		VUHCA_SERVICE_TYPE_RC
#define VT_UC		VUHCA_SERVICE_TYPE_UC
#define VT_OK		VUHCA_COMPLETION_STATUS_SUCCESS
#define VT_BYTES	4096
#define VT_QUEUED	8

static const u8 vt_remote_opcodes[] = {
	VUHCA_SEND_OPCODE_RDMA_WRITE,	VUHCA_SEND_OPCODE_RDMA_READ,
	VUHCA_SEND_OPCODE_FETCH_ADD,	VUHCA_SEND_OPCODE_COMPARE_SWAP,
};

/* The right that each of them needs. */
static const u32 vt_rights[] = {
	VUHCA_ACCESS_FLAG_REMOTE_WRITE,	VUHCA_ACCESS_FLAG_REMOTE_READ,
	VUHCA_ACCESS_FLAG_REMOTE_ATOMIC, VUHCA_ACCESS_FLAG_REMOTE_ATOMIC,
};

static void vt_on_plain_pair(struct vt *t, vt_pair_test run)
{
	struct vt_pair_options options = { .path_mtu = 3 };

	vt_on_pair(t, &options, run);
}

/*
 * The request fails with @status, the responder is told by @event (or not at
 * all, 0), both are in error and neither area changed.
 */
static void vt_refused(struct vt_pair *pair, struct vt_areas *areas,
		       const struct vuhca_send_wr *wr, u8 status, u8 event)
{
	struct vt_end *peer = &pair->end[1];
	struct vt *t = pair->t;

	vt_fill(areas->bytes[0], VT_BYTES, wr->opcode);
	memset(areas->bytes[1], VT_POISON, VT_BYTES);
	atomic_set(&peer->events, 0);
	peer->last_event = 0;
	vt_do(pair, wr, status);
	VT_EQUAL(t, vt_qp_state(pair->end[0].qp), VUHCA_QP_STATE_ERR);
	if (event) {
		VT_WAIT(t, atomic_read(&peer->events));
		VT_EQUAL(t, peer->last_event, event);
		VT_EQUAL(t, vt_qp_state(peer->qp), VUHCA_QP_STATE_ERR);
	} else {
		VT_EQUAL(t, atomic_read(&peer->events), 0);
		VT_EQUAL(t, vt_qp_state(peer->qp), VUHCA_QP_STATE_RTS);
	}
	VT_CHECK(t, vt_holds(areas->bytes[0], VT_BYTES, wr->opcode),
		 "the sender's memory changed");
	VT_CHECK(t, vt_is_poison(areas->bytes[1], VT_BYTES),
		 "the responder's memory changed");
	VT_CHECK(t, vt_pair_works(pair, areas), "opcode %u", wr->opcode);
}

static struct vuhca_send_wr vt_request(struct vt_areas *areas, unsigned int i,
				       struct vuhca_buffer *here)
{
	bool atomic = vt_rights[i] == VUHCA_ACCESS_FLAG_REMOTE_ATOMIC;

	*here = vt_area_buffer(areas, 0, 0, atomic ? 8 : 3000);
	return vt_rdma_wr(areas, vt_remote_opcodes[i], here, 0);
}

/* Runs over all remote operations; @spoil makes each of them wrong. */
static void vt_each_refused(struct vt_pair *pair, struct vt_areas *areas,
			    void (*spoil)(struct vuhca_send_wr *wr,
					  struct vt_areas *areas))
{
	struct vuhca_buffer here;
	struct vuhca_send_wr wr;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(vt_remote_opcodes); i++) {
		wr = vt_request(areas, i, &here);
		spoil(&wr, areas);
		vt_refused(pair, areas, &wr,
			   VUHCA_COMPLETION_STATUS_REMOTE_ACCESS_ERROR,
			   VUHCA_EVENT_TYPE_QP_ACCESS_ERROR);
	}
}

static void vt_spoil_key_byte(struct vuhca_send_wr *wr, struct vt_areas *areas)
{
	wr->remote.rkey ^= 1;
}

static void vt_spoil_key(struct vuhca_send_wr *wr, struct vt_areas *areas)
{
	wr->remote.rkey ^= 0x40000000;
}

static void vt_spoil_address(struct vuhca_send_wr *wr, struct vt_areas *areas)
{
	/* The DMA region ends there. */
	wr->remote.address = VUHCA_DMA_MR_BYTES;
}

static void vt_bad_keys_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	vt_each_refused(pair, areas, vt_spoil_key_byte);
	vt_each_refused(pair, areas, vt_spoil_key);
	vt_each_refused(pair, areas, vt_spoil_address);
}

static void vt_bad_keys(struct vt *t)
{
	vt_on_plain_pair(t, vt_bad_keys_of_pair);
}

/* A region with all rights but the one needed. */
static void vt_rights_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	struct vt *t = pair->t;
	struct vuhca_buffer here;
	struct vuhca_send_wr wr;
	struct vuhca_mr *mr;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(vt_remote_opcodes); i++) {
		mr = vuhca_get_dma_mr(t->pd, VUHCA_ACCESS_FLAG_LOCAL_WRITE |
				      (VT_ALL_REMOTE & ~vt_rights[i]));
		VT_REQUIRE(t, !IS_ERR(mr), "%pe", mr);
		wr = vt_request(areas, i, &here);
		wr.remote.rkey = mr->rkey;
		vt_refused(pair, areas, &wr,
			   VUHCA_COMPLETION_STATUS_REMOTE_ACCESS_ERROR,
			   VUHCA_EVENT_TYPE_QP_ACCESS_ERROR);
		VT_EQUAL(t, vuhca_dereg_mr(mr), 0);
	}
}

static void vt_region_rights(struct vt *t)
{
	vt_on_plain_pair(t, vt_rights_of_pair);
}

/* A QP that serves all but the one needed: the request itself is invalid. */
static void vt_qp_rights(struct vt *t)
{
	struct vt_pair_options options = {};
	struct vt_areas areas;
	struct vt_pair pair;
	struct vuhca_buffer here;
	struct vuhca_send_wr wr;
	unsigned int i;

	VT_REQUIRE(t, vt_areas_create(t, &areas), "areas");
	for (i = 0; i < ARRAY_SIZE(vt_remote_opcodes); i++) {
		/* The right to write is what vt_pair_works() needs. */
		options.access = VT_ALL_REMOTE & ~vt_rights[i];
		if (vt_pair_create(t, &pair, &options)) {
			pair.options.access = VT_ALL_REMOTE;
			wr = vt_request(&areas, i, &here);
			vt_refused(&pair, &areas, &wr,
				   VUHCA_COMPLETION_STATUS_REMOTE_INVALID_REQUEST_ERROR,
				   VUHCA_EVENT_TYPE_QP_REQUEST_ERROR);
		}
		vt_pair_destroy(&pair);
	}
	vt_areas_destroy(t, &areas);
}

/* A paged region: every byte of it, and not one before or behind. */
static void vt_bounds_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	u64 start = 0x123400000800ULL;
	struct vuhca_buffer here = vt_area_buffer(areas, 0, 0, 6000);
	struct vuhca_send_wr wr = vt_rdma_wr(areas, VUHCA_SEND_OPCODE_RDMA_WRITE,
					     &here, 0);
	struct vt *t = pair->t;
	__le64 *list = (void *)t->memory;
	struct vuhca_mr *mr;

	/* The two pages of the region stand in memory the other way round. */
	list[0] = cpu_to_le64(areas->dma[1] + 8192);
	list[1] = cpu_to_le64(areas->dma[1] + 4096);
	mr = vuhca_reg_pages(t->pd, VUHCA_ACCESS_FLAG_LOCAL_WRITE |
			     VT_ALL_REMOTE, start, 6000, t->dma, 2, 12);
	VT_REQUIRE(t, !IS_ERR(mr), "%pe", mr);
	wr.remote.rkey = mr->rkey;
	wr.remote.address = start;
	memset(areas->bytes[1], VT_POISON, 16384);
	vt_fill(areas->bytes[0], 6000, 5);
	vt_do(pair, &wr, VT_OK);
	/* 2048 bytes to the end of the first page, the rest in the second. */
	VT_CHECK(t, !memcmp(areas->bytes[1] + 8192 + 2048, areas->bytes[0], 2048),
		 "first page");
	VT_CHECK(t, !memcmp(areas->bytes[1] + 4096, areas->bytes[0] + 2048, 3952),
		 "second page");
	VT_CHECK(t, vt_is_poison(areas->bytes[1], 4096) &&
		 vt_is_poison(areas->bytes[1] + 4096 + 3952, 144) &&
		 vt_is_poison(areas->bytes[1] + 8192, 2048) &&
		 vt_is_poison(areas->bytes[1] + 12288, 4096), "ran over");
	wr.remote.address = start + 1;
	vt_refused(pair, areas, &wr, VUHCA_COMPLETION_STATUS_REMOTE_ACCESS_ERROR,
		   VUHCA_EVENT_TYPE_QP_ACCESS_ERROR);
	wr.remote.address = start - 1;
	vt_refused(pair, areas, &wr, VUHCA_COMPLETION_STATUS_REMOTE_ACCESS_ERROR,
		   VUHCA_EVENT_TYPE_QP_ACCESS_ERROR);
	wr.opcode = VUHCA_SEND_OPCODE_RDMA_READ;
	vt_refused(pair, areas, &wr, VUHCA_COMPLETION_STATUS_REMOTE_ACCESS_ERROR,
		   VUHCA_EVENT_TYPE_QP_ACCESS_ERROR);
	VT_EQUAL(t, vuhca_dereg_mr(mr), 0);
}

static void vt_bounds(struct vt *t)
{
	vt_on_plain_pair(t, vt_bounds_of_pair);
}

static void vt_misaligned_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	struct vuhca_buffer here;
	struct vuhca_send_wr wr = vt_request(areas, 2, &here);

	wr.remote.address += 4;
	vt_refused(pair, areas, &wr,
		   VUHCA_COMPLETION_STATUS_REMOTE_INVALID_REQUEST_ERROR,
		   VUHCA_EVENT_TYPE_QP_REQUEST_ERROR);
}

static void vt_misaligned(struct vt *t)
{
	vt_on_plain_pair(t, vt_misaligned_of_pair);
}

/* What is wrong at the sender never leaves it: the peer stays as it is. */
static void vt_local_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	struct vuhca_buffer here;
	struct vuhca_send_wr wr;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(vt_remote_opcodes); i++) {
		wr = vt_request(areas, i, &here);
		here.lkey ^= 1;
		vt_refused(pair, areas, &wr,
			   VUHCA_COMPLETION_STATUS_LOCAL_PROTECTION_ERROR, 0);
	}
	/* An atomic brings back eight bytes, into one place. */
	wr = vt_request(areas, 2, &here);
	here.length = 16;
	vt_refused(pair, areas, &wr,
		   VUHCA_COMPLETION_STATUS_LOCAL_QP_OPERATION_ERROR, 0);
	wr.opcode = 0x7f;
	vt_refused(pair, areas, &wr,
		   VUHCA_COMPLETION_STATUS_LOCAL_QP_OPERATION_ERROR, 0);
}

static void vt_local(struct vt *t)
{
	vt_on_plain_pair(t, vt_local_of_pair);
}

static void vt_uc_opcodes_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	struct vuhca_buffer here;
	struct vuhca_send_wr wr;
	unsigned int i;

	for (i = 1; i < ARRAY_SIZE(vt_remote_opcodes); i++) {
		wr = vt_request(areas, i, &here);
		vt_do(pair, &wr, VUHCA_COMPLETION_STATUS_LOCAL_QP_OPERATION_ERROR);
		vt_pair_works(pair, areas);
	}
}

/* READs and atomics are no operations of UC, nor is any RDMA one of UD. */
static void vt_opcodes(struct vt *t)
{
	struct vt_pair_options options = { .service = VT_UC };
	struct vuhca_buffer buffer = vt_buffer(t, 0, 8);
	struct vuhca_send_wr wr;
	struct vuhca_wc wc;
	unsigned int i;

	vt_on_pair(t, &options, vt_uc_opcodes_of_pair);
	for (i = 0; i < ARRAY_SIZE(vt_remote_opcodes); i++) {
		wr = vt_send_wr(t, 0, 1, &buffer);
		wr.opcode = vt_remote_opcodes[i];
		VT_EQUAL(t, vuhca_post_send(t->end[0].qp, &wr, 1,
					    VUHCA_POST_AUTO), 1);
		vt_completes(t, t->send_cq.cq,
			     VUHCA_COMPLETION_STATUS_LOCAL_QP_OPERATION_ERROR, &wc);
		VT_EQUAL(t, wc.vendor_error, VUHCA_FAULT_KIND_COMMAND_OPCODE);
		VT_EQUAL(t, vuhca_qp_to_state(t->end[0].qp,
					      VUHCA_QP_STATE_RESET), 0);
		VT_EQUAL(t, vt_ready(t->end[0].qp, 1), 0);
	}
}

/* Nobody tells a UC sender; the responder drops the message and goes on. */
static void vt_unreliable_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	struct vuhca_buffer here;
	struct vuhca_send_wr wr = vt_request(areas, 0, &here);
	struct vt *t = pair->t;

	memset(areas->bytes[1], VT_POISON, VT_BYTES);
	wr.remote.rkey ^= 1;
	vt_do(pair, &wr, VT_OK);
	/* No receive entry: lost as well. */
	wr.opcode = VUHCA_SEND_OPCODE_SEND;
	vt_do(pair, &wr, VT_OK);
	msleep(VT_QUIET_MS);
	VT_CHECK(t, vt_is_poison(areas->bytes[1], VT_BYTES), "memory changed");
	VT_EQUAL(t, vt_qp_state(pair->end[1].qp), VUHCA_QP_STATE_RTS);
	VT_EQUAL(t, atomic_read(&pair->end[1].events), 0);
	VT_CHECK(t, vt_pair_transfer(pair, areas, VUHCA_SEND_OPCODE_SEND, 5000,
				     VUHCA_POST_AUTO), "the next message");
}

static void vt_unreliable(struct vt *t)
{
	struct vt_pair_options options = { .service = VT_UC, .path_mtu = 3 };

	vt_on_pair(t, &options, vt_unreliable_of_pair);
}

/* A message longer than its receive entry fails at both ends. */
static void vt_too_long_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	struct vuhca_buffer here = vt_area_buffer(areas, 0, 0, 3000);
	struct vuhca_buffer there = vt_area_buffer(areas, 1, 0, 2999);
	struct vuhca_send_wr wr = vt_rdma_wr(areas, VUHCA_SEND_OPCODE_SEND,
					     &here, 0);
	struct vt *t = pair->t;
	struct vuhca_wc wc;

	memset(areas->bytes[1], VT_POISON, VT_BYTES);
	VT_EQUAL(t, vt_pair_receive(pair, 1, &there, 0), 0);
	vt_do(pair, &wr, VUHCA_COMPLETION_STATUS_REMOTE_INVALID_REQUEST_ERROR);
	vt_completes(t, t->recv_cq.cq,
		     VUHCA_COMPLETION_STATUS_LOCAL_LENGTH_ERROR, &wc);
	VT_CHECK(t, vt_is_poison(areas->bytes[1] + 2999, 64), "ran over");
	vt_pair_works(pair, areas);
	/* Memory that the receiver itself may not use. */
	there.lkey ^= 1;
	VT_EQUAL(t, vt_pair_receive(pair, 1, &there, 0), 0);
	vt_do(pair, &wr, VUHCA_COMPLETION_STATUS_REMOTE_OPERATION_ERROR);
	vt_completes(t, t->recv_cq.cq,
		     VUHCA_COMPLETION_STATUS_LOCAL_PROTECTION_ERROR, &wc);
	vt_pair_works(pair, areas);
}

static void vt_bad_receives(struct vt *t)
{
	vt_on_plain_pair(t, vt_too_long_of_pair);
}

/* Expects the first of VT_QUEUED sends to fail so, and the rest flushed. */
static void vt_first_fails(struct vt_pair *pair, struct vt_areas *areas,
			   u8 status)
{
	struct vuhca_buffer here = vt_area_buffer(areas, 0, 0, 100);
	struct vuhca_send_wr wr = vt_rdma_wr(areas, VUHCA_SEND_OPCODE_SEND,
					     &here, 0);
	struct vt *t = pair->t;
	struct vuhca_wc wc;
	unsigned int i;

	for (i = 0; i < VT_QUEUED; i++) {
		wr.wr_id = i;
		vt_post(pair, 0, &wr);
	}
	for (i = 0; i < VT_QUEUED; i++) {
		if (!vt_completes(t, t->send_cq.cq, i ?
				  VUHCA_COMPLETION_STATUS_FLUSHED : status, &wc))
			return;
		VT_EQUAL(t, wc.wr_id, i);
	}
	VT_EQUAL(t, vt_qp_state(pair->end[0].qp), VUHCA_QP_STATE_ERR);
	pair->options.nowhere = 0;
	vt_pair_works(pair, areas);
}

static void vt_nobody_there(struct vt_pair *pair, struct vt_areas *areas)
{
	vt_first_fails(pair, areas, VUHCA_COMPLETION_STATUS_RETRY_EXCEEDED);
}

static void vt_retry_exceeded(struct vt *t)
{
	/* 3 attempts of 4 ms each. */
	struct vt_pair_options options = {
		.nowhere = 0xabcdef, .timeout = 10, .retry_count = 2,
	};

	vt_on_pair(t, &options, vt_nobody_there);
}

static void vt_never_ready(struct vt_pair *pair, struct vt_areas *areas)
{
	vt_first_fails(pair, areas, VUHCA_COMPLETION_STATUS_RNR_RETRY_EXCEEDED);
}

static void vt_rnr_exceeded(struct vt *t)
{
	struct vt_pair_options options = { .rnr_retry = 3 };

	vt_on_pair(t, &options, vt_never_ready);
}

static const struct vt_case vt_cases[] = {
	{ "bad-keys", vt_bad_keys },
	{ "region-rights", vt_region_rights },
	{ "qp-rights", vt_qp_rights },
	{ "bounds", vt_bounds },
	{ "misaligned-atomic", vt_misaligned },
	{ "local", vt_local },
	{ "opcodes", vt_opcodes },
	{ "unreliable", vt_unreliable },
	{ "bad-receives", vt_bad_receives },
	{ "retry-exceeded", vt_retry_exceeded },
	{ "rnr-exceeded", vt_rnr_exceeded },
};
VT_SUITE(connected_errors, vt_cases);
