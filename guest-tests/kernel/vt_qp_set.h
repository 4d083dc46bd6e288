/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* A set of small QPs that post and ring at once, and their completions. */
#ifndef VT_QP_SET_H
#define VT_QP_SET_H

#include "vt.h"

#define VT_QP_SET_MAX 256

struct vt_qp_set {
	struct vt *t;
	unsigned int count;
	struct vuhca_qp *qps[VT_QP_SET_MAX];
	u16 posted[VT_QP_SET_MAX];
	u16 completed[VT_QP_SET_MAX];
};

struct vt_qp_set *vt_qp_set_create(struct vt *t, unsigned int count);
void vt_qp_set_destroy(struct vt_qp_set *set);
bool vt_post_unseen(struct vuhca_qp *qp);
void vt_qp_set_post(struct vt_qp_set *set, unsigned int each);
void vt_qp_set_ring(struct vt_qp_set *set);
bool vt_qp_set_take_all(struct vt_qp_set *set);
bool vt_qp_set_completes(struct vt_qp_set *set);
bool vt_may_disable(struct vt *t);
void vt_disable(struct vt *t, bool disable);

#endif /* VT_QP_SET_H */
