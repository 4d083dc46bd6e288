// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Steps of the collect suites: post a datagram to its slot only, store its copy
 * piece by piece, check what arrives.
 */
#include "vt_collect_command.h"

bool vt_vcb_in_use(struct vt *t, const struct vuhca_vcb *vcb)
{
	u32 word = vt_csr(t, VUHCA_CSR_VCB_IN_USE_OFF +
			  vcb->index / 32 * VUHCA_CSR_VCB_IN_USE_STRIDE);

	return word & BIT(vcb->index % 32);
}

bool vt_collect_begin(struct vt *t, struct vt_collect_command *c, u8 qos_level)
{
	memset(c, 0, sizeof(*c));
	c->t = t;
	c->vcb = vuhca_alloc_vcb(t->dev, qos_level);
	return VT_CHECK(t, !IS_ERR(c->vcb), "%pe", c->vcb);
}

void vt_collect_finish(struct vt_collect_command *c)
{
	VT_CHECK(c->t, !vt_vcb_in_use(c->t, c->vcb), "VCB left in use");
	vuhca_free_vcb(c->t->dev, c->vcb);
}

/*
 * Posts an inline datagram to its slot only, and keeps a copy of the command.
 */
bool vt_collect_post(struct vt_collect_command *c, u32 payload_bytes)
{
	struct vt *t = c->t;
	struct vuhca_qp *qp = t->end[0].qp;
	struct vuhca_send_wr wr = vt_send_wr(t, 0, 1, NULL);
	void *slot;

	c->key = prandom_u32_state(&t->random);
	c->payload_bytes = payload_bytes;
	vt_fill(t->memory, payload_bytes, c->key);
	wr.inline_data = t->memory;
	wr.inline_bytes = payload_bytes;
	if (!VT_EQUAL(t, vt_post_recv(t, t->end[1].qp, VT_RECEIVE_AT, 512, 0), 0))
		return false;
	spin_lock_irq(&qp->sq.lock);
	slot = vuhca_build_send_wqe(qp, &wr, &c->length, &c->sequence);
	if (slot) {
		memcpy(c->bytes, slot, c->length);
		vuhca_publish_send_tail(qp);
	}
	spin_unlock_irq(&qp->sq.lock);
	return VT_CHECK(t, slot, "the send queue is full");
}

/* Expects that one whole datagram arrives and one send completes, no more. */
bool vt_collect_arrives(struct vt_collect_command *c)
{
	struct vt *t = c->t;
	struct vuhca_wc wc[2] = {};

	return VT_EQUAL(t, vt_poll(t->send_cq.cq, wc, 1, VT_TIMEOUT_MS), 1) &&
	       VT_EQUAL(t, wc[0].status, VUHCA_COMPLETION_STATUS_SUCCESS) &&
	       VT_EQUAL(t, wc[0].sequence, c->sequence) &&
	       VT_EQUAL(t, vt_poll(t->recv_cq.cq, wc, 1, VT_TIMEOUT_MS), 1) &&
	       VT_EQUAL(t, wc[0].byte_length,
			VUHCA_GRH_AREA_BYTES + c->payload_bytes) &&
	       VT_CHECK(t, vt_holds(t->memory + VT_RECEIVE_AT +
				    VUHCA_GRH_AREA_BYTES, c->payload_bytes,
				    c->key), "payload") &&
	       VT_EQUAL(t, vuhca_poll_cq(t->send_cq.cq, 2, wc), 0) &&
	       VT_EQUAL(t, vuhca_poll_cq(t->recv_cq.cq, 2, wc), 0);
}

bool vt_collect_nothing_arrives(struct vt_collect_command *c)
{
	struct vuhca_wc wc;

	return VT_EQUAL(c->t, vt_poll(c->t->send_cq.cq, &wc, 1, VT_QUIET_MS), 0) &&
	       VT_EQUAL(c->t, vt_poll(c->t->recv_cq.cq, &wc, 1, 0), 0);
}

/* Stores the bytes at offset @at with one access of @size. */
void vt_collect_store(struct vt_collect_command *c, size_t at, unsigned int size)
{
	u8 __iomem *to = c->vcb->page + VUHCA_DATA_OFFSET + at;
	const u8 *from = c->bytes + at;

	switch (size) {
	case 1:
		writeb(*from, to);
		break;
	case 2:
		writew(get_unaligned_le16(from), to);
		break;
	case 4:
		writel(get_unaligned_le32(from), to);
		break;
	default:
		writeq(get_unaligned_le64(from), to);
	}
}
