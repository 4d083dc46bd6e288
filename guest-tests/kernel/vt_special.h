/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* QP0 and QP1 of a port, and management datagrams that they exchange. */
#ifndef VT_SPECIAL_H
#define VT_SPECIAL_H

#include "vt.h"

#define VT_GSI_QKEY		0x80010000
#define VT_MAD_AREA		(VUHCA_GRH_AREA_BYTES + VUHCA_MAD_BYTES)
#define VT_CLASS_SA		0x03
#define VT_MAD_STATUS		4
#define VT_MAD_DATA		64
#define VT_MAD_COMPONENTS	48
#define VT_SA_DATA		56

/* QP0 or QP1 of a port, and the offset of its next receive in t->memory. */
struct vt_special {
	struct vuhca_qp *qp;
	size_t area;
};

bool vt_special_create(struct vt *t, struct vt_special *special, u8 port,
		       u8 service, size_t area);
void vt_special_destroy(struct vt *t, struct vt_special *special);
u8 *vt_mad_build(u8 *mad, u8 class, u8 method, u16 attribute, u32 modifier);
bool vt_mad_send(struct vt *t, struct vt_special *from, struct vuhca_ah *ah,
		 u16 pkey_index);
u8 *vt_mad_take(struct vt *t, struct vt_special *to, struct vuhca_wc *wc);

/* Subnet administration of port 1; NULL and 0 without an answer. */
u8 *vt_sa_ask(struct vt *t, struct vt_special *end, struct vuhca_ah *ah);
void vt_put_port_gid(u8 *to, const struct vuhca_port_attributes *port);
u16 vt_sa_join(struct vt *t, const struct vuhca_port_attributes *port,
	       const u8 *mgid);

#endif /* VT_SPECIAL_H */
