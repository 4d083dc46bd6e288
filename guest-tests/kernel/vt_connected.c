// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Operations of connected QPs: each operation and each size. */
#include "vt_connected.h"

#define VT_RC	VUHCA_SERVICE_TYPE_RC
#define VT_UC	VUHCA_SERVICE_TYPE_UC
#define VT_OK	VUHCA_COMPLETION_STATUS_SUCCESS

static const u8 vt_reliable_opcodes[] = {
	VUHCA_SEND_OPCODE_SEND,		VUHCA_SEND_OPCODE_SEND_IMMEDIATE,
	VUHCA_SEND_OPCODE_RDMA_WRITE,	VUHCA_SEND_OPCODE_RDMA_WRITE_IMMEDIATE,
	VUHCA_SEND_OPCODE_RDMA_READ,
};

/* The operations of UC come first. */
static unsigned int vt_opcode_count(u8 service)
{
	return ARRAY_SIZE(vt_reliable_opcodes) - (service == VT_UC);
}

static bool vt_each_opcode(struct vt_pair *pair, struct vt_areas *areas,
			   u32 length, enum vuhca_post_mode mode)
{
	unsigned int i;

	for (i = 0; i < vt_opcode_count(pair->options.service); i++)
		if (!vt_pair_transfer(pair, areas, vt_reliable_opcodes[i],
				      length, mode))
			return VT_CHECK(pair->t, false, "%u bytes, MTU code %u",
					length, pair->options.path_mtu);
	return true;
}

/* Sizes around multiples of the path MTU. */
static void vt_sizes_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	u32 mtu = 128 << pair->options.path_mtu;
	const u32 sizes[] = {
		0, 1, 3, mtu - 1, mtu, mtu + 1, 2 * mtu - 1, 2 * mtu,
		2 * mtu + 1, 7 * mtu + 5,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		if (!vt_each_opcode(pair, areas, sizes[i], i % 2 ?
				    VUHCA_POST_COLLECT : VUHCA_POST_DOORBELL))
			return;
}

static void vt_sizes(struct vt *t, u8 service)
{
	struct vt_pair_options options = { .service = service };
	u8 mtu;

	for (mtu = 1; mtu <= VT_MTU_CODES; mtu++) {
		options.path_mtu = mtu;
		options.from = 1;
		options.to = 2;
		vt_on_pair(t, &options, vt_sizes_of_pair);
		options.from = 1 + mtu % 2;
		options.to = options.from;
		vt_on_pair(t, &options, vt_sizes_of_pair);
	}
}

static void vt_sizes_rc(struct vt *t)
{
	vt_sizes(t, VT_RC);
}

static void vt_sizes_uc(struct vt *t)
{
	vt_sizes(t, VT_UC);
}

static void vt_large_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	vt_each_opcode(pair, areas, VT_AREA_BYTES, VUHCA_POST_COLLECT);
	vt_each_opcode(pair, areas, VT_AREA_BYTES / 4 - 1, VUHCA_POST_DOORBELL);
}

/* Messages of 1 MiB: up to 4096 packets. */
static void vt_large(struct vt *t)
{
	static const u8 codes[] = { 1, 3, 5 };
	struct vt_pair_options options = {};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(codes); i++) {
		options.path_mtu = codes[i];
		vt_on_pair(t, &options, vt_large_of_pair);
	}
	options.service = VT_UC;
	options.from = 2;
	options.to = 1;
	vt_on_pair(t, &options, vt_large_of_pair);
}

/*
 * Executes an atomic on the first 8 bytes of area 1 and returns their old
 * value.
 */
static u64 vt_atomic(struct vt_pair *pair, struct vt_areas *areas, u8 opcode,
		     u64 swap_or_add, u64 compare)
{
	struct vuhca_buffer here = vt_area_buffer(areas, 0, 64, 8);
	struct vuhca_send_wr wr = vt_rdma_wr(areas, opcode, &here, 0);
	struct vuhca_wc wc;

	wr.atomic.swap_or_add = swap_or_add;
	wr.atomic.compare = compare;
	memset(areas->bytes[0] + 56, VT_POISON, 24);
	if (!vt_post(pair, 0, &wr) ||
	    !vt_completes(pair->t, pair->t->send_cq.cq, VT_OK, &wc))
		return 0;
	VT_EQUAL(pair->t, wc.byte_length, 8);
	VT_CHECK(pair->t, vt_is_poison(areas->bytes[0] + 56, 8) &&
		 vt_is_poison(areas->bytes[0] + 72, 8), "ran over");
	return get_unaligned_le64(areas->bytes[0] + 64);
}

