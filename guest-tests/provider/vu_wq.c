// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Work queues: slots, the requests in them, and receive entries. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vu_internal.h"

int vu_wq_init(struct vu_wq *wq, uint32_t max_wr, uint32_t max_sge,
	       unsigned int entries_log2, unsigned int stride_log2)
{
	vu_lock_init(&wq->lock, true);
	wq->max_wr = max_wr;
	wq->max_sge = max_sge;
	wq->entries_log2 = entries_log2;
	wq->stride_log2 = stride_log2;
	wq->mask = (1U << entries_log2) - 1;
	wq->wr_ids = calloc((size_t)wq->mask + 1, sizeof(*wq->wr_ids));
	return wq->wr_ids ? 0 : ENOMEM;
}

void vu_wq_cleanup(struct vu_wq *wq)
{
	free(wq->wr_ids);
	wq->wr_ids = NULL;
}

/* Length of the slots; 0 for a queue that was not initialised. */
size_t vu_wq_bytes(const struct vu_wq *wq)
{
	if (!wq->wr_ids)
		return 0;
	return align((size_t)1 << (wq->entries_log2 + wq->stride_log2),
		     VU_PAGE_BYTES);
}

/*
 * Retires the request of a completion and all requests before it. False when
 * it is not outstanding: a faulty adapter may report a request twice.
 */
bool vu_wq_retire(struct vu_wq *wq, uint16_t sequence, uint64_t *wr_id)
{
	uint16_t head = wq->head;
	uint16_t tail = __atomic_load_n(&wq->tail, __ATOMIC_RELAXED);

	if ((uint16_t)(sequence - head) >= (uint16_t)(tail - head))
		return false;
	*wr_id = wq->wr_ids[sequence & wq->mask];
	/* Pairs with the producer's check for room: the slot is now free. */
	__atomic_store_n(&wq->head, (uint16_t)(sequence + 1), __ATOMIC_RELEASE);
	return true;
}

unsigned int vu_recv_stride(uint32_t max_sge)
{
	return vu_log2(sizeof(struct vuhca_receive_entry) +
		       (max_sge ? max_sge : 1) * sizeof(struct vuhca_sge));
}

/* Builds the next receive entry. The caller holds the lock of the queue. */
int vu_post_entry(struct vu_wq *rq, const struct ibv_recv_wr *wr)
{
	uint16_t head = __atomic_load_n(&rq->head, __ATOMIC_ACQUIRE);
	struct vuhca_receive_entry *entry = vu_slot(rq, rq->tail);
	struct vuhca_sge *sges = (struct vuhca_sge *)(entry + 1);
	int i;

	if ((uint16_t)(rq->tail - head) >= rq->max_wr)
		return ENOMEM;
	if (wr->num_sge < 0 || wr->num_sge > rq->max_sge)
		return EINVAL;
	memset(entry, 0, sizeof(*entry));
	vuhca_receive_entry_set_sge_count(entry, wr->num_sge);
	entry->sequence = htole16(rq->tail);
	for (i = 0; i < wr->num_sge; i++) {
		sges[i].address = htole64(wr->sg_list[i].addr);
		sges[i].length = htole32(wr->sg_list[i].length);
		sges[i].lkey = htole32(wr->sg_list[i].lkey);
	}
	rq->wr_ids[rq->tail & rq->mask] = wr->wr_id;
	__atomic_store_n(&rq->tail, (uint16_t)(rq->tail + 1), __ATOMIC_RELAXED);
	return 0;
}
