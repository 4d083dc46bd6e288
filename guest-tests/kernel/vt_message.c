// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Payload patterns, work requests between the two QPs that each case is given,
 * and a datagram that is checked at both ends.
 */
#include "vt.h"

/* Only vt_roundtrip() uses the end of the memory. */
#define VT_ROUNDTRIP	(VT_MEMORY_BYTES - 16384)

/* Every key gives a different payload, and every offset a different word. */
static u32 vt_word(u32 key, u32 index)
{
	return key * 0x9e3779b1u + index * 0x85ebca6bu + (index << 7);
}

void vt_fill(void *bytes, size_t length, u32 key)
{
	size_t i;
	u32 word;

	for (i = 0; i + 4 <= length; i += 4)
		put_unaligned(vt_word(key, i / 4), (u32 *)(bytes + i));
	if (i < length) {
		word = vt_word(key, i / 4);
		memcpy(bytes + i, &word, length - i);
	}
}

bool vt_holds(const void *bytes, size_t length, u32 key)
{
	size_t i;
	u32 word;

	for (i = 0; i + 4 <= length; i += 4)
		if (get_unaligned((const u32 *)(bytes + i)) != vt_word(key, i / 4))
			return false;
	word = vt_word(key, i / 4);
	return !memcmp(bytes + i, &word, length - i);
}

bool vt_is_poison(const void *bytes, size_t length)
{
	return !memchr_inv(bytes, VT_POISON, length);
}

struct vuhca_buffer vt_buffer(struct vt *t, size_t offset, u32 length)
{
	return (struct vuhca_buffer) {
		.address = t->dma + offset,
		.length = length,
		.lkey = t->mr->lkey,
	};
}

int vt_post_recv(struct vt *t, struct vuhca_qp *qp, size_t offset, u32 length,
		 u64 wr_id)
{
	struct vuhca_buffer buffer = vt_buffer(t, offset, length);
	struct vuhca_recv_wr wr = {
		.wr_id = wr_id,
		.sge = &buffer,
		.sge_count = 1,
	};

	return vuhca_post_recv(qp, &wr, 1) == 1 ? 0 : -EIO;
}

/*
 * Returns a work request for a signalled datagram of one SGE between two ends
 * (0 or 1).
 */
struct vuhca_send_wr vt_send_wr(struct vt *t, unsigned int from, unsigned int to,
				const struct vuhca_buffer *sge)
{
	return (struct vuhca_send_wr) {
		.opcode = VUHCA_SEND_OPCODE_SEND,
		.signaled = true,
		.sge = sge,
		.sge_count = sge ? 1 : 0,
		.ud.remote_qpn = t->end[to].qp->qpn,
		.ud.qkey = VT_QKEY,
		.ud.ah = t->ah[from][to]->index,
	};
}

int vt_post_nops(struct vuhca_qp *qp, unsigned int nops)
{
	struct vuhca_send_wr wr = {
		.opcode = VUHCA_SEND_OPCODE_NOP,
		.signaled = true,
	};
	int err = 0;

	while (nops-- && !err)
		err = vuhca_post_send(qp, &wr, 1, VUHCA_POST_DOORBELL) == 1 ?
		      0 : -EIO;
	return err;
}

/* Sends one datagram and checks it at both ends; false when a check fails. */
bool vt_roundtrip(struct vt *t, unsigned int from, unsigned int to, u32 length,
		  enum vuhca_post_mode mode)
{
	size_t there = VT_ROUNDTRIP + 8192;
	u32 total = VUHCA_GRH_AREA_BYTES + length;
	struct vuhca_buffer buffer = vt_buffer(t, VT_ROUNDTRIP, length);
	struct vuhca_send_wr wr = vt_send_wr(t, from, to, &buffer);
	struct vuhca_wc wc = {};
	u32 key = prandom_u32_state(&t->random);

	vt_fill(t->memory + VT_ROUNDTRIP, length, key);
	memset(t->memory + there, VT_POISON, total + 1);
	return VT_EQUAL(t, vt_post_recv(t, t->end[to].qp, there, total, key), 0) &&
	       VT_EQUAL(t, vuhca_post_send(t->end[from].qp, &wr, 1, mode), 1) &&
	       VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_TIMEOUT_MS), 1) &&
	       VT_EQUAL(t, wc.status, VUHCA_COMPLETION_STATUS_SUCCESS) &&
	       VT_EQUAL(t, vt_poll(t->recv_cq.cq, &wc, 1, VT_TIMEOUT_MS), 1) &&
	       VT_EQUAL(t, wc.status, VUHCA_COMPLETION_STATUS_SUCCESS) &&
	       VT_EQUAL(t, wc.wr_id, key) &&
	       VT_EQUAL(t, wc.byte_length, total) &&
	       VT_EQUAL(t, wc.source_qpn, t->end[from].qp->qpn) &&
	       VT_CHECK(t, vt_holds(t->memory + there + VUHCA_GRH_AREA_BYTES,
				    length, key), "payload of %u bytes", length) &&
	       VT_EQUAL(t, t->memory[there + total], VT_POISON);
}

/* Checks that the adapter still works for new objects. */
bool vt_alive(struct vt *t)
{
	struct vt fresh = {
		.dev = t->dev,
		.run = t->run,
		.random = t->random,
	};
	bool alive;
	int err = vt_env_create(&fresh);

	alive = VT_EQUAL(t, err, 0) &&
		vt_roundtrip(&fresh, 0, 1, 100, VUHCA_POST_COLLECT) &&
		vt_roundtrip(&fresh, 1, 0, 1000, VUHCA_POST_DOORBELL);
	vt_env_destroy(&fresh);
	return VT_CHECK(t, alive && !fresh.failed, "the adapter does not work");
}
