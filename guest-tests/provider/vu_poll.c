// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Polling of completion queues. An entry is valid when its last word is the
 * next running number, so no system call and no clearing is needed.
 */
#include <string.h>

#include "vu_internal.h"

static struct vuhca_completion_entry *vu_place(const struct vu_cq *cq,
					       uint32_t number)
{
	return cq->entries + (number & ((1U << cq->entries_log2) - 1));
}

static uint32_t vu_sequence(const struct vuhca_completion_entry *entry)
{
	return le32toh(__atomic_load_n(&entry->sequence, __ATOMIC_RELAXED));
}

static struct vuhca_completion_entry *vu_entry(struct vu_cq *cq,
					       uint32_t number)
{
	struct vuhca_completion_entry *entry = vu_place(cq, number);

	if (vu_sequence(entry) != number + 1)
		return NULL;
	/* The body is read after the word that makes it valid. */
	udma_from_device_barrier();
	return entry;
}

static bool vu_retire(struct vu_qp *qp,
		      const struct vuhca_completion_entry *entry,
		      uint64_t *wr_id)
{
	uint16_t sequence = vuhca_completion_entry_get_queue_sequence(entry);

	if (!vuhca_completion_entry_get_receive(entry))
		return vu_wq_retire(&qp->sq, sequence, wr_id);
	if (qp->srq)
		return vu_srq_retire(qp->srq, sequence, wr_id);
	return vu_wq_retire(&qp->rq, sequence, wr_id);
}

/* Retires the request of an entry; false when it is not outstanding. */
static bool vu_take(struct vu_cq *cq, const struct vuhca_completion_entry *entry,
		    struct vu_qp **qp, uint64_t *wr_id)
{
	struct vu_context *context = to_vu_context(cq->base.cq.context);
	uint32_t qpn = vuhca_completion_entry_get_qpn(entry);
	struct vu_srq *srq = NULL;

	/* Cleaning has set the number to 0, which no QP has. */
	if (!qpn)
		return false;
	*qp = vu_table_find(context, qpn);
	if (cq->shared && vuhca_completion_entry_get_receive(entry))
		srq = vu_find_shared(cq, vuhca_completion_entry_get_srqn(entry));
	if (srq)
		return vu_srq_retire(srq,
				     vuhca_completion_entry_get_queue_sequence(entry),
				     wr_id);
	return *qp && vu_retire(*qp, entry, wr_id);
}

/* The next entry in the ring whose request is outstanding. */
static const struct vuhca_completion_entry *vu_next_written(struct vu_cq *cq,
							    struct vu_qp **qp,
							    uint64_t *wr_id)
{
	const struct vuhca_completion_entry *entry;

	while ((entry = vu_entry(cq, cq->consumed))) {
		cq->consumed++;
		if (vu_take(cq, entry, qp, wr_id))
			return entry;
	}
	return NULL;
}

/*
 * Takes the next entry whose request is outstanding; returns NULL if there is
 * none. The entry stays until vu_publish_consumed(). The caller holds the lock.
 */
const struct vuhca_completion_entry *vu_next_entry(struct vu_cq *cq,
						   struct vu_qp **qp,
						   uint64_t *wr_id)
{
	const struct vuhca_completion_entry *entry;

	entry = vu_next_written(cq, qp, wr_id);
	if (!entry && vu_is_dead(cq)) {
		/* The last entries may have arrived just before. */
		entry = vu_next_written(cq, qp, wr_id);
		if (!entry)
			entry = vu_flush_next(cq, qp, wr_id);
	}
	if (entry && *qp && vuhca_completion_entry_get_status(entry))
		(*qp)->failed = true;
	return entry;
}

/* Errors that verbs know have the same codes in the adapter. */
enum ibv_wc_status vu_status(const struct vuhca_completion_entry *entry)
{
	unsigned int status = vuhca_completion_entry_get_status(entry);

	if (status <= IBV_WC_RNR_RETRY_EXC_ERR)
		return status;
	if (status == VUHCA_COMPLETION_STATUS_FATAL)
		return IBV_WC_FATAL_ERR;
	return IBV_WC_GENERAL_ERR;
}

unsigned int vu_wc_flags(const struct vuhca_completion_entry *entry)
{
	unsigned int flags = 0;

	if (vuhca_completion_entry_get_has_immediate(entry))
		flags |= IBV_WC_WITH_IMM;
	if (vuhca_completion_entry_get_has_invalidate(entry))
		flags |= IBV_WC_WITH_INV;
	if (vuhca_completion_entry_get_global_route(entry))
		flags |= IBV_WC_GRH;
	return flags;
}

/* Immediate data are in network byte order, a key in that of the CPU. */
__be32 vu_immediate(const struct vuhca_completion_entry *entry)
{
	uint32_t value = le32toh(entry->immediate);

	if (vuhca_completion_entry_get_has_invalidate(entry))
		return (__be32)value;
	return htobe32(value);
}

