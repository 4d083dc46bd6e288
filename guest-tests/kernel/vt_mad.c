// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Management datagrams: QP0 and QP1 of both ports, the agents behind them,
 * EXECUTE_MAD, events of ports and multicast groups. The subnet administration
 * at the port's SM LID, whichever it is, is asked for a path and for a group.
 */
#include "vt_special.h"

#define VT_PERMISSIVE_LID	0xffff
#define VT_MCAST_QPN		0xffffff
#define VT_CLASS_SUBNET		0x01
#define VT_CLASS_PERFORMANCE	0x04
#define VT_CLASS_VENDOR		0x09
#define VT_METHOD_GET		0x01
#define VT_METHOD_SET		0x02
#define VT_METHOD_SEND		0x03
#define VT_METHOD_RESPONSE	0x81
#define VT_NODE_INFO		0x0011
#define VT_PORT_INFO		0x0015
#define VT_PORT_COUNTERS	0x0012
#define VT_PATH_RECORD		0x0035

/*
 * Only the physical function, and a virtual one with ports of its own, has QP0,
 * QP1, agents and capabilities.
 */
static bool vt_shares_ports(struct vt *t)
{
	struct vuhca_adapter_attributes adapter;

	if (!t->dev->function)
		return false;
	if (!VT_EQUAL(t, vuhca_query_adapter(t->dev, &adapter), 0))
		return true;
	if (le32_to_cpu(adapter.capabilities) & VUHCA_CAPABILITY_OWN_PORTS)
		return false;
	vt_skip(t, "for functions that manage their ports");
	return true;
}

/* Creates QP0 or QP1 of both ports. */
static bool vt_specials(struct vt *t, struct vt_special *ends, u8 service)
{
	memset(ends, 0, 2 * sizeof(*ends));
	return vt_special_create(t, &ends[0], 1, service, 4096) &&
	       vt_special_create(t, &ends[1], 2, service, 8192);
}

static void vt_specials_destroy(struct vt *t, struct vt_special *ends)
{
	vt_special_destroy(t, &ends[0]);
	vt_special_destroy(t, &ends[1]);
}

/*
 * The LID by which QP0 of port 1 reaches port 2: the permissive one over a cable, its own in a
 * subnet with a manager. 0 when port 2 is not in that subnet.
 */
static u16 vt_lid_of_second(struct vt *t, struct vuhca_port_attributes *ports)
{
	unsigned int i;

	for (i = 0; i < VT_PORTS; i++)
		VT_EQUAL(t, vuhca_query_port(t->dev, i + 1, &ports[i]), 0);
	if (!ports[0].sm_lid)
		return VT_PERMISSIVE_LID;
	return ports[1].sm_lid == ports[0].sm_lid ? le16_to_cpu(ports[1].lid) : 0;
}

/* The agents of port 2 answer QP0 of port 1. */
static void vt_subnet(struct vt *t)
{
	struct vuhca_port_attributes ports[VT_PORTS] = {};
	struct vt_special end = {};
	u8 *mad = t->memory;
	struct vuhca_ah *ah;
	struct vuhca_wc wc;
	u16 lid;

	if (vt_shares_ports(t))
		return;
	lid = vt_lid_of_second(t, ports);
	if (!lid) {
		vt_skip(t, "port 2 is not in the subnet of port 1");
		return;
	}
	ah = vuhca_create_ah(t->pd, 1, lid, 0, NULL);
	VT_REQUIRE(t, !IS_ERR(ah), "%pe", ah);
	if (vt_special_create(t, &end, 1, VUHCA_SERVICE_TYPE_SMI, 4096)) {
		vt_mad_build(mad, VT_CLASS_SUBNET, VT_METHOD_GET, VT_NODE_INFO, 0);
		if (vt_mad_send(t, &end, ah, 0)) {
			mad = vt_mad_take(t, &end, &wc);
			if (mad) {
				VT_EQUAL(t, mad[3], VT_METHOD_RESPONSE);
				VT_EQUAL(t, get_unaligned_be16(mad + VT_MAD_STATUS), 0);
				VT_EQUAL(t, wc.source_qpn, 0);
				/* NodeInfo: LocalPortNum. */
				VT_EQUAL(t, mad[VT_MAD_DATA + 36], 2);
			}
		}
	}
	vt_special_destroy(t, &end);
	vuhca_destroy_ah(ah);
}

