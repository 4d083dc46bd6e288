// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* A set of small QPs that post and ring at once, and their completions. */
#include <linux/module.h>
#include <linux/slab.h>

#include "vt_qp_set.h"

/* Returns NULL, and fails the case, when the QPs were not created. */
struct vt_qp_set *vt_qp_set_create(struct vt *t, unsigned int count)
{
	struct vt_qp_options options = { .port = 1, .entries_log2 = 3, .sge = 1 };
	struct vt_qp_set *set = kzalloc(sizeof(*set), GFP_KERNEL);

	if (!VT_CHECK(t, set && count <= VT_QP_SET_MAX, "%u QPs", count)) {
		kfree(set);
		return NULL;
	}
	set->t = t;
	vt_hide_tails(t);
	for (; set->count < count; set->count++) {
		options.qos_level = set->count % VUHCA_QOS_LEVELS;
		set->qps[set->count] = vt_create_qp(t, NULL, &options);
		if (!set->qps[set->count]) {
			vt_qp_set_destroy(set);
			return NULL;
		}
	}
	return set;
}

void vt_qp_set_destroy(struct vt_qp_set *set)
{
	while (set->count)
		VT_EQUAL(set->t,
			 vuhca_destroy_qp(set->qps[--set->count]), 0);
	kfree(set);
}

/* Builds a signalled NOP in the send queue without a doorbell. */
bool vt_post_unseen(struct vuhca_qp *qp)
{
	struct vuhca_send_wr wr = {
		.opcode = VUHCA_SEND_OPCODE_NOP,
		.signaled = true,
	};
	size_t length;
	u16 sequence;
	void *slot;

	spin_lock_irq(&qp->sq.lock);
	wr.wr_id = qp->sq.tail;
	slot = vuhca_build_send_wqe(qp, &wr, &length, &sequence);
	if (slot)
		vuhca_publish_send_tail(qp);
	spin_unlock_irq(&qp->sq.lock);
	return slot;
}

void vt_qp_set_post(struct vt_qp_set *set, unsigned int each)
{
	unsigned int i, j;

	for (j = 0; j < each; j++)
		for (i = 0; i < set->count; i++)
			if (VT_CHECK(set->t, vt_post_unseen(set->qps[i]),
				     "QP %u is full", i))
				set->posted[i]++;
}

void vt_qp_set_ring(struct vt_qp_set *set)
{
	unsigned int i;

	for (i = 0; i < set->count; i++)
		vuhca_ring_doorbell(set->qps[i], set->completed[i]);
}

static void vt_qp_set_take(struct vt_qp_set *set, const struct vuhca_wc *wc)
{
	struct vt *t = set->t;
	unsigned int i;

	for (i = 0; i < set->count; i++)
		if (set->qps[i] == wc->qp)
			break;
	if (!VT_CHECK(t, i < set->count, "a completion of another QP"))
		return;
	VT_EQUAL(t, wc->status, VUHCA_COMPLETION_STATUS_SUCCESS);
	VT_CHECK(t, wc->sequence == set->completed[i] &&
		 (u16)wc->wr_id == set->completed[i],
		 "QP %u: command %u completes, not %u", i, wc->sequence,
		 set->completed[i]);
	set->completed[i]++;
}

/* Expects that all commands complete, once, in order within each QP. */
bool vt_qp_set_take_all(struct vt_qp_set *set)
{
	struct vt *t = set->t;
	unsigned int i, left = 0;
	struct vuhca_wc wc;

	for (i = 0; i < set->count; i++)
		left += (u16)(set->posted[i] - set->completed[i]);
	for (; left; left--) {
		if (!VT_CHECK(t, vt_poll(t->send_cq.cq, &wc, 1,
					 VT_TIMEOUT_MS) == 1,
			      "%u commands do not complete", left))
			return false;
		vt_qp_set_take(set, &wc);
	}
	return true;
}

/* Expects that all commands complete, and no others. */
bool vt_qp_set_completes(struct vt_qp_set *set)
{
	struct vt *t = set->t;
	struct vuhca_wc wc;

	return vt_qp_set_take_all(set) &&
	       VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_QUIET_MS), 0);
}

/* For a virtual function the host has the physical one act (tenant-run.ts). */
static bool helped;
module_param(helped, bool, 0644);
MODULE_PARM_DESC(helped, "The host passes requests of a virtual function to the physical one");

bool vt_may_disable(struct vt *t)
{
	return !t->dev->function || READ_ONCE(helped);
}

/*
 * Stops or resumes the execution of commands for all functions. Only the
 * physical function can; a virtual one requests it by a line of its report
 * (tenant-run.ts) and waits.
 */
void vt_disable(struct vt *t, bool disable)
{
	u32 control;

	if (t->dev->function) {
		vt_note(t, "host: adapter disable %u", disable);
		VT_WAIT(t, vuhca_adapter_disabled(t->dev) == disable);
		return;
	}
	control = vuhca_read_csr(t->dev, VUHCA_CSR_ADAPTER_CONTROL_OFF);
	if (disable)
		control |= VUHCA_CSR_ADAPTER_CONTROL_DISABLE_MASK;
	else
		control &= ~VUHCA_CSR_ADAPTER_CONTROL_DISABLE_MASK;
	vuhca_write_csr(t->dev, VUHCA_CSR_ADAPTER_CONTROL_OFF, control);
	VT_EQUAL(t, vuhca_adapter_disabled(t->dev), disable);
}
