// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Datagrams in bulk, from port 1 to port 2: by collect buffer, by doorbell one
 * by one and in batches, of every size and shape; and the flags of single
 * datagrams.
 */
#include "vt_datagram.h"

/* PCBs may also be scarce because other functions use the shared ones. */
static bool vt_pcbs_are_scarce(struct vt *t)
{
	return vt_csr(t, VUHCA_CSR_PCB_AVAILABLE_OFF) < VT_WINDOW ||
	       vt_csr(t, VUHCA_CSR_PCB_SHARED_DEVICE_OFF) > 0;
}

static void vt_bulk_collected(struct vt *t)
{
	u32 collected = vt_csr(t, VUHCA_CSR_COMMANDS_COLLECTED_OFF);
	u32 fetched = vt_csr(t, VUHCA_CSR_COMMANDS_FETCHED_OFF);

	vt_datagram_bulk(t, VUHCA_POST_COLLECT, 1);
	collected = vt_csr(t, VUHCA_CSR_COMMANDS_COLLECTED_OFF) - collected;
	fetched = vt_csr(t, VUHCA_CSR_COMMANDS_FETCHED_OFF) - fetched;
	VT_EQUAL(t, collected + fetched, vt_count());
	/*
	 * Single commands may fall back to the queue; many do only when PCBs
	 * are scarce.
	 */
	VT_CHECK(t, collected > fetched || vt_pcbs_are_scarce(t),
		 "%u collected, %u fetched", collected, fetched);
	vt_note(t, "%u collected, %u fetched", collected, fetched);
}

static void vt_bulk_doorbell(struct vt *t)
{
	u32 collected = vt_csr(t, VUHCA_CSR_COMMANDS_COLLECTED_OFF);
	u32 fetched = vt_csr(t, VUHCA_CSR_COMMANDS_FETCHED_OFF);
	u32 watches = vt_csr(t, VUHCA_CSR_TAIL_WATCHES_OFF);
	u32 found = vt_csr(t, VUHCA_CSR_TAILS_FOUND_OFF);
	u32 rung = vt_csr(t, VUHCA_CSR_DOORBELLS_EXPLICIT_OFF);

	vt_datagram_bulk(t, VUHCA_POST_DOORBELL, 1);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_COMMANDS_COLLECTED_OFF), collected);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_COMMANDS_FETCHED_OFF),
		 fetched + vt_count());
	watches = vt_csr(t, VUHCA_CSR_TAIL_WATCHES_OFF) - watches;
	VT_EQUAL(t, watches > 0, t->dev->shadow_tails);
	vt_note(t, "%u doorbells, %u watches, %u tails found",
		vt_csr(t, VUHCA_CSR_DOORBELLS_EXPLICIT_OFF) - rung, watches,
		vt_csr(t, VUHCA_CSR_TAILS_FOUND_OFF) - found);
}

/* A driver that rings always would work as well, only slower. */
static void vt_watched_tail(struct vt *t)
{
	struct vuhca_buffer buffer = vt_buffer(t, 0, 64);
	struct vuhca_send_wr wr = vt_send_wr(t, 0, 1, &buffer);
	u32 rung = vt_csr(t, VUHCA_CSR_DOORBELLS_EXPLICIT_OFF);
	struct vuhca_qp *qp = t->end[0].qp;
	u16 first = qp->sq.tail;
	struct vuhca_wc wc;

	VT_EQUAL(t, vt_post_recv(t, t->end[1].qp, 4096, 256, 0), 0);
	/* The mark stands without a watch, so nothing takes the request. */
	vuhca_queue_pair_record_set_watched(qp->record, 1);
	VT_EQUAL(t, vuhca_post_send(qp, &wr, 1, VUHCA_POST_DOORBELL), 1);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_DOORBELLS_EXPLICIT_OFF) - rung,
		 !t->dev->shadow_tails);
	vuhca_queue_pair_record_set_watched(qp->record, 0);
	vuhca_ring_doorbell(qp, first);
	VT_EQUAL(t, vt_poll(t->recv_cq.cq, &wc, 1, VT_TIMEOUT_MS), 1);
	VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_TIMEOUT_MS), 1);
}

static void vt_bulk_batches(struct vt *t)
{
	vt_datagram_bulk(t, VUHCA_POST_DOORBELL, VT_BATCH);
}

/* Both ways of posting alternate on one QP: commands stay in order. */
static void vt_bulk_mixed(struct vt *t)
{
	unsigned int i, rounds = min(vt_count(), 200U);

	for (i = 0; i < rounds; i++)
		if (!vt_roundtrip(t, 0, 1, 1 + i, i % 3 ? VUHCA_POST_COLLECT :
							  VUHCA_POST_DOORBELL))
			return;
}

