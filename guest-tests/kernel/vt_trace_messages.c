// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Contents of a command block: the packets of its message and their payload at
 * both ends, up to the snap length, and nothing once it is overwritten.
 */
#include "vt_trace.h"

/* Messages of four packets of 256 bytes. */
#define VT_TRACED_BYTES		1000
#define VT_TRACED_PACKETS	4
#define VT_SNAP			300
#define VT_KEY			7

static const struct vt_pair_options vt_small_packets = { .path_mtu = 1 };

/* The only block of the QP, a message of VT_TRACED_BYTES. */
static void vt_has_message(struct vt *t, struct vuhca_qp *qp, bool receive,
			   u32 psn, u32 kept)
{
	u8 *payload = t->memory + VT_TRACE_BUFFER;
	const struct vuhca_trace_block *block;

	vt_trace_read(t, qp, 0, &block, 1);
	VT_REQUIRE(t, block, "QP %u", qp->qpn);
	VT_EQUAL(t, vuhca_trace_block_get_receive(block), receive);
	VT_EQUAL(t, vuhca_trace_block_get_complete(block), 1);
	VT_EQUAL(t, block->status, VUHCA_COMPLETION_STATUS_SUCCESS);
	VT_EQUAL(t, vuhca_trace_block_get_first_psn(block), psn);
	VT_EQUAL(t, vuhca_trace_block_get_last_psn(block),
		 psn + VT_TRACED_PACKETS - 1);
	VT_EQUAL(t, vuhca_trace_block_get_packets(block), VT_TRACED_PACKETS);
	VT_EQUAL(t, le32_to_cpu(block->message_length), VT_TRACED_BYTES);
	VT_EQUAL(t, vuhca_trace_block_get_truncated(block),
		 kept < VT_TRACED_BYTES);
	VT_EQUAL(t, le32_to_cpu(block->snap_length), kept);
	VT_EQUAL(t, le16_to_cpu(block->packets_kept), DIV_ROUND_UP(kept, 256));
	VT_EQUAL(t, vt_trace_payload(t, block, payload, VT_TRACED_BYTES), kept);
	VT_CHECK(t, vt_holds(payload, kept, VT_KEY), "payload of the block");
}

/* Traces both ends of a SEND. */
static void vt_message_of_pair(struct vt_pair *pair, struct vt_areas *areas,
			       u32 snap_length)
{
	struct vt_trace_options options = { .snap_length = snap_length };
	struct vuhca_buffer here = vt_area_buffer(areas, 0, 0, VT_TRACED_BYTES);
	struct vuhca_buffer there = vt_area_buffer(areas, 1, 0, VT_TRACED_BYTES);
	struct vuhca_send_wr wr = vt_rdma_wr(areas, VUHCA_SEND_OPCODE_SEND,
					     &here, 0);
	struct vt *t = pair->t;
	u32 kept = min_t(u32, snap_length, VT_TRACED_BYTES);
	struct vuhca_wc wc;
	unsigned int i;

	for (i = 0; i < 2; i++)
		if (!vt_trace_enable(t, pair->end[i].qp, &options))
			return;
	vt_fill(areas->bytes[0], VT_TRACED_BYTES, VT_KEY);
	VT_EQUAL(t, vt_pair_receive(pair, 1, &there, 0), 0);
	vt_do(pair, &wr, VUHCA_COMPLETION_STATUS_SUCCESS);
	vt_completes(t, t->recv_cq.cq, VUHCA_COMPLETION_STATUS_SUCCESS, &wc);
	for (i = 0; i < 2; i++)
		vt_has_message(t, pair->end[i].qp, i, VT_LATE_PSN, kept);
}

static void vt_packets_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	vt_message_of_pair(pair, areas, 4096);
}

/* Both ends have the packets of a message, with PSNs and payload. */
void vt_trace_packets(struct vt *t)
{
	vt_on_pair(t, &vt_small_packets, vt_packets_of_pair);
}

static void vt_snaps_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	vt_message_of_pair(pair, areas, VT_SNAP);
	vt_pair_works(pair, areas);
}

/* Payload is cut at the snap length; the packets are counted all the same. */
void vt_trace_snaps(struct vt *t)
{
	vt_on_pair(t, &vt_small_packets, vt_snaps_of_pair);
}

