/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Cases of the suite "faults" in vt_fault_memory.c. */
#ifndef VT_FAULTS_H
#define VT_FAULTS_H

#include "vt.h"

void vt_alive_at_last(struct vt *t);
void vt_fault_cq_hole(struct vt *t);
void vt_fault_qp_hole(struct vt *t);
void vt_fault_response_hole(struct vt *t);
void vt_fault_doorbells(struct vt *t);
void vt_fault_wild_tail(struct vt *t);

#endif /* VT_FAULTS_H */
