// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* XRC: one connection whose requests name the SRQ that receives (IBTA annex A14). */
#include "vt_srq.h"

#define VT_OK		VUHCA_COMPLETION_STATUS_SUCCESS
#define VT_QUEUES	3
#define VT_ENTRIES_LOG2	3
#define VT_ENTRIES	BIT(VT_ENTRIES_LOG2)
#define VT_MESSAGES	300

/* Each queue reports completions to its own CQ. */
struct vt_xrc {
	struct vt *t;
	struct vt_areas areas;
	struct vuhca_xrcd *xrcd;
	struct vt_cq cqs[VT_QUEUES];
	struct vt_srq queues[VT_QUEUES];
	struct vt_pair pair;
};

static bool vt_xrc_queue(struct vt_xrc *xrc, struct vt_srq *queue, size_t base,
			 struct vuhca_xrcd *xrcd, struct vuhca_cq *cq)
{
	struct vuhca_srq_init init = {
		.entries_log2 = VT_ENTRIES_LOG2,
		.sge = 2,
		.xrcd = xrcd,
		.cq = cq,
	};

	return vt_srq_create(xrc->t, queue, &xrc->areas, base, &init);
}

static bool vt_xrc_create(struct vt *t, struct vt_xrc *xrc)
{
	struct vt_pair_options options = { .path_mtu = 2 };
	unsigned int i;

	memset(xrc, 0, sizeof(*xrc));
	xrc->t = t;
	if (!vt_areas_create(t, &xrc->areas))
		return false;
	xrc->xrcd = vuhca_alloc_xrcd(t->dev);
	if (!VT_CHECK(t, !IS_ERR(xrc->xrcd), "%pe", xrc->xrcd)) {
		xrc->xrcd = NULL;
		return false;
	}
	for (i = 0; i < VT_QUEUES; i++)
		if (!vt_create_cq(t, &xrc->cqs[i], VT_ENTRIES_LOG2, 1) ||
		    !vt_xrc_queue(xrc, &xrc->queues[i],
				  i * VT_ENTRIES * VT_ENTRY_BYTES, xrc->xrcd,
				  xrc->cqs[i].cq))
			return false;
	options.xrcd = xrc->xrcd;
	return vt_pair_create(t, &xrc->pair, &options);
}

static void vt_xrc_destroy(struct vt_xrc *xrc)
{
	struct vt *t = xrc->t;
	unsigned int i;

	if (xrc->pair.t)
		vt_pair_destroy(&xrc->pair);
	for (i = 0; i < VT_QUEUES; i++) {
		vt_srq_destroy(t, &xrc->queues[i]);
		if (xrc->cqs[i].cq)
			VT_EQUAL(t, vuhca_destroy_cq(xrc->cqs[i].cq), 0);
	}
	if (xrc->xrcd)
		VT_EQUAL(t, vuhca_dealloc_xrcd(xrc->xrcd), 0);
	if (xrc->areas.mr)
		vt_areas_destroy(t, &xrc->areas);
}

static void vt_with_xrc(struct vt *t, void (*run)(struct vt_xrc *xrc))
{
	static struct vt_xrc xrc;

	if (vt_xrc_create(t, &xrc))
		run(&xrc);
	vt_xrc_destroy(&xrc);
}

static bool vt_xrc_receive(struct vt_xrc *xrc, unsigned int queue)
{
	return vt_srq_post(xrc->t, &xrc->queues[queue]);
}

/* Sends a message to a queue and expects that it uses its receive @number. */
static bool vt_xrc_send(struct vt_xrc *xrc, unsigned int queue,
			unsigned int number)
{
	return vt_srq_takes(&xrc->pair, &xrc->queues[queue],
			    xrc->cqs[queue].cq, number);
}

/* Each message uses the oldest entry of the queue that it names, and its CQ. */
static void vt_xrc_choose(struct vt_xrc *xrc)
{
	unsigned int taken[VT_QUEUES] = {};
	unsigned int i, queue;

	for (i = 0; i < VT_QUEUES * VT_ENTRIES / 2; i++)
		if (!vt_xrc_receive(xrc, i % VT_QUEUES))
			return;
	for (i = 0; i < VT_MESSAGES; i++) {
		queue = prandom_u32_state(&xrc->t->random) % VT_QUEUES;
		if (!vt_xrc_send(xrc, queue, taken[queue]++) ||
		    !vt_xrc_receive(xrc, queue))
			return;
	}
}

static void vt_choice(struct vt *t)
{
	vt_with_xrc(t, vt_xrc_choose);
}

