/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Event queues: their entries, their summary bytes, and the state that decides
 * between polling and interrupts.
 */
#ifndef VUHCA_EQ_H
#define VUHCA_EQ_H

#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "vuhca_hw.h"

struct vuhca_dev;

/*
 * Secondary summary bytes of an EQ; CQs without a byte of their own share the
 * last one.
 */
#define VUHCA_SUMMARY_COUNT 256
#define VUHCA_SUMMARY_SHARED (VUHCA_SUMMARY_COUNT - 1)

#define VUHCA_EVENT_TYPES (VUHCA_EVENT_TYPE_DEVICE_FATAL + 1)

/**
 * struct vuhca_summary - Summary bytes: the adapter sets and the driver clears
 *	them.
 * @primary: Set when the EQ has a first event pending.
 * @pad: Keeps @primary in a cache line of its own.
 * @secondary: Set when a CQ of that index has an event pending.
 */
struct vuhca_summary {
	u8 primary;
	u8 pad[63];
	u8 secondary[VUHCA_SUMMARY_COUNT] __aligned(8);
};

/* Means of polling: the adapter's bytes, and its timer of late polls. */
#define VUHCA_POLL_BYTES	BIT(0)
#define VUHCA_POLL_TIMERS	BIT(1)

/**
 * struct vuhca_kept - A CQ that a poll looks at although it is not armed.
 * @node: In the list of the poller, or empty.
 * @idle: Polls in a row that found nothing.
 */
struct vuhca_kept {
	struct list_head node;
	unsigned int idle;
};

/**
 * struct vuhca_seen - A CQ of a process whose event the driver has handled.
 * @node: In the list of the EQ until its EQ pending bit is cleared, or empty.
 * @cqn: Number of the CQ.
 */
struct vuhca_seen {
	struct list_head node;
	u32 cqn;
};

/**
 * enum vuhca_poll_attempt - What a window of polls tries.
 * @VUHCA_POLL_NO_ATTEMPT: Nothing new.
 * @VUHCA_POLL_LONGER: A longer period than before.
 * @VUHCA_POLL_SHORTER: A shorter period, to see whether it brings completions.
 */
enum vuhca_poll_attempt {
	VUHCA_POLL_NO_ATTEMPT,
	VUHCA_POLL_LONGER,
	VUHCA_POLL_SHORTER,
};

/**
 * struct vuhca_poller - Polling of an EQ in place of its interrupts.
 * @summary: The summary bytes.
 * @dma: Bus address of @summary.
 * @objects: Object that each secondary byte stands for, or NULL.
 * @untaken: Events taken by their byte whose entries are not consumed.
 * @kept: CQs with completions at recent polls.
 * @work: Begins polling and ends it.
 * @timer: Polls while interrupts are off.
 * @ended: Polling has ended.
 * @active: @work is queued or runs.
 * @polling: @timer polls, and the adapter interrupts only when it is late.
 * @polls_since_read: Polls that found @summary clear since the entries were read.
 * @period_us: Time between polls.
 * @period_max_us: The longest period that is not known to cost completions,
 *	UINT_MAX: no period is.
 * @attempt: Whether the window tries another period.
 * @before_us: The period of the window before, 0: interrupts.
 * @rate_before: Completions per second in the window before.
 * @retry: Time of the next try of a period that cost completions, in jiffies.
 * @quiet: Windows in a row with little to do.
 * @window_begin_ns: Start of the window, in ns of ktime_get().
 * @window_end: End of the window in which interrupts or polls are counted, in
 *	jiffies.
 * @window_count: Interrupts or polls in the window.
 * @window_completions: @completions at its start.
 * @window_crowded: @crowded at its start.
 * @polls: Count of polls.
 * @idle_polls: Count of polls that found the primary byte clear.
 * @marked: Count of secondary bytes found set.
 * @completions: Count of completions that handlers took, at least one per call.
 * @crowd: A CQ had many completions for its size.
 * @crowded: Count of polls that found such a CQ.
 * @switches: Count of changes from interrupts to polling.
 * @interrupts: Count of interrupts while the queue was polled: of late polls, and
 *	of events before polling began.
 */
struct vuhca_poller {
	struct vuhca_summary *summary;
	dma_addr_t dma;
	void *objects[VUHCA_SUMMARY_COUNT];
	unsigned int untaken;
	struct list_head kept;
	struct work_struct work;
	struct hrtimer timer;
	struct completion ended;
	bool active;
	bool polling;
	unsigned int polls_since_read;
	unsigned int period_us;
	unsigned int period_max_us;
	enum vuhca_poll_attempt attempt;
	unsigned int before_us;
	u64 rate_before;
	unsigned long retry;
	unsigned int quiet;
	u64 window_begin_ns;
	unsigned long window_end;
	unsigned int window_count;
	u64 window_completions;
	u64 window_crowded;
	u64 polls;
	u64 idle_polls;
	u64 marked;
	u64 completions;
	bool crowd;
	u64 crowded;
	u64 switches;
	u64 interrupts;
};

