// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Posting. A send always goes to its slot in memory first, then the tail is
 * published, then the same bytes go through a collect buffer or a doorbell is
 * rung. So a collect copy may be lost at any time: the adapter falls back to
 * the slot.
 */
#include "vuhca.h"

static u8 *vuhca_wq_slot(struct vuhca_wq *wq, u16 number)
{
	size_t index = number & (BIT(wq->entries_log2) - 1);

	return wq->slots + (index << wq->stride_log2);
}

static bool vuhca_wq_is_full(struct vuhca_wq *wq)
{
	/* Pairs with the release in completion polling. */
	return (u16)(wq->tail - smp_load_acquire(&wq->head)) >=
	       BIT(wq->entries_log2);
}

static void vuhca_put_sges(struct vuhca_sge *to,
			   const struct vuhca_buffer *from, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		to[i].address = cpu_to_le64(from[i].address);
		to[i].length = cpu_to_le32(from[i].length);
		to[i].lkey = cpu_to_le32(from[i].lkey);
	}
}

/* What stands behind the header; returns its length, a multiple of 8. */
static size_t vuhca_put_payload(struct vuhca_send_command *command,
				const struct vuhca_send_wr *wr)
{
	u32 total = 0;
	unsigned int i;

	if (wr->inline_data) {
		size_t padded = ALIGN(wr->inline_bytes, 8);

		memset((u8 *)(command + 1) + wr->inline_bytes, 0,
		       padded - wr->inline_bytes);
		memcpy(command + 1, wr->inline_data, wr->inline_bytes);
		vuhca_send_command_set_inline(command, 1);
		command->message_length = cpu_to_le32(wr->inline_bytes);
		return padded;
	}
	for (i = 0; i < wr->sge_count; i++)
		total += wr->sge[i].length;
	command->message_length = cpu_to_le32(total);
	vuhca_send_command_set_sge_count(command, wr->sge_count);
	if (wr->sge_count == 1) {
		command->sge_address = cpu_to_le64(wr->sge[0].address);
		command->sge_length = cpu_to_le32(wr->sge[0].length);
		command->sge_lkey = cpu_to_le32(wr->sge[0].lkey);
		return 0;
	}
	vuhca_put_sges((struct vuhca_sge *)(command + 1), wr->sge,
		       wr->sge_count);
	return wr->sge_count * sizeof(struct vuhca_sge);
}

static void vuhca_put_target(struct vuhca_send_command *command,
			     const struct vuhca_send_wr *wr)
{
	struct vuhca_ud_target *target = (void *)command->target;

	vuhca_ud_target_set_remote_qpn(target, wr->ud.remote_qpn);
	target->qkey = cpu_to_le32(wr->ud.qkey);
	target->address_handle = cpu_to_le32(wr->ud.ah);
}

/* Computes the checksum of the command in @slot, otherwise complete. */
void vuhca_seal_send(struct vuhca_qp *qp, void *slot)
{
	struct vuhca_send_command *command = slot;
	size_t length = vuhca_send_command_get_collect_length(command);

	command->checksum = 0;
	if (!qp->checksum_off)
		command->checksum = cpu_to_le32(vuhca_checksum(slot, length,
							       qp->checksum_key));
}
EXPORT_SYMBOL_GPL(vuhca_seal_send);

/*
 * Fills the next slot and advances the tail in memory of our own; nothing is
 * visible to the adapter before vuhca_publish_sends(). NULL when the queue is
 * full or the request does not fit its slots. The caller holds sq.lock.
 */
void *vuhca_fill_send(struct vuhca_qp *qp, const struct vuhca_send_wr *wr,
		      size_t *length, u16 *sequence)
{
	struct vuhca_wq *sq = &qp->sq;
	struct vuhca_send_command *command;
	size_t behind;

	lockdep_assert_held(&sq->lock);
	behind = wr->inline_data ? ALIGN(wr->inline_bytes, 8) :
		 wr->sge_count > 1 ? wr->sge_count * sizeof(struct vuhca_sge) : 0;
	if (vuhca_wq_is_full(sq) ||
	    sizeof(*command) + behind > BIT(sq->stride_log2))
		return NULL;
	*sequence = sq->tail;
	command = (void *)vuhca_wq_slot(sq, sq->tail);
	memset(command, 0, sizeof(*command));
	vuhca_send_command_set_opcode(command, wr->opcode);
	vuhca_send_command_set_qpn(command, qp->qpn);
	vuhca_send_command_set_sequence(command, sq->tail);
	vuhca_send_command_set_qos_level(command, qp->qos_level);
	vuhca_send_command_set_signaled(command, wr->signaled);
	vuhca_send_command_set_solicited(command, wr->solicited);
	command->immediate = cpu_to_le32(wr->immediate);
	vuhca_put_target(command, wr);
	*length = sizeof(*command) + vuhca_put_payload(command, wr);
	vuhca_send_command_set_collect_length(command, *length);
	vuhca_seal_send(qp, command);
	sq->wr_ids[sq->tail & (BIT(sq->entries_log2) - 1)] = wr->wr_id;
	sq->tail++;
	return command;
}
EXPORT_SYMBOL_GPL(vuhca_fill_send);

/* Shows the adapter every slot filled so far. */
void vuhca_publish_sends(struct vuhca_qp *qp)
{
	/* Slots before the tail that says they are there. */
	dma_wmb();
	WRITE_ONCE(qp->record->send_tail, cpu_to_le16(qp->sq.tail));
	/* The tail before the collect buffer or doorbell that follows. */
	wmb();
}
EXPORT_SYMBOL_GPL(vuhca_publish_sends);

