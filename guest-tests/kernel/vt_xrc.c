// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* XRC: one connection whose requests name the SRQ that receives (IBTA annex A14). */
#include "vt_pair.h"

#define VT_OK		VUHCA_COMPLETION_STATUS_SUCCESS
#define VT_QUEUES	3
#define VT_ENTRIES_LOG2	3
#define VT_ENTRIES	BIT(VT_ENTRIES_LOG2)
#define VT_ENTRY_BYTES	4096
#define VT_MESSAGES	300

/* Each queue completes in a CQ of its own. */
struct vt_xrc {
	struct vt *t;
	struct vt_areas areas;
	struct vuhca_xrcd *xrcd;
	struct vt_cq cqs[VT_QUEUES];
	struct vuhca_srq *srqs[VT_QUEUES];
	unsigned int posted[VT_QUEUES];
	struct vt_pair pair;
};

static struct vuhca_srq *vt_xrc_queue(struct vt *t, struct vuhca_xrcd *xrcd,
				      struct vuhca_cq *cq)
{
	struct vuhca_srq_init init = {
		.entries_log2 = VT_ENTRIES_LOG2,
		.sge = 2,
		.xrcd = xrcd,
		.cq = cq,
	};
	struct vuhca_srq *srq = vuhca_create_srq(t->pd, &init);

	return VT_CHECK(t, !IS_ERR(srq), "%pe", srq) ? srq : NULL;
}

static size_t vt_xrc_place(unsigned int queue, unsigned int number)
{
	return (queue * VT_ENTRIES + number % VT_ENTRIES) * VT_ENTRY_BYTES;
}

/* The next entry of a queue has a place of its own in area 1. */
static bool vt_xrc_receive(struct vt_xrc *xrc, unsigned int queue)
{
	size_t place = vt_xrc_place(queue, xrc->posted[queue]);
	struct vuhca_buffer there = vt_area_buffer(&xrc->areas, 1, place,
						   VT_ENTRY_BYTES);
	struct vuhca_recv_wr wr = {
		.wr_id = xrc->posted[queue]++, .sge = &there, .sge_count = 1,
	};

	return VT_EQUAL(xrc->t, vuhca_post_srq_recv(xrc->srqs[queue], &wr, 1),
			1);
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
	for (i = 0; i < VT_QUEUES; i++) {
		if (!vt_create_cq(t, &xrc->cqs[i], VT_ENTRIES_LOG2, 1))
			return false;
		xrc->srqs[i] = vt_xrc_queue(t, xrc->xrcd, xrc->cqs[i].cq);
		if (!xrc->srqs[i])
			return false;
	}
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
		if (xrc->srqs[i])
			VT_EQUAL(t, vuhca_destroy_srq(xrc->srqs[i]), 0);
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

/* Sends a message to a queue and expects that it uses its receive @number. */
static bool vt_xrc_send(struct vt_xrc *xrc, unsigned int queue,
			unsigned int number)
{
	u32 length = 1 + prandom_u32_state(&xrc->t->random) % VT_ENTRY_BYTES;
	struct vuhca_buffer here = vt_area_buffer(&xrc->areas, 0, 0, length);
	struct vuhca_send_wr wr = vt_rdma_wr(&xrc->areas,
					     VUHCA_SEND_OPCODE_SEND, &here, 0);
	u32 key = queue << 16 | number;
	struct vt *t = xrc->t;
	struct vuhca_wc wc;

	wr.xrc_srqn = xrc->srqs[queue]->srqn;
	vt_fill(xrc->areas.bytes[0], length, key);
	return vt_do(&xrc->pair, &wr, VT_OK) &&
	       vt_completes(t, xrc->cqs[queue].cq, VT_OK, &wc) &&
	       VT_EQUAL(t, wc.wr_id, number) &&
	       VT_EQUAL(t, wc.byte_length, length) &&
	       VT_CHECK(t, wc.qp == xrc->pair.end[1].qp, "other QP") &&
	       VT_CHECK(t, vt_holds(xrc->areas.bytes[1] +
				    vt_xrc_place(queue, number), length, key),
			"message %u of queue %u", number, queue);
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

	wr.xrc_srqn = xrc->srqs[1]->srqn;
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
	struct vuhca_srq *strange, *ordinary;
	struct vt *t = xrc->t;

	VT_REQUIRE(t, !IS_ERR(other), "%pe", other);
	strange = vt_xrc_queue(t, other, xrc->cqs[0].cq);
	ordinary = vt_xrc_queue(t, NULL, NULL);
	vt_xrc_receive(xrc, 0);
	if (strange && ordinary &&
	    vt_xrc_refuses(xrc, 0, VUHCA_EVENT_TYPE_XRC_INVALID_HEADER) &&
	    vt_xrc_refuses(xrc, ordinary->srqn,
			   VUHCA_EVENT_TYPE_XRC_INVALID_HEADER) &&
	    vt_xrc_refuses(xrc, strange->srqn,
			   VUHCA_EVENT_TYPE_XRC_DOMAIN_VIOLATION))
		vt_xrc_send(xrc, 0, 0);
	if (ordinary)
		VT_EQUAL(t, vuhca_destroy_srq(ordinary), 0);
	if (strange)
		VT_EQUAL(t, vuhca_destroy_srq(strange), 0);
	VT_EQUAL(t, vuhca_dealloc_xrcd(other), 0);
}

static void vt_refusals(struct vt *t)
{
	vt_with_xrc(t, vt_xrc_refusals);
}

/* A domain lives as long as its objects; a queue ends what names it later. */
static void vt_xrc_end(struct vt_xrc *xrc)
{
	struct vt *t = xrc->t;
	u32 srqn = xrc->srqs[2]->srqn;

	VT_EQUAL(t, vuhca_dealloc_xrcd(xrc->xrcd), (u64)-EBUSY);
	VT_EQUAL(t, vuhca_destroy_cq(xrc->cqs[2].cq), (u64)-EBUSY);
	vt_xrc_receive(xrc, 2);
	if (!VT_EQUAL(t, vuhca_destroy_srq(xrc->srqs[2]), 0))
		return;
	xrc->srqs[2] = NULL;
	if (vt_xrc_refuses(xrc, srqn, VUHCA_EVENT_TYPE_XRC_INVALID_HEADER) &&
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
