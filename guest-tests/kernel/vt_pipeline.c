// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Effects of time: reads and commands take as long as the physical function
 * sets. Credits then limit commands in the pipeline (US 8,484,392 par. 42-43),
 * and doorbells alone, without any stop of the adapter, bring spilling or the
 * deadlock (US 9,069,485 par. 74, 86).
 */
#include "vt_qp_set.h"
#include "vt_share_request.h"

#define VT_QUEUES	6
#define VT_EACH		4
#define VT_CREDITS	2
/* Bits of VUHCA_RESOURCE_KIND_TVL_SHARED_CREDITS. */
#define VT_SHARED_EXECUTION 1
#define VT_SHARED_COMPLETION 2
#define VT_LONGEST_NS	VUHCA_CSR_DMA_LATENCY_NS_MASK

/* The times hold for all functions: a case must be alone on the adapter. */
static bool vt_is_alone(struct vt *t, struct vuhca_resource_share *share)
{
	return !t->dev->function && vt_share(t, share) && share->functions == 1;
}

static int vt_lane(struct vt *t, u8 resource, u32 amount)
{
	return vt_ask(t, resource, VT_NONE, 0, amount);
}

/* All commands use lane 0, which has VT_CREDITS of a kind and shares none. */
static void vt_narrow(struct vt *t, u8 kind, u32 shared)
{
	VT_EQUAL(t, vt_lane(t, VUHCA_RESOURCE_KIND_TVL_MAP, 1), 0);
	VT_EQUAL(t, vt_lane(t, kind, VT_CREDITS), 0);
	VT_EQUAL(t, vt_lane(t, VUHCA_RESOURCE_KIND_TVL_SHARED_CREDITS, shared),
		 0);
}

/* Expects an empty pipeline, and gives lane 0 back its credits. */
static void vt_widen(struct vt *t, const struct vuhca_lane_attributes *lane)
{
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_EXECUTION_CREDITS_USED_OFF), 0);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_COMPLETION_CREDITS_USED_OFF), 0);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_PIPELINE_COMMANDS_OFF), 0);
	VT_EQUAL(t, vt_lane(t, VUHCA_RESOURCE_KIND_TVL_EXECUTION_CREDITS,
			    le32_to_cpu(lane->execution_credits)), 0);
	VT_EQUAL(t, vt_lane(t, VUHCA_RESOURCE_KIND_TVL_COMPLETION_CREDITS,
			    le32_to_cpu(lane->completion_credits)), 0);
	VT_EQUAL(t, vt_lane(t, VUHCA_RESOURCE_KIND_TVL_SHARED_CREDITS,
			    lane->shared_credits), 0);
	VT_EQUAL(t, vt_lane(t, VUHCA_RESOURCE_KIND_TVL_MAP, 0), 0);
}

/*
 * Waits until the credits at @used limit the pipeline, then removes the delays.
 */
static void vt_is_limited(struct vt *t, unsigned int used, u32 time)
{
	VT_WAIT(t, vt_csr(t, used) == VT_CREDITS &&
		vt_csr(t, VUHCA_CSR_PIPELINE_COMMANDS_OFF) == VT_CREDITS &&
		vt_csr(t, VUHCA_CSR_KICK_LIST_LENGTH_OFF) >= VT_CREDITS);
	vuhca_write_csr(t->dev, VUHCA_CSR_PIPELINE_TIME_OFF, time);
}

/*
 * More commands than execution credits: the others wait in the kick list, and
 * all are executed in the end.
 */
static void vt_credits(struct vt *t)
{
	struct vuhca_resource_share share;
	struct vuhca_lane_attributes lane;
	struct vt_qp_set *set;
	u32 time;

	if (!vt_is_alone(t, &share) || le32_to_cpu(share.tvls))
		return vt_skip(t, "other functions, or lanes of its own");
	VT_EQUAL(t, vuhca_query_lane(t->dev, 0, &lane), 0);
	set = vt_qp_set_create(t, VT_QUEUES);
	VT_REQUIRE(t, set, "no QPs");
	vt_narrow(t, VUHCA_RESOURCE_KIND_TVL_EXECUTION_CREDITS,
		  VT_SHARED_COMPLETION);
	time = vt_csr(t, VUHCA_CSR_PIPELINE_TIME_OFF);
	vuhca_write_csr(t->dev, VUHCA_CSR_PIPELINE_TIME_OFF, VT_LONGEST_NS);
	vt_qp_set_post(set, VT_EACH);
	vt_qp_set_ring(set);
	vt_is_limited(t, VUHCA_CSR_EXECUTION_CREDITS_USED_OFF, time);
	vt_qp_set_completes(set);
	vt_widen(t, &lane);
	vt_qp_set_destroy(set);
}