/* The blocks of a datagram name the other end, and have its payload. */
void vt_trace_datagrams(struct vt *t)
{
	struct vt_trace_options options = { .snap_length = 4096 };
	u8 *payload = t->memory + VT_TRACE_BUFFER;
	const struct vuhca_trace_block *block;
	u8 sent[VT_TRACED_BYTES];
	unsigned int i;

	BUILD_BUG_ON(VT_TRACED_BYTES > 1024);
	for (i = 0; i < 2; i++)
		if (!vt_trace_enable(t, t->end[i].qp, &options))
			return;
	VT_REQUIRE(t, vt_roundtrip(t, 0, 1, VT_TRACED_BYTES, VUHCA_POST_AUTO),
		   "datagram");
	for (i = 0; i < 2; i++) {
		vt_trace_read(t, t->end[i].qp, 0, &block, 1);
		VT_REQUIRE(t, block, "end %u", i);
		VT_EQUAL(t, vuhca_trace_block_get_receive(block), i);
		VT_EQUAL(t, block->service_type, VUHCA_SERVICE_TYPE_UD);
		VT_EQUAL(t, vuhca_trace_block_get_packets(block), 1);
		VT_EQUAL(t, vuhca_trace_block_get_remote_qpn(block),
			 t->end[!i].qp->qpn);
		VT_EQUAL(t, vt_trace_payload(t, block, payload, VT_TRACED_BYTES),
			 VT_TRACED_BYTES);
		if (!i)
			memcpy(sent, payload, VT_TRACED_BYTES);
	}
	VT_CHECK(t, !memcmp(sent, payload, VT_TRACED_BYTES),
		 "both ends have the same payload");
}

/*
 * End 1 sends a message for which end 0 has no receive entry: it stays under way.
 * Messages that end 1 receives overwrite its block. Later records of it, its
 * retries and its end, change no block of another message.
 */
static void vt_wraps_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	struct vt_trace_options options = {
		.blocks_log2 = VT_TRACE_BLOCKS_LOG2,
		.snap_length = 256,
	};
	const struct vuhca_trace_block *blocks[VT_TRACE_BLOCKS];
	struct vuhca_buffer bytes = vt_area_buffer(areas, 0, 0, 64);
	struct vuhca_send_wr send = vt_rdma_wr(areas, VUHCA_SEND_OPCODE_SEND,
					       &bytes, 0);
	struct vuhca_send_wr write = vt_rdma_wr(areas,
						VUHCA_SEND_OPCODE_RDMA_WRITE,
						&bytes, 0);
	struct vuhca_trace_attributes attributes = {};
	struct vuhca_qp *qp = pair->end[1].qp;
	struct vt *t = pair->t;
	unsigned int i, written = 2 * VT_TRACE_BLOCKS;
	struct vuhca_wc wc;

	if (!vt_trace_enable(t, qp, &options))
		return;
	VT_REQUIRE(t, vt_post(pair, 1, &send), "send");
	VT_WAIT(t, vt_trace_head(t, qp) == 1);
	for (i = 0; i < written; i++)
		vt_do(pair, &write, VUHCA_COMPLETION_STATUS_SUCCESS);
	VT_EQUAL(t, vt_pair_receive(pair, 0, &bytes, 0), 0);
	vt_completes(t, t->send_cq.cq, VUHCA_COMPLETION_STATUS_SUCCESS, &wc);
	VT_EQUAL(t, wc.qp->qpn, qp->qpn);
	VT_EQUAL(t, vuhca_query_trace(qp, &attributes), 0);
	VT_EQUAL(t, le64_to_cpu(attributes.head), written + 1);
	VT_EQUAL(t, le64_to_cpu(attributes.lost), written + 1 - VT_TRACE_BLOCKS);
	vt_trace_read(t, qp, 0, blocks, VT_TRACE_BLOCKS);
	VT_REQUIRE(t, blocks[0], "blocks");
	for (i = 0; i < VT_TRACE_BLOCKS; i++) {
		VT_EQUAL(t, vuhca_trace_block_get_receive(blocks[i]), 1);
		VT_EQUAL(t, vuhca_trace_block_get_complete(blocks[i]), 1);
		VT_EQUAL(t, blocks[i]->opcode, VUHCA_SEND_OPCODE_RDMA_WRITE);
		VT_EQUAL(t, vuhca_trace_block_get_retries(blocks[i]), 0);
		VT_EQUAL(t, le16_to_cpu(blocks[i]->packets_kept), 1);
	}
}

void vt_trace_wraps(struct vt *t)
{
	struct vt_pair_options options = {};

	vt_on_pair(t, &options, vt_wraps_of_pair);
}
