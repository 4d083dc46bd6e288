// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Load alone, while the adapter runs: doorbells come faster than its reads
 * complete, so they spill, or deadlock where the policy forbids it
 * (US 9,069,485 par. 74, 96-97). The low threshold follows the load when it
 * adapts (par. 92).
 */
#include "vt_overflow.h"

/* The longest time of a read. */
#define VT_LONGEST_MS	(VUHCA_CSR_DMA_LATENCY_NS_MASK / NSEC_PER_MSEC)
/* Each attempt reads twice as slowly as the one before, up to the longest time. */
#define VT_ATTEMPTS	10
/* More than the adapter has reads, and fewer than its buffer has entries. */
#define VT_WIDE_QUEUES	60
/* Fewer than it has reads. */
#define VT_NARROW_QUEUES 16

static void vt_set_policy(struct vt *t, u32 overflow)
{
	vuhca_write_csr(t->dev, VUHCA_CSR_DOORBELL_POLICY_OFF,
			vt_policy(overflow, VUHCA_LINK_CHECK_READ));
}

/* Time of a read in that attempt: a busy machine needs long to ring. */
static u32 vt_read_ms(unsigned int attempt)
{
	return min_t(u64, (u64)VT_READ_MS << attempt, VT_LONGEST_MS);
}

/* Rings for all queues while reads take long; later ones take no time. */
static void vt_ring_slowly(struct vt_qp_set *set, u32 read_ms)
{
	struct vt *t = set->t;
	struct vuhca_dev *dev = t->dev;
	u32 launches = vt_csr(t, VUHCA_CSR_LANE_LAUNCHES_OFF);

	vt_qp_set_post(set, 1);
	vuhca_write_csr(dev, VUHCA_CSR_DMA_LATENCY_OFF,
			read_ms * NSEC_PER_MSEC);
	vt_qp_set_ring(set);
	/* On a very busy machine reads may have completed by then. */
	VT_WAIT(t, vt_csr(t, VUHCA_CSR_BUS_READS_OFF) > 0 ||
		   vt_csr(t, VUHCA_CSR_LANE_LAUNCHES_OFF) != launches);
	vuhca_write_csr(dev, VUHCA_CSR_DMA_LATENCY_OFF, 0);
}

static bool vt_is_stalled(struct vt *t)
{
	return vt_csr(t, VUHCA_CSR_OVERFLOW_STATUS_OFF) ==
	       VUHCA_CSR_OVERFLOW_STATUS_STALLED_MASK;
}

/* Returns whether the load ended in a deadlock that lasts. */
static bool vt_deadlocks(struct vt_qp_set *set, u32 read_ms)
{
	struct vt *t = set->t;

	vt_ring_slowly(set, read_ms);
	/* By then the completions have arrived, behind the doorbells. */
	msleep(read_ms + VT_QUIET_MS);
	return vt_is_stalled(t);
}

/*
 * Without spilling the load ends in a deadlock; allowing spilling resolves it.
 */
static void vt_deadlock(struct vt *t)
{
	u32 entries = vt_csr(t, VUHCA_CSR_DOORBELL_BUFFER_ENTRIES_OFF);
	unsigned int queues = entries + 32, attempt;
	struct vt_settings settings;
	struct vt_qp_set *set;
	bool stalled = false;
	u32 reads, launches;

	if (!vt_may_slow(t))
		return;
	if (queues > VT_QP_SET_MAX)
		return vt_skip(t, "the buffer has %u entries", entries);
	set = vt_qp_set_create(t, queues);
	VT_REQUIRE(t, set, "no QPs");
	vt_save(t, &settings);
	launches = vt_csr(t, VUHCA_CSR_LANE_LAUNCHES_OFF);
	for (attempt = 0; !stalled && attempt < VT_ATTEMPTS; attempt++) {
		vt_set_policy(t, VUHCA_OVERFLOW_POLICY_OFF);
		stalled = vt_deadlocks(set, vt_read_ms(attempt));
		reads = vt_csr(t, VUHCA_CSR_BUS_READS_OFF);
		if (stalled) {
			VT_EQUAL(t, vt_csr(t, VUHCA_CSR_DOORBELL_BUFFER_USED_OFF),
				 entries);
			VT_CHECK(t, reads > 0, "no read waits");
			vt_note(t, "without spilling: %u doorbells, %u commands executed, %u reads wait",
				queues, vt_csr(t, VUHCA_CSR_LANE_LAUNCHES_OFF) -
				launches, reads);
		}
		vt_set_policy(t, VUHCA_OVERFLOW_POLICY_NEWEST);
		if (!vt_qp_set_completes(set))
			break;
		launches = vt_csr(t, VUHCA_CSR_LANE_LAUNCHES_OFF);
	}
	VT_CHECK(t, stalled, "no deadlock in %u attempts", attempt);
	vt_expect_empty(t);
	vt_restore(t, &settings);
	vt_qp_set_destroy(set);
}

