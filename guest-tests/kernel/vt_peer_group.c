// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A multicast group with a member in each of two guests. Where port 1 has a
 * subnet manager, both join at subnet administration, which gives the group its
 * LID and has the switches replicate.
 */
#include "vt_peer.h"
#include "vt_special.h"

#define VT_OK		VUHCA_COMPLETION_STATUS_SUCCESS
#define VT_GROUP_QPN	0xffffff
/* LID of the group where no subnet administration gives it one. */
#define VT_GROUP_LID	0xc0b0
#define VT_GROUP_BYTES	700
#define VT_GROUP_AREA	8192
#define VT_GROUP_ATTEMPTS	100

static const u8 vt_group_gid[16] = {
	0xff, 0x12, 0xa0, 0x1c, [8] = 0x5a, [15] = 0x02
};

static u16 vt_group_lid(struct vt *t)
{
	struct vuhca_port_attributes port;

	if (!VT_EQUAL(t, vuhca_query_port(t->dev, 1, &port), 0))
		return 0;
	return port.sm_lid ? vt_sa_join(t, &port, vt_group_gid) : VT_GROUP_LID;
}

static void vt_group_send(struct vt_peer *peer, struct vuhca_ah *ah, u32 key)
{
	struct vuhca_buffer here = vt_peer_buffer(peer, 0, VT_GROUP_BYTES);
	struct vuhca_send_wr wr = vt_peer_wr(peer, VUHCA_SEND_OPCODE_SEND, &here,
					     0);
	struct vuhca_wc wc;

	wr.ud.remote_qpn = VT_GROUP_QPN;
	wr.ud.qkey = VT_QKEY;
	wr.ud.ah = ah->index;
	vt_fill(peer->t->memory, VT_GROUP_BYTES, key);
	if (vt_peer_post(peer, &wr))
		vt_completes(peer->t, peer->t->send_cq.cq, VT_OK, &wc);
}

/*
 * Polls for the message of side @sender with @key; counts all messages taken.
 */
static bool vt_group_received(struct vt_peer *peer, unsigned int sender, u32 key,
			      unsigned int *taken)
{
	u32 source = peer->side == sender ? peer->qp->qpn : peer->qpn;
	struct vt *t = peer->t;
	struct vuhca_wc wc;

	if (!vt_poll(t->recv_cq.cq, &wc, 1, VT_QUIET_MS))
		return false;
	++*taken;
	VT_EQUAL(t, wc.status, VT_OK);
	/* A late message of the other side. */
	if (wc.source_qpn != source)
		return false;
	VT_CHECK(t, wc.global_route, "no GRH");
	VT_CHECK(t, vt_holds(t->memory + VT_GROUP_AREA + VUHCA_GRH_AREA_BYTES,
			     VT_GROUP_BYTES, key), "payload");
	return true;
}

/*
 * Side @sender sends until both sides have received, its own by loopback:
 * subnet administration may answer a join before all switches replicate for the
 * member.
 */
static void vt_group_round(struct vt_peer *peer, struct vuhca_ah *ah,
			   unsigned int sender)
{
	u32 key = prandom_u32_state(&peer->t->random);
	unsigned int attempt, posted = 0, taken = 0;
	u64 words[VT_WORDS] = {};
	struct vt *t = peer->t;
	bool received = false;

	for (attempt = 0; attempt < VT_GROUP_ATTEMPTS; attempt++) {
		if (posted == taken &&
		    VT_EQUAL(t, vt_post_recv(t, peer->qp, VT_GROUP_AREA, 1024, 0),
			     0))
			posted++;
		if (!vt_sync(peer))
			return;
		if (peer->side == sender)
			vt_group_send(peer, ah, key);
		if (vt_group_received(peer, sender, key, &taken))
			received = true;
		words[0] = received;
		if (!vt_exchange(peer, words, words) || (received && words[0]))
			break;
	}
	VT_CHECK(t, received && words[0], "received %u and %llu", received,
		 words[0]);
}

void vt_peer_group(struct vt_peer *peer)
{
	struct vuhca_global_route route = { .hop_limit = 1 };
	struct vt *t = peer->t;
	u16 mlid = vt_group_lid(t);
	struct vuhca_ah *ah;

	memcpy(route.destination_gid, vt_group_gid, sizeof(vt_group_gid));
	ah = vuhca_create_ah(t->pd, 1, mlid, 0, &route);
	VT_REQUIRE(t, !IS_ERR(ah), "%pe", ah);
	VT_EQUAL(t, vuhca_attach_mcast(peer->qp, vt_group_gid, mlid), 0);
	vt_sync(peer);
	vt_group_round(peer, ah, 0);
	vt_group_round(peer, ah, 1);
	VT_EQUAL(t, vuhca_detach_mcast(peer->qp, vt_group_gid, mlid), 0);
	vuhca_destroy_ah(ah);
}
