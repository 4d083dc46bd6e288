// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The stop protocol: a queue leaves the scheduler, its descriptor shows that,
 * and from then on the adapter neither reads nor writes the memory of the
 * queue.
 */
#include "vt.h"

#define VT_QUEUES	24
#define VT_NOPS		32

static bool vt_is_off(const struct vuhca_qp *qp)
{
	struct vuhca_send_queue_descriptor seen = *qp->descriptor;

	return vuhca_send_queue_descriptor_get_destroyed(&seen) &&
	       vuhca_send_queue_descriptor_get_next_state(&seen) == 0xff;
}

static unsigned int vt_drain(struct vt *t)
{
	struct vuhca_wc wc[16];
	unsigned int count, total = 0;

	while ((count = vuhca_poll_cq(t->send_cq.cq, ARRAY_SIZE(wc), wc)))
		total += count;
	return total;
}

static void vt_idle(struct vt *t)
{
	u32 idle = vuhca_read_csr(t->dev, VUHCA_CSR_DOORBELLS_IDLE_OFF);
	struct vuhca_qp *qp = t->end[0].qp;
	struct vuhca_wc wc;

	VT_EQUAL(t, vuhca_stop_qp(qp), 0);
	VT_CHECK(t, vt_is_off(qp), "the descriptor is not stopped");
	VT_EQUAL(t, vuhca_stop_qp(qp), 0);
	VT_EQUAL(t, vt_post_nops(qp, 3), 0);
	VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_QUIET_MS), 0);
	VT_EQUAL(t, vuhca_read_csr(t->dev, VUHCA_CSR_DOORBELLS_IDLE_OFF),
		 idle + 3);
	vt_roundtrip(t, 1, 1, 100, VUHCA_POST_AUTO);
}

/* A stopped QP sends again after a reset. */
static void vt_again(struct vt *t)
{
	struct vuhca_qp *qp = t->end[0].qp;

	VT_EQUAL(t, vuhca_stop_qp(qp), 0);
	VT_EQUAL(t, vuhca_qp_to_state(qp, VUHCA_QP_STATE_RESET), 0);
	VT_EQUAL(t, vt_ready(qp, 1), 0);
	VT_CHECK(t, !vt_is_off(qp), "the descriptor is still stopped");
	vt_roundtrip(t, 0, 1, 100, VUHCA_POST_COLLECT);
	vt_roundtrip(t, 0, 1, 100, VUHCA_POST_DOORBELL);
}

/* Overwrites all memory of the queue at once, which must have no effect. */
static void vt_overwrite(struct vuhca_qp *qp)
{
	memset(qp->memory, 0xff, qp->bytes);
	/* Overwrite the memory before the case continues. */
	wmb();
}

static void vt_stopped_is_quiet(struct vt *t, struct vuhca_qp *qp)
{
	u32 faults[] = {
		vt_fault_count(t, VUHCA_FAULT_KIND_COMMAND_SEQUENCE),
		vt_fault_count(t, VUHCA_FAULT_KIND_COMMAND_CHECKSUM),
		vt_fault_count(t, VUHCA_FAULT_KIND_COMMAND_OPCODE),
		vt_fault_count(t, VUHCA_FAULT_KIND_DESCRIPTOR_LINK),
	};

	vt_overwrite(qp);
	vuhca_ring_doorbell(qp, 1);
	msleep(VT_QUIET_MS);
	VT_CHECK(t, !memchr_inv(qp->memory, 0xff, qp->bytes),
		 "the adapter wrote to it");
	VT_EQUAL(t, vt_fault_count(t, VUHCA_FAULT_KIND_COMMAND_SEQUENCE),
		 faults[0]);
	VT_EQUAL(t, vt_fault_count(t, VUHCA_FAULT_KIND_COMMAND_CHECKSUM),
		 faults[1]);
	VT_EQUAL(t, vt_fault_count(t, VUHCA_FAULT_KIND_COMMAND_OPCODE),
		 faults[2]);
	VT_EQUAL(t, vt_fault_count(t, VUHCA_FAULT_KIND_DESCRIPTOR_LINK),
		 faults[3]);
}

