// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Every port of the adapter, however many it has (US 8,484,392 par. 28): a
 * datagram over each, its QP1, its counters, and no port beyond the last. Ports
 * are cabled in pairs; the last of an odd number is unplugged, or at a switch,
 * where datagrams to its own LID loop back.
 */
#include "vt.h"
#include "vt_special.h"

#define VT_BLOCK_PORTS	2

/* A register of a port, which lies in one of two blocks. */
static unsigned int vt_port_offset(unsigned int lower, unsigned int upper,
				   unsigned int port, unsigned int stride)
{
	unsigned int first = port > VT_BLOCK_PORTS ? upper : lower;

	return first + (port - 1) % VT_BLOCK_PORTS * stride;
}

static u64 vt_received(struct vt *t, unsigned int port)
{
	return vuhca_read_csr64(t->dev,
		vt_port_offset(VUHCA_CSR_PORT_RECEIVE_PACKETS_OFF,
			       VUHCA_CSR_UPPER_PORT_RECEIVE_PACKETS_OFF, port,
			       VUHCA_CSR_PORT_RECEIVE_PACKETS_STRIDE));
}

static u32 vt_lid(struct vt *t, unsigned int port)
{
	return vt_csr(t, vt_port_offset(VUHCA_CSR_PORT_LID_OFF,
					VUHCA_CSR_UPPER_PORT_LID_OFF, port,
					VUHCA_CSR_PORT_LID_STRIDE));
}

/* The port at the other end of the cable, or @port itself. */
static unsigned int vt_neighbour(struct vt *t, unsigned int port)
{
	unsigned int other = port % 2 ? port + 1 : port - 1;

	return other > t->dev->port_count ? port : other;
}

/* A subnet manager may still be busy with the port. An unplugged one stays down. */
static bool vt_becomes_active(struct vt *t, unsigned int port)
{
	unsigned long end = jiffies + msecs_to_jiffies(VT_TIMEOUT_MS);
	unsigned int offset = vt_port_offset(VUHCA_CSR_PORT_STATE_OFF,
					     VUHCA_CSR_UPPER_PORT_STATE_OFF,
					     port, VUHCA_CSR_PORT_STATE_STRIDE);
	u32 state = vt_csr(t, offset);

	while (state != VUHCA_PORT_STATE_ACTIVE &&
	       state != VUHCA_PORT_STATE_DOWN && time_before(jiffies, end)) {
		msleep(10);
		state = vt_csr(t, offset);
	}
	return state == VUHCA_PORT_STATE_ACTIVE;
}

/* A datagram of 100 bytes from @port to @to. */
static void vt_over_port(struct vt *t, unsigned int port, unsigned int to)
{
	struct vuhca_buffer buffer = vt_buffer(t, 0, 100);
	struct vt_qp_options options = { .port = port };
	struct vuhca_ah *ah = NULL;
	struct vt_end from = {}, at = {};
	u64 before = vt_received(t, to);
	struct vuhca_send_wr wr;
	struct vuhca_wc wc = {};

	if (!vt_create_qp(t, &from, &options))
		return;
	options.port = to;
	if (!vt_create_qp(t, &at, &options))
		goto out;
	ah = vuhca_create_ah(t->pd, port, vt_lid(t, to), 0, NULL);
	if (!VT_CHECK(t, !IS_ERR(ah), "%pe", ah))
		goto out;
	wr = vt_send_wr(t, 0, 0, &buffer);
	wr.ud.remote_qpn = at.qp->qpn;
	wr.ud.ah = ah->index;
	vt_fill(t->memory, 100, port);
	VT_EQUAL(t, vt_post_recv(t, at.qp, 4096, 256, 7), 0);
	VT_EQUAL(t, vuhca_post_send(from.qp, &wr, 1, VUHCA_POST_AUTO), 1);
	VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_TIMEOUT_MS), 1);
	VT_EQUAL(t, wc.status, VUHCA_COMPLETION_STATUS_SUCCESS);
	VT_EQUAL(t, vt_poll(t->recv_cq.cq, &wc, 1, VT_TIMEOUT_MS), 1);
	VT_EQUAL(t, wc.status, VUHCA_COMPLETION_STATUS_SUCCESS);
	VT_EQUAL(t, wc.port, to);
	VT_CHECK(t, vt_holds(t->memory + 4096 + VUHCA_GRH_AREA_BYTES, 100, port),
		 "port %u", port);
	VT_CHECK(t, vt_received(t, to) > before, "port %u counts nothing", to);
out:
	if (!IS_ERR_OR_NULL(ah))
		vuhca_destroy_ah(ah);
	if (at.qp)
		VT_EQUAL(t, vuhca_destroy_qp(at.qp), 0);
	VT_EQUAL(t, vuhca_destroy_qp(from.qp), 0);
}

static void vt_each_port(struct vt *t)
{
	unsigned int port;

	VT_EQUAL(t, t->dev->port_count, vt_csr(t, VUHCA_CSR_PORT_COUNT_OFF));
	VT_CHECK(t, t->dev->port_count && t->dev->port_count <= VUHCA_PORT_MAX,
		 "%u ports", t->dev->port_count);
	for (port = 1; port <= t->dev->port_count; port++) {
		struct vuhca_port_attributes attributes;

		bool active = vt_becomes_active(t, port);

		VT_EQUAL(t, vuhca_query_port(t->dev, port, &attributes), 0);
		VT_EQUAL(t, le16_to_cpu(attributes.lid), vt_lid(t, port));
		VT_CHECK(t, active || vt_neighbour(t, port) == port,
			 "port %u is not active", port);
		if (active)
			vt_over_port(t, port, vt_neighbour(t, port));
	}
}

/* Each port has a QP1 of its own. */
static void vt_special_ports(struct vt *t)
{
	struct vt_special special[VUHCA_PORT_MAX] = {};
	unsigned int port;

	for (port = 1; port <= t->dev->port_count; port++)
		vt_special_create(t, &special[port - 1], port,
				  VUHCA_SERVICE_TYPE_GSI, port * 4096);
	for (port = 1; port <= t->dev->port_count; port++)
		vt_special_destroy(t, &special[port - 1]);
}

/* A port beyond the last has no attributes, and registers of 0. */
static void vt_beyond(struct vt *t)
{
	struct vuhca_port_attributes attributes;
	unsigned int port;

	for (port = t->dev->port_count + 1; port <= VUHCA_PORT_MAX; port++) {
		VT_EQUAL(t, vt_lid(t, port), 0);
		VT_EQUAL(t, vt_received(t, port), 0);
		VT_CHECK(t, vuhca_query_port(t->dev, port, &attributes) < 0,
			 "port %u exists", port);
	}
}

static const struct vt_case vt_cases[] = {
	{ "each", vt_each_port },
	{ "special", vt_special_ports },
	{ "beyond", vt_beyond },
};
VT_SUITE(port_count, vt_cases);
