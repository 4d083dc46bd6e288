// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* FLUSH and ATOMIC WRITE of connected QPs (IBTA annex A19). */
#include "vt_connected.h"

#define VT_OK		VUHCA_COMPLETION_STATUS_SUCCESS
#define VT_ROUNDS	20
#define VT_LENGTH	5000
/* Offset in area 1 of the value that the ATOMIC WRITEs change. */
#define VT_VALUE_AT	8192

static const u8 vt_selectivities[] = {
	VUHCA_FLUSH_SELECTIVITY_RANGE,
	VUHCA_FLUSH_SELECTIVITY_MEMORY_REGION,
};

static struct vuhca_send_wr vt_flush_wr(struct vt_areas *areas, u8 type,
					u8 selectivity)
{
	struct vuhca_send_wr wr = vt_rdma_wr(areas, VUHCA_SEND_OPCODE_FLUSH,
					     NULL, 0);

	wr.flush.bytes = VT_LENGTH;
	wr.flush.placement_type = type;
	wr.flush.selectivity = selectivity;
	return wr;
}

/*
 * A log and its end: a WRITE, a FLUSH of it, and an ATOMIC WRITE that tells its
 * length. Software need not wait between them.
 */
static bool vt_append(struct vt_pair *pair, struct vt_areas *areas, u32 round)
{
	struct vuhca_buffer data = vt_area_buffer(areas, 0, 0, VT_LENGTH);
	struct vuhca_buffer end = vt_area_buffer(areas, 0, VT_VALUE_AT, 8);
	struct vuhca_send_wr write, flush, value;
	struct vt *t = pair->t;
	struct vuhca_wc wc;

	write = vt_rdma_wr(areas, VUHCA_SEND_OPCODE_RDMA_WRITE, &data, 0);
	write.signaled = false;
	flush = vt_flush_wr(areas, 1 + round % 3,
			    vt_selectivities[round % 2]);
	value = vt_rdma_wr(areas, VUHCA_SEND_OPCODE_ATOMIC_WRITE, &end,
			   VT_VALUE_AT);
	vt_fill(areas->bytes[0], VT_LENGTH, round);
	memset(areas->bytes[0] + VT_VALUE_AT, round + 1, 8);
	memset(areas->bytes[1], VT_POISON, VT_LENGTH);
	memset(areas->bytes[1] + VT_VALUE_AT - 8, VT_POISON, 24);
	return vt_post(pair, 0, &write) && vt_post(pair, 0, &flush) &&
	       vt_post(pair, 0, &value) &&
	       vt_completes(t, t->send_cq.cq, VT_OK, &wc) &&
	       VT_EQUAL(t, wc.opcode, VUHCA_COMPLETION_OPCODE_FLUSH) &&
	       VT_CHECK(t, vt_holds(areas->bytes[1], VT_LENGTH, round),
			"not there after the FLUSH") &&
	       vt_completes(t, t->send_cq.cq, VT_OK, &wc) &&
	       VT_EQUAL(t, wc.opcode, VUHCA_COMPLETION_OPCODE_ATOMIC_WRITE);
}

static void vt_placement_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	const u8 *value = areas->bytes[1] + VT_VALUE_AT;
	struct vt *t = pair->t;
	u32 round;

	for (round = 0; round < VT_ROUNDS; round++) {
		if (!vt_append(pair, areas, round))
			return;
		VT_CHECK(t, !memcmp(value, areas->bytes[0] + VT_VALUE_AT, 8),
			 "not written");
		VT_CHECK(t, vt_is_poison(value - 8, 8) &&
			 vt_is_poison(value + 8, 8), "ran over");
	}
}

void vt_connected_placement(struct vt *t)
{
	struct vt_pair_options options = {};

	vt_on_pair(t, &options, vt_placement_of_pair);
	options.to = 1;
	vt_on_pair(t, &options, vt_placement_of_pair);
}

static void vt_unflushable_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	struct vuhca_send_wr wr =
		vt_flush_wr(areas, VUHCA_PLACEMENT_TYPE_GLOBAL_VISIBILITY,
			    VUHCA_FLUSH_SELECTIVITY_RANGE);

	vt_pair_refuses(pair, areas, &wr,
			VUHCA_COMPLETION_STATUS_REMOTE_INVALID_REQUEST_ERROR,
			VUHCA_EVENT_TYPE_QP_REQUEST_ERROR);
}

/* A FLUSH needs the right of the QP. */
void vt_connected_unflushable(struct vt *t)
{
	struct vt_pair_options options = {
		.access = VT_ALL_REMOTE & ~VUHCA_ACCESS_FLAG_FLUSH_GLOBAL,
	};

	vt_on_pair(t, &options, vt_unflushable_pair);
}