void vuhca_ring_doorbell(struct vuhca_qp *qp, u16 sequence)
{
	struct vuhca_doorbell word = {};

	vuhca_doorbell_set_qpn(&word, qp->qpn);
	vuhca_doorbell_set_sequence(&word, sequence);
	vuhca_doorbell_set_qos_level(&word, qp->qos_level);
	vuhca_write_eight(qp->dev->csr + VUHCA_CSR_SEND_DOORBELL_OFF, &word);
}
EXPORT_SYMBOL_GPL(vuhca_ring_doorbell);

static int vuhca_may_send(struct vuhca_qp *qp)
{
	if (!vuhca_is_current(qp->dev, qp->generation))
		return -ESTALE;
	switch (READ_ONCE(qp->state)) {
	case VUHCA_QP_STATE_RTS:
	case VUHCA_QP_STATE_SQD:
	case VUHCA_QP_STATE_SQE:
	case VUHCA_QP_STATE_ERR:
		return 0;
	}
	return -EINVAL;
}

static int vuhca_send_batch(struct vuhca_qp *qp,
			    const struct vuhca_send_wr *wrs, unsigned int count)
{
	u16 sequence, first = qp->sq.tail;
	unsigned int posted;
	size_t length;

	for (posted = 0; posted < count; posted++)
		if (!vuhca_fill_send(qp, wrs + posted, &length, &sequence))
			break;
	if (posted) {
		vuhca_publish_sends(qp);
		vuhca_ring_doorbell(qp, first);
	}
	return posted;
}

static int vuhca_send_collected(struct vuhca_qp *qp,
				const struct vuhca_send_wr *wrs,
				unsigned int count)
{
	unsigned int posted;
	size_t length;
	u16 sequence;
	void *slot;

	for (posted = 0; posted < count; posted++) {
		slot = vuhca_fill_send(qp, wrs + posted, &length, &sequence);
		if (!slot)
			break;
		vuhca_publish_sends(qp);
		if (!vuhca_vcb_try_write(qp->dev, qp->qos_level, slot, length))
			vuhca_ring_doorbell(qp, sequence);
	}
	return posted;
}

/* Posts up to @count requests in order; how many, or an error when none. */
int vuhca_post_send(struct vuhca_qp *qp, const struct vuhca_send_wr *wrs,
		    unsigned int count, enum vuhca_post_mode mode)
{
	unsigned long flags;
	int posted;

	/* The lock also keeps us on one CPU, hence on one collect buffer. */
	spin_lock_irqsave(&qp->sq.lock, flags);
	posted = vuhca_may_send(qp);
	if (!posted) {
		if (mode == VUHCA_POST_COLLECT ||
		    (mode == VUHCA_POST_AUTO && count == 1))
			posted = vuhca_send_collected(qp, wrs, count);
		else
			posted = vuhca_send_batch(qp, wrs, count);
		if (!posted && count)
			posted = -ENOMEM;
	}
	spin_unlock_irqrestore(&qp->sq.lock, flags);
	return posted;
}
EXPORT_SYMBOL_GPL(vuhca_post_send);

static bool vuhca_fill_recv(struct vuhca_qp *qp, const struct vuhca_recv_wr *wr)
{
	size_t length = sizeof(struct vuhca_receive_entry) +
			wr->sge_count * sizeof(struct vuhca_sge);
	struct vuhca_wq *rq = &qp->rq;
	struct vuhca_receive_entry *entry;

	if (vuhca_wq_is_full(rq) || length > BIT(rq->stride_log2))
		return false;
	entry = (void *)vuhca_wq_slot(rq, rq->tail);
	memset(entry, 0, sizeof(*entry));
	vuhca_receive_entry_set_sge_count(entry, wr->sge_count);
	entry->sequence = cpu_to_le16(rq->tail);
	vuhca_put_sges((struct vuhca_sge *)(entry + 1), wr->sge, wr->sge_count);
	rq->wr_ids[rq->tail & (BIT(rq->entries_log2) - 1)] = wr->wr_id;
	rq->tail++;
	return true;
}

/* Posts up to @count receives; how many, or an error when none. */
int vuhca_post_recv(struct vuhca_qp *qp, const struct vuhca_recv_wr *wrs,
		    unsigned int count)
{
	unsigned long flags;
	int posted = 0;

	if (!vuhca_is_current(qp->dev, qp->generation))
		return -ESTALE;
	if (READ_ONCE(qp->state) == VUHCA_QP_STATE_RESET)
		return -EINVAL;
	spin_lock_irqsave(&qp->rq.lock, flags);
	while (posted < count && vuhca_fill_recv(qp, wrs + posted))
		posted++;
	/* Entries before the tail that says they are there. */
	dma_wmb();
	WRITE_ONCE(qp->record->receive_tail, cpu_to_le16(qp->rq.tail));
	spin_unlock_irqrestore(&qp->rq.lock, flags);
	/* In the error state nothing arrives that would make it look. */
	if (posted && READ_ONCE(qp->state) == VUHCA_QP_STATE_ERR) {
		wmb();
		vuhca_ring_doorbell(qp, READ_ONCE(qp->sq.tail));
	}
	return posted || !count ? posted : -ENOMEM;
}
EXPORT_SYMBOL_GPL(vuhca_post_recv);