/* A datagram of a class that software serves goes from QP1 to QP1. */
static void vt_general(struct vt *t)
{
	struct vt_special ends[2];
	struct vuhca_wc wc;
	u8 *mad;

	if (vt_shares_ports(t))
		return;
	if (vt_specials(t, ends, VUHCA_SERVICE_TYPE_GSI)) {
		vt_mad_build(t->memory, VT_CLASS_VENDOR, VT_METHOD_SEND, 0x77, 9);
		vt_fill(t->memory + VT_MAD_DATA, 192, 5);
		if (vt_mad_send(t, &ends[0], t->ah[0][1], 0)) {
			mad = vt_mad_take(t, &ends[1], &wc);
			if (mad) {
				VT_CHECK(t, vt_holds(mad + VT_MAD_DATA, 192, 5),
					 "another datagram");
				VT_EQUAL(t, wc.source_qpn, 1);
				VT_EQUAL(t, wc.pkey_index, 0);
				VT_EQUAL(t, wc.path_bits, 0);
				VT_EQUAL(t, wc.port, 2);
			}
		}
	}
	vt_specials_destroy(t, ends);
}

/* Performance management of port 2 answers QP1 of port 1. */
static void vt_performance(struct vt *t)
{
	struct vt_special end = {};
	struct vuhca_wc wc;
	u8 *mad = t->memory;

	if (vt_shares_ports(t))
		return;
	if (vt_special_create(t, &end, 1, VUHCA_SERVICE_TYPE_GSI, 4096)) {
		vt_mad_build(mad, VT_CLASS_PERFORMANCE, VT_METHOD_GET,
			     VT_PORT_COUNTERS, 0);
		mad[VT_MAD_DATA + 1] = 2;	/* PortSelect */
		if (vt_mad_send(t, &end, t->ah[0][1], 0)) {
			mad = vt_mad_take(t, &end, &wc);
			if (mad) {
				VT_EQUAL(t, mad[3], VT_METHOD_RESPONSE);
				VT_EQUAL(t, get_unaligned_be16(mad + VT_MAD_STATUS), 0);
			}
		}
	}
	vt_special_destroy(t, &end);
}

/* A port has one QP0 and one QP1. */
static void vt_one_each(struct vt *t)
{
	struct vuhca_qp_init init = {
		.pd = t->pd,
		.send_cq = t->send_cq.cq,
		.recv_cq = t->recv_cq.cq,
		.service_type = VUHCA_SERVICE_TYPE_GSI,
		.special_port = 1,
	};
	struct vt_special end = {};
	struct vuhca_qp *qp;

	if (vt_shares_ports(t))
		return;
	if (vt_special_create(t, &end, 1, VUHCA_SERVICE_TYPE_GSI, 4096)) {
		qp = vuhca_create_qp(t->dev, &init);
		VT_CHECK(t, qp == ERR_PTR(-EBUSY), "%pe", qp);
	}
	vt_special_destroy(t, &end);
}

/* EXECUTE_MAD: agents answer without a packet, and leave other classes alone. */
static void vt_execute(struct vt *t)
{
	u8 *mad = t->memory;
	u32 result;
	u8 port;

	if (vt_shares_ports(t))
		return;
	for (port = 1; port <= VT_PORTS; port++) {
		vt_mad_build(mad, VT_CLASS_SUBNET, VT_METHOD_GET, VT_NODE_INFO, 0);
		VT_EQUAL(t, vuhca_execute_mad(t->dev, port, NULL, true, mad,
					      &result), 0);
		VT_EQUAL(t, result, VUHCA_MAD_RESULT_CONSUMED |
			    VUHCA_MAD_RESULT_REPLIED);
		VT_EQUAL(t, mad[3], VT_METHOD_RESPONSE);
		VT_EQUAL(t, mad[VT_MAD_DATA + 36], port);
	}
	vt_mad_build(mad, VT_CLASS_VENDOR, VT_METHOD_SEND, 1, 0);
	VT_EQUAL(t, vuhca_execute_mad(t->dev, 1, NULL, true, mad, &result), 0);
	VT_EQUAL(t, result, 0);
	VT_EQUAL(t, vuhca_execute_mad(t->dev, t->dev->port_count + 1, NULL,
				      true, mad, &result), -EINVAL);
}

