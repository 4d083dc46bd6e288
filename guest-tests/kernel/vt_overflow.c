// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * More doorbells than the adapter has room for. While it is disabled they pile
 * up on its bus. Once enabled, it must spill them, read them back, or search
 * all send queues, and every command is executed once. The driver provides the
 * overflow buffer, unless a case provides another one.
 */
#include "vt_overflow.h"

#define VT_QUEUES	40
/* A ring of the smallest size, in the memory of the case. */
#define VT_RING_AT	65536
#define VT_RING_LOG2	VUHCA_OVERFLOW_MIN_LOG2

u32 vt_policy(u32 overflow, u32 link_check)
{
	return overflow << VUHCA_CSR_DOORBELL_POLICY_OVERFLOW_SHIFT |
	       link_check << VUHCA_CSR_DOORBELL_POLICY_LINK_CHECK_SHIFT;
}

static u32 vt_control(u32 entries_log2)
{
	return VUHCA_CSR_OVERFLOW_CONTROL_ENABLE_MASK |
	       entries_log2 << VUHCA_CSR_OVERFLOW_CONTROL_ENTRIES_LOG2_SHIFT;
}

void vt_save(struct vt *t, struct vt_settings *settings)
{
	settings->policy = vt_csr(t, VUHCA_CSR_DOORBELL_POLICY_OFF);
	settings->thresholds =
		vt_csr(t, VUHCA_CSR_DOORBELL_THRESHOLDS_OFF);
}

/*
 * Returns whether this function can set the time of reads; skips the case if
 * not.
 */
bool vt_may_slow(struct vt *t)
{
	if (!t->dev->function)
		return true;
	vt_skip(t, "a virtual function cannot set the time of reads");
	return false;
}

/* Sets the thresholds so that two doorbells in the buffer are one too many. */
void vt_shrink(struct vt *t, struct vt_settings *settings)
{
	u32 entries = vt_csr(t, VUHCA_CSR_DOORBELL_BUFFER_ENTRIES_OFF);

	vt_save(t, settings);
	vuhca_write_csr(t->dev, VUHCA_CSR_DOORBELL_THRESHOLDS_OFF,
			(entries - 1) << VUHCA_CSR_DOORBELL_THRESHOLDS_LOW_SHIFT |
			entries << VUHCA_CSR_DOORBELL_THRESHOLDS_HIGH_SHIFT);
}

void vt_restore(struct vt *t, const struct vt_settings *settings)
{
	vuhca_write_csr(t->dev, VUHCA_CSR_DOORBELL_THRESHOLDS_OFF,
			settings->thresholds);
	vuhca_write_csr(t->dev, VUHCA_CSR_DOORBELL_POLICY_OFF, settings->policy);
	vuhca_overflow_start(t->dev);
	VT_CHECK(t, vt_csr(t, VUHCA_CSR_OVERFLOW_CONTROL_OFF) &
		 VUHCA_CSR_OVERFLOW_CONTROL_ENABLE_MASK, "the driver's buffer");
}

/* Rings for all queues at once and expects that every command completes. */
bool vt_burst(struct vt_qp_set *set, unsigned int each)
{
	vt_qp_set_post(set, each);
	vt_disable(set->t, true);
	vt_qp_set_ring(set);
	vt_disable(set->t, false);
	return vt_qp_set_completes(set);
}

/* A sweep goes on after the last command that it has found. */
void vt_expect_empty(struct vt *t)
{
	VT_WAIT(t, !vt_csr(t, VUHCA_CSR_OVERFLOW_STATUS_OFF));
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_OVERFLOW_WRITTEN_OFF),
		 vt_csr(t, VUHCA_CSR_OVERFLOW_READ_OFF));
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_DOORBELL_BUFFER_USED_OFF), 0);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_DOORBELLS_INBOUND_OFF), 0);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_BUS_READS_OFF), 0);
}

