// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Traffic between two guests on two adapters. Both run each case at the same
 * time; most cases run twice, with the roles exchanged.
 */
#include "vt_peer.h"

#define VT_OK		VUHCA_COMPLETION_STATUS_SUCCESS
#define VT_UC		VUHCA_SERVICE_TYPE_UC
#define VT_UD		VUHCA_SERVICE_TYPE_UD
#define VT_CELL		0
#define VT_FOUND	64
#define VT_ADDS		50
#define VT_BYTES	5000
#define VT_ROUND	400

static const u32 vt_sizes[] = { 0, 1, 4095, 4096, 4097, 60001 };

/* Each size by each of the operations, in both directions. */
static void vt_each_size(struct vt_peer *peer, const u8 *opcodes,
			 unsigned int count)
{
	unsigned int asker, i, j;

	for (asker = 0; asker < 2; asker++)
		for (i = 0; i < ARRAY_SIZE(vt_sizes); i++)
			for (j = 0; j < count; j++)
				if (!vt_peer_transfer(peer, asker, opcodes[j],
						      vt_sizes[i]))
					return;
}

static void vt_send_of_peer(struct vt_peer *peer)
{
	static const u8 opcodes[] = { VUHCA_SEND_OPCODE_SEND,
				      VUHCA_SEND_OPCODE_SEND_IMMEDIATE };

	vt_each_size(peer, opcodes, ARRAY_SIZE(opcodes));
}

static void vt_rdma_of_peer(struct vt_peer *peer)
{
	static const u8 opcodes[] = { VUHCA_SEND_OPCODE_RDMA_WRITE,
				      VUHCA_SEND_OPCODE_RDMA_WRITE_IMMEDIATE,
				      VUHCA_SEND_OPCODE_RDMA_READ };

	vt_each_size(peer, opcodes, ARRAY_SIZE(opcodes));
}

static void vt_unreliable_of_peer(struct vt_peer *peer)
{
	static const u8 opcodes[] = { VUHCA_SEND_OPCODE_SEND,
				      VUHCA_SEND_OPCODE_RDMA_WRITE };

	vt_each_size(peer, opcodes, ARRAY_SIZE(opcodes));
}

/* Executes an atomic on the other side's memory and returns the old value. */
static u64 vt_peer_atomic(struct vt_peer *peer, u8 opcode, u64 swap_or_add,
			  u64 compare)
{
	struct vuhca_buffer here = vt_peer_buffer(peer, VT_FOUND, 8);
	struct vuhca_send_wr wr = vt_peer_wr(peer, opcode, &here, 0);
	struct vt *t = peer->t;
	struct vuhca_wc wc;

	wr.atomic.swap_or_add = swap_or_add;
	wr.atomic.compare = compare;
	if (!vt_peer_post(peer, &wr) ||
	    !vt_completes(t, t->send_cq.cq, VT_OK, &wc))
		return U64_MAX;
	return get_unaligned_le64(t->memory + VT_FOUND);
}

/* Both add to each other's memory at the same time, then swap it. */
static void vt_atomics_of_peer(struct vt_peer *peer)
{
	const u64 step = (1ULL << 32) + 1, other = 0x0123456789abcdefULL;
	struct vt *t = peer->t;
	u8 *cell = t->memory + VT_CELL;
	u64 i;

	put_unaligned_le64(0, cell);
	vt_sync(peer);
	for (i = 0; i < VT_ADDS; i++)
		VT_EQUAL(t, vt_peer_atomic(peer, VUHCA_SEND_OPCODE_FETCH_ADD,
					   step, 0), i * step);
	vt_sync(peer);
	VT_EQUAL(t, get_unaligned_le64(cell), VT_ADDS * step);
	vt_sync(peer);
	VT_EQUAL(t, vt_peer_atomic(peer, VUHCA_SEND_OPCODE_COMPARE_SWAP, 1,
				   step), VT_ADDS * step);
	VT_EQUAL(t, vt_peer_atomic(peer, VUHCA_SEND_OPCODE_COMPARE_SWAP,
				   other + peer->side, VT_ADDS * step),
		 VT_ADDS * step);
	vt_sync(peer);
	VT_EQUAL(t, get_unaligned_le64(cell), other + !peer->side);
}

