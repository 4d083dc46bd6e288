// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The sending side of streams: messages of random operation, size and shape.
 */
#include "vt_stream.h"

static const u8 vt_opcodes[] = {
	/* UC: only messages whose arrival the receiver sees. */
	VUHCA_SEND_OPCODE_SEND,		VUHCA_SEND_OPCODE_SEND_IMMEDIATE,
	VUHCA_SEND_OPCODE_RDMA_WRITE_IMMEDIATE,
	VUHCA_SEND_OPCODE_RDMA_WRITE,	VUHCA_SEND_OPCODE_RDMA_READ,
	VUHCA_SEND_OPCODE_FETCH_ADD,
};

#define VT_UC_OPCODES 3

/* Offset of message @number of a stream in both areas. */
size_t vt_stream_slot(const struct vt_stream *stream, unsigned int number)
{
	return (stream->number * VT_WINDOW + number % VT_WINDOW) *
	       (size_t)VT_SLOT_BYTES;
}

u32 vt_stream_key(const struct vt_stream *stream, unsigned int number)
{
	return stream->number << 24 | number;
}

bool vt_is_fetch(u8 opcode)
{
	return opcode == VUHCA_SEND_OPCODE_RDMA_READ ||
	       opcode == VUHCA_SEND_OPCODE_FETCH_ADD;
}

static void vt_pick(struct vt_streams *all, struct vt_stream *stream,
		    struct vt_message *message)
{
	bool uc = stream->pair->options.service == VUHCA_SERVICE_TYPE_UC;
	u32 random = prandom_u32_state(&all->t->random);
	u32 most = VT_SLOT_BYTES - VT_MARGIN;

	message->opcode = vt_opcodes[random % (uc ? VT_UC_OPCODES :
						    ARRAY_SIZE(vt_opcodes))];
	message->length = (random >> 8) % 4 ? (random >> 10) % 300 :
					      (random >> 10) % most;
	if (message->opcode == VUHCA_SEND_OPCODE_FETCH_ADD)
		message->length = 8;
	message->inlined = !vt_is_fetch(message->opcode) &&
			   message->length <= VUHCA_INLINE_MAX_BYTES &&
			   random >> 31;
	message->sending = true;
	message->receiving = message->opcode != VUHCA_SEND_OPCODE_RDMA_WRITE &&
			     !vt_is_fetch(message->opcode);
}

static unsigned int vt_cut_slot(struct vt_streams *all, size_t offset,
				u32 length, unsigned int most,
				struct vuhca_buffer *pieces)
{
	unsigned int count = 0;
	u32 part;

	while (length) {
		part = length;
		if (count + 1 < most)
			part = 1 + prandom_u32_state(&all->t->random) % length;
		pieces[count++] = vt_area_buffer(&all->areas, 0, offset, part);
		offset += part;
		length -= part;
	}
	return count;
}

static bool vt_prepare(struct vt_streams *all, struct vt_stream *stream,
		       unsigned int number, struct vuhca_send_wr *wr)
{
	struct vt_message *message = &stream->messages[number % VT_WINDOW];
	struct vuhca_buffer *pieces = stream->pieces[number % VT_WINDOW];
	size_t offset = vt_stream_slot(stream, number);
	struct vuhca_buffer there;
	bool fetch;

	vt_pick(all, stream, message);
	fetch = vt_is_fetch(message->opcode);
	all->bytes += message->length;
	vt_fill(all->areas.bytes[fetch] + offset, message->length,
		vt_stream_key(stream, number));
	memset(all->areas.bytes[!fetch] + offset, VT_POISON,
	       message->length + VT_MARGIN);
	*wr = vt_rdma_wr(&all->areas, message->opcode, pieces, offset);
	wr->wr_id = number;
	wr->immediate = ~number;
	wr->signaled = number % 4 == 3 || number + 1 == all->total ||
		       prandom_u32_state(&all->t->random) % 2;
	if (message->inlined) {
		wr->inline_data = all->areas.bytes[0] + offset;
		wr->inline_bytes = message->length;
	}
	wr->sge_count = vt_cut_slot(all, offset, message->length,
				    message->opcode == VUHCA_SEND_OPCODE_FETCH_ADD ?
				    1 : 1 + number % VT_PIECES, pieces);
	there = vt_area_buffer(&all->areas, 1, offset, VT_SLOT_BYTES);
	return !message->receiving ||
	       VT_EQUAL(all->t, vt_pair_receive(stream->pair, !stream->from,
						&there, number), 0);
}

bool vt_stream_send(struct vt_streams *all, struct vt_stream *stream)
{
	struct vuhca_qp *qp = stream->pair->end[stream->from].qp;
	unsigned int i, count;

	count = min3(all->batch, all->total - stream->sent,
		     VT_WINDOW - (stream->sent - stream->done));
	for (i = 0; i < count; i++)
		if (!vt_prepare(all, stream, stream->sent + i, &stream->wrs[i]))
			return false;
	stream->sent += count;
	return !count || VT_EQUAL(all->t, vuhca_post_send(qp, stream->wrs, count,
							  all->mode), count);
}
