/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Functions of vt_share_changes.c that the suite "shares" uses. */
#ifndef VT_SHARES_H
#define VT_SHARES_H

#include "vt.h"

u32 vt_pcb_level(struct vt *t, unsigned int offset, unsigned int level);
bool vt_pcbs_quiet(struct vt *t);
void vt_collect_nop(struct vt *t, struct vuhca_qp *qp);
void vt_share_outside(struct vt *t);
void vt_share_follows(struct vt *t);
void vt_share_lost_copies(struct vt *t);

#endif /* VT_SHARES_H */
