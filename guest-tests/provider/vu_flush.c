// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Flushes of a device that was reset, removed or lost: the adapter writes no
 * more entries, but programs poll until all their requests have completed.
 * Requests that are outstanding, or posted later, complete here as flushed. The
 * kernel announces it in the record of the CQ (vuhca-abi.h). Posts then change
 * memory of the process only: the core has replaced the collect page by another
 * page.
 */
#include <string.h>

#include "vu_internal.h"

/* When this is true, all entries that the adapter has written are visible. */
bool vu_is_dead(const struct vu_cq *cq)
{
	const uint8_t *record = (const uint8_t *)cq->record;

	return __atomic_load_n((const uint32_t *)(record + VUHCA_CQ_DEAD_OFFSET),
			       __ATOMIC_ACQUIRE);
}

/*
 * Takes the oldest request of a queue. This very thread may hold the lock,
 * between ibv_wr_start() and ibv_wr_complete(): a later poll then takes the
 * request.
 */
static bool vu_flush_wq(struct vu_wq *wq, uint64_t *wr_id)
{
	bool found;

	if (!wq->wr_ids || !vu_try_lock(&wq->lock))
		return false;
	found = wq->head != wq->tail;
	if (found)
		*wr_id = wq->wr_ids[wq->head++ & wq->mask];
	vu_unlock(&wq->lock);
	return found;
}

/* Requests of a shared queue are those of the first CQ that is polled. */
static bool vu_flush_srq(struct vu_srq *srq, uint64_t *wr_id)
{
	uint16_t head = __atomic_load_n(&srq->rq.head, __ATOMIC_RELAXED);

	return head != __atomic_load_n(&srq->rq.tail, __ATOMIC_RELAXED) &&
	       vu_srq_retire(srq, head, wr_id);
}

static bool vu_flush_receive(struct vu_qp *qp, uint64_t *wr_id)
{
	return qp->srq ? vu_flush_srq(qp->srq, wr_id) :
			 vu_flush_wq(&qp->rq, wr_id);
}

static const struct vuhca_completion_entry *vu_put_flushed(struct vu_cq *cq,
							   uint32_t qpn,
							   bool receive)
{
	struct vuhca_completion_entry *entry = &cq->flushed;

	memset(entry, 0, sizeof(*entry));
	vuhca_completion_entry_set_qpn(entry, qpn);
	vuhca_completion_entry_set_status(entry,
					  VUHCA_COMPLETION_STATUS_FLUSHED);
	vuhca_completion_entry_set_receive(entry, receive);
	vuhca_completion_entry_set_opcode(entry, receive ?
					  VUHCA_COMPLETION_OPCODE_RECEIVE :
					  VUHCA_COMPLETION_OPCODE_SEND);
	return entry;
}

/*
 * Completes the oldest request of a QP of the CQ, or of an XRC SRQ; returns
 * NULL if none is outstanding. The entry stays until the next call. The caller
 * holds the lock of the CQ.
 */
const struct vuhca_completion_entry *vu_flush_next(struct vu_cq *cq,
						   struct vu_qp **qp,
						   uint64_t *wr_id)
{
	struct vu_context *context = to_vu_context(cq->base.cq.context);
	const struct vuhca_completion_entry *entry = NULL;
	struct vu_srq *srq;
	uint32_t index = 0;

	pthread_mutex_lock(&context->lock);
	while (!entry && (*qp = vu_table_next(context, &index))) {
		if ((*qp)->send_cq == cq && vu_flush_wq(&(*qp)->sq, wr_id))
			entry = vu_put_flushed(cq, (*qp)->qpn, false);
		else if ((*qp)->recv_cq == cq && vu_flush_receive(*qp, wr_id))
			entry = vu_put_flushed(cq, (*qp)->qpn, true);
	}
	pthread_mutex_unlock(&context->lock);
	for (srq = cq->shared; !entry && srq; srq = srq->next)
		if (vu_flush_srq(srq, wr_id))
			entry = vu_put_flushed(cq, 0, true);
	return entry;
}
