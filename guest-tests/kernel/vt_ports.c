// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Two ports cabled to each other: every path of a datagram, and every reason to
 * drop one, which only counters show.
 */

#include "vt.h"

static u64 vt_port_counter(struct vt *t, unsigned int first, unsigned int port)
{
	return vuhca_read_csr64(t->dev, first + (port - 1) * 8);
}

/*
 * Between all pairs of ports; a packet to the port's own LID loops back inside
 * the port.
 */
static void vt_all_ways(struct vt *t)
{
	u64 sent = vt_port_counter(t, VUHCA_CSR_PORT_TRANSMIT_PACKETS_OFF, 1);
	u64 got = vt_port_counter(t, VUHCA_CSR_PORT_RECEIVE_PACKETS_OFF, 2);
	unsigned int round;

	for (round = 0; round < 10; round++)
		if (!vt_roundtrip(t, 0, 1, 100, VUHCA_POST_AUTO) ||
		    !vt_roundtrip(t, 1, 0, 200, VUHCA_POST_AUTO) ||
		    !vt_roundtrip(t, 0, 0, 300, VUHCA_POST_AUTO) ||
		    !vt_roundtrip(t, 1, 1, 400, VUHCA_POST_AUTO))
			return;
	VT_CHECK(t, vt_port_counter(t, VUHCA_CSR_PORT_TRANSMIT_PACKETS_OFF, 1) >=
		    sent + 10, "packets sent are not counted");
	VT_CHECK(t, vt_port_counter(t, VUHCA_CSR_PORT_RECEIVE_PACKETS_OFF, 2) >=
		    got + 10, "packets received are not counted");
}

/* Both directions at once, with several datagrams under way in each. */
static void vt_both_directions(struct vt *t)
{
	struct vuhca_buffer buffer = vt_buffer(t, 0, 256);
	struct vuhca_send_wr wr;
	unsigned int i, side;
	static struct vuhca_wc wc[64];

	vt_fill(t->memory, 256, 7);
	for (i = 0; i < 64; i++)
		VT_EQUAL(t, vt_post_recv(t, t->end[i % 2].qp, 4096 + i * 512,
					 512, i), 0);
	for (i = 0; i < 64; i++) {
		side = i % 2;
		wr = vt_send_wr(t, side, 1 - side, &buffer);
		VT_EQUAL(t, vuhca_post_send(t->end[side].qp, &wr, 1,
					    i % 3 ? VUHCA_POST_COLLECT :
						    VUHCA_POST_DOORBELL), 1);
	}
	VT_EQUAL(t, vt_poll(t->send_cq.cq, wc, 64, VT_TIMEOUT_MS), 64);
	VT_EQUAL(t, vt_poll(t->recv_cq.cq, wc, 64, VT_TIMEOUT_MS), 64);
	for (i = 0; i < 64; i++)
		VT_CHECK(t, vt_holds(t->memory + 4096 + i * 512 +
				     VUHCA_GRH_AREA_BYTES, 256, 7), "%u", i);
}

/*
 * Sends @wr from port 1: the send succeeds, no message is received, and port 2
 * counts a drop.
 */
static void vt_is_dropped(struct vt *t, struct vuhca_send_wr *wr)
{
	u64 drops = vt_port_drops(t, 2);
	struct vuhca_wc wc = {};

	VT_EQUAL(t, vuhca_post_send(t->end[0].qp, wr, 1, VUHCA_POST_AUTO), 1);
	VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_TIMEOUT_MS), 1);
	VT_EQUAL(t, wc.status, VUHCA_COMPLETION_STATUS_SUCCESS);
	VT_EQUAL(t, vt_poll(t->recv_cq.cq, &wc, 1, VT_QUIET_MS), 0);
	VT_EQUAL(t, vt_port_drops(t, 2), drops + 1);
}

/* The same with a receive posted, which a later good datagram uses. */
static void vt_is_dropped_though_posted(struct vt *t, struct vuhca_send_wr *wr)
{
	struct vuhca_buffer buffer = vt_buffer(t, 0, 16);
	struct vuhca_send_wr good = vt_send_wr(t, 0, 1, &buffer);
	struct vuhca_wc wc = {};

	VT_EQUAL(t, vt_post_recv(t, t->end[1].qp, 4096, 256, 55), 0);
	vt_is_dropped(t, wr);
	VT_EQUAL(t, vuhca_post_send(t->end[0].qp, &good, 1, VUHCA_POST_AUTO), 1);
	VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_TIMEOUT_MS), 1);
	VT_EQUAL(t, vt_poll(t->recv_cq.cq, &wc, 1, VT_TIMEOUT_MS), 1);
	VT_EQUAL(t, wc.wr_id, 55);
	VT_EQUAL(t, wc.status, VUHCA_COMPLETION_STATUS_SUCCESS);
}

static u16 vt_violations(struct vt *t, bool pkey)
{
	struct vuhca_port_attributes port;

	VT_EQUAL(t, vuhca_query_port(t->dev, 2, &port), 0);
	return le16_to_cpu(pkey ? port.bad_pkey_counter : port.bad_qkey_counter);
}

static void vt_wrong_qkey(struct vt *t)
{
	struct vuhca_buffer buffer = vt_buffer(t, 0, 16);
	struct vuhca_send_wr wr = vt_send_wr(t, 0, 1, &buffer);
	u16 violations = vt_violations(t, false);

	wr.ud.qkey = VT_QKEY + 1;
	vt_is_dropped_though_posted(t, &wr);
	VT_EQUAL(t, vt_violations(t, false), violations + 1);
	vt_roundtrip(t, 0, 1, 16, VUHCA_POST_AUTO);
}

