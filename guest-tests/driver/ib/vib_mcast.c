// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Attachment of datagram QPs to multicast groups (IBTA 11.3). */
#include "vib.h"

int vib_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	return vuhca_attach_mcast(to_vqp(ibqp)->hw, gid->raw, lid);
}

int vib_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct vuhca_qp *hw = to_vqp(ibqp)->hw;

	/* The attachments of a dead function are gone. */
	if (vib_is_dead(hw->dev, hw->generation))
		return 0;
	return vuhca_detach_mcast(hw, gid->raw, lid);
}
