// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Shares that shrink below what is in use: resources in use stay until they are
 * released, and other functions get them only then. Runs on a physical function
 * with others beside it.
 */
#include "vt_collect_command.h"
#include "vt_share_request.h"

#define VT_OTHER	1
#define VT_HELD		4

/* False, with the case skipped or failed, when there are not two functions. */
static bool vt_two_shares(struct vt *t, struct vuhca_resource_share *own,
			  struct vuhca_resource_share *other)
{
	if (t->dev->function) {
		vt_skip(t, "a virtual function");
		return false;
	}
	if (!VT_EQUAL(t, vuhca_query_resources(t->dev, 0, own), 0))
		return false;
	if (own->functions < 2) {
		vt_skip(t, "there is no other function");
		return false;
	}
	return VT_EQUAL(t, vuhca_query_resources(t->dev, VT_OTHER, other), 0);
}

/* Writes half a command, which keeps the buffer and a PCB in use. */
static bool vt_hold(struct vt *t, struct vuhca_vcb **held)
{
	struct vuhca_vcb *vcb = vuhca_alloc_vcb(t->dev, 1);

	if (!VT_CHECK(t, !IS_ERR(vcb), "%pe", vcb))
		return false;
	writeq(0, vcb->page + 8);
	vt_drain_stores();
	*held = vcb;
	return VT_CHECK(t, vt_vcb_in_use(t, vcb), "page %u", vcb->index);
}

static int vt_move_other(struct vt *t, u32 base, struct vuhca_answer *answer)
{
	const struct vt_change change = {
		VUHCA_RESOURCE_KIND_VCB_BASE, VT_NONE, VT_OTHER, base,
	};
	struct vuhca_resource_change encoded = vt_encode(&change);

	return vuhca_request_resources(t->dev, &encoded, 1, answer);
}

/*
 * The VCBs of the other function are moved to begin with one that is given back
 * while in use.
 */
static void vt_vcbs(struct vt *t)
{
	struct vuhca_resource_share own, other, moved;
	struct vuhca_answer answer;
	u32 number, home;
	struct vuhca_vcb *held;

	if (!vt_two_shares(t, &own, &other))
		return;
	VT_REQUIRE(t, vt_hold(t, &held), "no buffer");
	home = le32_to_cpu(other.vcb_base);
	number = le32_to_cpu(own.vcb_base) + held->index;
	VT_EQUAL(t, vt_ask(t, VUHCA_RESOURCE_KIND_VCBS, VT_NONE, 0, held->index),
		 0);
	VT_EQUAL(t, vt_move_other(t, number, &answer), -EAGAIN);
	VT_EQUAL(t, answer.status, VUHCA_MANAGEMENT_STATUS_CONVERGING);
	VT_EQUAL(t, answer.limit, home);
	VT_EQUAL(t, vuhca_query_resources(t->dev, VT_OTHER, &moved), 0);
	VT_EQUAL(t, le32_to_cpu(moved.vcb_base), home);
	vuhca_vcb_cancel(held);
	VT_EQUAL(t, vt_move_other(t, number, &answer), 0);
	VT_EQUAL(t, vuhca_query_resources(t->dev, VT_OTHER, &moved), 0);
	VT_EQUAL(t, le32_to_cpu(moved.vcb_base), number);
	VT_EQUAL(t, le32_to_cpu(moved.vcbs), le32_to_cpu(other.vcbs));
	VT_EQUAL(t, vt_move_other(t, home, &answer), 0);
	VT_EQUAL(t, vt_ask(t, VUHCA_RESOURCE_KIND_VCBS, VT_NONE, 0,
			   le32_to_cpu(own.vcbs)), 0);
	vuhca_free_vcb(t->dev, held);
	vt_alive(t);
}

static u32 vt_bound(struct vt *t)
{
	return vt_csr(t, VUHCA_CSR_PCB_IN_USE_OFF + VUHCA_CSR_PCB_IN_USE_STRIDE);
}

/* Both functions get their PCBs back, and all else is as before. */
static void vt_give_pcbs_back(struct vt *t,
			      const struct vuhca_resource_share *own,
			      const struct vuhca_resource_share *other)
{
	struct vuhca_resource_share last;

	VT_EQUAL(t, vt_ask(t, VUHCA_RESOURCE_KIND_PCBS, VT_NONE, VT_OTHER,
			   le32_to_cpu(other->pcbs)), 0);
	VT_EQUAL(t, vt_ask(t, VUHCA_RESOURCE_KIND_PCBS, VT_NONE, 0,
			   le32_to_cpu(own->pcbs)), 0);
	VT_EQUAL(t, vt_ask(t, VUHCA_RESOURCE_KIND_PCBS, 1, 0,
			   le32_to_cpu(own->pcbs_level1)), 0);
	VT_EQUAL(t, vt_ask(t, VUHCA_RESOURCE_KIND_PCBS, 0, 0,
			   le32_to_cpu(own->pcbs_level0)), 0);
	VT_EQUAL(t, vuhca_query_resources(t->dev, 0, &last), 0);
	VT_CHECK(t, !memcmp(own, &last, sizeof(last)), "not as before");
}

