// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Send queues in SQD: messages that have begun complete, the rest wait for RTS.
 */
#include "vt_pair.h"

#define VT_OK		VUHCA_COMPLETION_STATUS_SUCCESS
#define VT_SENDS	12

/* Expects that the event came exactly once since the count was @before. */
static bool vt_drained(struct vt *t, struct vt_end *end, int before)
{
	return VT_WAIT(t, atomic_read(&end->events) > before) &&
	       VT_EQUAL(t, atomic_read(&end->events), before + 1) &&
	       VT_EQUAL(t, end->last_event,
			VUHCA_EVENT_TYPE_SEND_QUEUE_DRAINED);
}

static const struct vt_pair_options vt_short_packets = { .path_mtu = 1 };

/* An idle QP is drained at once; requests posted then wait for RTS. */
static void vt_idle_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	struct vuhca_buffer here = vt_area_buffer(areas, 0, 0, 600);
	struct vuhca_send_wr wr = vt_rdma_wr(areas, VUHCA_SEND_OPCODE_RDMA_WRITE,
					     &here, 0);
	struct vt *t = pair->t;
	struct vuhca_wc wc;
	unsigned int i;

	memset(areas->bytes[1], VT_POISON, 600);
	vt_fill(areas->bytes[0], 600, 1);
	for (i = 0; i < 3; i++) {
		int before = atomic_read(&pair->end[0].events);

		VT_EQUAL(t, vuhca_qp_drain(pair->end[0].qp), 0);
		vt_drained(t, &pair->end[0], before);
		VT_EQUAL(t, vt_qp_state(pair->end[0].qp), VUHCA_QP_STATE_SQD);
		vt_post(pair, 0, &wr);
		VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_QUIET_MS), 0);
		VT_CHECK(t, i || vt_is_poison(areas->bytes[1], 600), "begun");
		/* The other direction is not affected. */
		VT_EQUAL(t, vt_pair_receive(pair, 0, NULL, i), 0);
		wr.opcode = VUHCA_SEND_OPCODE_SEND;
		wr.sge_count = 0;
		vt_post(pair, 1, &wr);
		vt_completes(t, t->send_cq.cq, VT_OK, &wc);
		vt_completes(t, t->recv_cq.cq, VT_OK, &wc);
		wr.opcode = VUHCA_SEND_OPCODE_RDMA_WRITE;
		wr.sge_count = 1;
		VT_EQUAL(t, vuhca_qp_to_state(pair->end[0].qp,
					      VUHCA_QP_STATE_RTS), 0);
		vt_completes(t, t->send_cq.cq, VT_OK, &wc);
		VT_CHECK(t, vt_holds(areas->bytes[1], 600, 1), "payload");
	}
}

static void vt_idle(struct vt *t)
{
	vt_on_pair(t, &vt_short_packets, vt_idle_of_pair);
}

/*
 * Takes completions until none comes for the given time; in order from @next.
 */
static unsigned int vt_take(struct vt *t, u64 next, unsigned int timeout_ms)
{
	struct vuhca_wc wc;
	unsigned int taken;

	for (taken = 0; vt_poll(t->send_cq.cq, &wc, 1, timeout_ms); taken++) {
		VT_EQUAL(t, wc.status, VT_OK);
		VT_EQUAL(t, wc.wr_id, next + taken);
	}
	return taken;
}

static u64 vt_transmitted(struct vt *t)
{
	return vuhca_read_csr64(t->dev, VUHCA_CSR_PORT_TRANSMIT_PACKETS_OFF);
}

/*
 * Without end-to-end credits one message is under way; the others have not
 * begun.
 */
static void vt_begun_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	struct vuhca_buffer here = vt_area_buffer(areas, 0, 0, 2000);
	struct vuhca_buffer there = vt_area_buffer(areas, 1, 0, 2000);
	struct vuhca_send_wr wr = vt_rdma_wr(areas, VUHCA_SEND_OPCODE_SEND,
					     &here, 0);
	int before = atomic_read(&pair->end[0].events);
	struct vt *t = pair->t;
	unsigned int i, begun;
	struct vuhca_wc wc;
	u64 transmitted;

	/*
	 * The acknowledgement of this message tells that no receive entry is
	 * left.
	 */
	VT_EQUAL(t, vt_pair_receive(pair, 1, &there, 0), 0);
	if (!vt_do(pair, &wr, VT_OK) ||
	    !vt_completes(t, t->recv_cq.cq, VT_OK, &wc))
		return;
	transmitted = vt_transmitted(t);
	for (i = 0; i < VT_SENDS; i++) {
		wr.wr_id = i;
		vt_post(pair, 0, &wr);
	}
	VT_WAIT(t, vt_transmitted(t) > transmitted);
	VT_EQUAL(t, vuhca_qp_drain(pair->end[0].qp), 0);
	msleep(VT_QUIET_MS);
	VT_EQUAL(t, atomic_read(&pair->end[0].events), before);
	for (i = 0; i < VT_SENDS; i++)
		VT_EQUAL(t, vt_pair_receive(pair, 1, &there, i), 0);
	vt_drained(t, &pair->end[0], before);
	begun = vt_take(t, 0, VT_QUIET_MS);
	VT_CHECK(t, begun && begun < VT_SENDS, "%u sends were begun", begun);
	VT_EQUAL(t, vuhca_qp_to_state(pair->end[0].qp, VUHCA_QP_STATE_RTS), 0);
	VT_WAIT(t, (begun += vt_take(t, begun, VT_QUIET_MS)) == VT_SENDS);
	VT_EQUAL(t, atomic_read(&pair->end[0].events), before + 1);
}

