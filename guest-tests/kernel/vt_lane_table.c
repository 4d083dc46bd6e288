// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A table of lanes in the guest's memory (US 8,484,392 par. 74-76): the guest
 * changes the entry of its function and marks it; the adapter reads it before
 * the next command gets a lane.
 */
#include <linux/dma-mapping.h>

#include "vt_share_request.h"

struct vt_lanes {
	struct vt *t;
	struct vuhca_lane_table_entry *table;
	dma_addr_t dma;
	struct vuhca_resource_share first;
};

static void vt_set_table(struct vt *t, dma_addr_t address)
{
	vuhca_write_csr64(t->dev, VUHCA_CSR_LANE_TABLE_OFF, address);
	VT_EQUAL(t, vuhca_read_csr64(t->dev, VUHCA_CSR_LANE_TABLE_OFF), address);
}

static u8 vt_change(struct vt *t, u8 resource, u32 amount)
{
	const struct vt_change wanted = { resource, VT_NONE, 0, amount };
	struct vuhca_resource_change change = vt_encode(&wanted);
	struct vuhca_answer answer = {};

	vuhca_request_resources(t->dev, &change, 1, &answer);
	return answer.status;
}

/* Stores lanes below 32: those of both levels, which are the function's. */
static void vt_store(struct vuhca_lane_table_entry *entry, u32 level0, u32 level1)
{
	__le32 both = cpu_to_le32(level0 | level1);
	__le32 levels[2] = { cpu_to_le32(level0), cpu_to_le32(level1) };

	memset(entry, 0, sizeof(*entry));
	memcpy(entry->lanes, &both, sizeof(both));
	memcpy(entry->level0, &levels[0], sizeof(levels[0]));
	memcpy(entry->level1, &levels[1], sizeof(levels[1]));
	/* Write the entry before the mark or the command that follows. */
	wmb();
}

/* Sends a message, which needs a lane, and compares the lanes of the levels. */
static void vt_expect(struct vt_lanes *w, u32 reads, u32 level0, u32 level1)
{
	struct vuhca_resource_share share;
	struct vt *t = w->t;

	vt_roundtrip(t, 0, 1, 100, VUHCA_POST_DOORBELL);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_LANE_TABLE_READS_OFF), reads);
	VT_EQUAL(t, vuhca_query_resources(t->dev, 0, &share), 0);
	VT_EQUAL(t, *(u32 *)share.tvl_map, level0 | level1);
	VT_EQUAL(t, *(u32 *)share.tvl_map_level0, level0);
	VT_EQUAL(t, *(u32 *)share.tvl_map_level1, level1);
}

static void vt_change_lanes(struct vt_lanes *w)
{
	u32 reads = vt_csr(w->t, VUHCA_CSR_LANE_TABLE_READS_OFF);
	u32 bits, low, high;
	struct vt *t = w->t;

	/* Two lanes of the function, or 0 and 1. */
	memcpy(&bits, w->first.tvl_map, sizeof(bits));
	bits = bits ?: 3;
	low = bits & -bits;
	high = (bits & ~low) & -(bits & ~low);
	vt_store(w->table, low, high);
	vt_roundtrip(t, 0, 1, 100, VUHCA_POST_DOORBELL);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_LANE_TABLE_READS_OFF), reads);
	VT_EQUAL(t, vt_change(t, VUHCA_RESOURCE_KIND_TVL_TABLE_ENTRY, 1), 0);
	vt_expect(w, reads + 1, low, high);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_TVL_ALLOCATED_OFF), 2);
	/* A change without a mark stays unread. */
	vt_store(w->table, high, low);
	vt_expect(w, reads + 1, low, high);
	VT_EQUAL(t, vt_change(t, VUHCA_RESOURCE_KIND_TVL_TABLE_ENTRY, 1), 0);
	vt_expect(w, reads + 2, high, low);
}

static void vt_marked_entry(struct vt *t)
{
	struct vt_lanes w = { .t = t };
	size_t bytes;

	if (t->dev->function)
		return vt_skip(t, "a virtual function");
	VT_EQUAL(t, vuhca_query_resources(t->dev, 0, &w.first), 0);
	if (le32_to_cpu(w.first.tvls_shared) < 4)
		return vt_skip(t, "too few shared lanes");
	bytes = w.first.functions * sizeof(*w.table);
	w.table = dma_alloc_coherent(&t->dev->pdev->dev, bytes, &w.dma,
				     GFP_KERNEL);
	VT_REQUIRE(t, w.table, "no memory");
	VT_EQUAL(t, vt_change(t, VUHCA_RESOURCE_KIND_TVL_TABLE_ENTRY, 1),
		 VUHCA_MANAGEMENT_STATUS_BAD_STATE);
	vt_set_table(t, w.dma);
	vt_change_lanes(&w);
	vt_set_table(t, 0);
	dma_free_coherent(&t->dev->pdev->dev, bytes, w.table, w.dma);
	VT_EQUAL(t, vt_change(t, VUHCA_RESOURCE_KIND_TVLS, 0), 0);
	VT_EQUAL(t, vt_change(t, VUHCA_RESOURCE_KIND_TVLS,
			      le32_to_cpu(w.first.tvls)), 0);
	vt_roundtrip(t, 0, 1, 100, VUHCA_POST_DOORBELL);
}

static const struct vt_case vt_cases[] = {
	{ "marked-entry", vt_marked_entry },
};
VT_SUITE(lane_table, vt_cases);
