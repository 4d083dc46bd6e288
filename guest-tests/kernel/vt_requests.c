// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Resource requests: what a function may ask for is done as a whole and seen in
 * registers, queries and the driver; everything else is refused as a whole, with
 * the reason, the change at fault and what would have been accepted. The physical
 * function and virtual ones have different things to ask for.
 */
#include "vt_flock.h"
#include "vt_requests.h"

#define VT_HEADER	sizeof(struct vuhca_management_command)
/* Bytes of a change to blame. */
enum { VT_AT_RESOURCE = 0, VT_AT_LEVEL = 1, VT_AT_TARGET = 2, VT_AT_AMOUNT = 4 };

struct vuhca_resource_change vt_encode(const struct vt_change *change)
{
	struct vuhca_resource_change encoded = {
		.amount = cpu_to_le32(change->amount),
	};

	vuhca_resource_change_set_resource(&encoded, change->resource);
	vuhca_resource_change_set_qos_level(&encoded, change->level);
	vuhca_resource_change_set_word(&encoded, change->word);
	vuhca_resource_change_set_target(&encoded, change->target);
	return encoded;
}

int vt_ask(struct vt *t, u8 resource, u8 level, u16 target, u32 amount)
{
	const struct vt_change change = { resource, level, target, amount };
	struct vuhca_resource_change encoded = vt_encode(&change);
	struct vuhca_answer answer;

	return vuhca_request_resources(t->dev, &encoded, 1, &answer);
}

static bool vt_share(struct vt *t, struct vuhca_resource_share *share)
{
	return VT_EQUAL(t, vuhca_query_resources(t->dev, t->dev->function,
						 share), 0);
}

/* A change that is in order, whoever asks, and changes nothing. */
static struct vuhca_resource_change vt_good(struct vt *t,
					    const struct vuhca_resource_share *share)
{
	const struct vt_change change = {
		VUHCA_RESOURCE_KIND_PCBS, 1, t->dev->function,
		/* One less, so that it would show. */
		le32_to_cpu(share->pcbs_level1) ?
		le32_to_cpu(share->pcbs_level1) - 1 : 0,
	};

	return vt_encode(&change);
}

struct vt_refusal {
	const char *what;
	struct vt_change change;
	u8 status;
	u8 at;
};

/* Alone, and behind a change that is in order: nothing is done. */
static void vt_refuse(struct vt *t, const struct vt_refusal *refusal)
{
	struct vuhca_resource_change changes[2];
	struct vuhca_resource_share before, behind;
	struct vuhca_answer answer;
	unsigned int index;
	int err;

	if (!vt_share(t, &before))
		return;
	changes[0] = vt_good(t, &before);
	changes[1] = vt_encode(&refusal->change);
	for (index = 0; index < 2; index++) {
		err = vuhca_request_resources(t->dev, changes + 1 - index,
					      1 + index, &answer);
		VT_CHECK(t, err && answer.status == refusal->status,
			 "%s: %d, status %u, not %u", refusal->what, err,
			 answer.status, refusal->status);
		VT_CHECK(t, answer.bad_offset == VT_HEADER + refusal->at +
			 index * sizeof(changes[0]), "%s: offset %u",
			 refusal->what, answer.bad_offset);
		if (vt_share(t, &behind))
			VT_CHECK(t, !memcmp(&before, &behind, sizeof(before)),
				 "%s: something changed", refusal->what);
	}
}

static void vt_refuse_all(struct vt *t, const struct vt_refusal *refusals,
			  unsigned int count)
{
	while (count--)
		vt_refuse(t, refusals++);
}

