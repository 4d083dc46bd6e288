/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* CQs and QPs for tests of event timers. */
#ifndef VT_TIMER_QUEUES_H
#define VT_TIMER_QUEUES_H

#include "vt.h"

#define VT_TIMER_CQS	4
/* A delay that does not pass during a case. */
#define VT_TIMER_LONG_NS	(3600ULL * NSEC_PER_SEC)

/* CQs with one QP each, all on the last event queue. */
struct vt_timers {
	struct vt *t;
	struct vuhca_eq *eq;
	struct vt_cq cq[VT_TIMER_CQS];
	struct vuhca_qp *qp[VT_TIMER_CQS];
	u64 interrupts;
	bool adaptive;
	bool deadman;
};

u64 vt_timers_interrupts(struct vt_timers *w);
int vt_timers_events(struct vt_timers *w, unsigned int i);
bool vt_timers_begin(struct vt *t, struct vt_timers *w,
		     enum vuhca_eq_control controls, u64 delay_ns);
void vt_timers_end(struct vt_timers *w);
void vt_timers_complete(struct vt_timers *w, unsigned int i);
u32 vt_timers_pending(struct vt_timers *w);
u32 vt_timers_unresponsive(struct vt_timers *w);
bool vt_timers_quiet(struct vt_timers *w, u64 interrupts);

#endif /* VT_TIMER_QUEUES_H */
