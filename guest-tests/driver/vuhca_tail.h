/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Tails of send queues that the adapter watches (docs/PROGRAMMING.md, "Shadow
 * tails").
 */
#ifndef VUHCA_TAIL_H
#define VUHCA_TAIL_H

#include "vuhca_hw.h"

/**
 * vuhca_is_watched() - Tell whether the adapter sees a tail by itself.
 * @record: Record whose send_tail has just been stored.
 *
 * Context: Any context.
 * Return: False if the tail needs a doorbell.
 */
static inline bool vuhca_is_watched(const struct vuhca_queue_pair_record *record)
{
	struct vuhca_queue_pair_record seen = {};

	/*
	 * Store the tail before the mark is loaded: the adapter clears the mark
	 * before its last read of the tail.
	 */
	mb();
	seen.dw1 = READ_ONCE(record->dw1);
	return vuhca_queue_pair_record_get_watched(&seen);
}

#endif /* VUHCA_TAIL_H */