/* The same load with spilling: it completes by itself, with each policy. */
static void vt_spill(struct vt *t)
{
	u32 entries = vt_csr(t, VUHCA_CSR_DOORBELL_BUFFER_ENTRIES_OFF);
	u32 spilled, drained, policy;
	struct vt_settings settings;
	struct vt_qp_set *set;
	unsigned int attempt;

	if (!vt_may_slow(t))
		return;
	if (entries + 32 > VT_QP_SET_MAX)
		return vt_skip(t, "the buffer has %u entries", entries);
	set = vt_qp_set_create(t, entries + 32);
	VT_REQUIRE(t, set, "no QPs");
	vt_save(t, &settings);
	for (policy = VUHCA_OVERFLOW_POLICY_NEWEST;
	     policy <= VUHCA_OVERFLOW_POLICY_MOST_SPILLED; policy++) {
		vt_set_policy(t, policy);
		drained = vt_csr(t, VUHCA_CSR_DOORBELLS_DRAINED_OFF);
		spilled = vt_csr(t, VUHCA_CSR_DOORBELLS_SPILLED_OFF);
		for (attempt = 0; attempt < VT_ATTEMPTS; attempt++) {
			vt_ring_slowly(set, vt_read_ms(attempt));
			if (!vt_qp_set_completes(set) ||
			    vt_csr(t, VUHCA_CSR_DOORBELLS_SPILLED_OFF) != spilled)
				break;
		}
		spilled = vt_csr(t, VUHCA_CSR_DOORBELLS_SPILLED_OFF) - spilled;
		drained = vt_csr(t, VUHCA_CSR_DOORBELLS_DRAINED_OFF) - drained;
		VT_CHECK(t, spilled > 0, "policy %u: none spilled", policy);
		VT_EQUAL(t, drained, spilled);
		vt_expect_empty(t);
		vt_note(t, "policy %u: %u doorbells, all executed, %u spilled and read back",
			policy, set->count, spilled);
	}
	vt_restore(t, &settings);
	vt_qp_set_destroy(set);
}

/*
 * The switches that are off at power-on: commands that come by collect buffer
 * while doorbells are spilled, and doorbells of the scheduler buffer, are
 * spilled as well (US 9,069,485 par. 86-88, 90). Returns the commands spilled.
 */
static u32 vt_spill_by(struct vt_qp_set *set, u32 switches)
{
	struct vt *t = set->t;
	struct vuhca_send_wr wr = {
		.opcode = VUHCA_SEND_OPCODE_NOP,
		.signaled = true,
		.wr_id = set->posted[set->count - 1],
	};
	u32 spilled = vt_csr(t, VUHCA_CSR_DOORBELLS_SPILLED_OFF);
	u32 drained = vt_csr(t, VUHCA_CSR_DOORBELLS_DRAINED_OFF);
	u32 before, commands = 0;
	unsigned int attempt;

	vuhca_write_csr(t->dev, VUHCA_CSR_DOORBELL_POLICY_OFF, switches |
			vt_policy(VUHCA_OVERFLOW_POLICY_NEWEST,
				  VUHCA_LINK_CHECK_READ));
	for (attempt = 0; attempt < VT_ATTEMPTS; attempt++) {
		/* The last QP posts by collect buffer after the others. */
		set->count--;
		vt_ring_slowly(set, vt_read_ms(attempt));
		before = vt_csr(t, VUHCA_CSR_DOORBELLS_IMPLICIT_OFF);
		if (VT_EQUAL(t, vuhca_post_send(set->qps[set->count], &wr, 1,
						VUHCA_POST_COLLECT), 1))
			set->posted[set->count]++;
		wr.wr_id++;
		set->count++;
		commands = vt_csr(t, VUHCA_CSR_DOORBELLS_IMPLICIT_OFF) - before;
		if (!vt_qp_set_completes(set) || commands ||
		    !(switches & VUHCA_CSR_DOORBELL_POLICY_SPILL_COMMANDS_MASK))
			break;
	}
	vt_expect_empty(t);
	spilled = vt_csr(t, VUHCA_CSR_DOORBELLS_SPILLED_OFF) - spilled;
	drained = vt_csr(t, VUHCA_CSR_DOORBELLS_DRAINED_OFF) - drained;
	VT_EQUAL(t, drained, spilled);
	vt_note(t, "switches %#x: %u spilled, %u of them commands", switches,
		spilled, commands);
	return commands;
}

static void vt_spill_more(struct vt *t)
{
	u32 entries = vt_csr(t, VUHCA_CSR_DOORBELL_BUFFER_ENTRIES_OFF);
	struct vt_settings settings;
	struct vt_qp_set *set;

	if (!vt_may_slow(t))
		return;
	if (entries + 32 > VT_QP_SET_MAX)
		return vt_skip(t, "the buffer has %u entries", entries);
	set = vt_qp_set_create(t, entries + 32);
	VT_REQUIRE(t, set, "no QPs");
	vt_save(t, &settings);
	VT_EQUAL(t, vt_spill_by(set, VUHCA_CSR_DOORBELL_POLICY_SPILL_COMMANDS_MASK),
		 1);
	VT_EQUAL(t, vt_spill_by(set, VUHCA_CSR_DOORBELL_POLICY_SPILL_BUFFERED_MASK),
		 0);
	vt_restore(t, &settings);
	vt_qp_set_destroy(set);
}

