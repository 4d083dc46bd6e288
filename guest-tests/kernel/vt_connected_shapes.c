// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Messages of connected QPs from inline payload and from scatter/gather lists.
 */
#include "vt_connected.h"

#define VT_UC	VUHCA_SERVICE_TYPE_UC
#define VT_OK	VUHCA_COMPLETION_STATUS_SUCCESS

/* Inline payload, as a message and as a WRITE. */
static void vt_inline_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	struct vuhca_buffer there = vt_area_buffer(areas, 1, 0, 512);
	struct vuhca_send_wr wr = vt_rdma_wr(areas, VUHCA_SEND_OPCODE_SEND,
					     NULL, 0);
	struct vt *t = pair->t;
	struct vuhca_wc wc;
	u32 length;

	for (length = 0; length <= VUHCA_INLINE_MAX_BYTES;
	     length = length ? length * 2 - length / 3 : 1) {
		bool sends = length % 2;

		vt_fill(areas->bytes[0], length, length);
		memset(areas->bytes[1], VT_POISON, 512);
		wr.opcode = sends ? VUHCA_SEND_OPCODE_SEND :
				    VUHCA_SEND_OPCODE_RDMA_WRITE;
		wr.inline_data = areas->bytes[0];
		wr.inline_bytes = length;
		if (sends)
			VT_EQUAL(t, vt_pair_receive(pair, 1, &there, 0), 0);
		vt_do(pair, &wr, VT_OK);
		if (sends)
			vt_completes(t, t->recv_cq.cq, VT_OK, &wc);
		VT_WAIT(t, vt_holds(areas->bytes[1], length, length));
		VT_CHECK(t, vt_is_poison(areas->bytes[1] + length, 64),
			 "%u bytes ran over", length);
	}
}

void vt_connected_inline(struct vt *t)
{
	struct vt_pair_options options = { .path_mtu = 1 };

	vt_on_pair(t, &options, vt_inline_of_pair);
	options.service = VT_UC;
	vt_on_pair(t, &options, vt_inline_of_pair);
}

/*
 * Fills in 16 pieces of unequal length with gaps; returns their total length.
 */
static u32 vt_pieces(struct vt_areas *areas, unsigned int end,
		     struct vuhca_buffer *pieces)
{
	u32 total = 0;
	unsigned int i;

	for (i = 0; i < VUHCA_SGE_MAX; i++) {
		pieces[i] = vt_area_buffer(areas, end, i * 2048 + i,
					   1 + (i * 149 + end * 77) % 1000);
		total += pieces[i].length;
	}
	return total;
}

/* Copies from the pieces to @flat, or from @flat to the pieces. */
static void vt_copy_pieces(struct vt_areas *areas, unsigned int end,
			   const struct vuhca_buffer *pieces, u8 *flat,
			   u32 length, bool gather)
{
	unsigned int i;
	u32 part;
	u8 *at;

	for (i = 0; i < VUHCA_SGE_MAX && length; i++) {
		part = min(length, pieces[i].length);
		at = areas->bytes[end] + (pieces[i].address - areas->dma[end]);
		memcpy(gather ? flat : at, gather ? at : flat, part);
		flat += part;
		length -= part;
	}
}

static void vt_lists_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	static struct vuhca_buffer here[VUHCA_SGE_MAX], there[VUHCA_SGE_MAX];
	struct vuhca_recv_wr recv = { .sge = there, .sge_count = VUHCA_SGE_MAX };
	u32 length = vt_pieces(areas, 0, here);
	u32 room = vt_pieces(areas, 1, there);
	u8 *flat = areas->bytes[0] + 65536;
	struct vt *t = pair->t;
	struct vuhca_send_wr wr;
	struct vuhca_wc wc;

	if (room < length)
		there[VUHCA_SGE_MAX - 1].length += length - room;
	wr = vt_rdma_wr(areas, VUHCA_SEND_OPCODE_SEND, here, 65536);
	wr.sge_count = VUHCA_SGE_MAX;
	vt_fill(flat, length, 1);
	vt_copy_pieces(areas, 0, here, flat, length, false);
	VT_EQUAL(t, vuhca_post_recv(pair->end[1].qp, &recv, 1), 1);
	vt_do(pair, &wr, VT_OK);
	vt_completes(t, t->recv_cq.cq, VT_OK, &wc);
	VT_EQUAL(t, wc.byte_length, length);
	memset(flat, 0, length);
	vt_copy_pieces(areas, 1, there, flat, length, true);
	VT_CHECK(t, vt_holds(flat, length, 1), "scattered message");

	wr.opcode = VUHCA_SEND_OPCODE_RDMA_WRITE;
	vt_do(pair, &wr, VT_OK);
	VT_WAIT(t, vt_holds(areas->bytes[1] + 65536, length, 1));
	if (pair->options.service == VT_UC)
		return;
	wr.opcode = VUHCA_SEND_OPCODE_RDMA_READ;
	memset(areas->bytes[0], 0, 65536);
	vt_do(pair, &wr, VT_OK);
	memset(flat, 0, length);
	vt_copy_pieces(areas, 0, here, flat, length, true);
	VT_CHECK(t, vt_holds(flat, length, 1), "scattered read");
}

void vt_connected_lists(struct vt *t)
{
	struct vt_pair_options options = { .path_mtu = 1 };

	vt_on_pair(t, &options, vt_lists_of_pair);
	options.service = VT_UC;
	options.path_mtu = 3;
	vt_on_pair(t, &options, vt_lists_of_pair);
}
