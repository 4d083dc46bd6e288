// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Resources that the physical function allocates or takes back (US 8,484,392,
 * figures 4 and 5), kind by kind: queries and registers show each change,
 * commands continue, and the change can be undone. Pages still in use must
 * wait.
 */
#include "vt_collect_command.h"
#include "vt_share_request.h"

#define VT_LAST_WORD	(VUHCA_TVL_MAX / 32 - 1)

/*
 * Requests the changes; returns the status, VUHCA_MANAGEMENT_STATUS_OK for
 * success.
 */
static u8 vt_allocate(struct vt *t, const struct vt_change *wanted,
		      unsigned int count)
{
	struct vuhca_resource_change changes[4];
	struct vuhca_answer answer = {};
	unsigned int i;

	for (i = 0; i < count; i++)
		changes[i] = vt_encode(&wanted[i]);
	vuhca_request_resources(t->dev, changes, count, &answer);
	return answer.status;
}

static u8 vt_allocate_one(struct vt *t, u8 resource, u16 target, u32 amount)
{
	const struct vt_change change = { resource, VT_NONE, target, amount };

	return vt_allocate(t, &change, 1);
}

static bool vt_share_of(struct vt *t, struct vuhca_resource_share *share)
{
	return VT_EQUAL(t, vuhca_query_resources(t->dev, 0, share), 0);
}

/* Checks that commands work, by collect buffer and by doorbell. */
static void vt_commands_work(struct vt *t)
{
	vt_roundtrip(t, 0, 1, 100, VUHCA_POST_COLLECT);
	vt_roundtrip(t, 0, 1, 100, VUHCA_POST_DOORBELL);
}

/* All resources of a lane, in one request. */
static void vt_allocate_to_lane(struct vt *t)
{
	static const struct vt_change changes[] = {
		{ VUHCA_RESOURCE_KIND_TVL_EXECUTION_CREDITS, VT_NONE, 0, 3 },
		{ VUHCA_RESOURCE_KIND_TVL_COMPLETION_CREDITS, VT_NONE, 0, 5 },
		{ VUHCA_RESOURCE_KIND_TVL_SHARED_CREDITS, VT_NONE, 0, 2 },
		{ VUHCA_RESOURCE_KIND_TVL_WEIGHT, VT_NONE, 0, 9 },
	};
	struct vuhca_lane_attributes before, lane;
	struct vuhca_resource_share first, share;

	if (t->dev->function)
		return vt_skip(t, "a virtual function");
	VT_REQUIRE(t, vt_share_of(t, &first), "query");
	VT_EQUAL(t, vuhca_query_lane(t->dev, 0, &before), 0);
	if (le32_to_cpu(first.execution_credits_shared) < 4 ||
	    le32_to_cpu(first.completion_credits_shared) < 6)
		return vt_skip(t, "too few shared credits");
	VT_EQUAL(t, vt_allocate(t, changes, ARRAY_SIZE(changes)), 0);
	VT_EQUAL(t, vt_allocate_one(t, VUHCA_RESOURCE_KIND_TVL_LIST_SIZE, 0, 7), 0);
	VT_EQUAL(t, vuhca_query_lane(t->dev, 0, &lane), 0);
	VT_EQUAL(t, le32_to_cpu(lane.execution_credits), 3);
	VT_EQUAL(t, le32_to_cpu(lane.completion_credits), 5);
	VT_EQUAL(t, lane.shared_credits, 2);
	VT_EQUAL(t, lane.weight, 9);
	VT_EQUAL(t, le32_to_cpu(lane.list_size), 7);
	vt_share_of(t, &share);
	VT_EQUAL(t, le32_to_cpu(share.execution_credits_shared),
		 le32_to_cpu(first.execution_credits_shared) +
		 le32_to_cpu(before.execution_credits) - 3);
	VT_EQUAL(t, le32_to_cpu(share.completion_credits_shared),
		 le32_to_cpu(first.completion_credits_shared) +
		 le32_to_cpu(before.completion_credits) - 5);
	vt_commands_work(t);
	VT_EQUAL(t, vt_allocate_one(t, VUHCA_RESOURCE_KIND_TVL_SHARED_CREDITS, 0,
				    before.shared_credits), 0);
	VT_EQUAL(t, vt_allocate_one(t, VUHCA_RESOURCE_KIND_TVL_EXECUTION_CREDITS, 0,
				    le32_to_cpu(before.execution_credits)), 0);
	VT_EQUAL(t, vt_allocate_one(t, VUHCA_RESOURCE_KIND_TVL_COMPLETION_CREDITS, 0,
				    le32_to_cpu(before.completion_credits)), 0);
	VT_EQUAL(t, vt_allocate_one(t, VUHCA_RESOURCE_KIND_TVL_WEIGHT, 0,
				    before.weight), 0);
	VT_EQUAL(t, vt_allocate_one(t, VUHCA_RESOURCE_KIND_TVL_LIST_SIZE, 0,
				    le32_to_cpu(before.list_size)), 0);
	vt_share_of(t, &share);
	VT_CHECK(t, !memcmp(&share, &first, sizeof(share)), "not as before");
}

