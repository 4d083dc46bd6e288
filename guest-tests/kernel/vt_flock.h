/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Many small QPs that post and ring at once, and what completes of it. */
#ifndef VT_FLOCK_H
#define VT_FLOCK_H

#include "vt.h"

#define VT_FLOCK_MAX 256

struct vt_flock {
	struct vt *t;
	unsigned int count;
	struct vuhca_qp *qps[VT_FLOCK_MAX];
	u16 posted[VT_FLOCK_MAX];
	u16 completed[VT_FLOCK_MAX];
};

struct vt_flock *vt_flock_create(struct vt *t, unsigned int count);
void vt_flock_destroy(struct vt_flock *flock);
bool vt_post_unseen(struct vuhca_qp *qp);
void vt_flock_post(struct vt_flock *flock, unsigned int each);
void vt_flock_ring(struct vt_flock *flock);
bool vt_flock_take_all(struct vt_flock *flock);
bool vt_flock_completes(struct vt_flock *flock);
bool vt_may_disable(struct vt *t);
void vt_disable(struct vt *t, bool disable);

#endif /* VT_FLOCK_H */
