// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Datagrams composed by software, for send contexts: small ones of a QP, and
 * subnet management packets (QP 0, VL 15). Headers as in IBTA chapters 7 to 9.
 */
#include <linux/slab.h>
#include <rdma/ib_hdrs.h>
#include <rdma/ib_mad.h>

#include "vuhca.h"

/* QPNs and PSNs. */
#define VUHCA_PACKET_NUMBER_MASK GENMASK(23, 0)
#define VUHCA_ICRC_DWORDS	1
#define VUHCA_MANAGEMENT_LANE	15

static_assert(VUHCA_DATAGRAM_HEADER_BYTES ==
	      sizeof_field(struct ib_header, lrh) +
	      sizeof_field(struct ib_other_headers, bth) +
	      sizeof_field(union ib_ehdrs, ud.deth));

/* LRH to payload and its padding, without CRCs. */
size_t vuhca_datagram_bytes(size_t payload_bytes)
{
	return VUHCA_DATAGRAM_HEADER_BYTES + ALIGN(payload_bytes, 4);
}
EXPORT_SYMBOL_GPL(vuhca_datagram_bytes);

/* Composes a datagram without GRH; @bytes has vuhca_datagram_bytes() of room. */
void vuhca_compose_datagram(void *bytes, const struct vuhca_datagram *packet)
{
	size_t length = vuhca_datagram_bytes(packet->bytes);
	u32 pad = -packet->bytes & 3;
	struct ib_header *header = bytes;
	struct ib_other_headers *other = &header->u.oth;

	memset(bytes, 0, length);
	/* The adapter fills in the VL. */
	header->lrh[0] = cpu_to_be16(packet->service_level << IB_SL_SHIFT |
				     IB_LNH_IBA_LOCAL);
	header->lrh[1] = cpu_to_be16(packet->dlid);
	header->lrh[2] = cpu_to_be16(length / 4 + VUHCA_ICRC_DWORDS);
	header->lrh[3] = cpu_to_be16(packet->slid);
	other->bth[0] = cpu_to_be32(IB_OPCODE_UD_SEND_ONLY << IB_BTH_OPCODE_SHIFT |
				    packet->solicited << IB_BTH_SE_SHIFT |
				    pad << IB_BTH_PAD_SHIFT | packet->pkey);
	other->bth[1] = cpu_to_be32(packet->remote_qpn & VUHCA_PACKET_NUMBER_MASK);
	other->bth[2] = cpu_to_be32(packet->psn & VUHCA_PACKET_NUMBER_MASK);
	other->u.ud.deth[0] = cpu_to_be32(packet->qkey);
	other->u.ud.deth[1] = cpu_to_be32(packet->source_qpn &
					  VUHCA_PACKET_NUMBER_MASK);
	memcpy(bytes + VUHCA_DATAGRAM_HEADER_BYTES, packet->payload,
	       packet->bytes);
}
EXPORT_SYMBOL_GPL(vuhca_compose_datagram);

static int vuhca_pio_send_composed(struct vuhca_send_context *sc,
				   const struct vuhca_datagram *packet,
				   unsigned int lane, vuhca_pio_release release,
				   void *context)
{
	size_t length = vuhca_datagram_bytes(packet->bytes);
	struct vuhca_send_control control = {};
	void *bytes = kmalloc(length, GFP_ATOMIC);
	int err;

	if (!bytes)
		return -ENOMEM;
	vuhca_compose_datagram(bytes, packet);
	vuhca_send_control_set_virtual_lane(&control, lane);
	err = vuhca_pio_send_packet(sc, control, bytes, length, release, context);
	kfree(bytes);
	return err;
}

/* Sends a datagram on VL 0. Errors as of vuhca_pio_alloc(). Any context. */
int vuhca_pio_send_datagram(struct vuhca_send_context *sc,
			    const struct vuhca_datagram *packet,
			    vuhca_pio_release release, void *context)
{
	return vuhca_pio_send_composed(sc, packet, 0, release, context);
}
EXPORT_SYMBOL_GPL(vuhca_pio_send_datagram);

/* Sends a subnet management packet of 256 bytes, QP 0 to QP 0, on VL 15. */
int vuhca_pio_send_smp(struct vuhca_send_context *sc, u16 slid, u16 dlid,
		   const void *smp, vuhca_pio_release release, void *context)
{
	struct vuhca_datagram packet = {
		.slid = slid,
		.dlid = dlid,
		.pkey = IB_DEFAULT_PKEY_FULL,
		.payload = smp,
		.bytes = sizeof(struct ib_mad),
	};

	return vuhca_pio_send_composed(sc, &packet, VUHCA_MANAGEMENT_LANE, release,
				       context);
}
EXPORT_SYMBOL_GPL(vuhca_pio_send_smp);