/* Doorbells are spilled and read back, with each policy and each link check. */
static void vt_spill(struct vt *t)
{
	u32 spilled, drained, lost, checks, policy, link_check;
	struct vt_settings settings;
	struct vt_qp_set *set;

	if (!vt_may_disable(t))
		return vt_skip(t, "this function cannot disable the adapter");
	set = vt_qp_set_create(t, VT_QUEUES);
	VT_REQUIRE(t, set, "no QPs");
	vt_shrink(t, &settings);
	lost = vt_csr(t, VUHCA_CSR_DOORBELLS_LOST_OFF);
	for (policy = VUHCA_OVERFLOW_POLICY_NEWEST;
	     policy <= VUHCA_OVERFLOW_POLICY_MOST_SPILLED; policy++) {
		for (link_check = VUHCA_LINK_CHECK_READ;
		     link_check <= VUHCA_LINK_CHECK_COMPARE_SWAP; link_check++) {
			spilled = vt_csr(t, VUHCA_CSR_DOORBELLS_SPILLED_OFF);
			drained = vt_csr(t, VUHCA_CSR_DOORBELLS_DRAINED_OFF);
			checks = vt_csr(t, VUHCA_CSR_LINK_CHECKS_OFF);
			vuhca_write_csr(t->dev, VUHCA_CSR_DOORBELL_POLICY_OFF,
					vt_policy(policy, link_check));
			vt_burst(set, 3);
			spilled = vt_csr(t, VUHCA_CSR_DOORBELLS_SPILLED_OFF) -
				  spilled;
			VT_CHECK(t, spilled > VT_QUEUES / 2,
				 "policy %u: %u spilled", policy, spilled);
			VT_EQUAL(t, vt_csr(t, VUHCA_CSR_DOORBELLS_DRAINED_OFF) -
				 drained, spilled);
			VT_CHECK(t, vt_csr(t, VUHCA_CSR_LINK_CHECKS_OFF) -
				 checks >= VT_QUEUES, "links not checked");
			vt_expect_empty(t);
		}
	}
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_DOORBELLS_LOST_OFF), lost);
	vt_restore(t, &settings);
	vt_qp_set_destroy(set);
}

/* @log2 0: no ring. */
static void vt_too_small(struct vt *t, u32 log2)
{
	u32 lost = vt_csr(t, VUHCA_CSR_DOORBELLS_LOST_OFF);
	u32 sweeps = vt_csr(t, VUHCA_CSR_SWEEPS_OFF);
	struct vt_settings settings;
	struct vt_qp_set *set;
	unsigned int i;

	if (!vt_may_disable(t))
		return vt_skip(t, "this function cannot disable the adapter");
	set = vt_qp_set_create(t, VT_QUEUES);
	VT_REQUIRE(t, set, "no QPs");
	vt_shrink(t, &settings);
	memset(t->memory + VT_RING_AT, VT_POISON, 4096);
	vuhca_write_csr(t->dev, VUHCA_CSR_OVERFLOW_CONTROL_OFF, 0);
	vuhca_write_csr64(t->dev, VUHCA_CSR_OVERFLOW_BASE_OFF,
			  t->dma + VT_RING_AT);
	if (log2)
		vuhca_write_csr(t->dev, VUHCA_CSR_OVERFLOW_CONTROL_OFF,
				vt_control(log2));
	for (i = 0; i < 5; i++)
		vt_burst(set, 2);
	VT_CHECK(t, vt_csr(t, VUHCA_CSR_DOORBELLS_LOST_OFF) > lost,
		 "none was lost");
	VT_CHECK(t, vt_csr(t, VUHCA_CSR_SWEEPS_OFF) > sweeps,
		 "no sweep");
	vt_expect_empty(t);
	if (log2)
		VT_CHECK(t, !vt_is_poison(t->memory + VT_RING_AT, 64),
			 "nothing was written");
	log2 = log2 ? VUHCA_OVERFLOW_ENTRY_BYTES << log2 : 0;
	VT_CHECK(t, vt_is_poison(t->memory + VT_RING_AT + log2, 4096 - log2),
		 "written beyond the ring");
	vt_restore(t, &settings);
	vt_qp_set_destroy(set);
}

static void vt_full(struct vt *t)
{
	vt_too_small(t, VT_RING_LOG2);
}

static void vt_absent(struct vt *t)
{
	vt_too_small(t, 0);
}

/*
 * The deadlock of US 9,069,485 par. 74 with the policy that permits it, and its end.
 */
