// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Attachment of UD QPs to multicast groups (IBTA 10.5.2). */
#include "vuhca_internal.h"

static int vuhca_mcast(struct vuhca_qp *qp, u8 opcode, const u8 *mgid, u16 mlid)
{
	struct vuhca_multicast_attributes attributes = {
		.mlid = cpu_to_le16(mlid),
	};
	struct vuhca_command command = {
		.opcode = opcode,
		.object = qp->qpn,
		.payload = &attributes,
		.payload_bytes = sizeof(attributes),
	};
	struct vuhca_answer answer;

	if (!vuhca_is_current(qp->dev, qp->generation))
		return -ESTALE;
	memcpy(attributes.mgid, mgid, sizeof(attributes.mgid));
	return vuhca_admin_execute(qp->dev, &command, &answer);
}

/**
 * vuhca_attach_mcast() - Attach a QP to a multicast group.
 * @qp: UD QP; it stays attached when it is attached already.
 * @mgid: Multicast GID, 16 bytes.
 * @mlid: Multicast LID. The caller joins the group at subnet administration.
 *
 * Context: May sleep.
 * Return: 0; -ESTALE: a reset has destroyed the QP; -ENOMEM: a limit of the
 *	function is reached; or the error of vuhca_admin_execute().
 */
int vuhca_attach_mcast(struct vuhca_qp *qp, const u8 *mgid, u16 mlid)
{
	return vuhca_mcast(qp, VUHCA_MANAGEMENT_OPCODE_ATTACH_MULTICAST, mgid,
			   mlid);
}
EXPORT_SYMBOL_GPL(vuhca_attach_mcast);

/**
 * vuhca_detach_mcast() - Detach a QP from a multicast group.
 * @qp: QP.
 * @mgid: Multicast GID, 16 bytes.
 * @mlid: Multicast LID.
 *
 * Context: May sleep.
 * Return: 0; -ESTALE: a reset has destroyed the QP; -EINVAL: the QP is not
 *	attached; or the error of vuhca_admin_execute().
 */
int vuhca_detach_mcast(struct vuhca_qp *qp, const u8 *mgid, u16 mlid)
{
	return vuhca_mcast(qp, VUHCA_MANAGEMENT_OPCODE_DETACH_MULTICAST, mgid,
			   mlid);
}
EXPORT_SYMBOL_GPL(vuhca_detach_mcast);