/* What is wrong whoever asks: the function's own levels, and fields. */
static void vt_refused_levels(struct vt *t)
{
	struct vuhca_resource_share share;
	u16 own = t->dev->function;

	VT_REQUIRE(t, vt_share(t, &share), "query");
	const struct vt_refusal refusals[] = {
		{ "an unknown resource", { 99, VT_NONE, own, 1 },
		  VUHCA_MANAGEMENT_STATUS_BAD_FIELD, VT_AT_RESOURCE },
		{ "resource 0", { 0, VT_NONE, own, 1 },
		  VUHCA_MANAGEMENT_STATUS_BAD_FIELD, VT_AT_RESOURCE },
		{ "an unknown level", { VUHCA_RESOURCE_KIND_PCBS, 2, own, 1 },
		  VUHCA_MANAGEMENT_STATUS_BAD_FIELD, VT_AT_LEVEL },
		{ "a level of a base", { VUHCA_RESOURCE_KIND_VCB_BASE, 1, own, 1 },
		  VUHCA_MANAGEMENT_STATUS_BAD_FIELD, VT_AT_LEVEL },
		{ "a word of a number", { VUHCA_RESOURCE_KIND_PCBS, 1, own, 0, 1 },
		  VUHCA_MANAGEMENT_STATUS_BAD_FIELD, VT_AT_LEVEL },
		{ "a word beyond the lanes",
		  { VUHCA_RESOURCE_KIND_TVL_MAP, 1, own, 0, 15 },
		  VUHCA_MANAGEMENT_STATUS_BAD_FIELD, VT_AT_LEVEL },
		{ "more VCBs of a level",
		  { VUHCA_RESOURCE_KIND_VCBS, 1, own,
		    le32_to_cpu(share.vcbs) + 1 },
		  VUHCA_MANAGEMENT_STATUS_SHARE_EXCEEDED, VT_AT_AMOUNT },
		{ "more PCBs of a level",
		  { VUHCA_RESOURCE_KIND_PCBS, 0, own,
		    le32_to_cpu(share.pcbs) + 1 },
		  VUHCA_MANAGEMENT_STATUS_SHARE_EXCEEDED, VT_AT_AMOUNT },
		{ "more lanes of a level",
		  { VUHCA_RESOURCE_KIND_TVLS, 0, own,
		    le32_to_cpu(share.tvls) + 1 },
		  VUHCA_MANAGEMENT_STATUS_SHARE_EXCEEDED, VT_AT_AMOUNT },
	};

	vt_refuse_all(t, refusals, ARRAY_SIZE(refusals));
	/* Another function's levels, even the physical function's guests'. */
	if (own || share.functions > 1) {
		const struct vt_refusal other = {
			"another's level",
			{ VUHCA_RESOURCE_KIND_PCBS, 1, !own, 1 },
			VUHCA_MANAGEMENT_STATUS_NOT_PERMITTED, VT_AT_RESOURCE,
		};

		vt_refuse(t, &other);
	}
}

static void vt_refused_functions(struct vt *t)
{
	struct vuhca_resource_share share;

	if (t->dev->function)
		return vt_skip(t, "a virtual function");
	VT_REQUIRE(t, vt_share(t, &share), "query");
	const struct vt_refusal refusals[] = {
		{ "an unknown function",
		  { VUHCA_RESOURCE_KIND_VCBS, VT_NONE, share.functions, 1 },
		  VUHCA_MANAGEMENT_STATUS_BAD_OBJECT, VT_AT_TARGET },
		{ "another map of the dedicated buffers",
		  { VUHCA_RESOURCE_KIND_DEDICATED_TVL_MAP, VT_NONE, 1, 0 },
		  VUHCA_MANAGEMENT_STATUS_BAD_OBJECT, VT_AT_TARGET },
		{ "too many VCBs",
		  { VUHCA_RESOURCE_KIND_VCBS, VT_NONE, 0, U32_MAX },
		  VUHCA_MANAGEMENT_STATUS_BAD_FIELD, VT_AT_AMOUNT },
		{ "a base beyond the space",
		  { VUHCA_RESOURCE_KIND_VCB_BASE, VT_NONE, 0, U32_MAX },
		  VUHCA_MANAGEMENT_STATUS_BAD_FIELD, VT_AT_AMOUNT },
		{ "too many PCBs",
		  { VUHCA_RESOURCE_KIND_PCBS, VT_NONE, 0, U32_MAX },
		  VUHCA_MANAGEMENT_STATUS_NO_RESOURCES, VT_AT_AMOUNT },
		{ "too many scheduler buffers",
		  { VUHCA_RESOURCE_KIND_SCHEDULER_BUFFERS, VT_NONE, 0, U32_MAX },
		  VUHCA_MANAGEMENT_STATUS_NO_RESOURCES, VT_AT_AMOUNT },
		{ "too many lanes",
		  { VUHCA_RESOURCE_KIND_TVLS, VT_NONE, 0, U32_MAX },
		  VUHCA_MANAGEMENT_STATUS_NO_RESOURCES, VT_AT_AMOUNT },
	};

	vt_refuse_all(t, refusals, ARRAY_SIZE(refusals));
}

