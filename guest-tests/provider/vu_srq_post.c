// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Requests of shared receive queues. The adapter takes entries in order, but
 * QPs complete them in any order: a slot is used again when all slots before
 * it have completed.
 */
#include "vu_internal.h"

/* Retires a request; false when it is not outstanding. */
bool vu_srq_retire(struct vu_srq *srq, uint16_t sequence, uint64_t *wr_id)
{
	struct vu_wq *rq = &srq->rq;
	uint16_t head;
	bool there;

	vu_lock(&rq->lock);
	head = rq->head;
	there = (uint16_t)(sequence - head) < (uint16_t)(rq->tail - head) &&
		!vu_test_and_change(srq->completed, sequence & rq->mask, true);
	*wr_id = rq->wr_ids[sequence & rq->mask];
	while (head != rq->tail &&
	       vu_test_and_change(srq->completed, head & rq->mask, false))
		head++;
	rq->head = head;
	vu_unlock(&rq->lock);
	return there;
}

int vu_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
		     struct ibv_recv_wr **bad)
{
	struct vu_srq *srq = to_vu_srq(ibsrq);
	int err = 0;

	vu_lock(&srq->rq.lock);
	for (; wr; wr = wr->next) {
		err = vu_post_entry(&srq->rq, wr);
		if (err) {
			*bad = wr;
			break;
		}
	}
	/* The entries come before the tail that announces them. */
	udma_to_device_barrier();
	__atomic_store_n(&srq->record->tail, htole16(srq->rq.tail),
			 __ATOMIC_RELAXED);
	vu_unlock(&srq->rq.lock);
	return err;
}
