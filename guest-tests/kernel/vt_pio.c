// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Send contexts for tests, and datagrams that one sends from port 1 to port 2.
 */
#include "vt_pio.h"

#define VT_RECEIVE_AT	65536
#define VT_RECEIVE_STRIDE 4096

struct vuhca_send_context *vt_create_send_context(struct vt *t, unsigned int blocks,
						  unsigned int threshold)
{
	struct vuhca_send_context_init init = {
		.port = 1,
		.blocks = blocks,
		.threshold = threshold,
		.virtual_lanes = BIT(0) | BIT(15),
	};
	struct vuhca_send_context *sc = vuhca_create_send_context(t->dev, &init);

	return VT_CHECK(t, !IS_ERR(sc), "%pe", sc) ? sc : NULL;
}

u32 vt_pio_lid(struct vt *t, unsigned int port)
{
	return vuhca_read_csr(t->dev, VUHCA_CSR_PORT_LID_OFF +
			      (port - 1) * VUHCA_CSR_PORT_LID_STRIDE);
}

/* Returns a datagram from port 1 to the QP on port 2. */
struct vuhca_datagram vt_pio_datagram(struct vt *t, const void *payload, size_t bytes)
{
	return (struct vuhca_datagram) {
		.slid = vt_pio_lid(t, 1),
		.dlid = vt_pio_lid(t, 2),
		.pkey = 0xffff,
		.source_qpn = t->end[0].qp->qpn,
		.remote_qpn = t->end[1].qp->qpn,
		.qkey = VT_QKEY,
		.payload = payload,
		.bytes = bytes,
	};
}

void vt_pio_released(void *context, bool sent)
{
	struct vt_pio_release *release = context;

	if (release->number != release->all->next++)
		release->all->disordered = true;
	atomic_inc(sent ? &release->all->sent : &release->all->flushed);
}

u32 vt_pio_free_counter(struct vuhca_send_context *sc)
{
	struct vuhca_credit_return word = {
		.dw0 = READ_ONCE(sc->credits->dw0),
	};

	return vuhca_credit_return_get_free_counter(&word);
}

void vt_pio_expect(struct vt *t, const void *payload, size_t bytes)
{
	struct vuhca_wc wc = {};

	if (!VT_EQUAL(t, vt_poll(t->recv_cq.cq, &wc, 1, VT_TIMEOUT_MS), 1))
		return;
	VT_EQUAL(t, wc.status, VUHCA_COMPLETION_STATUS_SUCCESS);
	VT_EQUAL(t, wc.byte_length, VUHCA_GRH_AREA_BYTES + bytes);
	VT_EQUAL(t, wc.source_qpn, t->end[0].qp->qpn);
	VT_CHECK(t, !memcmp(t->memory + wc.wr_id + VUHCA_GRH_AREA_BYTES,
			    payload, bytes), "payload of %zu bytes", bytes);
}

/* Posts a receive with the offset of its buffer as wr_id. */
void vt_pio_receive(struct vt *t, unsigned int slot)
{
	size_t at = VT_RECEIVE_AT + slot % 64 * VT_RECEIVE_STRIDE;

	VT_EQUAL(t, vt_post_recv(t, t->end[1].qp, at, VT_RECEIVE_STRIDE, at), 0);
}

/* Sends a small datagram with its own payload and checks that it arrives. */
int vt_pio_send_one(struct vt *t, struct vuhca_send_context *sc, u32 number)
{
	u8 payload[36];
	struct vuhca_datagram packet = vt_pio_datagram(t, payload, sizeof(payload));
	int err;

	vt_fill(payload, sizeof(payload), number);
	vt_pio_receive(t, number);
	err = vuhca_pio_send_datagram(sc, &packet, NULL, NULL);
	if (!err)
		vt_pio_expect(t, payload, sizeof(payload));
	return err;
}
