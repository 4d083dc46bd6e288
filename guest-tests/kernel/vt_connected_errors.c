// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Remote operations that connected QPs refuse: the completion and the event at
 * each end. The pair works again after a reset.
 */
#include "vt_connected.h"

#define VT_OK		VUHCA_COMPLETION_STATUS_SUCCESS
#define VT_NO_ACCESS	VUHCA_COMPLETION_STATUS_REMOTE_ACCESS_ERROR
#define VT_INVALID	VUHCA_COMPLETION_STATUS_REMOTE_INVALID_REQUEST_ERROR

/* Runs all remote operations; @spoil makes each of them wrong. */
static void vt_each_refused(struct vt_pair *pair, struct vt_areas *areas,
			    void (*spoil)(struct vuhca_send_wr *wr,
					  struct vt_areas *areas))
{
	struct vuhca_buffer here;
	struct vuhca_send_wr wr;
	unsigned int i;

	for (i = 0; i < VT_REMOTE_OPCODES; i++) {
		wr = vt_remote_request(areas, i, &here);
		spoil(&wr, areas);
		vt_pair_refuses(pair, areas, &wr, VT_NO_ACCESS,
				VUHCA_EVENT_TYPE_QP_ACCESS_ERROR);
	}
}

static void vt_spoil_key_byte(struct vuhca_send_wr *wr, struct vt_areas *areas)
{
	wr->remote.rkey ^= 1;
}

static void vt_spoil_key(struct vuhca_send_wr *wr, struct vt_areas *areas)
{
	wr->remote.rkey ^= 0x40000000;
}

static void vt_spoil_address(struct vuhca_send_wr *wr, struct vt_areas *areas)
{
	/* The DMA region ends there. */
	wr->remote.address = VUHCA_DMA_MR_BYTES;
}

static void vt_bad_keys_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	vt_each_refused(pair, areas, vt_spoil_key_byte);
	vt_each_refused(pair, areas, vt_spoil_key);
	vt_each_refused(pair, areas, vt_spoil_address);
}

static void vt_bad_keys(struct vt *t)
{
	vt_on_plain_pair(t, vt_bad_keys_of_pair);
}

/* A memory region with all access flags but the one needed. */
static void vt_rights_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	struct vt *t = pair->t;
	struct vuhca_buffer here;
	struct vuhca_send_wr wr;
	struct vuhca_mr *mr;
	unsigned int i;

	for (i = 0; i < VT_REMOTE_OPCODES; i++) {
		mr = vuhca_get_dma_mr(t->pd, VUHCA_ACCESS_FLAG_LOCAL_WRITE |
				      (VT_ALL_REMOTE & ~vt_remote_rights[i]));
		VT_REQUIRE(t, !IS_ERR(mr), "%pe", mr);
		wr = vt_remote_request(areas, i, &here);
		wr.remote.rkey = mr->rkey;
		vt_pair_refuses(pair, areas, &wr, VT_NO_ACCESS,
				VUHCA_EVENT_TYPE_QP_ACCESS_ERROR);
		VT_EQUAL(t, vuhca_dereg_mr(mr), 0);
	}
}

static void vt_region_rights(struct vt *t)
{
	vt_on_plain_pair(t, vt_rights_of_pair);
}

/*
 * A QP that serves all operations but the one needed: the request is invalid.
 */
static void vt_qp_rights(struct vt *t)
{
	struct vt_pair_options options = {};
	struct vt_areas areas;
	struct vt_pair pair;
	struct vuhca_buffer here;
	struct vuhca_send_wr wr;
	unsigned int i;

	VT_REQUIRE(t, vt_areas_create(t, &areas), "areas");
	for (i = 0; i < VT_REMOTE_OPCODES; i++) {
		/* vt_pair_works() needs remote write access. */
		options.access = VT_ALL_REMOTE & ~vt_remote_rights[i];
		if (vt_pair_create(t, &pair, &options)) {
			pair.options.access = VT_ALL_REMOTE;
			wr = vt_remote_request(&areas, i, &here);
			vt_pair_refuses(&pair, &areas, &wr, VT_INVALID,
					VUHCA_EVENT_TYPE_QP_REQUEST_ERROR);
		}
		vt_pair_destroy(&pair);
	}
	vt_areas_destroy(t, &areas);
}

