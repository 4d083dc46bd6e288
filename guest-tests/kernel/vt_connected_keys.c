// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory regions registered by work request, keys that either side invalidates,
 * and re-registration.
 */
#include "vt_pair.h"

#define VT_OK		VUHCA_COMPLETION_STATUS_SUCCESS
#define VT_START	0x7f1200000040ULL
#define VT_BYTES	10000
#define VT_PAGES	3

/* Registers the pages of area 1, last page first, with another key byte. */
static bool vt_register(struct vt_pair *pair, struct vt_areas *areas,
			struct vuhca_mr *mr, u8 key_byte, u8 status)
{
	struct vuhca_buffer range = {
		.address = VT_START,
		.length = VT_BYTES,
		.lkey = vuhca_set_key_byte(mr->lkey, key_byte),
	};
	struct vuhca_send_wr wr = {
		.opcode = VUHCA_SEND_OPCODE_FAST_REGISTER,
		.signaled = true,
		.sge = &range,
		.sge_count = 1,
		.reg.page_list = pair->t->dma,
		.reg.page_count = VT_PAGES,
		.reg.page_shift = 12,
		.reg.access = VUHCA_ACCESS_FLAG_LOCAL_WRITE | VT_ALL_REMOTE,
	};
	__le64 *list = (void *)pair->t->memory;
	unsigned int i;
	struct vuhca_wc wc;

	for (i = 0; i < VT_PAGES; i++)
		list[i] = cpu_to_le64(areas->dma[1] +
				      (VT_PAGES - 1 - i) * 4096);
	return vt_post(pair, 1, &wr) &&
	       vt_completes(pair->t, pair->t->send_cq.cq, status, &wc) &&
	       (status != VT_OK ||
		VT_EQUAL(pair->t, wc.opcode,
			 VUHCA_COMPLETION_OPCODE_FAST_REGISTER));
}

/* Writes the whole region from end 0 under @rkey and expects @status. */
static void vt_write(struct vt_pair *pair, struct vt_areas *areas, u32 rkey,
		     u8 status)
{
	struct vuhca_buffer here = vt_area_buffer(areas, 0, 0, VT_BYTES);
	struct vuhca_send_wr wr = vt_rdma_wr(areas, VUHCA_SEND_OPCODE_RDMA_WRITE,
					     &here, 0);
	struct vt *t = pair->t;
	u32 first = 4096 - 0x40;
	u8 *there = areas->bytes[1];

	wr.remote.address = VT_START;
	wr.remote.rkey = rkey;
	vt_fill(areas->bytes[0], VT_BYTES, rkey);
	memset(there, VT_POISON, VT_PAGES * 4096);
	vt_do(pair, &wr, status);
	if (status != VT_OK) {
		VT_CHECK(t, vt_is_poison(there, VT_PAGES * 4096), "changed");
		return;
	}
	VT_CHECK(t, !memcmp(there + 8192 + 0x40, areas->bytes[0], first) &&
		 !memcmp(there + 4096, areas->bytes[0] + first, 4096) &&
		 !memcmp(there, areas->bytes[0] + first + 4096,
			 VT_BYTES - first - 4096), "payload");
}

/* A region is registered, used, and invalidated by its own side. */
static void vt_local_of_pair(struct vt_pair *pair, struct vt_areas *areas,
			     struct vuhca_mr *mr)
{
	u32 key = vuhca_set_key_byte(mr->lkey, 0x5a);
	struct vuhca_send_wr wr = {
		.opcode = VUHCA_SEND_OPCODE_LOCAL_INVALIDATE,
		.signaled = true,
		.immediate = key,
	};
	struct vt *t = pair->t;
	struct vuhca_wc wc;

