// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A driver that stores a tail and looks whether the queue is watched, and beside
 * it an adapter that ceases to watch and reads the tail once more: one of both
 * must see what the other stored. The looks of the driver (vuhca_tail.h) and of
 * the provider (vu_tail.h), and one without a barrier, which shows whether this
 * machine reorders the two, and ends the run when it has lost tails often enough.
 * Prints the number of tails, and how many of them each has lost.
 */
#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "two-threads.h"
#include "../provider/vu_tail.h"

/* The parts of the kernel that vuhca_tail.h needs. */
#define mb() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#include "../driver/vuhca_tail.h"

#define SLOTS 4096
#define MOST_PASSES 500
/* Passes in which the look without a barrier must lose a tail. */
#define ENOUGH 30
/* Slots that a thread reads in advance: a line that both have read makes a store wait. */
#define AHEAD 4

static struct slot {
	_Alignas(64) struct vuhca_queue_pair_record record;
	bool driver_saw_mark;
	bool adapter_saw_tail;
} slots[SLOTS + AHEAD];
static enum { DRIVER, PROVIDER, NO_BARRIER, ENDED } turn;

static bool look_without_barrier(const struct vuhca_queue_pair_record *record)
{
	struct vuhca_queue_pair_record seen = {};

	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	seen.dw1 = READ_ONCE(record->dw1);
	return vuhca_queue_pair_record_get_watched(&seen);
}

static inline void reach(int self, unsigned int slot)
{
	(void)READ_ONCE(slots[slot + AHEAD].record.dw1);
	keep_pace(self, slot);
}

static inline __attribute__((always_inline)) void
drive_pass(bool (*look)(const struct vuhca_queue_pair_record *record))
{
	struct slot *slot;
	unsigned int i;

	for (i = 0; i < SLOTS; i++) {
		slot = &slots[i];
		reach(0, i);
		__atomic_store_n(&slot->record.send_tail, htole16(1), __ATOMIC_RELAXED);
		slot->driver_saw_mark = look(&slot->record);
	}
}

static void *drive(void *unused)
{
	for (;;) {
		pthread_barrier_wait(&both);
		switch (turn) {
		case DRIVER:
			drive_pass(vuhca_is_watched);
			break;
		case PROVIDER:
			drive_pass(vu_is_watched);
			break;
		case NO_BARRIER:
			drive_pass(look_without_barrier);
			break;
		default:
			return unused;
		}
		pthread_barrier_wait(&both);
	}
}

static void begin_pass(void)
{
	unsigned int i;

	memset(slots, 0, sizeof(slots));
	for (i = 0; i < SLOTS; i++)
		vuhca_queue_pair_record_set_watched(&slots[i].record, 1);
	progress[0].at = progress[1].at = 0;
}

static unsigned int count_lost(void)
{
	unsigned int i, lost = 0;

	for (i = 0; i < SLOTS; i++)
		lost += slots[i].driver_saw_mark && !slots[i].adapter_saw_tail;
	return lost;
}

/* The adapter's half of a pass. Returns the number of tails that nobody tells it of. */
static unsigned int unwatch(void)
{
	struct slot *slot;
	unsigned int i;

	begin_pass();
	pthread_barrier_wait(&both);
	for (i = 0; i < SLOTS; i++) {
		slot = &slots[i];
		reach(1, i);
		__atomic_store_n(&slot->record.dw1, 0, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		slot->adapter_saw_tail = READ_ONCE(slot->record.send_tail);
	}
	pthread_barrier_wait(&both);
	return count_lost();
}

int main(void)
{
	unsigned int pass, tails, reordered = 0, lost[ENDED] = {};
	pthread_t driver;

	pthread_barrier_init(&both, NULL, 2);
	if (pthread_create(&driver, NULL, drive, NULL))
		return 1;
	for (pass = 0; pass < MOST_PASSES && reordered < ENOUGH; pass++) {
		for (turn = DRIVER; turn < ENDED; turn++) {
			tails = unwatch();
			lost[turn] += tails;
			reordered += turn == NO_BARRIER && tails;
		}
	}
	pthread_barrier_wait(&both);
	pthread_join(driver, NULL);
	printf("%u %u %u %u\n", pass * SLOTS, lost[DRIVER], lost[PROVIDER], lost[NO_BARRIER]);
	return 0;
}
