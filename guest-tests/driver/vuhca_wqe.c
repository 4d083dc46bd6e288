// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* WQEs: work requests laid out in the slots of send and receive queues. */
#include <linux/log2.h>

#include "vuhca_internal.h"

/* log2 of the slot length of a receive queue, shared or not. */
unsigned int vuhca_recv_stride(unsigned int sge)
{
	return order_base_2(sizeof(struct vuhca_receive_entry) +
			    max(sge, 1U) * sizeof(struct vuhca_sge));
}

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

static bool vuhca_is_atomic(const struct vuhca_send_wr *wr)
{
	return wr->opcode == VUHCA_SEND_OPCODE_COMPARE_SWAP ||
	       wr->opcode == VUHCA_SEND_OPCODE_FETCH_ADD;
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

static void vuhca_put_operands(struct vuhca_send_command *command,
			       const struct vuhca_send_wr *wr)
{
	struct vuhca_atomic_operands *operands = (void *)(command + 1);

	operands->swap_or_add = cpu_to_le64(wr->atomic.swap_or_add);
	operands->compare = cpu_to_le64(wr->atomic.compare);
}

/* Bytes after the header, a multiple of 8. */
static size_t vuhca_trailing_bytes(const struct vuhca_send_wr *wr)
{
	if (vuhca_is_atomic(wr))
		return sizeof(struct vuhca_atomic_operands);
	if (wr->inline_data)
		return ALIGN(wr->inline_bytes, 8);
	return wr->sge_count > 1 ? wr->sge_count * sizeof(struct vuhca_sge) : 0;
}

static void vuhca_put_inline(struct vuhca_send_command *command,
			     const struct vuhca_send_wr *wr)
{
	size_t padded = ALIGN(wr->inline_bytes, 8);

	memset((u8 *)(command + 1) + wr->inline_bytes, 0,
	       padded - wr->inline_bytes);
	memcpy(command + 1, wr->inline_data, wr->inline_bytes);
	vuhca_send_command_set_inline(command, 1);
	command->message_length = cpu_to_le32(wr->inline_bytes);
}

/*
 * Writes the payload or its address; the operands of an atomic take its place.
 */
static void vuhca_put_payload(struct vuhca_send_command *command,
			      const struct vuhca_send_wr *wr)
{
	u32 total = 0;
	unsigned int i;

	if (vuhca_is_atomic(wr)) {
		vuhca_put_operands(command, wr);
	} else if (wr->inline_data) {
		vuhca_put_inline(command, wr);
		return;
	}
	if (wr->opcode == VUHCA_SEND_OPCODE_FLUSH)
		total = wr->flush.bytes;
	for (i = 0; i < wr->sge_count; i++)
		total += wr->sge[i].length;
	command->message_length = cpu_to_le32(total);
	vuhca_send_command_set_sge_count(command, wr->sge_count);
	if (wr->sge_count == 1) {
		command->sge_address = cpu_to_le64(wr->sge[0].address);
		command->sge_length = cpu_to_le32(wr->sge[0].length);
		command->sge_lkey = cpu_to_le32(wr->sge[0].lkey);
	} else if (!vuhca_is_atomic(wr)) {
		vuhca_put_sges((struct vuhca_sge *)(command + 1), wr->sge,
			       wr->sge_count);
	}
}

static void vuhca_put_ud_target(struct vuhca_send_command *command,
				const struct vuhca_send_wr *wr)
{
	struct vuhca_ud_target *target = (void *)command->target;

	vuhca_ud_target_set_remote_qpn(target, wr->ud.remote_qpn);
	target->qkey = cpu_to_le32(wr->ud.qkey);
	target->address_handle = cpu_to_le32(wr->ud.ah);
	target->pkey_index = cpu_to_le16(wr->ud.pkey_index);
}

static void vuhca_put_rdma_target(struct vuhca_send_command *command,
				  const struct vuhca_send_wr *wr)
{
	struct vuhca_rdma_target *target = (void *)command->target;

	target->remote_address = cpu_to_le64(wr->remote.address);
	target->rkey = cpu_to_le32(wr->remote.rkey);
}

static void vuhca_put_flush(struct vuhca_send_command *command,
			    const struct vuhca_send_wr *wr)
{
	struct vuhca_rdma_target *target = (void *)command->target;

	vuhca_rdma_target_set_placement_type(target, wr->flush.placement_type);
	vuhca_rdma_target_set_selectivity(target, wr->flush.selectivity);
}

static void vuhca_put_register_target(struct vuhca_send_command *command,
				      const struct vuhca_send_wr *wr)
{
	struct vuhca_register_target *target = (void *)command->target;

	target->page_list_address = cpu_to_le64(wr->reg.page_list);
	target->page_count = cpu_to_le16(wr->reg.page_count);
	target->page_shift = wr->reg.page_shift;
	target->access = cpu_to_le32(wr->reg.access);
}

static void vuhca_put_bind_target(struct vuhca_send_command *command,
				  const struct vuhca_send_wr *wr)
{
	struct vuhca_bind_target *target = (void *)command->target;

	target->rkey = cpu_to_le32(wr->bind.rkey);
	target->access = cpu_to_le32(wr->bind.access);
	target->key_byte = wr->bind.key_byte;
}

static void vuhca_put_target(struct vuhca_send_command *command,
			     const struct vuhca_send_wr *wr)
{
	switch (wr->opcode) {
	case VUHCA_SEND_OPCODE_RDMA_WRITE:
	case VUHCA_SEND_OPCODE_RDMA_WRITE_IMMEDIATE:
	case VUHCA_SEND_OPCODE_RDMA_READ:
	case VUHCA_SEND_OPCODE_COMPARE_SWAP:
	case VUHCA_SEND_OPCODE_FETCH_ADD:
	case VUHCA_SEND_OPCODE_ATOMIC_WRITE:
		vuhca_put_rdma_target(command, wr);
		break;
	case VUHCA_SEND_OPCODE_FLUSH:
		vuhca_put_rdma_target(command, wr);
		vuhca_put_flush(command, wr);
		break;
	case VUHCA_SEND_OPCODE_FAST_REGISTER:
		vuhca_put_register_target(command, wr);
		break;
	case VUHCA_SEND_OPCODE_BIND_WINDOW:
		vuhca_put_bind_target(command, wr);
		break;
	default:
		/* Connected QPs ignore the target. */
		vuhca_put_ud_target(command, wr);
	}
}

/**
 * vuhca_seal_send_wqe() - Fill in the checksum of a send command.
 * @qp: QP of the command.
 * @slot: Command that is complete except for its checksum.
 *
 * Context: Any context.
 */
void vuhca_seal_send_wqe(struct vuhca_qp *qp, void *slot)
{
	struct vuhca_send_command *command = slot;
	size_t length = vuhca_send_command_get_collect_length(command);

	command->checksum = 0;
	if (!qp->checksum_off)
		command->checksum = cpu_to_le32(vuhca_checksum(slot, length,
							       qp->checksum_key));
}
EXPORT_SYMBOL_GPL(vuhca_seal_send_wqe);

/**
 * vuhca_build_send_wqe() - Build the next send WQE and advance the send tail
 *	in host memory.
 * @qp: QP.
 * @wr: Send work request.
 * @length: Receives the length of the command.
 * @sequence: Receives the number of the request.
 *
 * The adapter does not see the WQE before vuhca_publish_send_tail().
 *
 * Context: Any context. The caller holds qp->sq.lock.
 * Return: The WQE; NULL when the queue is full or the request does not fit its
 *	slots.
 */
void *vuhca_build_send_wqe(struct vuhca_qp *qp, const struct vuhca_send_wr *wr,
			   size_t *length, u16 *sequence)
{
	struct vuhca_wq *sq = &qp->sq;
	struct vuhca_send_command *command;

	lockdep_assert_held(&sq->lock);
	*length = sizeof(*command) + vuhca_trailing_bytes(wr);
	if (vuhca_wq_is_full(sq) || *length > BIT(sq->stride_log2))
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
	vuhca_send_command_set_fence(command, wr->fence);
	command->immediate = cpu_to_le32(wr->immediate);
	vuhca_send_command_set_xrc_srqn(command, wr->xrc_srqn);
	vuhca_put_target(command, wr);
	vuhca_put_payload(command, wr);
	vuhca_send_command_set_collect_length(command, *length);
	vuhca_seal_send_wqe(qp, command);
	sq->wr_ids[sq->tail & (BIT(sq->entries_log2) - 1)] = wr->wr_id;
	sq->tail++;
	return command;
}
EXPORT_SYMBOL_GPL(vuhca_build_send_wqe);

/*
 * Builds the next WQE of a receive queue, shared or not; false when the queue
 * is full or the request does not fit. The caller holds the queue's lock.
 */
bool vuhca_build_recv_wqe(struct vuhca_wq *rq, const struct vuhca_recv_wr *wr)
{
	size_t length = sizeof(struct vuhca_receive_entry) +
			wr->sge_count * sizeof(struct vuhca_sge);
	struct vuhca_receive_entry *entry;

	lockdep_assert_held(&rq->lock);
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
