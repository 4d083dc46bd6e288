// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Resource requests that are refused: as a whole, with the reason, the change
 * at fault and the value that would have been accepted. Physical and virtual
 * functions may request different resources.
 */
#include "vt_share_request.h"

#define VT_HEADER	sizeof(struct vuhca_management_command)
/* Offset in a change of the field at fault. */
enum { VT_AT_RESOURCE = 0, VT_AT_LEVEL = 1, VT_AT_TARGET = 2, VT_AT_AMOUNT = 4 };

/* Returns a valid change of the function's own share. */
static struct vuhca_resource_change vt_good(struct vt *t,
					    const struct vuhca_resource_share *share)
{
	const struct vt_change change = {
		VUHCA_RESOURCE_KIND_PCBS, 1, t->dev->function,
		/* One less than now, so that the change would show. */
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

/* Refused alone and after a valid change; the shares stay as they were. */
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

/*
 * Changes that are wrong for any function: those of its own levels, and bad
 * fields.
 */
void vt_share_refused_levels(struct vt *t)
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
	/* Levels of another function, also for the physical function. */
	if (own || share.functions > 1) {
		const struct vt_refusal other = {
			"a level of another function",
			{ VUHCA_RESOURCE_KIND_PCBS, 1, !own, 1 },
			VUHCA_MANAGEMENT_STATUS_NOT_PERMITTED, VT_AT_RESOURCE,
		};

		vt_refuse(t, &other);
	}
}

void vt_share_refused_functions(struct vt *t)
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
		{ "too many send contexts",
		  { VUHCA_RESOURCE_KIND_SEND_CONTEXTS, VT_NONE, 0, U32_MAX },
		  VUHCA_MANAGEMENT_STATUS_NO_RESOURCES, VT_AT_AMOUNT },
		{ "too many send blocks",
		  { VUHCA_RESOURCE_KIND_SEND_BLOCKS, VT_NONE, 0, U32_MAX },
		  VUHCA_MANAGEMENT_STATUS_NO_RESOURCES, VT_AT_AMOUNT },
		{ "too many lanes",
		  { VUHCA_RESOURCE_KIND_TVLS, VT_NONE, 0, U32_MAX },
		  VUHCA_MANAGEMENT_STATUS_NO_RESOURCES, VT_AT_AMOUNT },
	};

	vt_refuse_all(t, refusals, ARRAY_SIZE(refusals));
}

void vt_share_refused_lanes(struct vt *t)
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

/* A request that leaves a lane without credits is refused as a whole. */
void vt_share_refused_starving(struct vt *t)
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

/* A virtual function may not use changes and queries of the physical one. */
void vt_share_refused_virtual(struct vt *t)
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
			"a change of the physical function",
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

/* The number of changes must match the length of the payload, 1 to 32. */
void vt_share_refused_lengths(struct vt *t)
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
		 -ENOENT, "a lane beyond the last");
}