static void vt_atomics_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	u8 swap = VUHCA_SEND_OPCODE_COMPARE_SWAP;
	u8 add = VUHCA_SEND_OPCODE_FETCH_ADD;
	u8 *cell = areas->bytes[1];
	struct vt *t = pair->t;
	unsigned int i;

	put_unaligned_le64(0xfffffffffffffffeULL, cell);
	VT_EQUAL(t, vt_atomic(pair, areas, add, 5, 0), 0xfffffffffffffffeULL);
	VT_EQUAL(t, get_unaligned_le64(cell), 3);
	VT_EQUAL(t, vt_atomic(pair, areas, swap, 0x0123456789abcdefULL, 3), 3);
	VT_EQUAL(t, get_unaligned_le64(cell), 0x0123456789abcdefULL);
	VT_EQUAL(t, vt_atomic(pair, areas, swap, 1, 3), 0x0123456789abcdefULL);
	VT_EQUAL(t, get_unaligned_le64(cell), 0x0123456789abcdefULL);
	put_unaligned_le64(0, cell);
	for (i = 0; i < 50; i++)
		VT_EQUAL(t, vt_atomic(pair, areas, add, 1ULL << 31, 0),
			 (u64)i << 31);
}

static void vt_atomics(struct vt *t)
{
	struct vt_pair_options options = {};

	vt_on_pair(t, &options, vt_atomics_of_pair);
	options.to = 1;
	vt_on_pair(t, &options, vt_atomics_of_pair);
}

/*
 * Both ends add to the same 8 bytes of area 1 at the same time; no addition is
 * lost.
 */
static void vt_contention_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	struct vuhca_buffer here = vt_area_buffer(areas, 0, 64, 8);
	struct vuhca_send_wr wr = vt_rdma_wr(areas, VUHCA_SEND_OPCODE_FETCH_ADD,
					     &here, 0);
	struct vt *t = pair->t;
	unsigned int i;
	struct vuhca_wc wc;

	wr.atomic.swap_or_add = 1;
	put_unaligned_le64(0, areas->bytes[1]);
	for (i = 0; i < 100; i++)
		if (!vt_post(pair, i % 2, &wr))
			return;
	for (i = 0; i < 100; i++)
		if (!vt_completes(t, t->send_cq.cq, VT_OK, &wc))
			return;
	VT_EQUAL(t, get_unaligned_le64(areas->bytes[1]), 100);
}

static void vt_contention(struct vt *t)
{
	struct vt_pair_options options = {};

	vt_on_pair(t, &options, vt_contention_of_pair);
}

/* Only a solicited message wakes a CQ that is armed for solicited ones. */
static void vt_solicited_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	struct vt *t = pair->t;
	struct vuhca_send_wr wr = vt_rdma_wr(areas, VUHCA_SEND_OPCODE_SEND,
					     NULL, 0);
	struct vuhca_wc wc;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		wr.opcode = i ? VUHCA_SEND_OPCODE_RDMA_WRITE_IMMEDIATE :
				VUHCA_SEND_OPCODE_SEND;
		atomic_set(&t->recv_cq.completions, 0);
		vuhca_arm_cq(t->recv_cq.cq, true);
		VT_EQUAL(t, vt_pair_receive(pair, 1, NULL, 0), 0);
		VT_EQUAL(t, vt_pair_receive(pair, 1, NULL, 1), 0);
		wr.solicited = false;
		vt_do(pair, &wr, VT_OK);
		VT_CHECK(t, vt_completes(t, t->recv_cq.cq, VT_OK, &wc) &&
			 !wc.solicited, "the first message");
		VT_CHECK(t, !vt_wait_event(&t->recv_cq, 1, VT_QUIET_MS),
			 "an event without a solicited message");
		wr.solicited = true;
		vt_do(pair, &wr, VT_OK);
		VT_CHECK(t, vt_completes(t, t->recv_cq.cq, VT_OK, &wc) &&
			 wc.solicited, "the second message");
		VT_CHECK(t, vt_wait_event(&t->recv_cq, 1, VT_TIMEOUT_MS),
			 "no event");
	}
}