/**
 * struct vuhca_eq - Event queue.
 * @dev: Function of the EQ.
 * @lock: Held while entries are consumed and their handlers run.
 * @eqn: Number of the EQ, 0 while it does not exist.
 * @index: Index in dev->eqs, and MSI-X vector.
 * @entries_log2: log2 of the number of entries.
 * @entries: The ring.
 * @entries_dma: Bus address of @entries.
 * @consumed: Running count of entries consumed.
 * @seen: CQs of processes whose EQ pending bits are to be cleared.
 * @suspected: The deadman has found an event at its last tick.
 * @suspect: Progress of the queue at that tick.
 * @irq: Linux interrupt number.
 * @name: Name of the interrupt.
 * @poller: Summary bytes and polling.
 * @events: Count of events handled, by byte or by entry.
 * @interrupts: Count of interrupts.
 * @empty_interrupts: Count of interrupts that found no entry.
 * @recoveries: Count of recoveries after the queue overran.
 * @stranded: Count of events that the deadman found, not an interrupt.
 */
struct vuhca_eq {
	struct vuhca_dev *dev;
	spinlock_t lock;	/* consumer side */
	u32 eqn;
	unsigned int index;
	unsigned int entries_log2;
	struct vuhca_event_entry *entries;
	dma_addr_t entries_dma;
	u32 consumed;
	struct list_head seen;
	bool suspected;
	u32 suspect;
	int irq;
	char name[32];
	struct vuhca_poller poller;
	u64 events;
	u64 interrupts;
	u64 empty_interrupts;
	u64 recoveries;
	u64 stranded;
};

/**
 * typedef vuhca_entry_handler - Handles an entry of an event queue.
 * @dev: Function of the event queue.
 * @entry: The entry.
 *
 * Context: Any context, under the event queue's lock.
 */
typedef void (*vuhca_entry_handler)(struct vuhca_dev *dev,
				    const struct vuhca_event_entry *entry);

/**
 * struct vuhca_event_ops - Upcalls of the event queues, which do not know
 *	objects.
 * @handlers: Handler of each event type, or NULL.
 * @has_byte: Tells whether a secondary byte announces the event of an entry, so
 *	that the entry itself needs no handler. Any context.
 * @marked: Called for the object of a secondary byte that was set. Any context,
 *	under the event queue's lock.
 * @poll: Called for a CQ that is kept. Returns whether it had completions. Any
 *	context, under the event queue's lock.
 * @arm: Called for a CQ that is no longer kept. Any context, under the event
 *	queue's lock.
 * @credit_interrupt: Called after each interrupt of EQ 0, whose vector is also
 *	that of send credits. Any context.
 * @deadman: Called at each tick of the deadman, unless that is switched off.
 *	Any context.
 */
struct vuhca_event_ops {
	vuhca_entry_handler handlers[VUHCA_EVENT_TYPES];
	bool (*has_byte)(struct vuhca_dev *dev,
			 const struct vuhca_event_entry *entry);
	void (*marked)(struct vuhca_dev *dev, void *object);
	bool (*poll)(struct vuhca_kept *kept);
	void (*arm)(struct vuhca_kept *kept);
	void (*credit_interrupt)(struct vuhca_dev *dev);
	void (*deadman)(struct vuhca_dev *dev);
};

/**
 * typedef vuhca_event_handler - Handles an asynchronous event of a CQ, SRQ or QP.
 * @type: Type of the event.
 * @fault: Cause, VUHCA_FAULT_KIND_*.
 * @context: Context given at creation of the object.
 *
 * Context: Any context, under the lock of an event queue.
 */
typedef void (*vuhca_event_handler)(enum vuhca_event_type type, u8 fault,
				    void *context);

int vuhca_modify_eq(struct vuhca_eq *eq, enum vuhca_eq_control controls,
		    u64 delay_ns);
int vuhca_query_eq(struct vuhca_eq *eq, struct vuhca_eq_attributes *attributes);
unsigned int vuhca_poll_eq(struct vuhca_eq *eq);
bool vuhca_set_adaptive(bool on);
unsigned int vuhca_set_poll_period(unsigned int period_us);
unsigned int vuhca_set_poll_parts(unsigned int parts);
bool vuhca_set_deadman(bool on);

#endif /* VUHCA_EQ_H */