/* PCBs, dedicated buffers and the BAR: changed by one, and back. */
static void vt_allocate_to_function(struct vt *t)
{
	struct vuhca_resource_share first, share;
	u32 pcbs, buffers, vcbs, base;
	u64 level, end;

	if (t->dev->function)
		return vt_skip(t, "a virtual function");
	VT_REQUIRE(t, vt_share_of(t, &first), "query");
	level = vuhca_read_csr64(t->dev, VUHCA_CSR_VCB_LEVEL_BASE_OFF);
	end = vuhca_read_csr64(t->dev, VUHCA_CSR_VCB_END_OFF);
	pcbs = le32_to_cpu(first.pcbs);
	buffers = le32_to_cpu(first.scheduler_buffers);
	vcbs = le32_to_cpu(first.vcbs);
	base = le32_to_cpu(first.vcb_base);
	if (pcbs < 2 || buffers < 2 || vcbs < 2)
		return vt_skip(t, "too few resources");
	VT_EQUAL(t, vt_allocate_one(t, VUHCA_RESOURCE_KIND_PCBS, 0, pcbs - 1), 0);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_PCB_COUNT_OFF), pcbs - 1);
	VT_EQUAL(t, vt_allocate_one(t, VUHCA_RESOURCE_KIND_SCHEDULER_BUFFERS, 0,
				    buffers - 1), 0);
	VT_EQUAL(t, vt_allocate_one(t, VUHCA_RESOURCE_KIND_VCBS, 0, vcbs - 1), 0);
	VT_EQUAL(t, vt_allocate_one(t, VUHCA_RESOURCE_KIND_VCB_BASE, 0, base + 1), 0);
	VT_EQUAL(t, vuhca_read_csr64(t->dev, VUHCA_CSR_VCB_BASE_OFF),
		 (u64)(base + 1) * VUHCA_PAGE_BYTES);
	/* One VCB less, and all of them one address higher. */
	VT_EQUAL(t, vuhca_read_csr64(t->dev, VUHCA_CSR_VCB_END_OFF), end);
	VT_EQUAL(t, vuhca_read_csr64(t->dev, VUHCA_CSR_VCB_LEVEL_BASE_OFF),
		 min(level + VUHCA_PAGE_BYTES, end));
	vt_share_of(t, &share);
	VT_EQUAL(t, le32_to_cpu(share.pcbs_shared),
		 le32_to_cpu(first.pcbs_shared) + 1);
	VT_EQUAL(t, le32_to_cpu(share.scheduler_buffers), buffers - 1);
	VT_EQUAL(t, le32_to_cpu(share.vcbs), vcbs - 1);
	VT_EQUAL(t, le32_to_cpu(share.vcb_base), base + 1);
	vt_commands_work(t);
	VT_EQUAL(t, vt_allocate_one(t, VUHCA_RESOURCE_KIND_VCB_BASE, 0, base), 0);
	VT_EQUAL(t, vt_allocate_one(t, VUHCA_RESOURCE_KIND_VCBS, 0, vcbs), 0);
	VT_EQUAL(t, vt_allocate_one(t, VUHCA_RESOURCE_KIND_SCHEDULER_BUFFERS, 0,
				    buffers), 0);
	VT_EQUAL(t, vt_allocate_one(t, VUHCA_RESOURCE_KIND_PCBS, 0, pcbs), 0);
	vt_commands_work(t);
}

/*
 * Lanes by explicit map: of the function, of a level, of the dedicated buffers.
 */
