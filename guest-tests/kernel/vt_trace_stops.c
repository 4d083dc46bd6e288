// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * stopOnError: no block begins after the first message that failed, an event
 * reports the stop, and the traffic goes on. Senders and receivers, each
 * service.
 */
#include "vt_trace.h"

#define VT_OK	VUHCA_COMPLETION_STATUS_SUCCESS

static const struct vt_trace_options vt_stopping = {
	.blocks_log2 = VT_TRACE_BLOCKS_LOG2,
	.snap_length = 64,
	.stop_on_error = true,
};

/* The events of a trace; suites run one at a time. */
struct vt_stop {
	atomic_t events;
	u8 fault;
};

static struct vt_stop vt_stop[2];

static void vt_stop_event(enum vuhca_event_type type, u8 fault, void *context)
{
	struct vt_stop *stop = context;

	/* A failed request has events of its own. */
	if (type != VUHCA_EVENT_TYPE_TRACE_STOPPED)
		return;
	stop->fault = fault;
	atomic_inc(&stop->events);
}

/* Traces an end, and counts the events of its trace. */
static bool vt_stopping_trace(struct vt *t, struct vt_end *ends, unsigned int i)
{
	memset(&vt_stop[i], 0, sizeof(vt_stop[i]));
	ends[i].qp->context = &vt_stop[i];
	ends[i].qp->event = vt_stop_event;
	return vt_trace_enable(t, ends[i].qp, &vt_stopping);
}

/* The trace stopped at its second message, with @fault and one event. */
static void vt_has_stopped(struct vt *t, struct vt_end *ends, unsigned int i,
			   bool receive, u8 fault)
{
	struct vt_end *end = &ends[i];
	const struct vuhca_trace_block *blocks[2];
	struct vuhca_trace_attributes attributes = {};

	VT_WAIT(t, atomic_read(&vt_stop[i].events));
	VT_EQUAL(t, atomic_read(&vt_stop[i].events), 1);
	VT_EQUAL(t, vt_stop[i].fault, fault);
	VT_EQUAL(t, vuhca_query_trace(end->qp, &attributes), 0);
	VT_EQUAL(t, vuhca_trace_attributes_get_stopped(&attributes), 1);
	VT_EQUAL(t, le64_to_cpu(attributes.head), 2);
	vt_trace_read(t, end->qp, 0, blocks, 2);
	VT_REQUIRE(t, blocks[0], "QP %u", end->qp->qpn);
	VT_EQUAL(t, blocks[0]->status, VT_OK);
	VT_CHECK(t, blocks[1]->status != VT_OK &&
		    blocks[1]->status != VUHCA_COMPLETION_STATUS_FLUSHED,
		 "status %u", blocks[1]->status);
	VT_EQUAL(t, blocks[1]->fault_kind, fault);
	VT_EQUAL(t, vuhca_trace_block_get_receive(blocks[1]), receive);
}

/*
 * Nothing is traced after the stop; a trace that is enabled again starts
 * afresh.
 */
static void vt_stays_stopped(struct vt_pair *pair, struct vt_areas *areas,
			     unsigned int end)
{
	struct vuhca_buffer here = vt_area_buffer(areas, 0, 0, 64);
	struct vuhca_send_wr wr = vt_rdma_wr(areas,
					     VUHCA_SEND_OPCODE_RDMA_WRITE,
					     &here, 0);
	struct vuhca_qp *qp = pair->end[end].qp;
	struct vt *t = pair->t;

	vt_pair_works(pair, areas);
	VT_EQUAL(t, vt_trace_head(t, qp), 2);
	if (!vt_trace_enable(t, qp, &vt_stopping))
		return;
	VT_EQUAL(t, vt_trace_head(t, qp), 0);
	vt_do(pair, &wr, VT_OK);
	VT_WAIT(t, vt_trace_head(t, qp) == 1);
}

/* A valid WRITE, then one with a wrong key; both ends are traced. */
static void vt_stops_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	bool reliable = pair->options.service == VUHCA_SERVICE_TYPE_RC;
	struct vuhca_buffer here = vt_area_buffer(areas, 0, 0, 64);
	struct vuhca_send_wr wr = vt_rdma_wr(areas,
					     VUHCA_SEND_OPCODE_RDMA_WRITE,
					     &here, 0);
	struct vt *t = pair->t;
	unsigned int i;

	for (i = 0; i < 2; i++)
		if (!vt_stopping_trace(t, pair->end, i))
			return;
	vt_do(pair, &wr, VT_OK);
	wr.remote.rkey ^= 1;
	vt_do(pair, &wr, reliable ?
	      VUHCA_COMPLETION_STATUS_REMOTE_ACCESS_ERROR : VT_OK);
	vt_has_stopped(t, pair->end, 1, true, VUHCA_FAULT_KIND_KEY_INVALID);
	if (reliable)
		vt_has_stopped(t, pair->end, 0, false, VUHCA_FAULT_KIND_NONE);
	vt_stays_stopped(pair, areas, 1);
}

