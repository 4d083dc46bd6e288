// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Device memory: regions of it as targets of a connection, and its ranges. */
#include <linux/io.h>

#include "vt_pair.h"

#define VT_OK		VUHCA_COMPLETION_STATUS_SUCCESS
#define VT_BYTES	4096
/* The user chooses the first address of a region. */
#define VT_START	0x123456789000
#define VT_ACCESS	(VUHCA_ACCESS_FLAG_LOCAL_WRITE | VT_ALL_REMOTE)

/* Device memory with a region that covers all of it, which a pair uses. */
struct vt_device_memory {
	struct vt *t;
	struct vuhca_dm *dm;
	struct vuhca_mr *mr;
	struct vt_pair *pair;
	struct vt_areas *areas;
};

static struct vuhca_dm *vt_alloc(struct vt *t, u64 length)
{
	struct vuhca_dm *dm = vuhca_alloc_dm(t->dev, length, 6);

	return VT_CHECK(t, !IS_ERR(dm), "%pe", dm) ? dm : NULL;
}

/* Carries out a request between area 0 and the region. */
static bool vt_request(struct vt_device_memory *memory, u8 opcode,
		       unsigned int offset, u32 length, u8 status)
{
	struct vuhca_buffer here = vt_area_buffer(memory->areas, 0, 0, length);
	struct vuhca_send_wr wr = vt_rdma_wr(memory->areas, opcode, &here, 0);

	wr.remote.address = VT_START + offset;
	wr.remote.rkey = memory->mr->rkey;
	wr.atomic.swap_or_add = 3;
	return vt_do(memory->pair, &wr, status);
}

static bool vt_is_byte(struct vt_device_memory *memory, unsigned int offset,
		       unsigned int length, u8 value)
{
	void __iomem *io = vuhca_dm_io(memory->dm);
	unsigned int i;

	for (i = offset; i < offset + length; i++)
		if (readb(io + i) != value)
			return false;
	return true;
}

/* Processors and requests read what either has written. */
static void vt_both_ways(struct vt_device_memory *memory)
{
	u8 *here = memory->areas->bytes[0];
	void __iomem *io = vuhca_dm_io(memory->dm);
	unsigned int offset, length, round;
	struct vt *t = memory->t;

	VT_CHECK(t, vt_is_byte(memory, 0, VT_BYTES, 0), "it is not zeroed");
	for (round = 1; round < 20 && !t->failed; round++) {
		offset = prandom_u32_state(&t->random) % (VT_BYTES - 64);
		length = 1 + prandom_u32_state(&t->random) % 64;
		memset(here, round, length);
		vt_request(memory, VUHCA_SEND_OPCODE_RDMA_WRITE, offset, length,
			   VT_OK);
		VT_CHECK(t, vt_is_byte(memory, offset, length, round),
			 "WRITE of %u bytes at %u", length, offset);
		memset(here, VT_POISON, VT_BYTES);
		vt_request(memory, VUHCA_SEND_OPCODE_RDMA_READ, offset, length,
			   VT_OK);
		VT_CHECK(t, !memchr_inv(here, round, length),
			 "READ of %u bytes at %u", length, offset);
	}
	writeq(5, io + 64);
	vt_request(memory, VUHCA_SEND_OPCODE_FETCH_ADD, 64, 8, VT_OK);
	VT_EQUAL(t, get_unaligned_le64(here), 5);
	VT_EQUAL(t, readq(io + 64), 8);
}

/* Access one byte beyond the end: nothing is written. */
static void vt_bounds(struct vt_device_memory *memory)
{
	struct vt *t = memory->t;

	VT_EQUAL(t, vuhca_free_dm(memory->dm), (u64)-EBUSY);
	memset(memory->areas->bytes[0], 7, VT_BYTES);
	vt_request(memory, VUHCA_SEND_OPCODE_RDMA_WRITE, VT_BYTES - 63, 64,
		   VUHCA_COMPLETION_STATUS_REMOTE_ACCESS_ERROR);
	VT_CHECK(t, vt_is_byte(memory, 0, VT_BYTES, 0), "memory was written");
	if (vt_pair_reconnect(memory->pair))
		vt_request(memory, VUHCA_SEND_OPCODE_RDMA_WRITE, VT_BYTES - 64,
			   64, VT_OK);
	VT_CHECK(t, vt_is_byte(memory, VT_BYTES - 64, 64, 7), "the last bytes");
}

static void vt_with_memory(struct vt *t,
			   void (*run)(struct vt_device_memory *memory))
{
	struct vt_device_memory memory = { .t = t, .dm = vt_alloc(t, VT_BYTES) };
	struct vt_pair_options options = { .path_mtu = 2 };
	struct vt_areas areas = {};
	struct vt_pair pair = {};

	if (!memory.dm)
		return;
	memory.mr = vuhca_reg_dm(t->pd, VT_ACCESS, VT_START, memory.dm, 0,
				 VT_BYTES);
	if (VT_CHECK(t, !IS_ERR(memory.mr), "%pe", memory.mr)) {
		memory.pair = &pair;
		memory.areas = &areas;
		if (vt_areas_create(t, &areas) &&
		    vt_pair_create(t, &pair, &options))
			run(&memory);
		if (pair.t)
			vt_pair_destroy(&pair);
		if (areas.mr)
			vt_areas_destroy(t, &areas);
		VT_EQUAL(t, vuhca_dereg_mr(memory.mr), 0);
	}
	VT_EQUAL(t, vuhca_free_dm(memory.dm), 0);
}

static void vt_data(struct vt *t)
{
	vt_with_memory(t, vt_both_ways);
}

static void vt_range(struct vt *t)
{
	vt_with_memory(t, vt_bounds);
}

/*
 * One user at a time can have all of it, and finds no data of an earlier one.
 */
static void vt_exhaustion(struct vt *t)
{
	u32 all = le32_to_cpu(t->dev->attributes.max_device_memory_bytes);
	struct vuhca_dm *dm, *more;
	unsigned int round;

	for (round = 0; round < 2; round++) {
		dm = vt_alloc(t, all);
		if (!dm)
			return;
		more = vuhca_alloc_dm(t->dev, 64, 6);
		VT_EQUAL(t, PTR_ERR_OR_ZERO(more), (u64)-ENOMEM);
		if (!IS_ERR(more))
			VT_EQUAL(t, vuhca_free_dm(more), 0);
		VT_EQUAL(t, readq(vuhca_dm_io(dm)), 0);
		VT_EQUAL(t, readq(vuhca_dm_io(dm) + all - 8), 0);
		writeq(U64_MAX, vuhca_dm_io(dm));
		writeq(U64_MAX, vuhca_dm_io(dm) + all - 8);
		VT_EQUAL(t, vuhca_free_dm(dm), 0);
	}
}

static const struct vt_case vt_cases[] = {
	{ "data", vt_data },
	{ "range", vt_range },
	{ "exhaustion", vt_exhaustion },
};
VT_SUITE(device_memory, vt_cases);