static void vt_allocate_by_map(struct vt *t)
{
	u32 own[VUHCA_TVL_MAX / 32];
	static const struct vt_change dedicated = {
		VUHCA_RESOURCE_KIND_DEDICATED_TVL_MAP, VT_NONE, 0, 0x80000000,
		VT_LAST_WORD,
	};
	static const struct vt_change none = {
		VUHCA_RESOURCE_KIND_DEDICATED_TVL_MAP, VT_NONE, 0, 0, VT_LAST_WORD,
	};
	struct vuhca_resource_share first, share;
	struct vuhca_lane_attributes lane;
	struct vt_change map[3] = {
		{ VUHCA_RESOURCE_KIND_TVL_MAP, VT_NONE, 0, 0, 0 },
		{ VUHCA_RESOURCE_KIND_TVL_MAP, 0, 0, 0, 0 },
		{ VUHCA_RESOURCE_KIND_TVL_MAP, 1, 0, 0, 0 },
	};
	u32 bits, launches;

	if (t->dev->function)
		return vt_skip(t, "a virtual function");
	VT_REQUIRE(t, vt_share_of(t, &first), "query");
	memcpy(own, first.tvl_map, sizeof(own));
	if (le32_to_cpu(first.tvls_shared) < 4 ||
	    vuhca_read_csr(t->dev, VUHCA_CSR_TVL_COUNT_OFF) < VUHCA_TVL_MAX)
		return vt_skip(t, "too few shared lanes");
	/* Two lanes of the function, or 0 and 1: one for each level. */
	bits = le32_to_cpu((__force __le32)own[0]) ?: 3;
	map[1].amount = bits & -bits;
	map[2].amount = (bits & (bits - 1)) & -(bits & (bits - 1));
	map[0].amount = map[1].amount | map[2].amount;
	VT_EQUAL(t, vt_allocate(t, map, ARRAY_SIZE(map)), 0);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_TVL_ALLOCATED_OFF), 2);
	vt_share_of(t, &share);
	VT_EQUAL(t, *(u32 *)share.tvl_map, map[0].amount);
	VT_EQUAL(t, *(u32 *)share.tvl_map_level0, map[1].amount);
	VT_EQUAL(t, *(u32 *)share.tvl_map_level1, map[2].amount);
	vt_commands_work(t);

	/* Commands that the scheduler fetches use the last lane. */
	VT_EQUAL(t, vt_allocate(t, &dedicated, 1), 0);
	VT_EQUAL(t, vuhca_query_lane(t->dev, VUHCA_TVL_MAX - 1, &lane), 0);
	VT_EQUAL(t, lane.state, VUHCA_TVL_STATE_DEDICATED);
	launches = le32_to_cpu(lane.launches);
	vt_roundtrip(t, 0, 1, 100, VUHCA_POST_DOORBELL);
	VT_EQUAL(t, vuhca_query_lane(t->dev, VUHCA_TVL_MAX - 1, &lane), 0);
	/* Other functions may use it, too. */
	launches = le32_to_cpu(lane.launches) - launches;
	VT_CHECK(t, launches > 0, "nothing was launched");
	VT_EQUAL(t, vt_allocate(t, &none, 1), 0);

	VT_EQUAL(t, vt_allocate_one(t, VUHCA_RESOURCE_KIND_TVLS, 0, 0), 0);
	VT_EQUAL(t, vt_allocate_one(t, VUHCA_RESOURCE_KIND_TVLS, 0,
				    le32_to_cpu(first.tvls)), 0);
	vt_commands_work(t);
}

/*
 * A page was given back with a command in it: no other function gets it until
 * the command is gone. This needs a second function, whose BAR is moved there
 * and back.
 */
static void vt_converging(struct vt *t)
{
	struct vuhca_resource_share first, second;
	u32 vcbs, wanted, base;
	void __iomem *page;

	if (t->dev->function)
		return vt_skip(t, "a virtual function");
	VT_REQUIRE(t, vt_share_of(t, &first), "query");
	if (first.functions < 2)
		return vt_skip(t, "there is one function");
	VT_EQUAL(t, vuhca_query_resources(t->dev, 1, &second), 0);
	vcbs = le32_to_cpu(first.vcbs);
	base = le32_to_cpu(second.vcb_base);
	wanted = le32_to_cpu(first.vcb_base) + vcbs - 1;
	if (vcbs < 2 || base != wanted + 1)
		return vt_skip(t, "the pages of function 1 do not follow");
	page = t->dev->collect + (u64)(vcbs - 1) * VUHCA_PAGE_BYTES;
	writeq(0, page + 8);
	vt_drain_stores();
	VT_EQUAL(t, vt_allocate_one(t, VUHCA_RESOURCE_KIND_VCBS, 0, vcbs - 1), 0);
	VT_EQUAL(t, vt_allocate_one(t, VUHCA_RESOURCE_KIND_VCB_BASE, 1, wanted),
		 VUHCA_MANAGEMENT_STATUS_CONVERGING);
	writeq(~0ULL, page + VUHCA_CANCEL_OFFSET);
	vt_drain_stores();
	VT_EQUAL(t, vt_allocate_one(t, VUHCA_RESOURCE_KIND_VCB_BASE, 1, wanted), 0);
	VT_EQUAL(t, vt_allocate_one(t, VUHCA_RESOURCE_KIND_VCB_BASE, 1, base), 0);
	VT_EQUAL(t, vt_allocate_one(t, VUHCA_RESOURCE_KIND_VCBS, 0, vcbs), 0);
	vt_commands_work(t);
}

static const struct vt_case vt_cases[] = {
	{ "lane", vt_allocate_to_lane },
	{ "function", vt_allocate_to_function },
	{ "map", vt_allocate_by_map },
	{ "converging", vt_converging },
};
VT_SUITE(share_allocation, vt_cases);
