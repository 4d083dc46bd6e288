// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Datagrams in bulk, from port 1 to port 2, of random size and shape. The test
 * checks each payload, length and source, and the byte behind the payload.
 */
#include <linux/slab.h>

#include "vt_datagram.h"

#define VT_SLOT_BYTES	8192
#define VT_RECEIVES	(VT_WINDOW * VT_SLOT_BYTES)

struct vt_bulk {
	struct vt *t;
	enum vuhca_post_mode mode;
	unsigned int batch;
	unsigned int total;
	unsigned int sent;
	unsigned int completed;
	unsigned int received;
	u32 lengths[VT_WINDOW];
	unsigned int by_inline;
	unsigned int by_sge;
	unsigned int by_list;
	u64 bytes;
	/* Too large for the stack. */
	struct vuhca_buffer pieces[VT_BATCH][VUHCA_SGE_MAX];
	struct vuhca_send_wr wrs[VT_BATCH];
	struct vuhca_wc wc[VT_WINDOW];
};

/* Cuts @length bytes at @offset into at most @most pieces of random length. */
static unsigned int vt_cut(struct vt *t, size_t offset, u32 length,
			   unsigned int most, struct vuhca_buffer *pieces)
{
	unsigned int count = 0;
	u32 part;

	while (length) {
		part = length;
		if (count + 1 < most && length > 1)
			part = 1 + prandom_u32_state(&t->random) % length;
		pieces[count++] = vt_buffer(t, offset, part);
		offset += part;
		length -= part;
	}
	return count;
}

/*
 * Picks small, large and other lengths; lengths near the limits come more
 * often.
 */
static u32 vt_pick_length(struct vt *t)
{
	u32 random = prandom_u32_state(&t->random);

	switch (random % 8) {
	case 0:
		return 1 + (random >> 8) % 8;
	case 1:
		return VUHCA_INLINE_MAX_BYTES - (random >> 8) % 4;
	case 2:
		return t->mtu_bytes - (random >> 8) % 4;
	case 3:
	case 4:
		return 1 + (random >> 8) % VUHCA_INLINE_MAX_BYTES;
	default:
		return 1 + (random >> 8) % t->mtu_bytes;
	}
}

static bool vt_bulk_receive(struct vt_bulk *bulk, unsigned int number)
{
	struct vt *t = bulk->t;
	unsigned int slot = number % VT_WINDOW;
	size_t offset = VT_RECEIVES + slot * VT_SLOT_BYTES;
	u32 length = VUHCA_GRH_AREA_BYTES + t->mtu_bytes;
	struct vuhca_buffer pieces[VUHCA_SGE_MAX];
	struct vuhca_recv_wr wr = { .wr_id = number, .sge = pieces };

	wr.sge_count = vt_cut(t, offset, length, 1 + number % VUHCA_SGE_MAX,
			      pieces);
	return VT_EQUAL(t, vuhca_post_recv(t->end[1].qp, &wr, 1), 1);
}

/* Prepares datagram @number; its memory stays valid until it completes. */
static void vt_bulk_prepare(struct vt_bulk *bulk, unsigned int number,
			    struct vuhca_send_wr *wr,
			    struct vuhca_buffer *pieces)
{
	struct vt *t = bulk->t;
	size_t offset = (number % VT_WINDOW) * VT_SLOT_BYTES;
	u32 length = vt_pick_length(t);
	u32 shape = prandom_u32_state(&t->random);

	bulk->lengths[number % VT_WINDOW] = length;
	bulk->bytes += length;
	vt_fill(t->memory + offset, length, number);
	memset(t->memory + VT_RECEIVES + offset, VT_POISON,
	       min_t(u32, length + VUHCA_GRH_AREA_BYTES + 8, VT_SLOT_BYTES));
	*wr = vt_send_wr(t, 0, 1, NULL);
	wr->wr_id = number;
	if (length <= VUHCA_INLINE_MAX_BYTES && shape % 2) {
		wr->inline_data = t->memory + offset;
		wr->inline_bytes = length;
		bulk->by_inline++;
		return;
	}
	wr->sge = pieces;
	wr->sge_count = vt_cut(t, offset, length,
			       1 + (shape >> 8) % VUHCA_SGE_MAX, pieces);
	if (wr->sge_count > 1)
		bulk->by_list++;
	else
		bulk->by_sge++;
}

static bool vt_bulk_send(struct vt_bulk *bulk)
{
	struct vt *t = bulk->t;
	unsigned int i, count;

	count = min3(bulk->batch, bulk->total - bulk->sent,
		     VT_WINDOW - (bulk->sent - bulk->received));
	count = min(count, VT_WINDOW - (bulk->sent - bulk->completed));
	for (i = 0; i < count; i++) {
		if (!vt_bulk_receive(bulk, bulk->sent + i))
			return false;
		vt_bulk_prepare(bulk, bulk->sent + i, &bulk->wrs[i],
				bulk->pieces[i]);
	}
	bulk->sent += count;
	return !count || VT_EQUAL(t, vuhca_post_send(t->end[0].qp, bulk->wrs,
						     count, bulk->mode), count);
}