static u32 vt_low(struct vt *t)
{
	return (vt_csr(t, VUHCA_CSR_DOORBELL_THRESHOLDS_OFF) &
		VUHCA_CSR_DOORBELL_THRESHOLDS_LOW_MASK) >>
	       VUHCA_CSR_DOORBELL_THRESHOLDS_LOW_SHIFT;
}

static void vt_adapt(struct vt *t)
{
	vuhca_write_csr(t->dev, VUHCA_CSR_DOORBELL_POLICY_OFF,
			vt_policy(VUHCA_OVERFLOW_POLICY_NEWEST,
				  VUHCA_LINK_CHECK_READ) |
			VUHCA_CSR_DOORBELL_POLICY_ADAPTIVE_MASK);
}

/* Spilling that no read has caused was too early: the threshold falls. */
static void vt_falls(struct vt *t)
{
	struct vt_settings settings;
	struct vt_qp_set *set;
	unsigned int i;
	u32 before;

	if (!vt_may_disable(t))
		return vt_skip(t, "this function cannot disable the adapter");
	set = vt_qp_set_create(t, VT_NARROW_QUEUES);
	VT_REQUIRE(t, set, "no QPs");
	vt_shrink(t, &settings);
	vt_adapt(t);
	before = vt_low(t);
	for (i = 0; i < 3; i++)
		vt_burst(set, 2);
	VT_CHECK(t, vt_low(t) + 3 <= before, "from %u to %u", before, vt_low(t));
	vt_note(t, "the low threshold falls from %u to %u", before, vt_low(t));
	vt_expect_empty(t);
	vt_restore(t, &settings);
	vt_qp_set_destroy(set);
}

/*
 * One queue is linked and its command is read into the only dedicated buffer.
 * If all others ring before that read completes, reads get stuck while many
 * entries are free. Returns whether the threshold rose. A busy machine may ring
 * too late: the command is executed, and nothing gets stuck.
 */
static bool vt_sticks(struct vt_qp_set *set, u32 read_ms)
{
	struct vt *t = set->t;
	u32 before = vt_low(t), launches;

	vt_qp_set_post(set, 1);
	launches = vt_csr(t, VUHCA_CSR_LANE_LAUNCHES_OFF);
	vuhca_write_csr(t->dev, VUHCA_CSR_DMA_LATENCY_OFF,
			read_ms * NSEC_PER_MSEC);
	vuhca_ring_doorbell(set->qps[0], set->completed[0]);
	/* Checked first, because the read shows that the doorbell was taken. */
	VT_WAIT(t, (vt_csr(t, VUHCA_CSR_BUS_READS_OFF) &&
		    !vt_csr(t, VUHCA_CSR_DOORBELL_BUFFER_USED_OFF)) ||
		   vt_csr(t, VUHCA_CSR_LANE_LAUNCHES_OFF) != launches);
	vt_qp_set_ring(set);
	VT_WAIT(t, vt_low(t) > before ||
		   vt_csr(t, VUHCA_CSR_LANE_LAUNCHES_OFF) != launches);
	vuhca_write_csr(t->dev, VUHCA_CSR_DMA_LATENCY_OFF, 0);
	vt_qp_set_completes(set);
	return vt_low(t) > before;
}

/* Reads that got stuck while many entries were free: the threshold rises. */
static void vt_rises(struct vt *t)
{
	struct vuhca_resource_share share;
	u32 before;
	struct vt_settings settings;
	unsigned int attempt = 0;
	struct vt_qp_set *set;
	bool rose = false;

	if (!vt_may_slow(t))
		return;
	VT_EQUAL(t, vuhca_query_resources(t->dev, 0, &share), 0);
	if (le32_to_cpu(share.scheduler_buffers) > 1 ||
	    vt_csr(t, VUHCA_CSR_DOORBELL_BUFFER_ENTRIES_OFF) <= VT_WIDE_QUEUES)
		return vt_skip(t, "with more than one dedicated buffer, or a small scheduler buffer, free entries tell first");
	set = vt_qp_set_create(t, VT_WIDE_QUEUES);
	VT_REQUIRE(t, set, "no QPs");
	vt_save(t, &settings);
	for (; !rose && attempt < VT_ATTEMPTS; attempt++) {
		vt_adapt(t);
		before = vt_low(t);
		rose = vt_sticks(set, vt_read_ms(attempt));
	}
	if (VT_CHECK(t, rose, "not in %u attempts", attempt))
		vt_note(t, "the low threshold rises from %u to %u", before,
			vt_low(t));
	vt_expect_empty(t);
	vt_restore(t, &settings);
	vt_qp_set_destroy(set);
}

static const struct vt_case vt_cases[] = {
	{ "deadlock", vt_deadlock },
	{ "spill", vt_spill },
	{ "spill-more", vt_spill_more },
	{ "threshold-falls", vt_falls },
	{ "threshold-rises", vt_rises },
};
VT_SUITE(overload, vt_cases);
