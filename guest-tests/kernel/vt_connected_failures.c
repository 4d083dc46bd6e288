// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Requests of connected QPs that fail at their sender, for want of a receive
 * entry, or because the peer does not answer.
 */
#include "vt_connected.h"

#define VT_UC		VUHCA_SERVICE_TYPE_UC
#define VT_OK		VUHCA_COMPLETION_STATUS_SUCCESS
#define VT_BAD_REQUEST	VUHCA_COMPLETION_STATUS_LOCAL_QP_OPERATION_ERROR
#define VT_PROTECTION	VUHCA_COMPLETION_STATUS_LOCAL_PROTECTION_ERROR
#define VT_BYTES	4096
#define VT_QUEUED	8

/*
 * A request that is wrong at the sender never leaves it: the peer is
 * unaffected.
 */
static void vt_local_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	struct vuhca_buffer here;
	struct vuhca_send_wr wr;
	unsigned int i;

	for (i = 0; i < VT_REMOTE_OPCODES; i++) {
		wr = vt_remote_request(areas, i, &here);
		here.lkey ^= 1;
		vt_pair_refuses(pair, areas, &wr, VT_PROTECTION, 0);
	}
	/* An atomic returns eight bytes into one SGE. */
	wr = vt_remote_request(areas, 2, &here);
	here.length = 16;
	vt_pair_refuses(pair, areas, &wr, VT_BAD_REQUEST, 0);
	wr.opcode = 0x7f;
	vt_pair_refuses(pair, areas, &wr, VT_BAD_REQUEST, 0);
}

void vt_connected_local(struct vt *t)
{
	vt_on_plain_pair(t, vt_local_of_pair);
}

static void vt_uc_opcodes_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	struct vuhca_buffer here;
	struct vuhca_send_wr wr;
	unsigned int i;

	for (i = 1; i < VT_REMOTE_OPCODES; i++) {
		wr = vt_remote_request(areas, i, &here);
		vt_do(pair, &wr, VT_BAD_REQUEST);
		vt_pair_works(pair, areas);
	}
}

/* UC has no READs and atomics; UD has no RDMA operations. */
void vt_connected_opcodes(struct vt *t)
{
	struct vt_pair_options options = { .service = VT_UC };
	struct vuhca_buffer buffer = vt_buffer(t, 0, 8);
	struct vuhca_send_wr wr;
	struct vuhca_wc wc;
	unsigned int i;

	vt_on_pair(t, &options, vt_uc_opcodes_of_pair);
	for (i = 0; i < VT_REMOTE_OPCODES; i++) {
		wr = vt_send_wr(t, 0, 1, &buffer);
		wr.opcode = vt_remote_opcodes[i];
		VT_EQUAL(t, vuhca_post_send(t->end[0].qp, &wr, 1,
					    VUHCA_POST_AUTO), 1);
		vt_completes(t, t->send_cq.cq, VT_BAD_REQUEST, &wc);
		VT_EQUAL(t, wc.vendor_error, VUHCA_FAULT_KIND_COMMAND_OPCODE);
		VT_EQUAL(t, vuhca_qp_to_state(t->end[0].qp,
					      VUHCA_QP_STATE_RESET), 0);
		VT_EQUAL(t, vt_ready(t->end[0].qp, 1), 0);
	}
}

/* A UC sender gets no error; the responder drops the message and continues. */
static void vt_unreliable_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	struct vuhca_buffer here;
	struct vuhca_send_wr wr = vt_remote_request(areas, 0, &here);
	struct vt *t = pair->t;

	memset(areas->bytes[1], VT_POISON, VT_BYTES);
	wr.remote.rkey ^= 1;
	vt_do(pair, &wr, VT_OK);
	/* Without a receive entry the message is lost as well. */
	wr.opcode = VUHCA_SEND_OPCODE_SEND;
	vt_do(pair, &wr, VT_OK);
	msleep(VT_QUIET_MS);
	VT_CHECK(t, vt_is_poison(areas->bytes[1], VT_BYTES), "memory changed");
	VT_EQUAL(t, vt_qp_state(pair->end[1].qp), VUHCA_QP_STATE_RTS);
	VT_EQUAL(t, atomic_read(&pair->end[1].events), 0);
	VT_CHECK(t, vt_pair_transfer(pair, areas, VUHCA_SEND_OPCODE_SEND, 5000,
				     VUHCA_POST_AUTO), "the next message");
}

void vt_connected_unreliable(struct vt *t)
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
	/* The receiver itself has no access to this memory. */
	there.lkey ^= 1;
	VT_EQUAL(t, vt_pair_receive(pair, 1, &there, 0), 0);
	vt_do(pair, &wr, VUHCA_COMPLETION_STATUS_REMOTE_OPERATION_ERROR);
	vt_completes(t, t->recv_cq.cq, VT_PROTECTION, &wc);
	vt_pair_works(pair, areas);
}

void vt_connected_bad_receives(struct vt *t)
{
	vt_on_plain_pair(t, vt_too_long_of_pair);
}

/*
 * Expects the first of VT_QUEUED sends to fail with @status, the rest flushed.
 */
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
	/* Only the failure is to come fast. */
	pair->options.nowhere = 0;
	pair->options.timeout = VT_TIMEOUT_CODE;
	pair->options.retry_count = 7;
	vt_pair_works(pair, areas);
}

static void vt_no_peer(struct vt_pair *pair, struct vt_areas *areas)
{
	vt_first_fails(pair, areas, VUHCA_COMPLETION_STATUS_RETRY_EXCEEDED);
}

void vt_connected_retry_exceeded(struct vt *t)
{
	/* 3 attempts of 4 ms each. */
	struct vt_pair_options options = {
		.nowhere = VT_ABSENT, .timeout = 10, .retry_count = 2,
	};

	vt_on_pair(t, &options, vt_no_peer);
}

static void vt_never_ready(struct vt_pair *pair, struct vt_areas *areas)
{
	vt_first_fails(pair, areas, VUHCA_COMPLETION_STATUS_RNR_RETRY_EXCEEDED);
}

void vt_connected_rnr_exceeded(struct vt *t)
{
	struct vt_pair_options options = { .rnr_retry = 3 };

	vt_on_pair(t, &options, vt_never_ready);
}