/* The other function gets all PCBs but one; bound ones stay until released. */
static void vt_pcbs(struct vt *t)
{
	struct vuhca_resource_share own, other;
	struct vuhca_vcb *held[VT_HELD];
	unsigned int i;
	u32 given;

	if (!vt_two_shares(t, &own, &other))
		return;
	VT_REQUIRE(t, VT_WAIT(t, !vt_bound(t)), "PCBs in use");
	for (i = 0; i < VT_HELD; i++)
		VT_REQUIRE(t, vt_hold(t, &held[i]), "%u", i);
	given = le32_to_cpu(own.pcbs) - 1;
	VT_EQUAL(t, vt_ask(t, VUHCA_RESOURCE_KIND_PCBS, VT_NONE, 0, 1), 0);
	VT_EQUAL(t, vt_ask(t, VUHCA_RESOURCE_KIND_PCBS, VT_NONE, VT_OTHER,
			   le32_to_cpu(other.pcbs) + given), 0);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_PCB_COUNT_OFF), 1);
	for (; i; i--) {
		VT_EQUAL(t, vt_bound(t), i);
		vuhca_free_vcb(t->dev, held[i - 1]);
	}
	VT_EQUAL(t, vt_bound(t), 0);
	vt_roundtrip(t, 0, 1, 100, VUHCA_POST_COLLECT);
	vt_give_pcbs_back(t, &own, &other);
}

/*
 * Writes to an unused collect buffer; true when it got a PCB beside the VT_HELD
 * others.
 */
static bool vt_one_more(struct vt *t, struct vuhca_vcb *vcb)
{
	vuhca_vcb_cancel(vcb);
	writeq(0, vcb->page + 8);
	vt_drain_stores();
	return vt_bound(t) == VT_HELD + 1;
}

static void vt_set_lending(struct vt *t, bool on)
{
	u32 control = vuhca_read_csr(t->dev, VUHCA_CSR_ADAPTER_CONTROL_OFF) &
		      ~VUHCA_CSR_ADAPTER_CONTROL_LEND_IDLE_MASK;

	vuhca_write_csr(t->dev, VUHCA_CSR_ADAPTER_CONTROL_OFF, control |
			(on ? VUHCA_CSR_ADAPTER_CONTROL_LEND_IDLE_MASK : 0));
}

/*
 * With as many PCBs as incomplete commands and no shared ones, one more command
 * is refused. Idle PCBs of the other function serve it once they are lent, and
 * no longer when lending ends.
 */
static void vt_lent(struct vt *t)
{
	struct vuhca_resource_share own, other;
	struct vuhca_vcb *held[VT_HELD], *more;
	unsigned int i;
	u32 rest;

	if (!vt_two_shares(t, &own, &other))
		return;
	VT_REQUIRE(t, VT_WAIT(t, !vt_bound(t)), "PCBs in use");
	rest = le32_to_cpu(own.pcbs) + le32_to_cpu(own.pcbs_shared) - VT_HELD;
	VT_EQUAL(t, vt_ask(t, VUHCA_RESOURCE_KIND_PCBS, VT_NONE, 0, VT_HELD), 0);
	VT_EQUAL(t, vt_ask(t, VUHCA_RESOURCE_KIND_PCBS, VT_NONE, VT_OTHER,
			   le32_to_cpu(other.pcbs) + rest), 0);
	for (i = 0; i < VT_HELD; i++)
		VT_REQUIRE(t, vt_hold(t, &held[i]), "%u", i);
	more = vuhca_alloc_vcb(t->dev, 1);
	VT_REQUIRE(t, !IS_ERR(more), "%pe", more);
	VT_CHECK(t, !vt_one_more(t, more), "got a PCB of the other function");
	vt_set_lending(t, true);
	VT_WAIT(t, vt_one_more(t, more));
	vt_set_lending(t, false);
	VT_EQUAL(t, vt_bound(t), VT_HELD + 1);
	VT_CHECK(t, !vt_one_more(t, more), "got a PCB that is no longer lent");
	vuhca_free_vcb(t->dev, more);
	while (i)
		vuhca_free_vcb(t->dev, held[--i]);
	vt_give_pcbs_back(t, &own, &other);
	vt_alive(t);
}

static const struct vt_case vt_cases[] = {
	{ "vcbs", vt_vcbs },
	{ "pcbs", vt_pcbs },
};
VT_SUITE(converge, vt_cases);

/* A suite of its own: the other function must be idle. */
static const struct vt_case vt_lend_cases[] = {
	{ "idle", vt_lent },
};
VT_SUITE(lend, vt_lend_cases);
