// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * QP0 and QP1 of a port: created, taken to RTS, given a receive buffer; a
 * datagram built, sent and taken; queries of subnet administration.
 */
#include "vt_special.h"

/* Offsets of header fields. */
#define VT_MAD_TID		8
#define VT_MAD_ATTRIBUTE	16
#define VT_MAD_MODIFIER		20
#define VT_METHOD_SET		0x02
#define VT_MCMEMBER_RECORD	0x0038
/* MGID, PortGID, Q_Key, TClass, P_Key, SL, FlowLabel, JoinState. */
#define VT_JOIN_COMPONENTS	0x130c7
/* Offset in t->memory at which QP1 of vt_sa_join() receives. */
#define VT_JOIN_AREA		4096

bool vt_special_create(struct vt *t, struct vt_special *special, u8 port,
		       u8 service, size_t area)
{
	bool gsi = service == VUHCA_SERVICE_TYPE_GSI;
	struct vuhca_qp_init init = {
		.pd = t->pd,
		.send_cq = t->send_cq.cq,
		.recv_cq = t->recv_cq.cq,
		.send_entries_log2 = 4,
		.recv_entries_log2 = 4,
		.send_sge = 1,
		.recv_sge = 1,
		.service_type = service,
		.special_port = port,
	};
	struct vuhca_qp *qp = vuhca_create_qp(t->dev, &init);
	int err;

	special->qp = NULL;
	special->area = area;
	if (!VT_CHECK(t, !IS_ERR(qp), "port %u: %pe", port, qp))
		return false;
	special->qp = qp;
	err = vuhca_qp_to_init(qp, 0, 0, gsi ? VT_GSI_QKEY : 0);
	if (!err)
		err = vuhca_qp_to_rtr(qp);
	if (!err)
		err = vuhca_qp_to_rts(qp, 0);
	return VT_EQUAL(t, err, 0) &&
	       VT_EQUAL(t, vt_post_recv(t, qp, area, VT_MAD_AREA, port), 0);
}

void vt_special_destroy(struct vt *t, struct vt_special *special)
{
	if (special->qp)
		VT_EQUAL(t, vuhca_destroy_qp(special->qp), 0);
	special->qp = NULL;
}

u8 *vt_mad_build(u8 *mad, u8 class, u8 method, u16 attribute, u32 modifier)
{
	memset(mad, 0, VUHCA_MAD_BYTES);
	mad[0] = 1;
	mad[1] = class;
	mad[2] = class == VT_CLASS_SA ? 2 : 1;
	mad[3] = method;
	put_unaligned_be64(0x1234567800000001ULL, mad + VT_MAD_TID);
	put_unaligned_be16(attribute, mad + VT_MAD_ATTRIBUTE);
	put_unaligned_be32(modifier, mad + VT_MAD_MODIFIER);
	return mad;
}

/* Sends the datagram at the beginning of t->memory by QP0 or QP1. */
bool vt_mad_send(struct vt *t, struct vt_special *from, struct vuhca_ah *ah,
		 u16 pkey_index)
{
	struct vuhca_buffer buffer = vt_buffer(t, 0, VUHCA_MAD_BYTES);
	bool gsi = from->qp->service_type == VUHCA_SERVICE_TYPE_GSI;
	struct vuhca_send_wr wr = {
		.opcode = VUHCA_SEND_OPCODE_SEND,
		.signaled = true,
		.sge = &buffer,
		.sge_count = 1,
		.ud.remote_qpn = gsi ? 1 : 0,
		.ud.qkey = gsi ? VT_GSI_QKEY : 0,
		.ud.ah = ah->index,
		.ud.pkey_index = pkey_index,
	};
	struct vuhca_wc wc = {};

	return VT_EQUAL(t, vuhca_post_send(from->qp, &wr, 1, VUHCA_POST_AUTO),
			1) &&
	       VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_TIMEOUT_MS), 1) &&
	       VT_EQUAL(t, wc.status, VUHCA_COMPLETION_STATUS_SUCCESS);
}

/* Waits for a datagram at QP0 or QP1; NULL when none came. */
u8 *vt_mad_take(struct vt *t, struct vt_special *to, struct vuhca_wc *wc)
{
	memset(wc, 0, sizeof(*wc));
	if (!VT_EQUAL(t, vt_poll(t->recv_cq.cq, wc, 1, VT_TIMEOUT_MS), 1) ||
	    !VT_EQUAL(t, wc->status, VUHCA_COMPLETION_STATUS_SUCCESS) ||
	    !VT_CHECK(t, wc->qp == to->qp, "QP %u, not %u", wc->qp->qpn,
		      to->qp->qpn) ||
	    !VT_EQUAL(t, wc->byte_length, VT_MAD_AREA))
		return NULL;
	return t->memory + to->area + VUHCA_GRH_AREA_BYTES;
}

u8 *vt_sa_ask(struct vt *t, struct vt_special *end, struct vuhca_ah *ah)
{
	struct vuhca_wc wc;
	u8 *mad;

	if (!vt_mad_send(t, end, ah, 0))
		return NULL;
	mad = vt_mad_take(t, end, &wc);
	if (!mad || !VT_EQUAL(t, get_unaligned_be16(mad + VT_MAD_STATUS), 0))
		return NULL;
	return mad;
}

void vt_put_port_gid(u8 *to, const struct vuhca_port_attributes *port)
{
	memcpy(to, port->subnet_prefix, 8);
	memcpy(to + 8, port->port_guid, 8);
}

/* Joins a group as a full member by QP1, and returns the LID of the group. */
u16 vt_sa_join(struct vt *t, const struct vuhca_port_attributes *port,
	       const u8 *mgid)
{
	u8 *mad = vt_mad_build(t->memory, VT_CLASS_SA, VT_METHOD_SET,
			       VT_MCMEMBER_RECORD, 0);
	u8 *record = mad + VT_SA_DATA;
	struct vt_special end = {};
	struct vuhca_ah *ah;
	u16 mlid = 0;

	put_unaligned_be64(VT_JOIN_COMPONENTS, mad + VT_MAD_COMPONENTS);
	memcpy(record, mgid, 16);
	vt_put_port_gid(record + 16, port);
	put_unaligned_be32(VT_QKEY, record + 32);
	put_unaligned_be16(0xffff, record + 40);
	record[48] = 0x21;	/* Scope 2, full member. */
	ah = vuhca_create_ah(t->pd, 1, le16_to_cpu(port->sm_lid), 0, NULL);
	if (!VT_CHECK(t, !IS_ERR(ah), "%pe", ah))
		return 0;
	if (vt_special_create(t, &end, 1, VUHCA_SERVICE_TYPE_GSI,
			      VT_JOIN_AREA)) {
		mad = vt_sa_ask(t, &end, ah);
		if (VT_CHECK(t, mad, "no group"))
			mlid = get_unaligned_be16(mad + VT_SA_DATA + 36);
	}
	vt_special_destroy(t, &end);
	vuhca_destroy_ah(ah);
	return mlid;
}
