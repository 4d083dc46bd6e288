// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Longer traffic between two guests: datagrams both ways at once, and a stream
 * of messages each way.
 */
#include "vt_peer.h"

#define VT_OK		VUHCA_COMPLETION_STATUS_SUCCESS
#define VT_DATAGRAMS	16
#define VT_DATAGRAM	1000
#define VT_WINDOW	16
#define VT_MESSAGE	3000
#define VT_SLOT		4096

static void vt_send_datagrams(struct vt_peer *peer, u32 key, struct vuhca_ah *ah)
{
	struct vuhca_buffer here = vt_peer_buffer(peer, 0, VT_DATAGRAM);
	struct vuhca_send_wr wr = vt_peer_wr(peer, VUHCA_SEND_OPCODE_SEND, &here,
					     0);
	struct vt *t = peer->t;
	struct vuhca_wc wc;
	unsigned int i;

	wr.ud.remote_qpn = peer->qpn;
	wr.ud.qkey = VT_QKEY;
	wr.ud.ah = ah->index;
	for (i = 0; i < VT_DATAGRAMS; i++) {
		vt_fill(t->memory, VT_DATAGRAM, key + i);
		if (!vt_peer_post(peer, &wr) ||
		    !vt_completes(t, t->send_cq.cq, VT_OK, &wc))
			return;
	}
}

static void vt_receive_datagrams(struct vt_peer *peer, u32 key)
{
	struct vt *t = peer->t;
	struct vuhca_wc wc;
	unsigned int i;

	for (i = 0; i < VT_DATAGRAMS; i++) {
		u8 *payload = t->memory + (i + 1) * VT_SLOT +
			      VUHCA_GRH_AREA_BYTES;

		if (!vt_completes(t, t->recv_cq.cq, VT_OK, &wc))
			return;
		VT_EQUAL(t, wc.wr_id, i);
		VT_EQUAL(t, wc.byte_length, VUHCA_GRH_AREA_BYTES + VT_DATAGRAM);
		VT_EQUAL(t, wc.source_qpn, peer->qpn);
		VT_EQUAL(t, wc.source_lid, peer->lid);
		VT_CHECK(t, vt_holds(payload, VT_DATAGRAM, key + i),
			 "datagram %u", i);
	}
}

/* Both sides send at once. */
void vt_peer_datagrams(struct vt_peer *peer)
{
	struct vt *t = peer->t;
	u32 key = prandom_u32_state(&t->random);
	struct vuhca_buffer there;
	struct vuhca_ah *ah;
	unsigned int i;

	ah = vuhca_create_ah(t->pd, peer->options.port, peer->lid, 0, NULL);
	VT_REQUIRE(t, !IS_ERR(ah), "%pe", ah);
	for (i = 0; i < VT_DATAGRAMS; i++) {
		there = vt_peer_buffer(peer, (i + 1) * VT_SLOT, VT_SLOT);
		vt_peer_receive(peer, &there, i);
	}
	vt_sync(peer);
	vt_send_datagrams(peer, key + peer->side, ah);
	vt_receive_datagrams(peer, key + !peer->side);
	vt_sync(peer);
	vuhca_destroy_ah(ah);
}

struct vt_stream {
	struct vt_peer *peer;
	u32 key;
	unsigned int total;
	unsigned int sent;
	unsigned int completed;
	unsigned int received;
	/* The host cuts the link after this many messages; 0: never. */
	unsigned int cut_every;
};

static bool vt_stream_receive(struct vt_stream *stream, unsigned int number)
{
	size_t offset = (VT_WINDOW + number % VT_WINDOW) * VT_SLOT;
	struct vuhca_buffer there = vt_peer_buffer(stream->peer, offset,
						   VT_MESSAGE);

	return vt_peer_receive(stream->peer, &there, number);
}

static bool vt_stream_send(struct vt_stream *stream)
{
	struct vt *t = stream->peer->t;
	size_t offset = stream->sent % VT_WINDOW * VT_SLOT;
	struct vuhca_buffer here = vt_peer_buffer(stream->peer, offset,
						  VT_MESSAGE);
	struct vuhca_send_wr wr = vt_peer_wr(stream->peer, VUHCA_SEND_OPCODE_SEND,
					     &here, stream->sent);

	vt_fill(t->memory + offset, VT_MESSAGE,
		stream->key + stream->peer->side + 2 * stream->sent++);
	if (stream->cut_every && stream->sent % stream->cut_every == 0)
		vt_ask_host(t, "cut the link");
	return vt_peer_post(stream->peer, &wr);
}

/* Checks completions: in order, complete, and once. */
static bool vt_stream_poll(struct vt_stream *stream)
{
	struct vt *t = stream->peer->t;
	struct vuhca_wc wc;
	unsigned int i;
	u8 *bytes;

	while (vt_poll(t->send_cq.cq, &wc, 1, 0))
		if (!VT_EQUAL(t, wc.status, VT_OK) ||
		    !VT_EQUAL(t, wc.wr_id, stream->completed++))
			return false;
	while (vt_poll(t->recv_cq.cq, &wc, 1, 0)) {
		i = stream->received++;
		bytes = t->memory + (VT_WINDOW + i % VT_WINDOW) * VT_SLOT;
		if (!VT_EQUAL(t, wc.status, VT_OK) || !VT_EQUAL(t, wc.wr_id, i) ||
		    !VT_CHECK(t, vt_holds(bytes, VT_MESSAGE, stream->key +
					  !stream->peer->side + 2 * i),
			      "message %u", i))
			return false;
		if (i + VT_WINDOW < stream->total &&
		    !vt_stream_receive(stream, i + VT_WINDOW))
			return false;
	}
	return true;
}

void vt_peer_stream(struct vt_peer *peer, unsigned int total, bool cuts)
{
	struct vt_stream stream = {
		.peer = peer,
		.key = prandom_u32_state(&peer->t->random),
		.total = total,
		.cut_every = cuts && !peer->side ? total / 3 + 1 : 0,
	};
	unsigned int i, before = 0, nap_us = 0;
	struct vt *t = peer->t;
	ktime_t progress;

	for (i = 0; i < VT_WINDOW; i++)
		vt_stream_receive(&stream, i);
	vt_sync(peer);
	progress = ktime_get();
	while (stream.completed < total || stream.received < total) {
		bool sends = stream.sent < total &&
			     stream.sent - stream.completed < VT_WINDOW;

		if (sends && !vt_stream_send(&stream))
			break;
		if (!vt_stream_poll(&stream))
			break;
		if (stream.completed + stream.received != before) {
			before = stream.completed + stream.received;
			progress = ktime_get();
			nap_us = 0;
		} else if (ktime_ms_delta(ktime_get(), progress) >
			   VT_TIMEOUT_MS) {
			break;
		}
		if (!sends)
			vt_nap(&nap_us);
	}
	VT_EQUAL(t, stream.completed, total);
	VT_EQUAL(t, stream.received, total);
	vt_sync(peer);
}