static bool vt_peer_works(struct vt_peer *peer)
{
	return vt_peer_connect(peer) &&
	       vt_peer_transfer(peer, 0, VUHCA_SEND_OPCODE_SEND, VT_BYTES) &&
	       vt_peer_transfer(peer, 1, VUHCA_SEND_OPCODE_RDMA_WRITE, VT_BYTES);
}

/*
 * Side @asker uses an invalid key: the request is refused and no memory
 * changes.
 */
static void vt_bad_key(struct vt_peer *peer, unsigned int asker, u8 opcode)
{
	bool atomic = opcode == VUHCA_SEND_OPCODE_FETCH_ADD;
	struct vuhca_buffer here = vt_peer_buffer(peer, 0, atomic ? 8 : VT_BYTES);
	struct vuhca_send_wr wr = vt_peer_wr(peer, opcode, &here, 0);
	struct vt *t = peer->t;
	struct vuhca_wc wc;

	wr.remote.rkey ^= 1;
	memset(t->memory, VT_POISON, VT_BYTES);
	vt_sync(peer);
	if (peer->side == asker) {
		if (vt_peer_post(peer, &wr))
			vt_completes(t, t->send_cq.cq,
				     VUHCA_COMPLETION_STATUS_REMOTE_ACCESS_ERROR,
				     &wc);
	} else {
		VT_WAIT(t, atomic_read(&peer->end.events));
		VT_EQUAL(t, peer->end.last_event, VUHCA_EVENT_TYPE_QP_ACCESS_ERROR);
	}
	VT_EQUAL(t, vt_qp_state(peer->qp), VUHCA_QP_STATE_ERR);
	vt_sync(peer);
	VT_CHECK(t, vt_is_poison(t->memory, VT_BYTES), "memory changed");
	atomic_set(&peer->end.events, 0);
	VT_CHECK(t, vt_peer_works(peer), "after opcode %u", opcode);
}

static void vt_bad_keys_of_peer(struct vt_peer *peer)
{
	unsigned int asker;

	for (asker = 0; asker < 2; asker++) {
		vt_bad_key(peer, asker, VUHCA_SEND_OPCODE_RDMA_WRITE);
		vt_bad_key(peer, asker, VUHCA_SEND_OPCODE_RDMA_READ);
		vt_bad_key(peer, asker, VUHCA_SEND_OPCODE_FETCH_ADD);
	}
}

/*
 * A message waits without a receive entry; the entry is posted while it is
 * under way.
 */
static void vt_late_receive(struct vt_peer *peer, unsigned int asker)
{
	struct vuhca_buffer here = vt_peer_buffer(peer, 0, VT_BYTES);
	struct vuhca_send_wr wr = vt_peer_wr(peer, VUHCA_SEND_OPCODE_SEND, &here,
					     7);
	bool asks = peer->side == asker;
	struct vt *t = peer->t;
	struct vuhca_wc wc;

	if (asks)
		vt_fill(t->memory, VT_BYTES, asker);
	else
		memset(t->memory, VT_POISON, VT_BYTES);
	vt_sync(peer);
	if (asks && vt_peer_post(peer, &wr))
		VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_QUIET_MS), 0);
	vt_sync(peer);
	if (!asks)
		vt_peer_receive(peer, &here, 7);
	vt_completes(t, asks ? t->send_cq.cq : t->recv_cq.cq, VT_OK, &wc);
	VT_EQUAL(t, wc.wr_id, 7);
	VT_CHECK(t, vt_holds(t->memory, VT_BYTES, asker), "payload");
	vt_sync(peer);
}

