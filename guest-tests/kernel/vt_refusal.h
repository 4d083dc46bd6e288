/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Management commands that must be refused. */
#ifndef VT_REFUSAL_H
#define VT_REFUSAL_H

#include "vt.h"

#define VT_HEADER sizeof(struct vuhca_management_command)

u32 vt_refused_count(struct vt *t);
void vt_refuse(struct vt *t, const char *what, u8 opcode, u32 object,
	       const void *payload, size_t payload_bytes, u8 status, int at);
void vt_refusal_mr_fields(struct vt *t);
void vt_refusal_cq_fields(struct vt *t);
void vt_refusal_eq_fields(struct vt *t);
void vt_refusal_qp_fields(struct vt *t);
void vt_refusal_qp_changes(struct vt *t);

#endif /* VT_REFUSAL_H */
