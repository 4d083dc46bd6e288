// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Enables traces, reads command blocks, and takes the payload out of them. */
#include "vt_trace.h"

/* False when the case ends: the adapter keeps no traces, or refuses this one. */
bool vt_trace_enable(struct vt *t, struct vuhca_qp *qp,
		     const struct vt_trace_options *options)
{
	struct vuhca_trace_attributes attributes = {
		.snap_length = cpu_to_le32(options->snap_length),
	};
	int err;

	vuhca_trace_attributes_set_enable(&attributes, 1);
	vuhca_trace_attributes_set_blocks_log2(&attributes,
					       options->blocks_log2);
	vuhca_trace_attributes_set_stop_on_error(&attributes,
						 options->stop_on_error);
	err = vuhca_modify_trace(qp, &attributes);
	if (err == -EOPNOTSUPP) {
		vt_skip(t, "this adapter keeps no trace");
		return false;
	}
	return VT_EQUAL(t, -err, 0);
}

void vt_trace_disable(struct vt *t, struct vuhca_qp *qp)
{
	struct vuhca_trace_attributes attributes = {};

	VT_EQUAL(t, vuhca_modify_trace(qp, &attributes), 0);
}

/* Returns the number of blocks that have begun. */
u64 vt_trace_head(struct vt *t, struct vuhca_qp *qp)
{
	struct vuhca_trace_attributes attributes = {};

	VT_EQUAL(t, vuhca_query_trace(qp, &attributes), 0);
	return le64_to_cpu(attributes.head);
}

/*
 * Reads command blocks from @position on, which must be @expected: all of this
 * QP, in order. Returns the position behind them; blocks[i] are valid until the
 * next call. On a failure blocks[0] is NULL.
 */
u64 vt_trace_read(struct vt *t, struct vuhca_qp *qp, u64 position,
		  const struct vuhca_trace_block **blocks, unsigned int expected)
{
	const struct vuhca_trace_block *block = (void *)t->memory;
	struct vuhca_trace_attributes answer = {};
	unsigned int i;
	u64 next;

	blocks[0] = NULL;
	VT_EQUAL(t, vuhca_read_trace(qp, position, t->dma, VT_TRACE_BUFFER,
				     &answer), 0);
	next = le64_to_cpu(answer.position);
	if (!VT_EQUAL(t, le32_to_cpu(answer.count), expected))
		return next;
	for (i = 0; i < expected; i++) {
		VT_EQUAL(t, vuhca_trace_block_get_qpn(block), qp->qpn);
		VT_EQUAL(t, le64_to_cpu(block->index), next - expected + i);
		VT_CHECK(t, le64_to_cpu(block->end_time) >=
			    le64_to_cpu(block->begin_time), "times");
		blocks[i] = block;
		block = (void *)(block + 1) + le32_to_cpu(block->kept_bytes);
	}
	return next;
}

/*
 * Concatenates the payload of the block's packets. Returns its length; times of
 * packets do not go back and are within those of the block.
 */
u32 vt_trace_payload(struct vt *t, const struct vuhca_trace_block *block,
		     u8 *payload, u32 room)
{
	u64 lasted = le64_to_cpu(block->end_time) -
		     le64_to_cpu(block->begin_time);
	const struct vuhca_trace_packet *packet = (void *)(block + 1);
	unsigned int i, header, bytes;
	u32 used = 0, before = 0;

	for (i = 0; i < le16_to_cpu(block->packets_kept); i++) {
		header = le16_to_cpu(packet->header_length);
		bytes = le16_to_cpu(packet->payload_length);
		VT_CHECK(t, le32_to_cpu(packet->time) >= before &&
			    le32_to_cpu(packet->time) <= lasted,
			 "packet %u at %u ns of %llu", i,
			 le32_to_cpu(packet->time), lasted);
		before = le32_to_cpu(packet->time);
		if (!VT_CHECK(t, bytes <= room - used, "packet %u", i))
			return used;
		memcpy(payload + used, (u8 *)(packet + 1) + header, bytes);
		used += bytes;
		packet = (void *)packet +
			 round_up(sizeof(*packet) + header + bytes, 8);
	}
	return used;
}
