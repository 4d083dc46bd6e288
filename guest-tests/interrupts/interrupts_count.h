/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Costs of a load (interrupts_count.c). */
#ifndef INTERRUPTS_COUNT_H
#define INTERRUPTS_COUNT_H

#include "interrupts_queues.h"

/* Counters of a load; report.ts describes each. */
struct load_result {
	unsigned int way;
	u32 rate;
	u64 elapsed_ns;
	u64 completions;
	u64 interrupts;
	u64 events;
	u64 polls;
	u64 switches;
	u64 polled_interrupts;
	u64 late;
	u64 notifies;
	u64 asked;
	u64 asked_polled;
	u64 waited_ns;
};

struct vuhca_eq *load_eq(void);
u64 load_completions(void);
void load_ask(struct load_queue *queue);
int load_begin(struct load_result *result);
int load_end(struct load_result *result);
int load_print(const struct load_result *result, char *text, size_t length);

#endif /* INTERRUPTS_COUNT_H */
