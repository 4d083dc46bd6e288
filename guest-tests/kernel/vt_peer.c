// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The connection between two guests of a test, and one message that is checked
 * at both ends.
 */
#include "vt_peer.h"

static bool vt_peer_introduce(struct vt_peer *peer, u32 psn)
{
	struct vt *t = peer->t;
	u64 words[VT_WORDS] = {
		peer->qp->qpn,
		vuhca_read_csr(t->dev, VUHCA_CSR_PORT_LID_OFF +
			       (peer->options.port - 1) *
			       VUHCA_CSR_PORT_LID_STRIDE),
		psn, peer->mr->rkey, t->dma,
	};

	if (!vt_exchange(peer, words, words))
		return false;
	peer->qpn = words[0];
	peer->lid = words[1];
	peer->psn = words[2];
	peer->rkey = words[3];
	peer->address = words[4];
	return true;
}

/*
 * Connects from any state; completions that were not polled are discarded. Both
 * sides call it.
 */
bool vt_peer_connect(struct vt_peer *peer)
{
	const struct vt_peer_options *options = &peer->options;
	struct vuhca_connection connection = {
		.port = options->port,
		/* Wraps within the first messages. */
		.send_psn = VT_LATE_PSN + peer->side,
		.access = VT_ALL_REMOTE,
		.path_mtu = VT_MTU_CODES,
		.max_reads_initiated = 16,
		.max_reads_served = 16,
		.min_rnr_timer = 1,
		.timeout = options->timeout,
		.retry_count = options->retry_count,
		.rnr_retry = options->rnr_retry,
	};
	struct vt *t = peer->t;

	if (peer->qp->state != VUHCA_QP_STATE_RESET &&
	    !VT_EQUAL(t, vuhca_qp_to_state(peer->qp, VUHCA_QP_STATE_RESET), 0))
		return false;
	if (!vt_peer_introduce(peer, connection.send_psn))
		return false;
	connection.dlid = peer->lid;
	connection.remote_qpn = peer->qpn;
	connection.receive_psn = peer->psn;
	/* No side sends before the other one is ready to receive. */
	return VT_EQUAL(t, vuhca_qp_connect(peer->qp, &connection), 0) &
	       vt_sync(peer);
}

static bool vt_peer_open(struct vt *t, struct vt_peer *peer,
			 const struct vt_peer_options *options)
{
	struct vt_qp_options qp_options = {
		.connected = true,
		.service_type = options->service,
	};
	u32 state = VUHCA_CSR_PORT_STATE_OFF;

	memset(peer, 0, sizeof(*peer));
	peer->t = t;
	vt_exchange_begin(peer);
	peer->options = *options;
	peer->options.port = options->port ?: 1;
	peer->options.timeout = options->timeout ?: VT_LONG_TIMEOUT;
	peer->options.retry_count = options->retry_count ?: 7;
	peer->options.rnr_retry = options->rnr_retry ?: 7;
	state += (peer->options.port - 1) * VUHCA_CSR_PORT_STATE_STRIDE;
	if (!VT_WAIT(t, vuhca_read_csr(t->dev, state) == VUHCA_PORT_STATE_ACTIVE))
		return false;
	peer->mr = vuhca_get_dma_mr(t->pd, VUHCA_ACCESS_FLAG_LOCAL_WRITE |
				    VT_ALL_REMOTE);
	if (!VT_CHECK(t, !IS_ERR(peer->mr), "%pe", peer->mr))
		return false;
	if (options->service == VUHCA_SERVICE_TYPE_UD) {
		peer->qp = t->end[peer->options.port - 1].qp;
		return vt_peer_introduce(peer, 0);
	}
	peer->qp = vt_create_qp(t, &peer->end, &qp_options);
	return peer->qp && vt_peer_connect(peer);
}

static void vt_peer_close(struct vt_peer *peer)
{
	struct vt *t = peer->t;

	if (peer->end.qp)
		VT_CHECK(t, !vuhca_destroy_qp(peer->end.qp), "QP of the peer");
	if (!IS_ERR_OR_NULL(peer->mr))
		VT_CHECK(t, !vuhca_dereg_mr(peer->mr), "MR of the peer");
}