static void vt_deadlock(struct vt *t)
{
	u32 entries = vt_csr(t, VUHCA_CSR_DOORBELL_BUFFER_ENTRIES_OFF);
	u32 policy = vt_csr(t, VUHCA_CSR_DOORBELL_POLICY_OFF);
	struct vt_qp_set *set;

	if (!vt_may_disable(t) || entries + 32 > VT_QP_SET_MAX)
		return vt_skip(t, "this function cannot disable the adapter, or large buffers");
	set = vt_qp_set_create(t, entries + 32);
	VT_REQUIRE(t, set, "no QPs");
	vuhca_write_csr(t->dev, VUHCA_CSR_DOORBELL_POLICY_OFF,
			vt_policy(VUHCA_OVERFLOW_POLICY_OFF,
				  VUHCA_LINK_CHECK_READ));
	vt_qp_set_post(set, 1);
	vt_disable(t, true);
	vt_qp_set_ring(set);
	vt_disable(t, false);
	VT_WAIT(t, vt_csr(t, VUHCA_CSR_OVERFLOW_STATUS_OFF) ==
		VUHCA_CSR_OVERFLOW_STATUS_STALLED_MASK);
	msleep(VT_QUIET_MS);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_OVERFLOW_STATUS_OFF),
		 VUHCA_CSR_OVERFLOW_STATUS_STALLED_MASK);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_DOORBELL_BUFFER_USED_OFF),
		 entries);
	vuhca_write_csr(t->dev, VUHCA_CSR_DOORBELL_POLICY_OFF,
			vt_policy(VUHCA_OVERFLOW_POLICY_NEWEST,
				  VUHCA_LINK_CHECK_READ));
	vt_qp_set_completes(set);
	vt_expect_empty(t);
	vuhca_write_csr(t->dev, VUHCA_CSR_DOORBELL_POLICY_OFF, policy);
	vt_qp_set_destroy(set);
}

/* A ring at a wrong address or of a wrong size is refused. */
static void vt_refused_rings(struct vt *t)
{
	static const struct {
		u32 displacement;
		u32 entries_log2;
	} rings[] = {
		{ 8, 4 },
		{ 0, VUHCA_OVERFLOW_MIN_LOG2 - 1 },
		{ 0, VUHCA_OVERFLOW_MAX_LOG2 + 1 },
	};
	u32 faults = vt_fault_count(t, VUHCA_FAULT_KIND_OVERFLOW_CONTROL);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rings); i++) {
		vuhca_write_csr64(t->dev, VUHCA_CSR_OVERFLOW_BASE_OFF,
				  t->dma + VT_RING_AT + rings[i].displacement);
		vuhca_write_csr(t->dev, VUHCA_CSR_OVERFLOW_CONTROL_OFF,
				vt_control(rings[i].entries_log2));
		VT_CHECK(t, !(vt_csr(t, VUHCA_CSR_OVERFLOW_CONTROL_OFF) &
			      VUHCA_CSR_OVERFLOW_CONTROL_ENABLE_MASK),
			 "ring %u was taken", i);
		VT_EQUAL(t, vt_fault_count(t, VUHCA_FAULT_KIND_OVERFLOW_CONTROL),
			 ++faults);
	}
	vuhca_overflow_start(t->dev);
	VT_EQUAL(t, vt_fault_count(t, VUHCA_FAULT_KIND_OVERFLOW_CONTROL), faults);
	vt_roundtrip(t, 0, 1, 100, VUHCA_POST_DOORBELL);
}

/*
 * The driver provides a ring before it enables the function, also after a
 * reset.
 */
static void vt_given(struct vt *t)
{
	u32 control = vt_control(t->dev->overflow.entries_log2);

	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_OVERFLOW_CONTROL_OFF), control);
	VT_EQUAL(t, vuhca_read_csr64(t->dev, VUHCA_CSR_OVERFLOW_BASE_OFF),
		 t->dev->overflow.dma);
	VT_EQUAL(t, vuhca_reset(t->dev), 0);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_OVERFLOW_CONTROL_OFF), control);
	vt_alive(t);
}

static const struct vt_case vt_cases[] = {
	{ "spill", vt_spill },
	{ "full", vt_full },
	{ "absent", vt_absent },
	{ "deadlock", vt_deadlock },
	{ "refused-rings", vt_refused_rings },
	{ "given", vt_given },
};
VT_SUITE(overflow, vt_cases);