static void vt_solicited(struct vt *t)
{
	struct vt_pair_options options = {};

	vt_on_pair(t, &options, vt_solicited_of_pair);
	options.service = VT_UC;
	vt_on_pair(t, &options, vt_solicited_of_pair);
}

/* A message waits for its receive entry, and later messages wait for it. */
static void vt_rnr_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	struct vuhca_buffer here = vt_area_buffer(areas, 0, 0, 5000);
	struct vuhca_buffer there = vt_area_buffer(areas, 1, 0, 5000);
	struct vuhca_send_wr wr = vt_rdma_wr(areas, VUHCA_SEND_OPCODE_SEND,
					     &here, 0);
	struct vt *t = pair->t;
	struct vuhca_wc wc;
	unsigned int i;

	vt_fill(areas->bytes[0], 5000, 7);
	for (i = 0; i < 8; i++) {
		wr.wr_id = i;
		vt_post(pair, 0, &wr);
	}
	VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_QUIET_MS), 0);
	for (i = 0; i < 8; i++) {
		memset(areas->bytes[1], VT_POISON, 5000);
		VT_EQUAL(t, vt_pair_receive(pair, 1, &there, 10 + i), 0);
		if (!vt_completes(t, t->send_cq.cq, VT_OK, &wc))
			return;
		VT_EQUAL(t, wc.wr_id, i);
		vt_completes(t, t->recv_cq.cq, VT_OK, &wc);
		VT_EQUAL(t, wc.wr_id, 10 + i);
		VT_CHECK(t, vt_holds(areas->bytes[1], 5000, 7), "message %u", i);
	}
}

static void vt_rnr(struct vt *t)
{
	struct vt_pair_options options = { .path_mtu = 3 };

	vt_on_pair(t, &options, vt_rnr_of_pair);
}

/* A fenced WRITE waits until the READ before it has its data. */
static void vt_fence_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	u32 length = 65536;
	struct vuhca_buffer old = vt_area_buffer(areas, 0, 0, length);
	struct vuhca_send_wr read, write;
	struct vt *t = pair->t;
	struct vuhca_wc wc;
	unsigned int i;

	read = vt_rdma_wr(areas, VUHCA_SEND_OPCODE_RDMA_READ, &old, 0);
	/*
	 * Without the fence it would send memory that the READ has not written
	 * yet.
	 */
	write = vt_rdma_wr(areas, VUHCA_SEND_OPCODE_RDMA_WRITE, &old, length);
	write.fence = true;
	for (i = 0; i < 8; i++) {
		vt_fill(areas->bytes[1], length, 100 + i);
		memset(areas->bytes[0], VT_POISON, length);
		memset(areas->bytes[1] + length, 0, length);
		vt_post(pair, 0, &read);
		vt_post(pair, 0, &write);
		if (!vt_completes(t, t->send_cq.cq, VT_OK, &wc) ||
		    !vt_completes(t, t->send_cq.cq, VT_OK, &wc))
			return;
		VT_CHECK(t, vt_holds(areas->bytes[1] + length, length, 100 + i),
			 "the fenced WRITE did not wait for the READ");
	}
}

static void vt_fence(struct vt *t)
{
	struct vt_pair_options options = { .path_mtu = 2 };

	vt_on_pair(t, &options, vt_fence_of_pair);
}

static const struct vt_case vt_cases[] = {
	{ "rc-sizes", vt_sizes_rc },
	{ "uc-sizes", vt_sizes_uc },
	{ "large", vt_large },
	{ "atomics", vt_atomics },
	{ "atomic-contention", vt_contention },
	{ "solicited", vt_solicited },
	{ "inline", vt_connected_inline },
	{ "lists", vt_connected_lists },
	{ "rnr", vt_rnr },
	{ "fence", vt_fence },
	{ "placement", vt_connected_placement },
	{ "unflushable", vt_connected_unflushable },
};
VT_SUITE(connected, vt_cases);