/* IsSM is in the capability mask while software sets it. */
static void vt_capabilities(struct vt *t)
{
	const u32 is_sm = BIT(1);
	struct vuhca_port_attributes port;
	u32 before;

	if (vt_shares_ports(t))
		return;
	VT_EQUAL(t, vuhca_query_port(t->dev, 1, &port), 0);
	before = le32_to_cpu(port.capability_mask);
	VT_EQUAL(t, vuhca_modify_port(t->dev, 1, is_sm, 0, true), 0);
	VT_EQUAL(t, vuhca_query_port(t->dev, 1, &port), 0);
	VT_EQUAL(t, le32_to_cpu(port.capability_mask), before | is_sm);
	VT_EQUAL(t, vuhca_modify_port(t->dev, 1, 0, is_sm, false), 0);
	VT_EQUAL(t, vuhca_query_port(t->dev, 1, &port), 0);
	VT_EQUAL(t, le32_to_cpu(port.capability_mask), before & ~is_sm);
	VT_EQUAL(t, vuhca_modify_port(t->dev, 1, BIT(2), 0, false), -EINVAL);
}

static struct {
	struct vuhca_dev *dev;
	atomic_t reregistered;
	u8 port;
} vt_heard;

static void vt_heard_ignore(struct vuhca_dev *dev)
{
}

static void vt_heard_event(struct vuhca_dev *dev, u8 type, u8 port)
{
	if (dev != vt_heard.dev || type != VUHCA_EVENT_TYPE_CLIENT_REREGISTER)
		return;
	vt_heard.port = port;
	atomic_inc(&vt_heard.reregistered);
}

/* A Set of PortInfo with ClientReregister becomes an event for the clients. */
static void vt_reregister(struct vt *t)
{
	static struct vuhca_client client = {
		.add = vt_heard_ignore,
		.remove = vt_heard_ignore,
		.port_event = vt_heard_event,
	};
	u8 *mad = t->memory;
	u32 result;

	if (vt_shares_ports(t))
		return;
	vt_heard.dev = t->dev;
	vt_heard.port = 0;
	atomic_set(&vt_heard.reregistered, 0);
	vuhca_register_client(&client);
	vt_mad_build(mad, VT_CLASS_SUBNET, VT_METHOD_GET, VT_PORT_INFO, 2);
	VT_EQUAL(t, vuhca_execute_mad(t->dev, 2, NULL, true, mad, &result), 0);
	mad[3] = VT_METHOD_SET;
	memset(mad + VT_MAD_STATUS, 0, 2);
	/*
	 * No change of states. Without an SM LID, the LID of the port itself.
	 */
	mad[VT_MAD_DATA + 32] &= 0xf0;
	mad[VT_MAD_DATA + 33] &= 0x0f;
	if (!get_unaligned_be16(mad + VT_MAD_DATA + 18))
		memcpy(mad + VT_MAD_DATA + 18, mad + VT_MAD_DATA + 16, 2);
	/* ClientReregister, above SubnetTimeOut. */
	mad[VT_MAD_DATA + 51] |= 0x80;
	VT_EQUAL(t, vuhca_execute_mad(t->dev, 2, NULL, true, mad, &result), 0);
	VT_EQUAL(t, get_unaligned_be16(mad + VT_MAD_STATUS), 0);
	VT_WAIT(t, atomic_read(&vt_heard.reregistered) > 0);
	VT_EQUAL(t, vt_heard.port, 2);
	vuhca_unregister_client(&client);
}