	vt_write(pair, areas, key, VUHCA_COMPLETION_STATUS_REMOTE_ACCESS_ERROR);
	vt_pair_works(pair, areas);
	if (!vt_register(pair, areas, mr, 0x5a, VT_OK))
		return;
	vt_write(pair, areas, key, VT_OK);
	vt_post(pair, 1, &wr);
	vt_completes(t, t->send_cq.cq, VT_OK, &wc);
	VT_EQUAL(t, wc.opcode, VUHCA_COMPLETION_OPCODE_LOCAL_INVALIDATE);
	vt_write(pair, areas, key, VUHCA_COMPLETION_STATUS_REMOTE_ACCESS_ERROR);
	vt_pair_works(pair, areas);
	/* The region is no longer valid, so it cannot be invalidated again. */
	vt_post(pair, 1, &wr);
	vt_completes(t, t->send_cq.cq,
		     VUHCA_COMPLETION_STATUS_WINDOW_BIND_ERROR, &wc);
	VT_EQUAL(t, wc.vendor_error, VUHCA_FAULT_KIND_KEY_STATE);
	vt_pair_works(pair, areas);
}

/* A SEND with Invalidate takes the key back and reports it to the receiver. */
static void vt_remote_of_pair(struct vt_pair *pair, struct vt_areas *areas,
			      struct vuhca_mr *mr)
{
	u32 key = vuhca_set_key_byte(mr->lkey, 0x5b);
	struct vuhca_send_wr wr = vt_rdma_wr(areas,
					     VUHCA_SEND_OPCODE_SEND_INVALIDATE,
					     NULL, 0);
	struct vt *t = pair->t;
	struct vuhca_wc wc;

	if (!vt_register(pair, areas, mr, 0x5b, VT_OK))
		return;
	vt_write(pair, areas, key, VT_OK);
	wr.immediate = key;
	VT_EQUAL(t, vt_pair_receive(pair, 1, NULL, 0), 0);
	vt_do(pair, &wr, VT_OK);
	vt_completes(t, t->recv_cq.cq, VT_OK, &wc);
	VT_CHECK(t, wc.has_invalidate && !wc.has_immediate, "not reported");
	VT_EQUAL(t, wc.immediate, key);
	vt_write(pair, areas, key, VUHCA_COMPLETION_STATUS_REMOTE_ACCESS_ERROR);
	vt_pair_works(pair, areas);
}

static void vt_with_region(struct vt *t,
			   void (*run)(struct vt_pair *pair,
				       struct vt_areas *areas,
				       struct vuhca_mr *mr))
{
	struct vt_pair_options options = { .path_mtu = 3 };
	struct vt_areas areas;
	struct vt_pair pair;
	struct vuhca_mr *mr;

	if (!vt_areas_create(t, &areas))
		return;
	mr = vuhca_alloc_fast_mr(t->pd, VT_PAGES);
	if (VT_CHECK(t, !IS_ERR(mr), "%pe", mr)) {
		if (vt_pair_create(t, &pair, &options))
			run(&pair, &areas, mr);
		vt_pair_destroy(&pair);
		VT_EQUAL(t, vuhca_dereg_mr(mr), 0);
	}
	vt_areas_destroy(t, &areas);
}

static void vt_local(struct vt *t)
{
	vt_with_region(t, vt_local_of_pair);
}

static void vt_remote(struct vt *t)
{
	vt_with_region(t, vt_remote_of_pair);
}

static void vt_twice_of_pair(struct vt_pair *pair, struct vt_areas *areas,
			     struct vuhca_mr *mr)
{
	if (!vt_register(pair, areas, mr, 1, VT_OK))
		return;
	vt_register(pair, areas, mr, 2,
		    VUHCA_COMPLETION_STATUS_WINDOW_BIND_ERROR);
	vt_pair_works(pair, areas);
	vt_write(pair, areas, vuhca_set_key_byte(mr->lkey, 1), VT_OK);
}

static void vt_twice(struct vt *t)
{
	vt_with_region(t, vt_twice_of_pair);
}

/* Re-registers the region as memory at its own addresses and expects @err. */
static bool vt_change(struct vt *t, struct vuhca_mr *mr, u32 mask,
		      struct vt_areas *areas, u32 length, u32 access,
		      struct vuhca_pd *pd, int err)
{
	struct vuhca_mr_attributes change = {
		.attribute_mask = cpu_to_le32(mask),
		.access = cpu_to_le32(access),
		.start_address = cpu_to_le64(areas->dma[1]),
		.length = cpu_to_le64(length),
	};