static void vt_refused_lanes(struct vt *t)
{
	u16 lanes = vuhca_read_csr(t->dev, VUHCA_CSR_TVL_COUNT_OFF);
	const struct vt_refusal refusals[] = {
		{ "an unknown lane",
		  { VUHCA_RESOURCE_KIND_TVL_WEIGHT, VT_NONE, lanes, 1 },
		  VUHCA_MANAGEMENT_STATUS_BAD_OBJECT, VT_AT_TARGET },
		{ "too many execution credits",
		  { VUHCA_RESOURCE_KIND_TVL_EXECUTION_CREDITS, VT_NONE, 0, U32_MAX },
		  VUHCA_MANAGEMENT_STATUS_NO_RESOURCES, VT_AT_AMOUNT },
		{ "too many completion credits",
		  { VUHCA_RESOURCE_KIND_TVL_COMPLETION_CREDITS, VT_NONE, 0, U32_MAX },
		  VUHCA_MANAGEMENT_STATUS_NO_RESOURCES, VT_AT_AMOUNT },
		{ "unknown kinds of shared credits",
		  { VUHCA_RESOURCE_KIND_TVL_SHARED_CREDITS, VT_NONE, 0, 4 },
		  VUHCA_MANAGEMENT_STATUS_BAD_FIELD, VT_AT_AMOUNT },
		{ "a list of no commands",
		  { VUHCA_RESOURCE_KIND_TVL_LIST_SIZE, VT_NONE, 0, 0 },
		  VUHCA_MANAGEMENT_STATUS_BAD_FIELD, VT_AT_AMOUNT },
		{ "a weight of nothing",
		  { VUHCA_RESOURCE_KIND_TVL_WEIGHT, VT_NONE, 0, 0 },
		  VUHCA_MANAGEMENT_STATUS_BAD_FIELD, VT_AT_AMOUNT },
		{ "a weight too great",
		  { VUHCA_RESOURCE_KIND_TVL_WEIGHT, VT_NONE, 0, 256 },
		  VUHCA_MANAGEMENT_STATUS_BAD_FIELD, VT_AT_AMOUNT },
	};

	if (t->dev->function)
		return vt_skip(t, "a virtual function");
	vt_refuse_all(t, refusals, ARRAY_SIZE(refusals));
}

/* A lane that could never launch anything is refused as a whole. */
static void vt_refused_starving(struct vt *t)
{
	static const struct vt_change wanted[] = {
		{ VUHCA_RESOURCE_KIND_TVL_SHARED_CREDITS, VT_NONE, 0, 0 },
		{ VUHCA_RESOURCE_KIND_TVL_EXECUTION_CREDITS, VT_NONE, 0, 0 },
	};
	struct vuhca_lane_attributes before, behind;
	struct vuhca_resource_change changes[2];
	struct vuhca_answer answer;

	if (t->dev->function)
		return vt_skip(t, "a virtual function");
	changes[0] = vt_encode(&wanted[0]);
	changes[1] = vt_encode(&wanted[1]);
	VT_EQUAL(t, vuhca_query_lane(t->dev, 0, &before), 0);
	VT_CHECK(t, vuhca_request_resources(t->dev, changes, 2, &answer),
		 "not refused");
	VT_EQUAL(t, answer.status, VUHCA_MANAGEMENT_STATUS_BAD_STATE);
	VT_EQUAL(t, answer.bad_offset, VT_HEADER + sizeof(changes[0]) +
		 VT_AT_AMOUNT);
	VT_EQUAL(t, vuhca_query_lane(t->dev, 0, &behind), 0);
	VT_CHECK(t, !memcmp(&before, &behind, sizeof(before)), "lane 0 changed");
}

