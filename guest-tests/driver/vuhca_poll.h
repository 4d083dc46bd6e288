/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * An event queue, and its polling: summary bytes, and what decides between
 * polling and interrupts.
 */
#ifndef VUHCA_POLL_H
#define VUHCA_POLL_H

#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "vuhca_hw.h"

struct vuhca_dev;

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

struct vuhca_eq {
	struct vuhca_dev *dev;
	spinlock_t lock;	/* consumer side: interrupt and deadman */
	u32 eqn;
	unsigned int index;
	unsigned int entries_log2;
	struct vuhca_event_entry *entries;
	dma_addr_t entries_dma;
	u32 consumed;
	u32 suspect;		/* consumed + 1 when the deadman last saw work */
	int irq;
	char name[32];
	struct vuhca_poller poller;
	u64 events;
	u64 interrupts;
	u64 empty_interrupts;
	u64 stranded;
};

#endif /* VUHCA_POLL_H */