static bool vt_bulk_check(struct vt_bulk *bulk, const struct vuhca_wc *wc)
{
	struct vt *t = bulk->t;
	unsigned int number = bulk->received;
	u32 length = bulk->lengths[number % VT_WINDOW];
	const u8 *bytes = t->memory + VT_RECEIVES +
			  (number % VT_WINDOW) * VT_SLOT_BYTES;

	bulk->received++;
	return VT_EQUAL(t, wc->status, VUHCA_COMPLETION_STATUS_SUCCESS) &&
	       VT_EQUAL(t, wc->opcode, VUHCA_COMPLETION_OPCODE_RECEIVE) &&
	       VT_CHECK(t, wc->receive, "a send completion") &&
	       VT_EQUAL(t, wc->wr_id, number) &&
	       VT_EQUAL(t, wc->byte_length, VUHCA_GRH_AREA_BYTES + length) &&
	       VT_EQUAL(t, wc->source_qpn, t->end[0].qp->qpn) &&
	       VT_EQUAL(t, wc->source_lid, 1) &&
	       VT_EQUAL(t, wc->port, 2) &&
	       VT_CHECK(t, vt_holds(bytes + VUHCA_GRH_AREA_BYTES, length,
				    number), "payload of %u, %u bytes", number,
			length) &&
	       VT_CHECK(t, vt_is_poison(bytes + VUHCA_GRH_AREA_BYTES + length, 8),
			"datagram %u of %u bytes ran over", number, length);
}

static bool vt_bulk_poll(struct vt_bulk *bulk)
{
	struct vuhca_wc *wc = bulk->wc;
	struct vt *t = bulk->t;
	int i, found;

	found = vuhca_poll_cq(t->send_cq.cq, VT_WINDOW, wc);
	for (i = 0; i < found; i++)
		if (!VT_EQUAL(t, wc[i].status, VUHCA_COMPLETION_STATUS_SUCCESS) ||
		    !VT_EQUAL(t, wc[i].wr_id, bulk->completed++))
			return false;
	found = vuhca_poll_cq(t->recv_cq.cq, VT_WINDOW, wc);
	for (i = 0; i < found; i++)
		if (!vt_bulk_check(bulk, &wc[i]))
			return false;
	return true;
}

static bool vt_bulk_goes_on(struct vt_bulk *bulk)
{
	return bulk->received < bulk->total || bulk->completed < bulk->total;
}

/* Sends and receives until all datagrams are done or there is no progress. */
static void vt_bulk_pump(struct vt_bulk *bulk)
{
	ktime_t progress = ktime_get();
	unsigned int before = 0, nap_us = 0;

	while (vt_bulk_goes_on(bulk)) {
		if (!vt_bulk_send(bulk) || !vt_bulk_poll(bulk))
			return;
		if (bulk->received + bulk->completed != before) {
			before = bulk->received + bulk->completed;
			progress = ktime_get();
			nap_us = 0;
		} else if (ktime_ms_delta(ktime_get(), progress) > VT_TIMEOUT_MS) {
			return;
		} else {
			vt_nap(&nap_us);
		}
	}
}

/* Reports what may have stopped the progress. */
static void vt_bulk_explain(struct vt *t)
{
	vt_note(t, "CQ errors: send %d, receive %d; QP states: %d, %d",
		atomic_read(&t->send_cq.errors), atomic_read(&t->recv_cq.errors),
		vt_qp_state(t->end[0].qp), vt_qp_state(t->end[1].qp));
	vt_note(t, "first fault %u, object %u of kind %u, address %#llx",
		vuhca_read_csr(t->dev, VUHCA_CSR_FIRST_FAULT_KIND_OFF),
		vuhca_read_csr(t->dev, VUHCA_CSR_FIRST_FAULT_OBJECT_OFF),
		vuhca_read_csr(t->dev, VUHCA_CSR_FIRST_FAULT_OBJECT_KIND_OFF),
		vuhca_read_csr64(t->dev, VUHCA_CSR_FIRST_FAULT_ADDRESS_OFF));
}

void vt_datagram_bulk(struct vt *t, enum vuhca_post_mode mode, unsigned int batch)
{
	struct vt_bulk *bulk = kzalloc(sizeof(*bulk), GFP_KERNEL);
	ktime_t start = ktime_get();

	VT_REQUIRE(t, bulk, "no memory");
	bulk->t = t;
	bulk->mode = mode;
	bulk->batch = batch;
	bulk->total = vt_count();
	vt_bulk_pump(bulk);
	if (vt_bulk_goes_on(bulk))
		vt_bulk_explain(t);
	VT_EQUAL(t, bulk->completed, bulk->total);
	VT_EQUAL(t, bulk->received, bulk->total);
	vt_note(t, "%u datagrams, %llu bytes: %u inline, %u with one SGE, %u with several, %lld ms",
		bulk->received, bulk->bytes, bulk->by_inline, bulk->by_sge,
		bulk->by_list, ktime_ms_delta(ktime_get(), start));
	kfree(bulk);
}
