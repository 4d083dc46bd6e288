// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Send commands (docs/PROGRAMMING.md, "Posting sends") are built in the slots
 * of the send queue; vu_posting.c shows them to the adapter. Callers hold the
 * lock of the queue.
 */
#include <errno.h>
#include <string.h>

#include "vu_checksum.h"
#include "vu_internal.h"

/* Bytes of an ATOMIC WRITE. */
#define VU_ATOMIC_WRITE_BYTES 8
/* Longest message, in bytes. */
#define VU_MESSAGE_MAX (INT32_MAX + 1ULL)
#define VU_PLACEMENTS (IBV_FLUSH_GLOBAL | IBV_FLUSH_PERSISTENT)

/* The next command, without its target and payload; NULL: the queue is full. */
struct vuhca_send_command *vu_begin_command(struct vu_qp *qp, uint64_t wr_id,
					    unsigned int opcode,
					    unsigned int flags)
{
	struct vu_wq *sq = &qp->sq;
	uint16_t head = __atomic_load_n(&sq->head, __ATOMIC_ACQUIRE);
	struct vuhca_send_command *command = vu_slot(sq, sq->tail);

	if ((uint16_t)(sq->tail - head) >= sq->max_wr)
		return NULL;
	memset(command, 0, sizeof(*command));
	vuhca_send_command_set_opcode(command, opcode);
	vuhca_send_command_set_qpn(command, qp->qpn);
	vuhca_send_command_set_sequence(command, sq->tail);
	vuhca_send_command_set_qos_level(command, qp->qos_level);
	vuhca_send_command_set_collect_length(command, sizeof(*command));
	vuhca_send_command_set_signaled(command, qp->signal_all ||
					(flags & IBV_SEND_SIGNALED));
	vuhca_send_command_set_solicited(command,
					 !!(flags & IBV_SEND_SOLICITED));
	vuhca_send_command_set_fence(command, !!(flags & IBV_SEND_FENCE));
	sq->wr_ids[sq->tail & sq->mask] = wr_id;
	return command;
}

void vu_put_remote(struct vuhca_send_command *command, uint64_t address,
		   uint32_t rkey)
{
	struct vuhca_rdma_target *target = (void *)command->target;

	target->remote_address = htole64(address);
	target->rkey = htole32(rkey);
}

void vu_put_datagram(struct vuhca_send_command *command, struct ibv_ah *ah,
		     uint32_t qpn, uint32_t qkey)
{
	struct vuhca_ud_target *target = (void *)command->target;

	vuhca_ud_target_set_remote_qpn(target, qpn);
	target->qkey = htole32(qkey);
	target->address_handle =
		htole32(container_of(ah, struct vu_ah, base)->index);
}

void vu_put_operands(struct vuhca_send_command *command, uint64_t compare,
		     uint64_t swap_or_add)
{
	struct vuhca_atomic_operands *operands = (void *)(command + 1);

	operands->swap_or_add = htole64(swap_or_add);
	operands->compare = htole64(compare);
	vuhca_send_command_set_collect_length(command, sizeof(*command) +
					      sizeof(*operands));
}

/*
 * The value of an ATOMIC WRITE follows the header, in the byte order of memory.
 */
void vu_put_value(struct vuhca_send_command *command, const void *value)
{
	memcpy(command + 1, value, VU_ATOMIC_WRITE_BYTES);
	vuhca_send_command_set_inline(command, 1);
	command->message_length = htole32(VU_ATOMIC_WRITE_BYTES);
	vuhca_send_command_set_collect_length(command, sizeof(*command) +
					      VU_ATOMIC_WRITE_BYTES);
}

/* Length and address are ignored when a whole region is flushed. */
int vu_put_flush(struct vuhca_send_command *command, size_t length,
		 uint8_t type, uint8_t level)
{
	struct vuhca_rdma_target *target = (void *)command->target;

	if (level == IBV_FLUSH_MR)
		length = 0;
	if (length > VU_MESSAGE_MAX || !type || type & ~VU_PLACEMENTS ||
	    level > IBV_FLUSH_MR)
		return EINVAL;
	command->message_length = htole32(length);
	vuhca_rdma_target_set_placement_type(target, type);
	vuhca_rdma_target_set_selectivity(target, level);
	return 0;
}

/*
 * The range of memory is where other commands have their only element; a length
 * of zero unbinds a window of type 1.
 */