/* A wrong local key: the sender's trace stops. */
static void vt_stops_at_sender(struct vt_pair *pair, struct vt_areas *areas)
{
	struct vuhca_buffer here = vt_area_buffer(areas, 0, 0, 64);
	struct vuhca_send_wr wr = vt_rdma_wr(areas,
					     VUHCA_SEND_OPCODE_RDMA_WRITE,
					     &here, 0);
	struct vt *t = pair->t;

	if (!vt_stopping_trace(t, pair->end, 0))
		return;
	vt_do(pair, &wr, VT_OK);
	here.lkey ^= 1;
	vt_do(pair, &wr, VUHCA_COMPLETION_STATUS_LOCAL_PROTECTION_ERROR);
	vt_has_stopped(t, pair->end, 0, false, VUHCA_FAULT_KIND_KEY_INVALID);
	vt_stays_stopped(pair, areas, 0);
}

static void vt_stops(struct vt *t, u8 service)
{
	struct vt_pair_options options = { .service = service };

	vt_on_pair(t, &options, vt_stops_of_pair);
	vt_on_pair(t, &options, vt_stops_at_sender);
}

void vt_trace_stops_rc(struct vt *t)
{
	vt_stops(t, VUHCA_SERVICE_TYPE_RC);
}

void vt_trace_stops_uc(struct vt *t)
{
	vt_stops(t, VUHCA_SERVICE_TYPE_UC);
}

/* A datagram that its receive entry cannot take stops the receiver's trace. */
static void vt_stops_receiver(struct vt *t)
{
	struct vuhca_buffer buffer = vt_buffer(t, 0, 64);
	struct vuhca_send_wr wr = vt_send_wr(t, 0, 1, &buffer);
	struct vuhca_wc wc;

	VT_REQUIRE(t, vt_stopping_trace(t, t->end, 1), "end 1");
	VT_REQUIRE(t, vt_roundtrip(t, 0, 1, 64, VUHCA_POST_AUTO), "datagram");
	VT_EQUAL(t, vt_post_recv(t, t->end[1].qp, 0, 63, 0), 0);
	VT_EQUAL(t, vuhca_post_send(t->end[0].qp, &wr, 1, VUHCA_POST_AUTO), 1);
	vt_completes(t, t->send_cq.cq, VT_OK, &wc);
	vt_completes(t, t->recv_cq.cq,
		     VUHCA_COMPLETION_STATUS_LOCAL_LENGTH_ERROR, &wc);
	vt_has_stopped(t, t->end, 1, true, VUHCA_FAULT_KIND_RECEIVE_TOO_SHORT);
}

static void vt_stops_sender(struct vt *t)
{
	struct vuhca_buffer buffer = vt_buffer(t, 0, 64);
	struct vuhca_send_wr wr = vt_send_wr(t, 0, 1, &buffer);
	struct vuhca_wc wc;

	VT_REQUIRE(t, vt_stopping_trace(t, t->end, 0), "end 0");
	VT_EQUAL(t, vuhca_post_send(t->end[0].qp, &wr, 1, VUHCA_POST_AUTO), 1);
	vt_completes(t, t->send_cq.cq, VT_OK, &wc);
	buffer.lkey ^= 1;
	VT_EQUAL(t, vuhca_post_send(t->end[0].qp, &wr, 1, VUHCA_POST_AUTO), 1);
	vt_completes(t, t->send_cq.cq,
		     VUHCA_COMPLETION_STATUS_LOCAL_PROTECTION_ERROR, &wc);
	vt_has_stopped(t, t->end, 0, false, VUHCA_FAULT_KIND_KEY_INVALID);
	/* Commands after the failed one are flushed and not traced. */
	VT_EQUAL(t, vt_post_nops(t->end[0].qp, 1), 0);
	vt_completes(t, t->send_cq.cq, VUHCA_COMPLETION_STATUS_FLUSHED, &wc);
	VT_EQUAL(t, vt_trace_head(t, t->end[0].qp), 2);
}

void vt_trace_stops_ud(struct vt *t)
{
	vt_stops_receiver(t);
	vt_stops_sender(t);
}
