// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Resource requests that succeed: as a whole, and visible in registers, queries
 * and the driver. Refused ones are in vt_share_refusals.c.
 */
#include "vt_qp_set.h"
#include "vt_share_request.h"

/* A function splits its share: registers and driver follow. */
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

/* The physical function allocates lanes and credits; queries show the rest. */
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

/*
 * A disabled adapter still executes management commands; once enabled, no send
 * is lost.
 */
static void vt_disabled(struct vt *t)
{
	struct vuhca_pd *pd;
	struct vt_qp_set *set, *doomed;
	struct vuhca_wc wc;

	if (!vt_may_disable(t))
		return vt_skip(t, "this function cannot disable the adapter");
	set = vt_qp_set_create(t, 8);
	doomed = vt_qp_set_create(t, 4);
	VT_REQUIRE(t, set && doomed, "no QPs");
	vt_disable(t, true);
	vt_qp_set_post(set, 2);
	vt_qp_set_ring(set);
	vt_qp_set_post(doomed, 2);
	vt_qp_set_ring(doomed);
	VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_QUIET_MS), 0);
	pd = vuhca_alloc_pd(t->dev);
	if (VT_CHECK(t, !IS_ERR(pd), "%pe", pd))
		VT_EQUAL(t, vuhca_dealloc_pd(pd), 0);
	vt_qp_set_destroy(doomed);
	vt_disable(t, false);
	vt_qp_set_completes(set);
	vt_qp_set_destroy(set);
	vt_alive(t);
}

static const struct vt_case vt_cases[] = {
	{ "refused-levels", vt_share_refused_levels },
	{ "refused-functions", vt_share_refused_functions },
	{ "refused-lanes", vt_share_refused_lanes },
	{ "refused-starving", vt_share_refused_starving },
	{ "refused-virtual", vt_share_refused_virtual },
	{ "refused-lengths", vt_share_refused_lengths },
	{ "split", vt_split },
	{ "give", vt_give },
	{ "disabled", vt_disabled },
};
VT_SUITE(share_requests, vt_cases);