/*
 * With the top bit set, the QP's own Q_Key is sent, which is the right one
 * (IBTA 10.2.5).
 */
static void vt_own_qkey(struct vt *t)
{
	struct vuhca_buffer buffer = vt_buffer(t, 0, 16);
	struct vuhca_send_wr wr = vt_send_wr(t, 0, 1, &buffer);
	struct vuhca_wc wc = {};

	wr.ud.qkey = 0x80000000;
	VT_EQUAL(t, vt_post_recv(t, t->end[1].qp, 4096, 256, 0), 0);
	VT_EQUAL(t, vuhca_post_send(t->end[0].qp, &wr, 1, VUHCA_POST_AUTO), 1);
	VT_EQUAL(t, vt_poll(t->recv_cq.cq, &wc, 1, VT_TIMEOUT_MS), 1);
	VT_EQUAL(t, wc.status, VUHCA_COMPLETION_STATUS_SUCCESS);
}

/* The receiver's P_Key is an empty table entry, which matches no P_Key. */
static void vt_wrong_pkey(struct vt *t)
{
	struct vuhca_buffer buffer = vt_buffer(t, 0, 16);
	struct vuhca_send_wr wr = vt_send_wr(t, 0, 1, &buffer);
	u16 violations = vt_violations(t, true);
	struct vuhca_qp *qp = t->end[1].qp;

	VT_EQUAL(t, vuhca_qp_to_state(qp, VUHCA_QP_STATE_RESET), 0);
	VT_EQUAL(t, vuhca_qp_to_init(qp, 2, 1, VT_QKEY), 0);
	VT_EQUAL(t, vuhca_qp_to_rtr(qp), 0);
	VT_EQUAL(t, vt_post_recv(t, qp, 4096, 256, 0), 0);
	vt_is_dropped(t, &wr);
	VT_EQUAL(t, vt_violations(t, true), violations + 1);
}

static void vt_no_receive(struct vt *t)
{
	struct vuhca_buffer buffer = vt_buffer(t, 0, 16);
	struct vuhca_send_wr wr = vt_send_wr(t, 0, 1, &buffer);

	vt_is_dropped(t, &wr);
	vt_roundtrip(t, 0, 1, 16, VUHCA_POST_AUTO);
}

static void vt_no_qp(struct vt *t)
{
	struct vuhca_buffer buffer = vt_buffer(t, 0, 16);
	struct vuhca_send_wr wr = vt_send_wr(t, 0, 1, &buffer);

	wr.ud.remote_qpn = VT_ABSENT;
	vt_is_dropped_though_posted(t, &wr);
}

static void vt_not_receiving(struct vt *t)
{
	struct vuhca_buffer buffer = vt_buffer(t, 0, 16);
	struct vuhca_send_wr wr = vt_send_wr(t, 0, 1, &buffer);
	struct vuhca_qp *qp = t->end[1].qp;

	VT_EQUAL(t, vuhca_qp_to_state(qp, VUHCA_QP_STATE_RESET), 0);
	VT_EQUAL(t, vuhca_qp_to_init(qp, 2, 0, VT_QKEY), 0);
	VT_EQUAL(t, vt_post_recv(t, qp, 4096, 256, 5), 0);
	vt_is_dropped(t, &wr);
	/* The entry posted in INIT is still good in RTR. */
	VT_EQUAL(t, vuhca_qp_to_rtr(qp), 0);
	VT_EQUAL(t, vuhca_post_send(t->end[0].qp, &wr, 1, VUHCA_POST_AUTO), 1);
	{
		struct vuhca_wc wc = {};

		VT_EQUAL(t, vt_poll(t->recv_cq.cq, &wc, 1, VT_TIMEOUT_MS), 1);
		VT_EQUAL(t, wc.wr_id, 5);
	}
}

/* No port has this LID. */
static void vt_no_lid(struct vt *t)
{
	struct vuhca_ah *ah = vuhca_create_ah(t->pd, 1, 0x1234, 0, NULL);
	struct vuhca_buffer buffer = vt_buffer(t, 0, 16);
	struct vuhca_send_wr wr = vt_send_wr(t, 0, 1, &buffer);
	struct vuhca_wc wc = {};

	VT_REQUIRE(t, !IS_ERR(ah), "%pe", ah);
	wr.ud.ah = ah->index;
	VT_EQUAL(t, vt_post_recv(t, t->end[1].qp, 4096, 256, 0), 0);
	VT_EQUAL(t, vuhca_post_send(t->end[0].qp, &wr, 1, VUHCA_POST_AUTO), 1);
	VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_TIMEOUT_MS), 1);
	VT_EQUAL(t, wc.status, VUHCA_COMPLETION_STATUS_SUCCESS);
	VT_EQUAL(t, vt_poll(t->recv_cq.cq, &wc, 1, VT_QUIET_MS), 0);
	vuhca_destroy_ah(ah);
}

static const struct vt_case vt_cases[] = {
	{ "all-ways", vt_all_ways },
	{ "both-directions", vt_both_directions },
	{ "wrong-qkey", vt_wrong_qkey },
	{ "own-qkey", vt_own_qkey },
	{ "wrong-pkey", vt_wrong_pkey },
	{ "no-receive", vt_no_receive },
	{ "no-qp", vt_no_qp },
	{ "not-receiving", vt_not_receiving },
	{ "no-lid", vt_no_lid },
};
VT_SUITE(ports, vt_cases);