	vuhca_mr_attributes_set_kind(&change, VUHCA_MR_KIND_PHYSICAL);
	vuhca_mr_attributes_set_pd(&change, pd ? pd->pdn : 0);
	return VT_EQUAL(t, vuhca_rereg_mr(mr, &change), (u64)err);
}

/* Writes the beginning of area 1 from end 0 under @rkey and expects @status. */
static void vt_place(struct vt_pair *pair, struct vt_areas *areas, u32 rkey,
		     u8 status)
{
	struct vuhca_buffer here = vt_area_buffer(areas, 0, 0, VT_BYTES);
	struct vuhca_send_wr wr = vt_rdma_wr(areas, VUHCA_SEND_OPCODE_RDMA_WRITE,
					     &here, 0);
	u32 key = prandom_u32_state(&pair->t->random);

	wr.remote.rkey = rkey;
	vt_fill(areas->bytes[0], VT_BYTES, key);
	vt_do(pair, &wr, status);
	VT_EQUAL(pair->t, vt_holds(areas->bytes[1], VT_BYTES, key),
		 status == VT_OK);
	if (status != VT_OK)
		vt_pair_works(pair, areas);
}

/*
 * Re-registration under the same keys of access, translation and PD; all or
 * nothing.
 */
static void vt_changed_of_pair(struct vt_pair *pair, struct vt_areas *areas,
			       struct vuhca_mr *mr)
{
	const u32 bad = VUHCA_COMPLETION_STATUS_REMOTE_ACCESS_ERROR;
	const u32 all = VUHCA_ACCESS_FLAG_LOCAL_WRITE | VT_ALL_REMOTE;
	struct vuhca_pd *other = vuhca_alloc_pd(pair->t->dev);
	struct vt *t = pair->t;

	VT_REQUIRE(t, !IS_ERR(other), "%pe", other);
	if (!vt_change(t, mr, VUHCA_MR_MASK_TRANSLATION | VUHCA_MR_MASK_ACCESS,
		       areas, VT_BYTES, all, NULL, 0))
		goto out;
	vt_place(pair, areas, mr->rkey, VT_OK);
	vt_change(t, mr, VUHCA_MR_MASK_ACCESS, areas, 0,
		  VUHCA_ACCESS_FLAG_REMOTE_READ, NULL, 0);
	vt_place(pair, areas, mr->rkey, bad);
	/* Remote write access without local write access is refused. */
	vt_change(t, mr, VUHCA_MR_MASK_ACCESS, areas, 0,
		  VUHCA_ACCESS_FLAG_REMOTE_WRITE, NULL, -EINVAL);
	vt_place(pair, areas, mr->rkey, bad);
	vt_change(t, mr, VUHCA_MR_MASK_ACCESS, areas, 0, all, NULL, 0);
	vt_place(pair, areas, mr->rkey, VT_OK);
	vt_change(t, mr, VUHCA_MR_MASK_PD, areas, 0, 0, other, 0);
	vt_place(pair, areas, mr->rkey, bad);
	VT_EQUAL(t, vuhca_dealloc_pd(other), (u64)-EBUSY);
	vt_change(t, mr, VUHCA_MR_MASK_PD, areas, 0, 0, t->pd, 0);
	vt_place(pair, areas, mr->rkey, VT_OK);
	vt_change(t, mr, VUHCA_MR_MASK_TRANSLATION, areas, VT_BYTES - 1, 0,
		  NULL, 0);
	vt_place(pair, areas, mr->rkey, bad);
out:
	VT_EQUAL(t, vuhca_dealloc_pd(other), 0);
}

static void vt_changed(struct vt *t)
{
	vt_with_region(t, vt_changed_of_pair);
}

static const struct vt_case vt_cases[] = {
	{ "local-invalidate", vt_local },
	{ "remote-invalidate", vt_remote },
	{ "registered-twice", vt_twice },
	{ "re-registered", vt_changed },
};
VT_SUITE(connected_keys, vt_cases);