static void vt_each_size(struct vt *t)
{
	static const u32 sizes[] = {
		1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127,
		128, 255, 256, 257, 511, 512, 1023, 1024, 1025, 2047, 2048, 2049,
		4095, 4096,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		if (sizes[i] <= t->mtu_bytes &&
		    !vt_roundtrip(t, 0, 1, sizes[i], i % 2 ? VUHCA_POST_COLLECT :
							     VUHCA_POST_DOORBELL))
			return;
	VT_EQUAL(t, t->mtu_bytes, 4096);
}

static void vt_unsignaled(struct vt *t)
{
	struct vuhca_buffer buffer = vt_buffer(t, 0, 64);
	struct vuhca_send_wr wr = vt_send_wr(t, 0, 1, &buffer);
	struct vuhca_wc wc[8];
	unsigned int i;

	wr.signaled = false;
	for (i = 0; i < 8; i++) {
		VT_EQUAL(t, vt_post_recv(t, t->end[1].qp, 4096, 256, i), 0);
		wr.signaled = i == 7;
		wr.wr_id = i;
		VT_EQUAL(t, vuhca_post_send(t->end[0].qp, &wr, 1,
					    VUHCA_POST_AUTO), 1);
	}
	VT_EQUAL(t, vt_poll(t->recv_cq.cq, wc, 8, VT_TIMEOUT_MS), 8);
	VT_EQUAL(t, vt_poll(t->send_cq.cq, wc, 1, VT_TIMEOUT_MS), 1);
	VT_EQUAL(t, wc[0].wr_id, 7);
	VT_EQUAL(t, vt_poll(t->send_cq.cq, wc, 1, VT_QUIET_MS), 0);
}

/* No request is signalled, but the QP signals all. */
static void vt_signal_all(struct vt *t)
{
	struct vt_qp_options options = { .port = 1, .signal_all = true };
	struct vuhca_send_wr wr = { .opcode = VUHCA_SEND_OPCODE_NOP };
	struct vuhca_qp *qp = vt_create_qp(t, NULL, &options);
	struct vuhca_wc wc[4];
	unsigned int i;

	VT_REQUIRE(t, qp, "create");
	for (i = 0; i < 4; i++)
		VT_EQUAL(t, vuhca_post_send(qp, &wr, 1, VUHCA_POST_AUTO), 1);
	VT_EQUAL(t, vt_poll(t->send_cq.cq, wc, 4, VT_TIMEOUT_MS), 4);
	for (i = 0; i < 4; i++) {
		VT_EQUAL(t, wc[i].opcode, VUHCA_COMPLETION_OPCODE_NOP);
		VT_EQUAL(t, wc[i].sequence, i);
	}
	VT_EQUAL(t, vuhca_destroy_qp(qp), 0);
}

static void vt_immediate(struct vt *t)
{
	struct vuhca_buffer buffer = vt_buffer(t, 0, 16);
	struct vuhca_send_wr wr = vt_send_wr(t, 0, 1, &buffer);
	struct vuhca_wc wc = {};

	wr.opcode = VUHCA_SEND_OPCODE_SEND_IMMEDIATE;
	wr.immediate = 0xcafe1234;
	wr.solicited = true;
	VT_EQUAL(t, vt_post_recv(t, t->end[1].qp, 4096, 256, 0), 0);
	VT_EQUAL(t, vuhca_post_send(t->end[0].qp, &wr, 1, VUHCA_POST_AUTO), 1);
	VT_EQUAL(t, vt_poll(t->recv_cq.cq, &wc, 1, VT_TIMEOUT_MS), 1);
	VT_CHECK(t, wc.has_immediate && wc.solicited && !wc.global_route,
		 "immediate %u, solicited %u, GRH %u", wc.has_immediate,
		 wc.solicited, wc.global_route);
	VT_EQUAL(t, wc.immediate, 0xcafe1234);
}

/* The 16-bit sequence number wraps within this many commands. */
static void vt_wrap(struct vt *t)
{
	struct vt_qp_options options = { .port = 1, .entries_log2 = 10 };
	struct vuhca_qp *qp = vt_create_qp(t, NULL, &options);
	static struct vuhca_send_wr wrs[256];
	unsigned int i, round;
	struct vuhca_wc wc;

	VT_REQUIRE(t, qp, "create");
	for (i = 0; i < ARRAY_SIZE(wrs); i++)
		wrs[i] = (struct vuhca_send_wr) {
			.opcode = VUHCA_SEND_OPCODE_NOP,
			.signaled = i == ARRAY_SIZE(wrs) - 1,
		};
	for (round = 0; round < 260; round++) {
		wrs[255].wr_id = round;
		if (!VT_EQUAL(t, vuhca_post_send(qp, wrs, 256,
						 VUHCA_POST_DOORBELL), 256) ||
		    !VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_TIMEOUT_MS),
			      1) ||
		    !VT_EQUAL(t, wc.wr_id, round) ||
		    !VT_EQUAL(t, wc.sequence, (u16)(round * 256 + 255)))
			break;
	}
	VT_EQUAL(t, vuhca_destroy_qp(qp), 0);
}

static const struct vt_case vt_cases[] = {
	{ "sizes", vt_each_size },
	{ "collect-bulk", vt_bulk_collected },
	{ "doorbell-bulk", vt_bulk_doorbell },
	{ "watched-tail", vt_watched_tail },
	{ "doorbell-batches", vt_bulk_batches },
	{ "mixed", vt_bulk_mixed },
	{ "unsignaled", vt_unsignaled },
	{ "signal-all", vt_signal_all },
	{ "immediate", vt_immediate },
	{ "sequence-wrap", vt_wrap },
};
VT_SUITE(datagram, vt_cases);
