// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* SRQs of tests: creation, posting, and a message that uses a known entry. */
#include "vt_srq.h"

bool vt_srq_create(struct vt *t, struct vt_srq *queue, struct vt_areas *areas,
		   size_t base, const struct vuhca_srq_init *init)
{
	struct vuhca_srq *srq = vuhca_create_srq(t->pd, init);

	*queue = (struct vt_srq) {
		.srq = IS_ERR(srq) ? NULL : srq,
		.areas = areas,
		.base = base,
		.places = BIT(init->entries_log2),
	};
	return VT_CHECK(t, queue->srq, "%pe", srq);
}

void vt_srq_destroy(struct vt *t, struct vt_srq *queue)
{
	if (queue->srq && VT_EQUAL(t, vuhca_destroy_srq(queue->srq), 0))
		queue->srq = NULL;
}

static size_t vt_srq_place(const struct vt_srq *queue, unsigned int number)
{
	return queue->base + number % queue->places * VT_ENTRY_BYTES;
}

bool vt_srq_post(struct vt *t, struct vt_srq *queue)
{
	size_t place = vt_srq_place(queue, queue->posted);
	struct vuhca_buffer there = vt_area_buffer(queue->areas, 1, place,
						   VT_ENTRY_BYTES);
	struct vuhca_recv_wr wr = {
		.wr_id = queue->posted++, .sge = &there, .sge_count = 1,
	};

	return VT_EQUAL(t, vuhca_post_srq_recv(queue->srq, &wr, 1), 1);
}

bool vt_srq_takes(struct vt_pair *pair, struct vt_srq *queue,
		  struct vuhca_cq *cq, unsigned int number)
{
	struct vt *t = pair->t;
	u32 length = 1 + prandom_u32_state(&t->random) % VT_ENTRY_BYTES;
	struct vuhca_buffer here = vt_area_buffer(queue->areas, 0, 0, length);
	struct vuhca_send_wr wr = vt_rdma_wr(queue->areas,
					     VUHCA_SEND_OPCODE_SEND, &here, 0);
	u32 srqn = queue->srq->srqn, key = srqn << 16 | number;
	u8 *there = queue->areas->bytes[1] + vt_srq_place(queue, number);
	struct vuhca_wc wc;

	/* Only requests of XRC name the SRQ. */
	if (queue->srq->xrcd)
		wr.xrc_srqn = srqn;
	vt_fill(queue->areas->bytes[0], length, key);
	return vt_do(pair, &wr, VUHCA_COMPLETION_STATUS_SUCCESS) &&
	       vt_completes(t, cq, VUHCA_COMPLETION_STATUS_SUCCESS, &wc) &&
	       VT_EQUAL(t, wc.wr_id, number) &&
	       VT_EQUAL(t, wc.byte_length, length) &&
	       VT_CHECK(t, wc.qp == pair->end[1].qp, "other QP") &&
	       VT_CHECK(t, vt_holds(there, length, key),
			"message %u of %u bytes", number, length);
}