/* Remote accesses name a queue as well, whose PD decides. */
static void vt_xrc_access(struct vt_xrc *xrc)
{
	struct vt_areas *areas = &xrc->areas;
	struct vuhca_buffer here = vt_area_buffer(areas, 0, 0, VT_ENTRY_BYTES);
	struct vuhca_send_wr wr = vt_rdma_wr(areas,
					     VUHCA_SEND_OPCODE_RDMA_WRITE,
					     &here, 0);
	__le64 *value = (__le64 *)areas->bytes[1];
	__le64 *before = (__le64 *)areas->bytes[0];
	struct vt *t = xrc->t;

	wr.xrc_srqn = xrc->queues[1].srq->srqn;
	vt_fill(areas->bytes[0], VT_ENTRY_BYTES, 1);
	if (vt_do(&xrc->pair, &wr, VT_OK))
		VT_WAIT(t, vt_holds(areas->bytes[1], VT_ENTRY_BYTES, 1));
	wr.opcode = VUHCA_SEND_OPCODE_RDMA_READ;
	vt_fill(areas->bytes[1], VT_ENTRY_BYTES, 2);
	if (vt_do(&xrc->pair, &wr, VT_OK))
		VT_CHECK(t, vt_holds(areas->bytes[0], VT_ENTRY_BYTES, 2),
			 "READ");
	*value = cpu_to_le64(5);
	here.length = sizeof(*before);
	wr.opcode = VUHCA_SEND_OPCODE_FETCH_ADD;
	wr.atomic.swap_or_add = 3;
	if (vt_do(&xrc->pair, &wr, VT_OK)) {
		VT_EQUAL(t, le64_to_cpu(*before), 5);
		VT_EQUAL(t, le64_to_cpu(*value), 8);
	}
}

static void vt_access(struct vt *t)
{
	vt_with_xrc(t, vt_xrc_access);
}

/* Both ends fail, the target with the event; then they connect again. */
static bool vt_xrc_refuses(struct vt_xrc *xrc, u32 srqn, u8 event)
{
	struct vuhca_send_wr wr = vt_rdma_wr(&xrc->areas,
					     VUHCA_SEND_OPCODE_SEND, NULL, 0);
	struct vt_end *target = &xrc->pair.end[1];
	struct vt *t = xrc->t;

	atomic_set(&target->events, 0);
	wr.xrc_srqn = srqn;
	return vt_do(&xrc->pair, &wr,
		     VUHCA_COMPLETION_STATUS_REMOTE_OPERATION_ERROR) &&
	       VT_WAIT(t, atomic_read(&target->events)) &&
	       VT_EQUAL(t, target->last_event, event) &&
	       VT_EQUAL(t, vt_qp_state(target->qp), VUHCA_QP_STATE_ERR) &&
	       VT_EQUAL(t, vt_qp_state(xrc->pair.end[0].qp),
			VUHCA_QP_STATE_ERR) &&
	       vt_pair_reconnect(&xrc->pair);
}

/* Queues that a request may not name. The entries of the others stay. */
static void vt_xrc_refusals(struct vt_xrc *xrc)
{
	struct vuhca_xrcd *other = vuhca_alloc_xrcd(xrc->t->dev);
	struct vt_srq strange = {}, ordinary = {};
	struct vt *t = xrc->t;

	VT_REQUIRE(t, !IS_ERR(other), "%pe", other);
	vt_xrc_receive(xrc, 0);
	if (vt_xrc_queue(xrc, &strange, 0, other, xrc->cqs[0].cq) &&
	    vt_xrc_queue(xrc, &ordinary, 0, NULL, NULL) &&
	    vt_xrc_refuses(xrc, 0, VUHCA_EVENT_TYPE_XRC_INVALID_HEADER) &&
	    vt_xrc_refuses(xrc, ordinary.srq->srqn,
			   VUHCA_EVENT_TYPE_XRC_INVALID_HEADER) &&
	    vt_xrc_refuses(xrc, strange.srq->srqn,
			   VUHCA_EVENT_TYPE_XRC_DOMAIN_VIOLATION))
		vt_xrc_send(xrc, 0, 0);
	vt_srq_destroy(t, &ordinary);
	vt_srq_destroy(t, &strange);
	VT_EQUAL(t, vuhca_dealloc_xrcd(other), 0);
}

static void vt_refusals(struct vt *t)
{
	vt_with_xrc(t, vt_xrc_refusals);
}

/* A domain lives as long as its objects; requests for a destroyed queue fail. */
static void vt_xrc_end(struct vt_xrc *xrc)
{
	struct vt *t = xrc->t;
	u32 srqn = xrc->queues[2].srq->srqn;

	VT_EQUAL(t, vuhca_dealloc_xrcd(xrc->xrcd), (u64)-EBUSY);
	VT_EQUAL(t, vuhca_destroy_cq(xrc->cqs[2].cq), (u64)-EBUSY);
	vt_xrc_receive(xrc, 2);
	vt_srq_destroy(t, &xrc->queues[2]);
	if (!xrc->queues[2].srq &&
	    vt_xrc_refuses(xrc, srqn, VUHCA_EVENT_TYPE_XRC_INVALID_HEADER) &&
	    vt_xrc_receive(xrc, 0))
		vt_xrc_send(xrc, 0, 0);
}

static void vt_end_of_queue(struct vt *t)
{
	vt_with_xrc(t, vt_xrc_end);
}

static const struct vt_case vt_cases[] = {
	{ "choice", vt_choice },
	{ "access", vt_access },
	{ "refusals", vt_refusals },
	{ "end-of-queue", vt_end_of_queue },
};
VT_SUITE(xrc, vt_cases);
