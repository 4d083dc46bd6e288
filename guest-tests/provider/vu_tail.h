/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Tails of send queues that the adapter watches (docs/PROGRAMMING.md, "Shadow
 * tails").
 */
#ifndef VU_TAIL_H
#define VU_TAIL_H

#include <stdbool.h>

#include "vuhca_hw.h"

/*
 * False if the tail that has just been stored needs a doorbell. The store comes
 * before the load of the mark: the adapter clears the mark before it reads the
 * tail for the last time.
 */
static inline bool vu_is_watched(const struct vuhca_queue_pair_record *record)
{
	struct vuhca_queue_pair_record seen = {};

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	seen.dw1 = __atomic_load_n(&record->dw1, __ATOMIC_RELAXED);
	return vuhca_queue_pair_record_get_watched(&seen);
}

#endif /* VU_TAIL_H */
