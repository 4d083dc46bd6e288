/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Two threads of a program, a driver and an adapter, that go through the same
 * slots at the same pace.
 */
#ifndef WRAPS_TWO_THREADS_H
#define WRAPS_TWO_THREADS_H

#include <pthread.h>

#define READ_ONCE(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, value) __atomic_store_n(&(x), value, __ATOMIC_RELAXED)

/* Bound of a wait for the other thread, which may not have a processor. */
#define SPINS 1000

static struct { _Alignas(64) unsigned int at; } progress[2];
/* Begins and ends a pass over all slots. */
static pthread_barrier_t both;

static inline void keep_pace(int self, unsigned int slot)
{
	unsigned int spins = 0;

	WRITE_ONCE(progress[self].at, slot);
	while (READ_ONCE(progress[!self].at) < slot && ++spins < SPINS)
		;
}

#endif /* WRAPS_TWO_THREADS_H */
