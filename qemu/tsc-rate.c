// SPDX-License-Identifier: Apache-2.0
/*
 * Prints the frequency of the time stamp counter in kHz: its ticks between two readings of
 * CLOCK_MONOTONIC_RAW. At each end the counter is read before and after the clock, and the closest
 * pair of many counts, so a machine that is busy only makes it take longer. tsc-rate.ts compiles
 * and runs it.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

#define TRIES 2000
#define PAUSE_NS 50000000

struct reading {
	uint64_t ticks;
	uint64_t ns;
};

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static struct reading closest(void)
{
	struct reading best = { 0 };
	uint64_t shortest = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = __rdtsc();
		uint64_t ns = clock_ns();
		uint64_t spent = __rdtsc() - before;

		if (spent >= shortest)
			continue;
		shortest = spent;
		best.ticks = before + spent / 2;
		best.ns = ns;
	}
	return best;
}

int main(void)
{
	struct timespec pause = { .tv_nsec = PAUSE_NS };
	struct reading first = closest();

	nanosleep(&pause, NULL);
	struct reading last = closest();
	uint64_t ns = last.ns - first.ns;

	printf("%" PRIu64 "\n", ((last.ticks - first.ticks) * 1000000 + ns / 2) / ns);
	return 0;
}