/* A virtual function: nothing that is the physical one's, to do or to see. */
static void vt_refused_virtual(struct vt *t)
{
	static const u8 kinds[] = {
		VUHCA_RESOURCE_KIND_TVL_EXECUTION_CREDITS,
		VUHCA_RESOURCE_KIND_TVL_COMPLETION_CREDITS,
		VUHCA_RESOURCE_KIND_TVL_SHARED_CREDITS,
		VUHCA_RESOURCE_KIND_TVL_LIST_SIZE, VUHCA_RESOURCE_KIND_TVL_WEIGHT,
		VUHCA_RESOURCE_KIND_VCBS, VUHCA_RESOURCE_KIND_VCB_BASE,
		VUHCA_RESOURCE_KIND_PCBS, VUHCA_RESOURCE_KIND_TVLS,
		VUHCA_RESOURCE_KIND_TVL_MAP,
		VUHCA_RESOURCE_KIND_SCHEDULER_BUFFERS,
		VUHCA_RESOURCE_KIND_DEDICATED_TVL_MAP,
	};
	u32 faults = vt_fault_count(t, VUHCA_FAULT_KIND_NOT_PERMITTED);
	u32 control = vuhca_read_csr(t->dev, VUHCA_CSR_ADAPTER_CONTROL_OFF);
	struct vuhca_resource_share share;
	unsigned int i;

	if (!t->dev->function)
		return vt_skip(t, "the physical function");
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct vt_refusal refusal = {
			"the physical function's",
			{ kinds[i], VT_NONE, t->dev->function, 1 },
			VUHCA_MANAGEMENT_STATUS_NOT_PERMITTED, VT_AT_RESOURCE,
		};

		vt_refuse(t, &refusal);
		refusal.change.target = 0;
		vt_refuse(t, &refusal);
	}
	VT_EQUAL(t, vuhca_query_resources(t->dev, 0, &share), -EPERM);
	vuhca_write_csr(t->dev, VUHCA_CSR_ADAPTER_CONTROL_OFF,
			VUHCA_CSR_ADAPTER_CONTROL_DISABLE_MASK);
	VT_EQUAL(t, vuhca_read_csr(t->dev, VUHCA_CSR_ADAPTER_CONTROL_OFF),
		 control);
	VT_EQUAL(t, vt_fault_count(t, VUHCA_FAULT_KIND_NOT_PERMITTED),
		 faults + 1);
	vt_roundtrip(t, 0, 1, 100, VUHCA_POST_AUTO);
}

/* The number of changes must be the length of the payload, 1 to 32. */
static void vt_refused_lengths(struct vt *t)
{
	static const u32 counts[] = { 0, 1, 3, 33, U32_MAX };
	struct vuhca_resource_share share;
	struct vuhca_resource_change changes[2];
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_REQUEST_RESOURCES,
		.payload = changes,
		.payload_bytes = sizeof(changes),
	};
	struct vuhca_answer answer;
	unsigned int i;

	VT_REQUIRE(t, vt_share(t, &share), "query");
	changes[0] = vt_good(t, &share);
	changes[1] = changes[0];
	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		command.modifier = counts[i];
		VT_CHECK(t, vuhca_admin_execute(t->dev, &command, &answer),
			 "%u changes are taken for two", counts[i]);
	}
	VT_EQUAL(t, vuhca_query_resources(t->dev, t->dev->function ?
					  t->dev->function + 1 : share.functions,
					  &share),
		 t->dev->function ? -EPERM : -ENOENT);
	VT_CHECK(t, vuhca_query_lane(t->dev, VUHCA_TVL_MAX,
				     (struct vuhca_lane_attributes *)t->memory) ==
		 -ENOENT, "a lane beyond all");
}

/* How a function splits its share: registers and driver follow. */
static void vt_split(struct vt *t)
{
	u16 own = t->dev->function;
	struct vuhca_resource_share first, share;
	u32 vcbs, pcbs, high;

	VT_REQUIRE(t, vt_share(t, &first), "query");
	vcbs = le32_to_cpu(first.vcbs);
	pcbs = le32_to_cpu(first.pcbs);
	for (high = 0; high <= vcbs; high += max(vcbs / 3, 1U)) {
		VT_EQUAL(t, vt_ask(t, VUHCA_RESOURCE_KIND_VCBS, 1, own, high), 0);
		VT_EQUAL(t, t->dev->vcbs[0].count, vcbs - high);
		VT_EQUAL(t, t->dev->vcbs[1].count, high);
		vt_share(t, &share);
		VT_EQUAL(t, le32_to_cpu(share.level_vcbs), high);
		vt_roundtrip(t, 0, 1, 100, VUHCA_POST_COLLECT);
	}
	VT_EQUAL(t, vt_ask(t, VUHCA_RESOURCE_KIND_PCBS, 0, own, 0), 0);
	VT_EQUAL(t, vt_ask(t, VUHCA_RESOURCE_KIND_PCBS, 1, own, pcbs), 0);
	VT_EQUAL(t, vuhca_read_csr(t->dev, VUHCA_CSR_PCB_ALLOCATED_OFF +
				   VUHCA_CSR_PCB_ALLOCATED_STRIDE), pcbs);
	VT_EQUAL(t, vt_ask(t, VUHCA_RESOURCE_KIND_PCBS, 0, own, 1), -EDQUOT);
	VT_EQUAL(t, vt_ask(t, VUHCA_RESOURCE_KIND_PCBS, 1, own,
			   le32_to_cpu(first.pcbs_level1)), 0);
	VT_EQUAL(t, vt_ask(t, VUHCA_RESOURCE_KIND_PCBS, 0, own,
			   le32_to_cpu(first.pcbs_level0)), 0);
	VT_EQUAL(t, vt_ask(t, VUHCA_RESOURCE_KIND_VCBS, 1, own,
			   le32_to_cpu(first.level_vcbs)), 0);
	vt_share(t, &share);
	VT_CHECK(t, !memcmp(&share, &first, sizeof(share)), "not as before");
	vt_alive(t);
}