/* Gives entries back. They are read before the adapter may overwrite them. */
void vu_publish_consumed(struct vu_cq *cq)
{
	udma_to_device_barrier();
	__atomic_store_n(&cq->record->consumed, htole32(cq->consumed),
			 __ATOMIC_RELEASE);
}

/*
 * False when no entry waits, for sure. Needs no lock: when another thread takes
 * entries meanwhile, the one looked at is valid still, or newer.
 */
static bool vu_may_have_entry(const struct vu_cq *cq)
{
	uint32_t number = __atomic_load_n(&cq->consumed, __ATOMIC_RELAXED);
	uint32_t sequence = vu_sequence(vu_place(cq, number));

	return (int32_t)(sequence - (number + 1)) >= 0 || vu_is_dead(cq);
}

/*
 * Looks before the lock is taken. False when there is nothing to take.
 *
 * Where the processors of the machine take turns on one thread of an emulator,
 * PAUSE ends the turn of this one, and what it waited for may have come when it
 * has the next. With a thread for each, PAUSE takes a lock of the emulator,
 * which makes others wait.
 */
bool vu_peek(const struct vu_cq *cq)
{
	struct vu_context *context = to_vu_context(cq->base.cq.context);

	if (vu_may_have_entry(cq))
		return true;
	if (!(context->about.flags & VUHCA_UCONTEXT_POLLS_PAUSE))
		return false;
	__builtin_ia32_pause();
	return vu_may_have_entry(cq);
}

static void vu_fill_wc(struct ibv_wc *wc,
		       const struct vuhca_completion_entry *entry)
{
	wc->status = vu_status(entry);
	wc->vendor_err = vuhca_completion_entry_get_vendor_error(entry);
	wc->qp_num = vuhca_completion_entry_get_qpn(entry);
	/* Operations have the same codes in verbs and in the adapter. */
	wc->opcode = vuhca_completion_entry_get_opcode(entry);
	wc->byte_len = le32toh(entry->byte_length);
	wc->imm_data = vu_immediate(entry);
	wc->src_qp = vuhca_completion_entry_get_source_qpn(entry);
	wc->wc_flags = vu_wc_flags(entry);
	wc->pkey_index = le16toh(entry->pkey_index);
	wc->slid = vuhca_completion_entry_get_source_lid(entry);
	wc->sl = vuhca_completion_entry_get_service_level(entry);
	wc->dlid_path_bits = vuhca_completion_entry_get_path_bits(entry);
}

int vu_poll_cq(struct ibv_cq *ibcq, int count, struct ibv_wc *wc)
{
	const struct vuhca_completion_entry *entry;
	struct vu_cq *cq = to_vu_cq(ibcq);
	struct vu_qp *qp;
	uint32_t before;
	int found = 0;

	if (!vu_peek(cq))
		return 0;
	vu_lock(&cq->lock);
	before = cq->consumed;
	while (found < count &&
	       (entry = vu_next_entry(cq, &qp, &wc[found].wr_id)))
		vu_fill_wc(&wc[found++], entry);
	if (cq->consumed != before)
		vu_publish_consumed(cq);
	vu_unlock(&cq->lock);
	return found;
}

/*
 * Discards the entries of a QP that was destroyed or reset: another QP may get
 * its number. The slots of a shared queue that they name become free.
 */
void vu_clean_cq(struct vu_cq *cq, struct vu_qp *qp)
{
	struct vuhca_completion_entry *entry;
	uint32_t number;
	uint64_t wr_id;

	vu_lock(&cq->lock);
	for (number = cq->consumed;
	     number - cq->consumed < 1U << cq->entries_log2; number++) {
		entry = vu_entry(cq, number);
		if (!entry)
			break;
		if (vuhca_completion_entry_get_qpn(entry) != qp->qpn)
			continue;
		if (qp->srq && vuhca_completion_entry_get_receive(entry))
			vu_retire(qp, entry, &wr_id);
		vuhca_completion_entry_set_qpn(entry, 0);
	}
	vu_unlock(&cq->lock);
}

/* Discards the entries of an XRC SRQ that was destroyed. */
void vu_clean_shared(struct vu_srq *srq)
{
	struct vuhca_completion_entry *entry;
	struct vu_cq *cq = srq->cq;
	uint32_t number;

	vu_lock(&cq->lock);
	for (number = cq->consumed;
	     number - cq->consumed < 1U << cq->entries_log2; number++) {
		entry = vu_entry(cq, number);
		if (!entry)
			break;
		if (vuhca_completion_entry_get_receive(entry) &&
		    vuhca_completion_entry_get_srqn(entry) == srq->srqn)
			vuhca_completion_entry_set_qpn(entry, 0);
	}
	vu_unlock(&cq->lock);
}
