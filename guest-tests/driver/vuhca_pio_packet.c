// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Packets that software composes for send contexts: datagrams of a QP, and
 * subnet management packets (QP 0, VL 15). Headers follow IBTA chapters 7 to 9.
 */
#include <linux/slab.h>
#include <rdma/ib_hdrs.h>
#include <rdma/ib_mad.h>

#include "vuhca_internal.h"

#define VUHCA_ICRC_DWORDS	1
#define VUHCA_MANAGEMENT_LANE	15

static_assert(VUHCA_DATAGRAM_HEADER_BYTES ==
	      sizeof_field(struct ib_header, lrh) +
	      sizeof_field(struct ib_other_headers, bth) +
	      sizeof_field(union ib_ehdrs, ud.deth));

/**
 * vuhca_datagram_bytes() - Compute the length of a datagram, LRH to pad,
 *	without CRCs.
 * @payload_bytes: Length of the payload.
 *
 * Context: Any context.
 * Return: Length in bytes, a multiple of 4.
 */
size_t vuhca_datagram_bytes(size_t payload_bytes)
{
	return VUHCA_DATAGRAM_HEADER_BYTES + ALIGN(payload_bytes, 4);
}
EXPORT_SYMBOL_GPL(vuhca_datagram_bytes);

/**
 * vuhca_compose_datagram() - Compose a datagram without GRH.
 * @bytes: Room of vuhca_datagram_bytes().
 * @datagram: Headers and payload.
 *
 * Context: Any context.
 */
void vuhca_compose_datagram(void *bytes, const struct vuhca_datagram *datagram)
{
	size_t length = vuhca_datagram_bytes(datagram->bytes);
	u32 pad = -datagram->bytes & 3;
	struct ib_header *header = bytes;
	struct ib_other_headers *other = &header->u.oth;

	memset(bytes, 0, length);
	/* The adapter fills in the VL. */
	header->lrh[0] = cpu_to_be16(datagram->service_level << IB_SL_SHIFT |
				     IB_LNH_IBA_LOCAL);
	header->lrh[1] = cpu_to_be16(datagram->dlid);
	header->lrh[2] = cpu_to_be16(length / sizeof(u32) + VUHCA_ICRC_DWORDS);
	header->lrh[3] = cpu_to_be16(datagram->slid);
	other->bth[0] = cpu_to_be32(IB_OPCODE_UD_SEND_ONLY << IB_BTH_OPCODE_SHIFT |
				    datagram->solicited << IB_BTH_SE_SHIFT |
				    pad << IB_BTH_PAD_SHIFT | datagram->pkey);
	other->bth[1] = cpu_to_be32(datagram->remote_qpn & IB_QPN_MASK);
	other->bth[2] = cpu_to_be32(datagram->psn & VUHCA_PSN_MASK);
	other->u.ud.deth[0] = cpu_to_be32(datagram->qkey);
	other->u.ud.deth[1] = cpu_to_be32(datagram->source_qpn & IB_QPN_MASK);
	memcpy(bytes + VUHCA_DATAGRAM_HEADER_BYTES, datagram->payload,
	       datagram->bytes);
}
EXPORT_SYMBOL_GPL(vuhca_compose_datagram);

static int vuhca_pio_send_composed(struct vuhca_send_context *sc,
				   const struct vuhca_datagram *datagram,
				   unsigned int lane, vuhca_pio_release release,
				   void *context)
{
	size_t length = vuhca_datagram_bytes(datagram->bytes);
	struct vuhca_send_control control = {};
	void *bytes = kmalloc(length, GFP_ATOMIC);
	int err;

	if (!bytes)
		return -ENOMEM;
	vuhca_compose_datagram(bytes, datagram);
	vuhca_send_control_set_virtual_lane(&control, lane);
	err = vuhca_pio_send_packet(sc, control, bytes, length, release, context);
	kfree(bytes);
	return err;
}

/**
 * vuhca_pio_send_datagram() - Send a datagram on VL 0.
 * @sc: Send context.
 * @datagram: Headers and payload.
 * @release: Called when the blocks are free again, or NULL.
 * @context: Argument of @release.
 *
 * Context: Any context.
 * Return: 0; -ENOMEM; or the error of vuhca_pio_alloc().
 */
int vuhca_pio_send_datagram(struct vuhca_send_context *sc,
			    const struct vuhca_datagram *datagram,
			    vuhca_pio_release release, void *context)
{
	return vuhca_pio_send_composed(sc, datagram, 0, release, context);
}
EXPORT_SYMBOL_GPL(vuhca_pio_send_datagram);

/**
 * vuhca_pio_send_smp() - Send a subnet management packet on VL 15.
 * @sc: Send context.
 * @slid: Source LID.
 * @dlid: Destination LID.
 * @smp: Management datagram of 256 bytes, from QP 0 to QP 0.
 * @release: Called when the blocks are free again, or NULL.
 * @context: Argument of @release.
 *
 * Context: Any context.
 * Return: 0; -ENOMEM; or the error of vuhca_pio_alloc().
 */
int vuhca_pio_send_smp(struct vuhca_send_context *sc, u16 slid, u16 dlid,
		       const void *smp, vuhca_pio_release release,
		       void *context)
{
	struct vuhca_datagram datagram = {
		.slid = slid,
		.dlid = dlid,
		.pkey = IB_DEFAULT_PKEY_FULL,
		.payload = smp,
		.bytes = sizeof(struct ib_mad),
	};

	return vuhca_pio_send_composed(sc, &datagram, VUHCA_MANAGEMENT_LANE,
				       release, context);
}
EXPORT_SYMBOL_GPL(vuhca_pio_send_smp);
