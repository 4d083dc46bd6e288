/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Polling of an event queue: its summary bytes, and what decides between
 * polling and interrupts.
 */
#ifndef VUHCA_POLL_H
#define VUHCA_POLL_H

#include <linux/cache.h>
#include <linux/types.h>
#include <linux/workqueue.h>

/* Secondary bytes; CQs beyond that many share them. */
#define VUHCA_SUMMARY_COUNT 256

/* Written by the adapter, cleared by the driver. */
struct vuhca_summary {
	u8 primary;
	u8 pad[63];
	u8 secondary[VUHCA_SUMMARY_COUNT] __aligned(8);
};

struct vuhca_poller {
	struct vuhca_summary *summary;
	dma_addr_t dma;
	atomic_t next_index;
	struct work_struct work;
	bool active;			/* the work polls, interrupts are off */
	unsigned int unlooked;		/* polls since the bytes were not believed */
	unsigned long window_end;	/* jiffies */
	unsigned int window_count;	/* interrupts in the window */
	u64 polls;
	u64 idle_polls;			/* found the primary byte clear */
	u64 marked;			/* secondary bytes found set */
	u64 switches;			/* from interrupts to polling */
};

#endif /* VUHCA_POLL_H */
