// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Requests of connected QPs that must fail: the completion and the event at each
 * end. The pair works again after a reset.
 */
#include "vt_connected.h"

#define VT_BYTES	4096

const u8 vt_remote_opcodes[VT_REMOTE_OPCODES] = {
	VUHCA_SEND_OPCODE_RDMA_WRITE,	VUHCA_SEND_OPCODE_RDMA_READ,
	VUHCA_SEND_OPCODE_FETCH_ADD,	VUHCA_SEND_OPCODE_COMPARE_SWAP,
};

/* The access flag that each operation needs. */
const u32 vt_remote_rights[VT_REMOTE_OPCODES] = {
	VUHCA_ACCESS_FLAG_REMOTE_WRITE,	VUHCA_ACCESS_FLAG_REMOTE_READ,
	VUHCA_ACCESS_FLAG_REMOTE_ATOMIC, VUHCA_ACCESS_FLAG_REMOTE_ATOMIC,
};

void vt_on_plain_pair(struct vt *t, vt_pair_test run)
{
	struct vt_pair_options options = { .path_mtu = 3 };

	vt_on_pair(t, &options, run);
}

/*
 * Expects that the request fails with @status, that the responder gets @event
 * (0: none), that both QPs are in ERR, and that neither area changed.
 */
void vt_pair_refuses(struct vt_pair *pair, struct vt_areas *areas,
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

struct vuhca_send_wr vt_remote_request(struct vt_areas *areas, unsigned int i,
				       struct vuhca_buffer *here)
{
	bool atomic = vt_remote_rights[i] == VUHCA_ACCESS_FLAG_REMOTE_ATOMIC;

	*here = vt_area_buffer(areas, 0, 0, atomic ? 8 : 3000);
	return vt_rdma_wr(areas, vt_remote_opcodes[i], here, 0);
}
