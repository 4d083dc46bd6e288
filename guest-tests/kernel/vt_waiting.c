// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The send queue scheduler, as software sees it: queues that wait are a list in
 * guest memory, linked by their descriptors, which also have the read pointers;
 * dedicated buffers are in use (US 9,069,485 par. 71-76).
 */
#include "vt_overflow.h"

#define VT_ATTEMPTS	5
#define VT_QUEUES	16

/* Descriptors of the set that link to another QP of the set. */
static unsigned int vt_linked(struct vt_qp_set *set)
{
	struct vuhca_send_queue_descriptor seen = {};
	unsigned int i, j, linked = 0;

	for (i = 0; i < set->count; i++) {
		seen.dw0 = READ_ONCE(set->qps[i]->descriptor->dw0);
		if (vuhca_send_queue_descriptor_get_next_state(&seen))
			continue;
		for (j = 0; j < set->count; j++)
			if (j != i && set->qps[j]->qpn ==
			    vuhca_send_queue_descriptor_get_next_qpn(&seen))
				linked++;
	}
	return linked;
}

/*
 * True when the read pointers of all descriptors have caught up with software.
 */
static bool vt_all_read(struct vt_qp_set *set)
{
	struct vuhca_send_queue_descriptor seen = {};
	unsigned int i;

	for (i = 0; i < set->count; i++) {
		seen.dw1 = READ_ONCE(set->qps[i]->descriptor->dw1);
		if (vuhca_send_queue_descriptor_get_next_sequence(&seen) !=
		    set->posted[i])
			return false;
	}
	return true;
}

/* The most that software has seen of the scheduler at a time. */
struct vt_seen {
	unsigned int linked;
	u32 buffers;
};

/* Returns whether links and buffers in use were seen. */
static bool vt_look(struct vt_qp_set *set, struct vt_seen *seen)
{
	seen->linked = max(seen->linked, vt_linked(set));
	seen->buffers = max(seen->buffers,
			    vt_csr(set->t, VUHCA_CSR_SCHEDULER_BUFFERS_IN_USE_OFF));
	return seen->linked && seen->buffers;
}

/*
 * All queues have rung when the adapter begins, and reads take long. Watches
 * until all commands have run.
 */
static void vt_look_on(struct vt_qp_set *set, struct vt_seen *seen)
{
	struct vt *t = set->t;
	u32 end = vt_csr(t, VUHCA_CSR_LANE_LAUNCHES_OFF) + set->count;

	vt_qp_set_post(set, 1);
	VT_CHECK(t, !vt_all_read(set), "commands are read without a doorbell");
	vuhca_write_csr(t->dev, VUHCA_CSR_DMA_LATENCY_OFF,
			VT_READ_MS * NSEC_PER_MSEC);
	vt_disable(t, true);
	vt_qp_set_ring(set);
	vt_disable(t, false);
	VT_WAIT(t, vt_look(set, seen) ||
		   vt_csr(t, VUHCA_CSR_LANE_LAUNCHES_OFF) == end);
	vuhca_write_csr(t->dev, VUHCA_CSR_DMA_LATENCY_OFF, 0);
	vt_qp_set_completes(set);
	VT_WAIT(t, vt_all_read(set));
}

/*
 * There is one dedicated buffer: queues that wait for it are a list in guest
 * memory. Software sees the links, the read pointers and the buffer in use. On a
 * busy machine it may look too late for them.
 */
static void vt_links(struct vt *t)
{
	struct vuhca_resource_share share;
	struct vt_seen seen = {};
	struct vt_qp_set *set;
	unsigned int attempt;

	if (!vt_may_slow(t))
		return;
	VT_EQUAL(t, vuhca_query_resources(t->dev, 0, &share), 0);
	if (le32_to_cpu(share.scheduler_buffers) > 1)
		return vt_skip(t, "queues do not wait for one of several buffers");
	set = vt_qp_set_create(t, VT_QUEUES);
	VT_REQUIRE(t, set, "no QPs");
	VT_CHECK(t, !vt_look(set, &seen), "%u links, %u buffers", seen.linked,
		 seen.buffers);
	for (attempt = 0; attempt < VT_ATTEMPTS; attempt++) {
		vt_look_on(set, &seen);
		if (seen.linked && seen.buffers)
			break;
	}
	VT_CHECK(t, seen.linked && seen.buffers, "%u links, %u buffers",
		 seen.linked, seen.buffers);
	vt_note(t, "%u of %u queues link to another one; %u buffers of the scheduler are in use",
		seen.linked, set->count, seen.buffers);
	VT_EQUAL(t, vt_linked(set), 0);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_SCHEDULER_BUFFERS_IN_USE_OFF), 0);
	vt_expect_empty(t);
	vt_qp_set_destroy(set);
}

static const struct vt_case vt_cases[] = {
	{ "links", vt_links },
};
VT_SUITE(waiting, vt_cases);