/* Expects that a send fails with @status while the other side does nothing. */
static void vt_send_fails(struct vt_peer *peer, unsigned int asker, u8 status)
{
	struct vuhca_buffer here = vt_peer_buffer(peer, 0, VT_BYTES);
	struct vuhca_send_wr wr = vt_peer_wr(peer, VUHCA_SEND_OPCODE_SEND, &here,
					     0);
	struct vt *t = peer->t;
	struct vuhca_wc wc;

	vt_sync(peer);
	if (peer->side == asker && vt_peer_post(peer, &wr)) {
		vt_completes(t, t->send_cq.cq, status, &wc);
		VT_EQUAL(t, vt_qp_state(peer->qp), VUHCA_QP_STATE_ERR);
	}
	vt_sync(peer);
}

static void vt_not_ready_of_peer(struct vt_peer *peer)
{
	unsigned int asker;

	for (asker = 0; asker < 2; asker++) {
		vt_late_receive(peer, asker);
		peer->options.rnr_retry = 2;
		vt_peer_connect(peer);
		vt_send_fails(peer, asker,
			      VUHCA_COMPLETION_STATUS_RNR_RETRY_EXCEEDED);
		peer->options.rnr_retry = 7;
		VT_CHECK(peer->t, vt_peer_works(peer), "asker %u", asker);
	}
}

/* A QP in ERR answers no request. */
static void vt_in_error_of_peer(struct vt_peer *peer)
{
	unsigned int asker;

	for (asker = 0; asker < 2; asker++) {
		/* The sender gives up in less than 0.1 s. */
		peer->options.timeout = 12;
		peer->options.retry_count = 2;
		vt_peer_connect(peer);
		if (peer->side != asker)
			VT_EQUAL(peer->t,
				 vuhca_qp_to_state(peer->qp,
						   VUHCA_QP_STATE_ERR), 0);
		vt_send_fails(peer, asker, VUHCA_COMPLETION_STATUS_RETRY_EXCEEDED);
		peer->options.timeout = VT_LONG_TIMEOUT;
		peer->options.retry_count = 7;
		VT_CHECK(peer->t, vt_peer_works(peer), "asker %u", asker);
	}
}

static void vt_datagrams_of_peer(struct vt_peer *peer)
{
	vt_peer_datagrams(peer);
}

static void vt_group_of_peer(struct vt_peer *peer)
{
	vt_peer_group(peer);
}

static void vt_stream_of_peer(struct vt_peer *peer)
{
	vt_peer_stream(peer, VT_ROUND, false);
}

/* The link loses packets, or is cut and comes back: no message is lost. */
static void vt_bad_link_of_peer(struct vt_peer *peer)
{
	vt_peer_stream(peer, VT_ROUND, true);
}

#define VT_PEER_CASE(case_name, ...)					\
	static void vt_##case_name(struct vt *t)			\
	{								\
		struct vt_peer_options options = { __VA_ARGS__ };	\
									\
		vt_with_peer(t, &options, vt_##case_name##_of_peer);	\
	}

VT_PEER_CASE(send)
VT_PEER_CASE(rdma)
VT_PEER_CASE(atomics)
VT_PEER_CASE(unreliable, .service = VT_UC)
VT_PEER_CASE(datagrams, .service = VT_UD)
VT_PEER_CASE(group, .service = VT_UD)
VT_PEER_CASE(bad_keys)
VT_PEER_CASE(not_ready)
VT_PEER_CASE(in_error)
VT_PEER_CASE(stream)
/*
 * Eight attempts of 4.3 s outlast a cut of the link, which the host ends at the
 * first lost packet.
 */
VT_PEER_CASE(bad_link, .port = 2)

static const struct vt_case vt_peer_cases[] = {
	{ "send", vt_send },
	{ "rdma", vt_rdma },
	{ "atomics", vt_atomics },
	{ "unreliable", vt_unreliable },
	{ "datagrams", vt_datagrams },
	{ "group", vt_group },
	{ "bad-keys", vt_bad_keys },
	{ "receiver-not-ready", vt_not_ready },
	{ "peer-in-error", vt_in_error },
	{ "both-at-once", vt_stream },
	{ "bad-link", vt_bad_link },
};

VT_SUITE(peer, vt_peer_cases);
