// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A driver that takes the events of an event queue (vuhca_eq_bytes.c of the driver
 * itself), and beside it an adapter that posts one: a completion, or an entry of
 * the queue, then the secondary byte, then the primary one. Either the driver
 * sees what was posted, or both bytes are set when it is done, so that its next
 * poll sees it. The same without the driver's barriers shows whether this machine
 * reorders what they keep apart, and ends the run when events were lost often
 * enough. Prints the number of events of each kind, how many completions and how
 * many entries were lost, and how many without barriers.
 */
#include <stdio.h>

#include "two-threads.h"
#include "types.h"

/* The other parts of the kernel that vuhca_eq.h and vuhca_eq_bytes.c need. */
#define BIT(n) (1u << (n))
#define __aligned(n) __attribute__((aligned(n)))
#define xchg(x, value) __atomic_exchange_n(x, value, __ATOMIC_SEQ_CST)
#define cpu_to_le32(x) htole32(x)
#define cpu_to_le64(x) htole64(x)
#define spin_lock_irq(lock) ((void)(lock))
#define spin_unlock_irq(lock) ((void)(lock))
#define mb() order()

typedef u64 dma_addr_t;
struct work_struct { int unused; };
struct hrtimer { int unused; };
struct completion { int unused; };

static bool has_barriers;

static inline void order(void)
{
	if (has_barriers)
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	else
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline const void *memchr_inv(const u8 *bytes, int byte, size_t count)
{
	for (; count > 0; bytes++, count--)
		if (*bytes != byte)
			return bytes;
	return NULL;
}

#include "../driver/vuhca_eq.h"

struct vuhca_dev {
	const struct vuhca_event_ops *event_ops;
};

bool vuhca_poll_uses(unsigned int part);
bool vuhca_poller_is_marked(struct vuhca_eq *eq);
unsigned int vuhca_eq_serve(struct vuhca_eq *eq);
unsigned int vuhca_eq_take_marked(struct vuhca_eq *eq);
void vuhca_poller_describe(struct vuhca_eq *eq, struct vuhca_eq_attributes *attributes);
u16 vuhca_poller_attach(struct vuhca_eq *eq, void *object);
void vuhca_poller_detach(struct vuhca_eq *eq, u16 index);
unsigned int vuhca_eq_process(struct vuhca_eq *eq);

#include "../driver/vuhca_eq_bytes.c"

#define SLOTS 2048
#define MOST_PASSES 500
/* Passes in which an event must be lost without barriers. */
#define ENOUGH 30
/* The adapter is late by up to so many steps, because the driver reads 256 bytes. */
#define DELAYS 256

enum kind { COMPLETION, ENTRY, KINDS };

/* An event queue with one event. */
static struct slot {
	struct vuhca_summary summary __aligned(64);
	u32 posted __aligned(64);
	bool is_seen __aligned(64);
} slots[SLOTS];
static enum kind kind;
/* An interrupt, which reads the entries in any case, or a poll. */
static unsigned int (*take)(struct vuhca_eq *eq);
static bool is_over;

/* The CQ of a byte has a completion, or does not yet. */
static void look(struct vuhca_dev *dev, void *object)
{
	struct slot *slot = object;

	(void)dev;
	if (READ_ONCE(slot->posted))
		slot->is_seen = true;
}

/* The entries of the queue. */
unsigned int vuhca_eq_process(struct vuhca_eq *eq)
{
	if (kind == ENTRY)
		look(eq->dev, (char *)eq->poller.summary - offsetof(struct slot, summary));
	return 0;
}

static void *drive(void *unused)
{
	static const struct vuhca_event_ops ops = { .marked = look };
	struct vuhca_dev dev = { .event_ops = &ops };
	struct vuhca_eq eq = { .dev = &dev, .index = 1, .entries_log2 = 8 };
	unsigned int i;

	for (;;) {
		pthread_barrier_wait(&both);
		if (is_over)
			return unused;
		for (i = 0; i < SLOTS; i++) {
			eq.poller.summary = &slots[i].summary;
			eq.poller.objects[0] = &slots[i];
			eq.poller.untaken = 0;
			keep_pace(0, i);
			take(&eq);
		}
		pthread_barrier_wait(&both);
	}
}

static unsigned int index_of(enum kind one)
{
	return one == ENTRY ? VUHCA_SUMMARY_SHARED : 0;
}

/* The driver begins because of the primary byte; with @marked also of the other. */
static void begin_pass(bool marked)
{
	unsigned int i;

	memset(slots, 0, sizeof(slots));
	for (i = 0; i < SLOTS; i++) {
		slots[i].summary.primary = 1;
		slots[i].summary.secondary[index_of(kind)] = marked;
	}
	progress[0].at = progress[1].at = 0;
}

static unsigned int count_lost(void)
{
	const struct vuhca_summary *summary;
	unsigned int i, lost = 0;

	for (i = 0; i < SLOTS; i++) {
		summary = &slots[i].summary;
		lost += !slots[i].is_seen &&
			!(summary->primary && summary->secondary[index_of(kind)]);
	}
	return lost;
}

/* The adapter's half of a pass. Returns the number of events that nobody sees. */
static unsigned int post(bool marked)
{
	volatile unsigned int delay;
	struct slot *slot;
	unsigned int i;

	begin_pass(marked);
	pthread_barrier_wait(&both);
	for (i = 0; i < SLOTS; i++) {
		slot = &slots[i];
		keep_pace(1, i);
		for (delay = i % DELAYS; delay > 0; delay--)
			;
		__atomic_store_n(&slot->posted, 1, __ATOMIC_RELEASE);
		__atomic_store_n(&slot->summary.secondary[index_of(kind)], 1, __ATOMIC_RELEASE);
		__atomic_store_n(&slot->summary.primary, 1, __ATOMIC_RELEASE);
	}
	pthread_barrier_wait(&both);
	return count_lost();
}

int main(void)
{
	unsigned int pass, events, reordered = 0, lost[KINDS] = {}, without = 0;
	pthread_t driver;

	pthread_barrier_init(&both, NULL, 2);
	if (pthread_create(&driver, NULL, drive, NULL))
		return 1;
	for (pass = 0; pass < MOST_PASSES && reordered < ENOUGH; pass++) {
		take = pass & 2 ? vuhca_eq_take_marked : vuhca_eq_serve;
		for (kind = COMPLETION; kind < KINDS; kind++) {
			has_barriers = true;
			lost[kind] += post(pass & 1);
			has_barriers = false;
			events = post(pass & 1);
			without += events;
			reordered += events > 0;
		}
	}
	is_over = true;
	pthread_barrier_wait(&both);
	pthread_join(driver, NULL);
	printf("%u %u %u %u\n", pass * SLOTS, lost[COMPLETION], lost[ENTRY], without);
	return 0;
}