/* A paged region: every byte of it may be written, none before or behind it. */
static void vt_bounds_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	u64 start = 0x123400000800ULL;
	struct vuhca_buffer here = vt_area_buffer(areas, 0, 0, 6000);
	struct vuhca_send_wr wr = vt_rdma_wr(areas, VUHCA_SEND_OPCODE_RDMA_WRITE,
					     &here, 0);
	struct vt *t = pair->t;
	__le64 *list = (void *)t->memory;
	struct vuhca_mr *mr;

	/* The two pages of the region are in reverse order in memory. */
	list[0] = cpu_to_le64(areas->dma[1] + 8192);
	list[1] = cpu_to_le64(areas->dma[1] + 4096);
	mr = vuhca_reg_pages(t->pd, VUHCA_ACCESS_FLAG_LOCAL_WRITE |
			     VT_ALL_REMOTE, start, 6000, t->dma, 2, 12);
	VT_REQUIRE(t, !IS_ERR(mr), "%pe", mr);
	wr.remote.rkey = mr->rkey;
	wr.remote.address = start;
	memset(areas->bytes[1], VT_POISON, 16384);
	vt_fill(areas->bytes[0], 6000, 5);
	vt_do(pair, &wr, VT_OK);
	/*
	 * 2048 bytes up to the end of the first page, the rest in the second
	 * page.
	 */
	VT_CHECK(t, !memcmp(areas->bytes[1] + 8192 + 2048, areas->bytes[0], 2048),
		 "first page");
	VT_CHECK(t, !memcmp(areas->bytes[1] + 4096, areas->bytes[0] + 2048, 3952),
		 "second page");
	VT_CHECK(t, vt_is_poison(areas->bytes[1], 4096) &&
		 vt_is_poison(areas->bytes[1] + 4096 + 3952, 144) &&
		 vt_is_poison(areas->bytes[1] + 8192, 2048) &&
		 vt_is_poison(areas->bytes[1] + 12288, 4096), "ran over");
	wr.remote.address = start + 1;
	vt_pair_refuses(pair, areas, &wr, VT_NO_ACCESS,
			VUHCA_EVENT_TYPE_QP_ACCESS_ERROR);
	wr.remote.address = start - 1;
	vt_pair_refuses(pair, areas, &wr, VT_NO_ACCESS,
			VUHCA_EVENT_TYPE_QP_ACCESS_ERROR);
	wr.opcode = VUHCA_SEND_OPCODE_RDMA_READ;
	vt_pair_refuses(pair, areas, &wr, VT_NO_ACCESS,
			VUHCA_EVENT_TYPE_QP_ACCESS_ERROR);
	VT_EQUAL(t, vuhca_dereg_mr(mr), 0);
}

static void vt_bounds(struct vt *t)
{
	vt_on_plain_pair(t, vt_bounds_of_pair);
}

static void vt_misaligned_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	struct vuhca_buffer here;
	struct vuhca_send_wr wr = vt_remote_request(areas, 2, &here);

	wr.remote.address += 4;
	vt_pair_refuses(pair, areas, &wr, VT_INVALID,
			VUHCA_EVENT_TYPE_QP_REQUEST_ERROR);
}

static void vt_misaligned(struct vt *t)
{
	vt_on_plain_pair(t, vt_misaligned_of_pair);
}

static const struct vt_case vt_cases[] = {
	{ "bad-keys", vt_bad_keys },
	{ "region-rights", vt_region_rights },
	{ "qp-rights", vt_qp_rights },
	{ "bounds", vt_bounds },
	{ "misaligned-atomic", vt_misaligned },
	{ "local", vt_connected_local },
	{ "opcodes", vt_connected_opcodes },
	{ "unreliable", vt_connected_unreliable },
	{ "bad-receives", vt_connected_bad_receives },
	{ "retry-exceeded", vt_connected_retry_exceeded },
	{ "rnr-exceeded", vt_connected_rnr_exceeded },
};
VT_SUITE(connected_errors, vt_cases);