static void vt_begun(struct vt *t)
{
	vt_on_pair(t, &vt_short_packets, vt_begun_of_pair);
}

/*
 * Drains again and again under load: each WRITE is executed once and in order.
 */
static void vt_load_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	struct vuhca_buffer here = vt_area_buffer(areas, 0, 0, 64 * 1024);
	struct vuhca_send_wr wr = vt_rdma_wr(areas, VUHCA_SEND_OPCODE_RDMA_WRITE,
					     &here, 0);
	unsigned int round, i, done, us;
	struct vt *t = pair->t;

	for (round = 0; round < 10; round++) {
		int before = atomic_read(&pair->end[0].events);

		for (i = 0; i < VT_SENDS; i++) {
			wr.wr_id = i;
			vt_post(pair, 0, &wr);
		}
		us = 1 + prandom_u32_state(&t->random) % 4000;
		usleep_range(us, us + 50);
		VT_EQUAL(t, vuhca_qp_drain(pair->end[0].qp), 0);
		if (!vt_drained(t, &pair->end[0], before))
			return;
		/* At the event all messages that had begun have completed. */
		done = vt_take(t, 0, 0);
		VT_EQUAL(t, vt_take(t, done, VT_QUIET_MS), 0);
		VT_EQUAL(t, vuhca_qp_to_state(pair->end[0].qp,
					      VUHCA_QP_STATE_RTS), 0);
		if (!VT_WAIT(t, (done += vt_take(t, done, 1)) == VT_SENDS))
			return;
	}
}

static void vt_load(struct vt *t)
{
	vt_on_pair(t, &vt_short_packets, vt_load_of_pair);
}

/* Access flags may change in SQD; RTS uses the new ones. */
static void vt_change_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	struct vuhca_buffer here = vt_area_buffer(areas, 0, 0, 8);
	struct vuhca_send_wr wr = vt_rdma_wr(areas, VUHCA_SEND_OPCODE_RDMA_WRITE,
					     &here, 0);
	struct vuhca_qp_attributes change = {
		.attribute_mask = cpu_to_le32(VUHCA_QP_MASK_ACCESS),
		.access = cpu_to_le32(VUHCA_ACCESS_FLAG_REMOTE_READ),
	};
	struct vuhca_qp *qp = pair->end[1].qp;
	struct vt *t = pair->t;

	vt_do(pair, &wr, VT_OK);
	VT_EQUAL(t, vuhca_qp_drain(qp), 0);
	vt_drained(t, &pair->end[1], 0);
	VT_EQUAL(t, vuhca_modify_qp(qp, &change), 0);
	VT_EQUAL(t, vuhca_qp_to_state(qp, VUHCA_QP_STATE_RTS), 0);
	wr.opcode = VUHCA_SEND_OPCODE_RDMA_READ;
	vt_do(pair, &wr, VT_OK);
	wr.opcode = VUHCA_SEND_OPCODE_RDMA_WRITE;
	vt_do(pair, &wr, VUHCA_COMPLETION_STATUS_REMOTE_INVALID_REQUEST_ERROR);
}

static void vt_change(struct vt *t)
{
	vt_on_pair(t, &vt_short_packets, vt_change_of_pair);
}

/* Datagrams wait in SQD as well. */
static void vt_datagrams(struct vt *t)
{
	struct vuhca_buffer here = vt_buffer(t, 0, 100);
	struct vuhca_send_wr wr = vt_send_wr(t, 0, 1, &here);
	struct vuhca_wc wc;

	VT_EQUAL(t, vt_post_recv(t, t->end[1].qp, 4096, 200, 1), 0);
	VT_EQUAL(t, vuhca_qp_drain(t->end[0].qp), 0);
	vt_drained(t, &t->end[0], 0);
	VT_EQUAL(t, vuhca_post_send(t->end[0].qp, &wr, 1, VUHCA_POST_AUTO), 1);
	VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_QUIET_MS), 0);
	VT_EQUAL(t, vuhca_qp_to_state(t->end[0].qp, VUHCA_QP_STATE_RTS), 0);
	vt_completes(t, t->send_cq.cq, VT_OK, &wc);
	vt_completes(t, t->recv_cq.cq, VT_OK, &wc);
}

static const struct vt_case vt_cases[] = {
	{ "idle", vt_idle },
	{ "begun", vt_begun },
	{ "load", vt_load },
	{ "change", vt_change },
	{ "datagrams", vt_datagrams },
};
VT_SUITE(drain, vt_cases);