/* What the physical function gives: lanes, credits; and what is left to give. */
static void vt_give(struct vt *t)
{
	struct vuhca_resource_share first, share;
	struct vuhca_lane_attributes before, lane;
	u32 owned;

	if (t->dev->function)
		return vt_skip(t, "a virtual function");
	VT_REQUIRE(t, vt_share(t, &first), "query");
	owned = le32_to_cpu(first.tvls);
	if (le32_to_cpu(first.tvls_shared) < 3)
		return vt_skip(t, "too few shared lanes");
	VT_EQUAL(t, vt_ask(t, VUHCA_RESOURCE_KIND_TVLS, VT_NONE, 0, owned + 2), 0);
	vt_share(t, &share);
	VT_EQUAL(t, le32_to_cpu(share.tvls), owned + 2);
	VT_EQUAL(t, le32_to_cpu(share.tvls_shared),
		 le32_to_cpu(first.tvls_shared) - 2);
	VT_EQUAL(t, vuhca_read_csr(t->dev, VUHCA_CSR_TVL_ALLOCATED_OFF),
		 owned + 2);
	vt_roundtrip(t, 0, 1, 100, VUHCA_POST_COLLECT);
	VT_EQUAL(t, vt_ask(t, VUHCA_RESOURCE_KIND_TVLS, VT_NONE, 0, owned), 0);
	VT_EQUAL(t, vuhca_query_lane(t->dev, 0, &before), 0);
	VT_EQUAL(t, vt_ask(t, VUHCA_RESOURCE_KIND_TVL_WEIGHT, VT_NONE, 0, 200), 0);
	VT_EQUAL(t, vt_ask(t, VUHCA_RESOURCE_KIND_TVL_LIST_SIZE, VT_NONE, 0, 2), 0);
	VT_EQUAL(t, vuhca_query_lane(t->dev, 0, &lane), 0);
	VT_EQUAL(t, lane.weight, 200);
	VT_EQUAL(t, le32_to_cpu(lane.list_size), 2);
	vt_roundtrip(t, 0, 1, 100, VUHCA_POST_COLLECT);
	VT_EQUAL(t, vt_ask(t, VUHCA_RESOURCE_KIND_TVL_WEIGHT, VT_NONE, 0,
			   before.weight), 0);
	VT_EQUAL(t, vt_ask(t, VUHCA_RESOURCE_KIND_TVL_LIST_SIZE, VT_NONE, 0,
			   le32_to_cpu(before.list_size)), 0);
	vt_share(t, &share);
	VT_CHECK(t, !memcmp(&share, &first, sizeof(share)), "not as before");
}

/* Disabled, the adapter still answers and lets go; enabled, nothing is lost. */
static void vt_disabled(struct vt *t)
{
	struct vuhca_pd *pd;
	struct vt_flock *flock, *doomed;
	struct vuhca_wc wc;

	if (!vt_may_disable(t))
		return vt_skip(t, "the adapter is not ours to disable");
	flock = vt_flock_create(t, 8);
	doomed = vt_flock_create(t, 4);
	VT_REQUIRE(t, flock && doomed, "no QPs");
	vt_disable(t, true);
	vt_flock_post(flock, 2);
	vt_flock_ring(flock);
	vt_flock_post(doomed, 2);
	vt_flock_ring(doomed);
	VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_QUIET_MS), 0);
	pd = vuhca_alloc_pd(t->dev);
	if (VT_CHECK(t, !IS_ERR(pd), "%pe", pd))
		VT_EQUAL(t, vuhca_dealloc_pd(pd), 0);
	vt_flock_destroy(doomed);
	vt_disable(t, false);
	vt_flock_completes(flock);
	vt_flock_destroy(flock);
	vt_alive(t);
}

static const struct vt_case vt_cases[] = {
	{ "refused-levels", vt_refused_levels },
	{ "refused-functions", vt_refused_functions },
	{ "refused-lanes", vt_refused_lanes },
	{ "refused-starving", vt_refused_starving },
	{ "refused-virtual", vt_refused_virtual },
	{ "refused-lengths", vt_refused_lengths },
	{ "split", vt_split },
	{ "give", vt_give },
	{ "disabled", vt_disabled },
};
VT_SUITE(requests, vt_cases);