/* Datagrams hold completion credits too, until their completions are written. */
static void vt_datagram_credits(struct vt *t)
{
	struct vuhca_buffer buffer = vt_buffer(t, 0, 64);
	struct vuhca_send_wr wr = vt_send_wr(t, 0, 1, &buffer);
	struct vuhca_wc wc[VT_QUEUES];
	struct vuhca_resource_share share;
	struct vuhca_lane_attributes lane;
	unsigned int i;
	u32 time;

	if (!vt_is_alone(t, &share) || le32_to_cpu(share.tvls))
		return vt_skip(t, "other functions, or lanes of its own");
	VT_EQUAL(t, vuhca_query_lane(t->dev, 0, &lane), 0);
	vt_narrow(t, VUHCA_RESOURCE_KIND_TVL_COMPLETION_CREDITS,
		  VT_SHARED_EXECUTION);
	time = vt_csr(t, VUHCA_CSR_PIPELINE_TIME_OFF);
	vuhca_write_csr(t->dev, VUHCA_CSR_PIPELINE_TIME_OFF, VT_LONGEST_NS);
	for (i = 0; i < VT_QUEUES; i++) {
		VT_EQUAL(t, vt_post_recv(t, t->end[1].qp, 4096, 256, i), 0);
		VT_EQUAL(t, vuhca_post_send(t->end[0].qp, &wr, 1,
					    VUHCA_POST_DOORBELL), 1);
	}
	vt_is_limited(t, VUHCA_CSR_COMPLETION_CREDITS_USED_OFF, time);
	VT_EQUAL(t, vt_poll(t->send_cq.cq, wc, VT_QUEUES, VT_TIMEOUT_MS),
		 VT_QUEUES);
	VT_EQUAL(t, vt_poll(t->recv_cq.cq, wc, VT_QUEUES, VT_TIMEOUT_MS),
		 VT_QUEUES);
	vt_widen(t, &lane);
}

static u32 vt_status(struct vt *t)
{
	return vt_csr(t, VUHCA_CSR_OVERFLOW_STATUS_OFF);
}

static void vt_set_policy(struct vt *t, u32 policy)
{
	vuhca_write_csr(t->dev, VUHCA_CSR_DOORBELL_POLICY_OFF,
			policy << VUHCA_CSR_DOORBELL_POLICY_OVERFLOW_SHIFT);
}

/* Posts a NOP by collect buffer and does not wait for it. */
static bool vt_post_nop(struct vt_qp_set *set, unsigned int index)
{
	struct vuhca_send_wr wr = {
		.wr_id = set->posted[index],
		.opcode = VUHCA_SEND_OPCODE_NOP,
		.signaled = true,
	};

	if (vuhca_post_send(set->qps[index], &wr, 1, VUHCA_POST_COLLECT) != 1)
		return false;
	set->posted[index]++;
	return true;
}

/*
 * While reads are outstanding, doorbells fill the scheduler buffer. They are
 * spilled; with a policy that forbids it, completions of the reads and collect
 * writes stay behind them on the bus, and the adapter is deadlocked.
 */
static void vt_load(struct vt *t)
{
	u32 entries = vt_csr(t, VUHCA_CSR_DOORBELL_BUFFER_ENTRIES_OFF);
	u32 policy = vt_csr(t, VUHCA_CSR_DOORBELL_POLICY_OFF);
	u32 latency = vt_csr(t, VUHCA_CSR_DMA_LATENCY_OFF);
	u32 spilled = vt_csr(t, VUHCA_CSR_DOORBELLS_SPILLED_OFF);
	struct vuhca_resource_share share;
	struct vt_qp_set *set;
	struct vuhca_wc wc;

	if (!vt_is_alone(t, &share) || entries + 32 > VT_QP_SET_MAX)
		return vt_skip(t, "other functions, or large buffers");
	set = vt_qp_set_create(t, entries + 32);
	VT_REQUIRE(t, set, "no QPs");

	vuhca_write_csr(t->dev, VUHCA_CSR_DMA_LATENCY_OFF, VT_LONGEST_NS);
	vt_qp_set_post(set, 1);
	vt_qp_set_ring(set);
	VT_WAIT(t, vt_csr(t, VUHCA_CSR_DOORBELLS_SPILLED_OFF) != spilled);
	vuhca_write_csr(t->dev, VUHCA_CSR_DMA_LATENCY_OFF, latency);
	vt_qp_set_completes(set);
	VT_EQUAL(t, vt_status(t), 0);

	vuhca_write_csr(t->dev, VUHCA_CSR_DMA_LATENCY_OFF, VT_LONGEST_NS);
	vt_set_policy(t, VUHCA_OVERFLOW_POLICY_OFF);
	vt_qp_set_post(set, 1);
	vt_qp_set_ring(set);
	VT_WAIT(t, vt_status(t) == VUHCA_CSR_OVERFLOW_STATUS_STALLED_MASK);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_DOORBELL_BUFFER_USED_OFF), entries);
	VT_CHECK(t, vt_post_nop(set, 0), "not posted");
	VT_WAIT(t, vt_csr(t, VUHCA_CSR_COLLECT_HELD_OFF));
	vuhca_write_csr(t->dev, VUHCA_CSR_DMA_LATENCY_OFF, latency);
	/* Time alone does not end the deadlock. */
	VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_QUIET_MS), 0);
	VT_EQUAL(t, vt_status(t), VUHCA_CSR_OVERFLOW_STATUS_STALLED_MASK);
	vt_set_policy(t, VUHCA_OVERFLOW_POLICY_NEWEST);
	vt_qp_set_completes(set);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_COLLECT_HELD_OFF), 0);
	vuhca_write_csr(t->dev, VUHCA_CSR_DOORBELL_POLICY_OFF, policy);
	vt_qp_set_destroy(set);
}

static const struct vt_case vt_cases[] = {
	{ "credits", vt_credits },
	{ "datagram-credits", vt_datagram_credits },
	{ "load", vt_load },
};
VT_SUITE(pipeline, vt_cases);