/* Members at both ports receive; one that blocks its own messages does not. */
static void vt_multicast(struct vt *t)
{
	static const u8 mgid[16] = {
		0xff, 0x12, 0xa0, 0x1c, [14] = 0x56, 0x78
	};
	struct vuhca_port_attributes ports[VT_PORTS] = {};
	struct vuhca_global_route route = { .hop_limit = 1 };
	struct vuhca_buffer buffer = vt_buffer(t, 0, 64);
	struct vuhca_send_wr wr = vt_send_wr(t, 0, 1, &buffer);
	struct vuhca_wc wc[2];
	struct vuhca_ah *ah;
	u16 mlid = 0xc0a0;
	unsigned int i;

	if (!vt_lid_of_second(t, ports)) {
		vt_skip(t, "port 2 is not in the subnet of port 1");
		return;
	}
	/* A manager routes groups to the ports that have joined them, by QP1. */
	if (ports[0].sm_lid && vt_shares_ports(t))
		return;
	for (i = 0; i < VT_PORTS && ports[0].sm_lid; i++)
		mlid = vt_sa_join(t, &ports[i], mgid);
	memcpy(route.destination_gid, mgid, sizeof(mgid));
	ah = vuhca_create_ah(t->pd, 1, mlid, 0, &route);
	VT_REQUIRE(t, !IS_ERR(ah), "%pe", ah);
	vt_fill(t->memory, 64, 11);
	for (i = 0; i < VT_PORTS; i++) {
		VT_EQUAL(t, vt_post_recv(t, t->end[i].qp, 4096 + i * 4096, 256, i),
			 0);
		VT_EQUAL(t, vuhca_attach_mcast(t->end[i].qp, mgid, mlid), 0);
	}
	wr.ud.remote_qpn = VT_MCAST_QPN;
	wr.ud.ah = ah->index;
	VT_EQUAL(t, vuhca_post_send(t->end[0].qp, &wr, 1, VUHCA_POST_AUTO), 1);
	VT_EQUAL(t, vt_poll(t->recv_cq.cq, wc, 2, VT_TIMEOUT_MS), 2);
	for (i = 0; i < VT_PORTS; i++) {
		VT_CHECK(t, wc[i].global_route, "no GRH");
		VT_CHECK(t, vt_holds(t->memory + 4096 + i * 4096 +
				     VUHCA_GRH_AREA_BYTES, 64, 11), "%u", i);
		VT_EQUAL(t, vuhca_detach_mcast(t->end[i].qp, mgid, mlid), 0);
	}
	VT_EQUAL(t, vuhca_detach_mcast(t->end[0].qp, mgid, mlid), -EINVAL);
	VT_EQUAL(t, vt_poll(t->send_cq.cq, wc, 1, VT_TIMEOUT_MS), 1);
	vuhca_destroy_ah(ah);
}

/* Joins a group at subnet administration, and attaches to it by its LID. */
static void vt_join_group(struct vt *t, const struct vuhca_port_attributes *port)
{
	static const u8 mgid[16] = {
		0xff, 0x12, 0xa0, 0x1c, [8] = 0x5a, [15] = 0x01
	};
	u16 mlid = vt_sa_join(t, port, mgid);

	VT_CHECK(t, mlid >= 0xc000 && mlid < 0xffff, "MLID %#x", mlid);
	VT_EQUAL(t, vuhca_attach_mcast(t->end[0].qp, mgid, mlid), 0);
	VT_EQUAL(t, vuhca_detach_mcast(t->end[0].qp, mgid, mlid), 0);
}

/* A path and a group, from the subnet administration at the port's SM LID. */
static void vt_administration(struct vt *t)
{
	struct vuhca_port_attributes port;
	struct vt_special end = {};
	struct vuhca_ah *ah;
	u8 *mad;

	if (vt_shares_ports(t))
		return;
	VT_EQUAL(t, vuhca_query_port(t->dev, 1, &port), 0);
	if (!le16_to_cpu(port.sm_lid)) {
		vt_skip(t, "port 1 has no subnet manager");
		return;
	}
	ah = vuhca_create_ah(t->pd, 1, le16_to_cpu(port.sm_lid), 0, NULL);
	VT_REQUIRE(t, !IS_ERR(ah), "%pe", ah);
	if (vt_special_create(t, &end, 1, VUHCA_SERVICE_TYPE_GSI, 4096)) {
		mad = vt_mad_build(t->memory, VT_CLASS_SA, VT_METHOD_GET,
				   VT_PATH_RECORD, 0);
		/* DGID, SGID and NumbPath: the path of the port to itself. */
		put_unaligned_be64(0x100c, mad + VT_MAD_COMPONENTS);
		vt_put_port_gid(mad + VT_SA_DATA + 8, &port);
		vt_put_port_gid(mad + VT_SA_DATA + 24, &port);
		mad[VT_SA_DATA + 49] = 1;
		mad = vt_sa_ask(t, &end, ah);
		if (VT_CHECK(t, mad, "no path"))
			VT_EQUAL(t, get_unaligned_be16(mad + VT_SA_DATA + 40),
				 le16_to_cpu(port.lid));
	}
	vt_special_destroy(t, &end);
	vuhca_destroy_ah(ah);
	vt_join_group(t, &port);
}

static const struct vt_case vt_cases[] = {
	{ "subnet", vt_subnet },
	{ "general", vt_general },
	{ "performance", vt_performance },
	{ "one-each", vt_one_each },
	{ "execute", vt_execute },
	{ "capabilities", vt_capabilities },
	{ "reregister", vt_reregister },
	{ "multicast", vt_multicast },
	{ "administration", vt_administration },
};
VT_SUITE(mad, vt_cases);