/* Runs a function while connected to the other guest. */
void vt_with_peer(struct vt *t, const struct vt_peer_options *options,
		  void (*run)(struct vt_peer *peer))
{
	struct vt_peer peer;

	if (vt_peer_open(t, &peer, options))
		run(&peer);
	vt_peer_close(&peer);
}

struct vuhca_buffer vt_peer_buffer(struct vt_peer *peer, size_t offset,
				   u32 length)
{
	return (struct vuhca_buffer) {
		.address = peer->t->dma + offset,
		.length = length,
		.lkey = peer->mr->lkey,
	};
}

/* Returns a signalled request; remote operations name the peer's memory. */
struct vuhca_send_wr vt_peer_wr(struct vt_peer *peer, u8 opcode,
				const struct vuhca_buffer *sge, u64 wr_id)
{
	return (struct vuhca_send_wr) {
		.wr_id = wr_id,
		.opcode = opcode,
		.signaled = true,
		.immediate = ~(u32)wr_id,
		.sge = sge,
		.sge_count = sge ? 1 : 0,
		.remote.address = peer->address,
		.remote.rkey = peer->rkey,
	};
}

bool vt_peer_post(struct vt_peer *peer, const struct vuhca_send_wr *wr)
{
	return VT_EQUAL(peer->t, vuhca_post_send(peer->qp, wr, 1,
						 VUHCA_POST_AUTO), 1);
}

bool vt_peer_receive(struct vt_peer *peer, const struct vuhca_buffer *sge,
		     u64 wr_id)
{
	struct vuhca_recv_wr wr = {
		.wr_id = wr_id,
		.sge = sge,
		.sge_count = sge ? 1 : 0,
	};

	return VT_EQUAL(peer->t, vuhca_post_recv(peer->qp, &wr, 1), 1);
}

static void vt_peer_received(struct vt_peer *peer, u8 opcode, u32 length, u32 key)
{
	bool has_immediate = opcode != VUHCA_SEND_OPCODE_SEND;
	struct vt *t = peer->t;
	struct vuhca_wc wc;

	if (!vt_completes(t, t->recv_cq.cq, VUHCA_COMPLETION_STATUS_SUCCESS, &wc))
		return;
	VT_EQUAL(t, wc.wr_id, key);
	VT_EQUAL(t, wc.byte_length, length);
	VT_EQUAL(t, wc.has_immediate, has_immediate);
	VT_EQUAL(t, wc.immediate, has_immediate ? ~key : 0);
}

/*
 * Sends one message that side @asker requests, between the beginnings of the
 * memories, and checks both ends. False when the sides have lost each other.
 */
bool vt_peer_transfer(struct vt_peer *peer, unsigned int asker, u8 opcode,
		      u32 length)
{
	bool asks = peer->side == asker;
	bool source = asks != (opcode == VUHCA_SEND_OPCODE_RDMA_READ);
	bool sends = opcode == VUHCA_SEND_OPCODE_SEND ||
		     opcode == VUHCA_SEND_OPCODE_SEND_IMMEDIATE;
	bool receives = sends || opcode == VUHCA_SEND_OPCODE_RDMA_WRITE_IMMEDIATE;
	struct vuhca_buffer here = vt_peer_buffer(peer, 0, length);
	struct vt *t = peer->t;
	u32 key = prandom_u32_state(&t->random);
	struct vuhca_send_wr wr = vt_peer_wr(peer, opcode,
					     length ? &here : NULL, key);
	struct vuhca_wc wc;

	if (source)
		vt_fill(t->memory, length, key);
	else
		memset(t->memory, VT_POISON, length + VT_MARGIN);
	if (!asks && receives)
		vt_peer_receive(peer, sends && length ? &here : NULL, key);
	if (!vt_sync(peer))
		return false;
	if (asks) {
		if (vt_peer_post(peer, &wr) &&
		    vt_completes(t, t->send_cq.cq,
				 VUHCA_COMPLETION_STATUS_SUCCESS, &wc))
			VT_EQUAL(t, wc.wr_id, key);
	} else if (receives) {
		vt_peer_received(peer, opcode, length, key);
	}
	if (!source) {
		VT_WAIT(t, vt_holds(t->memory, length, key));
		VT_CHECK(t, vt_is_poison(t->memory + length, VT_MARGIN),
			 "opcode %u of %u bytes ran over", opcode, length);
	}
	return vt_sync(peer);
}