int vu_put_bind(struct vuhca_send_command *command, struct ibv_mw *mw,
		uint32_t rkey, const struct ibv_mw_bind_info *info)
{
	struct vuhca_bind_target *target = (void *)command->target;
	struct vu_mw *window = container_of(mw, struct vu_mw, base);
	uint32_t access = 0;

	if (info->length > UINT32_MAX || (info->length && !info->mr))
		return EINVAL;
	if (info->mw_access_flags & IBV_ACCESS_REMOTE_WRITE)
		access |= VUHCA_ACCESS_FLAG_REMOTE_WRITE;
	if (info->mw_access_flags & IBV_ACCESS_REMOTE_READ)
		access |= VUHCA_ACCESS_FLAG_REMOTE_READ;
	if (info->mw_access_flags & IBV_ACCESS_REMOTE_ATOMIC)
		access |= VUHCA_ACCESS_FLAG_REMOTE_ATOMIC;
	if (info->mw_access_flags & IBV_ACCESS_FLUSH_GLOBAL)
		access |= VUHCA_ACCESS_FLAG_FLUSH_GLOBAL;
	if (info->mw_access_flags & IBV_ACCESS_FLUSH_PERSISTENT)
		access |= VUHCA_ACCESS_FLAG_FLUSH_PERSISTENT;
	if (info->mw_access_flags & IBV_ACCESS_ZERO_BASED)
		access |= VUHCA_ACCESS_FLAG_ZERO_BASED;
	target->rkey = htole32(window->key);
	target->access = htole32(access);
	target->key_byte = rkey;
	vuhca_send_command_set_sge_count(command, 1);
	command->sge_address = htole64(info->addr);
	command->sge_length = htole32(info->length);
	command->sge_lkey = htole32(info->mr ? info->mr->lkey : 0);
	window->key = rkey;
	return 0;
}

/* Apart from vu_put_sges(), which becomes part of its callers without a loop. */
static __attribute__((noinline)) int
vu_put_several(struct vu_qp *qp, struct vuhca_send_command *command,
	       const struct ibv_sge *sges, size_t count)
{
	struct vuhca_sge *behind = (struct vuhca_sge *)(command + 1);
	uint64_t total = 0;
	size_t i;

	if (count > qp->sq.max_sge)
		return EINVAL;
	for (i = 0; i < count; i++)
		total += sges[i].length;
	if (total > VU_MESSAGE_MAX)
		return EINVAL;
	command->message_length = htole32(total);
	vuhca_send_command_set_sge_count(command, count);
	for (i = 0; i < count; i++) {
		behind[i].address = htole64(sges[i].addr);
		behind[i].length = htole32(sges[i].length);
		behind[i].lkey = htole32(sges[i].lkey);
	}
	vuhca_send_command_set_collect_length(command, sizeof(*command) +
					      count * sizeof(*behind));
	return 0;
}

/* A single element is in the header, several follow it. */
int vu_put_sges(struct vu_qp *qp, struct vuhca_send_command *command,
		const struct ibv_sge *sges, size_t count)
{
	if (count != 1)
		return vu_put_several(qp, command, sges, count);
	if (!qp->sq.max_sge || sges->length > VU_MESSAGE_MAX)
		return EINVAL;
	command->message_length = htole32(sges->length);
	vuhca_send_command_set_sge_count(command, 1);
	command->sge_address = htole64(sges->addr);
	command->sge_length = htole32(sges->length);
	command->sge_lkey = htole32(sges->lkey);
	return 0;
}

int vu_put_inline(struct vu_qp *qp, struct vuhca_send_command *command,
		  const struct ibv_data_buf *buffers, size_t count)
{
	uint8_t *payload = (uint8_t *)(command + 1);
	size_t i, length = 0, padded;

	for (i = 0; i < count; i++) {
		if (buffers[i].length > qp->max_inline - length)
			return EINVAL;
		memcpy(payload + length, buffers[i].addr, buffers[i].length);
		length += buffers[i].length;
	}
	padded = align(length, sizeof(uint64_t));
	memset(payload + length, 0, padded - length);
	vuhca_send_command_set_inline(command, 1);
	command->message_length = htole32(length);
	vuhca_send_command_set_collect_length(command,
					      sizeof(*command) + padded);
	return 0;
}

/* Seals the command with its checksum and goes on to the next slot. */
void vu_end_command(struct vu_qp *qp, struct vuhca_send_command *command)
{
	size_t length = vuhca_send_command_get_collect_length(command);

	command->checksum = htole32(vu_checksum(command, length,
						qp->checksum_key));
	__atomic_store_n(&qp->sq.tail, (uint16_t)(qp->sq.tail + 1),
			 __ATOMIC_RELAXED);
}
