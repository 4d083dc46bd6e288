/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* A run of a suite: from opening the suite's file to closing it. */
#ifndef VT_RUN_H
#define VT_RUN_H

#include <linux/kfifo.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

struct task_struct;
struct vt_suite;
struct vuhca_dev;

struct vt_run {
	const struct vt_suite *suite;
	struct task_struct *thread;
	DECLARE_KFIFO_PTR(output, char);
	spinlock_t lock;	/* output */
	wait_queue_head_t wait;
	bool done;
};

/* Most failed checks that a case prints. */
#define VT_COMPLAINTS	20

int vt_run_init(struct vt_run *run);
void vt_run_cleanup(struct vt_run *run);
__printf(2, 3) void vt_line(struct vt_run *run, const char *format, ...);
void vt_run_suite(struct vt_run *run, const struct vt_suite *suite,
		  struct vuhca_dev *dev, const char *only);

#endif /* VT_RUN_H */