/* Stopped with work waiting: commands that have not begun never do. */
static void vt_busy(struct vt *t)
{
	struct vt_qp_options options = { .port = 1 };
	struct vuhca_qp *qp;
	unsigned int i, done;

	for (i = 0; i < 10; i++) {
		qp = vt_create_qp(t, NULL, &options);
		VT_REQUIRE(t, qp, "create");
		VT_EQUAL(t, vt_post_nops(qp, VT_NOPS), 0);
		VT_EQUAL(t, vuhca_stop_qp(qp), 0);
		VT_CHECK(t, vt_is_off(qp), "the QP was not stopped");
		/* Commands that had begun may still complete, no others. */
		msleep(VT_QUIET_MS);
		done = vt_drain(t);
		VT_CHECK(t, done <= VT_NOPS, "%u completions", done);
		vt_stopped_is_quiet(t, qp);
		VT_EQUAL(t, vuhca_destroy_qp(qp), 0);
	}
}

/* Queues leave a list at its beginning, in its middle and at its end. */
static void vt_out_of_a_list(struct vt *t)
{
	struct vt_qp_options options = { .port = 1, .entries_log2 = 5 };
	struct vuhca_qp *qps[VT_QUEUES] = {};
	unsigned int i, kept = 0;
	struct vuhca_wc wc;
	u32 counts = 0;

	for (i = 0; i < VT_QUEUES; i++) {
		qps[i] = vt_create_qp(t, NULL, &options);
		VT_REQUIRE(t, qps[i], "QP %u", i);
	}
	for (i = 0; i < VT_QUEUES; i++)
		VT_EQUAL(t, vt_post_nops(qps[i], i % 3 ? 16 : 2), 0);
	for (i = 0; i < VT_QUEUES; i += 3) {
		VT_EQUAL(t, vuhca_stop_qp(qps[i]), 0);
		vt_overwrite(qps[i]);
	}
	for (i = 0; i < VT_QUEUES; i++)
		kept += i % 3 ? 16 : 0;
	while (counts < kept &&
	       vt_poll(t->send_cq.cq, &wc, 1, VT_TIMEOUT_MS) == 1)
		for (i = 0; i < VT_QUEUES; i++)
			counts += i % 3 && wc.qp == qps[i];
	VT_EQUAL(t, counts, kept);
	for (i = 0; i < VT_QUEUES; i++)
		VT_EQUAL(t, vuhca_destroy_qp(qps[i]), 0);
}

/* A stop doorbell for a QP that does not exist. */
static void vt_foreign(struct vt *t)
{
	u32 faults = vt_fault_count(t, VUHCA_FAULT_KIND_COMMAND_BAD_QP);
	struct vuhca_vcb *vcb = vuhca_alloc_vcb(t->dev, 0);
	struct vuhca_doorbell word = {};

	VT_REQUIRE(t, !IS_ERR(vcb), "%pe", vcb);
	vuhca_doorbell_set_qpn(&word, VT_ABSENT);
	vuhca_write_eight(vcb->page + VUHCA_STOP_OFFSET, &word);
	vt_drain_stores();
	VT_EQUAL(t, vt_fault_count(t, VUHCA_FAULT_KIND_COMMAND_BAD_QP),
		 faults + 1);
	vuhca_free_vcb(t->dev, vcb);
	vt_roundtrip(t, 0, 1, 100, VUHCA_POST_AUTO);
}

static const struct vt_case vt_cases[] = {
	{ "idle", vt_idle },
	{ "again", vt_again },
	{ "busy", vt_busy },
	{ "out-of-a-list", vt_out_of_a_list },
	{ "foreign", vt_foreign },
};
VT_SUITE(stop, vt_cases);
