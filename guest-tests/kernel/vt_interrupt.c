// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* MSI-X: each vector, masking with an event pending, lost interrupts. */
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/msi.h>

#include "vt.h"

static void vt_vectors(struct vt *t)
{
	unsigned int i, round;

	for (i = 0; i < t->dev->eq_count; i++) {
		struct vuhca_eq *eq = &t->dev->eqs[i];
		u64 before;

		for (round = 0; round < 5; round++) {
			before = READ_ONCE(eq->interrupts);
			vuhca_write_csr(t->dev, VUHCA_CSR_INTERRUPT_TRIGGER_OFF,
					i);
			if (!VT_WAIT(t, READ_ONCE(eq->interrupts) > before))
				break;
		}
	}
	vt_note(t, "%u vectors", t->dev->eq_count);
}

/* Vectors that were not requested, and vectors that do not exist. */
static void vt_other_vectors(struct vt *t)
{
	vuhca_write_csr(t->dev, VUHCA_CSR_INTERRUPT_TRIGGER_OFF,
			VUHCA_VECTOR_COUNT - 1);
	vuhca_write_csr(t->dev, VUHCA_CSR_INTERRUPT_TRIGGER_OFF,
			VUHCA_VECTOR_COUNT);
	vuhca_write_csr(t->dev, VUHCA_CSR_INTERRUPT_TRIGGER_OFF, 0xffff);
	vt_clear_first_fault(t);
	vt_alive(t);
}

/*
 * An event of a masked vector stays pending, and interrupts once the vector is
 * unmasked.
 */
static void vt_masked(struct vt *t)
{
	struct vuhca_eq *eq = t->send_cq.cq->eq;
	struct irq_data *irq = irq_get_irq_data(eq->irq);
	unsigned int round;
	struct vuhca_wc wc;
	u64 interrupts;

	for (round = 1; round <= 5; round++) {
		vuhca_arm_cq(t->send_cq.cq, false);
		disable_irq(eq->irq);
		pci_msi_mask_irq(irq);
		interrupts = READ_ONCE(eq->interrupts);
		VT_EQUAL(t, vt_post_nops(t->end[0].qp, 1), 0);
		VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_TIMEOUT_MS), 1);
		msleep(VT_QUIET_MS);
		VT_EQUAL(t, READ_ONCE(eq->interrupts), interrupts);
		VT_EQUAL(t, atomic_read(&t->send_cq.completions), round - 1);
		/* Unmask before polling: the event must come by the vector. */
		enable_irq(eq->irq);
		pci_msi_unmask_irq(irq);
		VT_CHECK(t, vt_wait_event(&t->send_cq, round, VT_TIMEOUT_MS),
			 "no event after unmasking");
		VT_CHECK(t, READ_ONCE(eq->interrupts) > interrupts,
			 "no interrupt after unmasking");
	}
}

/* Masking and unmasking without an event pending raises no interrupt. */
static void vt_masked_idle(struct vt *t)
{
	struct vuhca_eq *eq = t->send_cq.cq->eq;
	struct irq_data *irq = irq_get_irq_data(eq->irq);
	u64 interrupts = READ_ONCE(eq->interrupts);
	unsigned int round;

	for (round = 0; round < 10; round++) {
		pci_msi_mask_irq(irq);
		pci_msi_unmask_irq(irq);
	}
	msleep(VT_QUIET_MS);
	VT_EQUAL(t, READ_ONCE(eq->interrupts), interrupts);
}

/*
 * The deadman finds an event without an interrupt. The adapter's event timers
 * cause such events; here the control bits of the queue request no interrupt.
 */
static void vt_deadman(struct vt *t)
{
	struct vuhca_eq *eq = t->send_cq.cq->eq;
	struct vuhca_eq_attributes change = {
		.attribute_mask = cpu_to_le32(VUHCA_EQ_MASK_CONTROLS),
		.controls = VUHCA_EQ_CONTROL_NOTHING,
	};
	u64 stranded = READ_ONCE(eq->stranded);
	struct vuhca_answer answer;
	struct vuhca_wc wc;

	vt_command(t, VUHCA_MANAGEMENT_OPCODE_MODIFY_EQ, eq->eqn, &change,
		   sizeof(change), &answer);
	VT_REQUIRE(t, answer.status == VUHCA_MANAGEMENT_STATUS_OK, "modify");
	vuhca_arm_cq(t->send_cq.cq, false);
	VT_EQUAL(t, vt_post_nops(t->end[0].qp, 1), 0);
	VT_CHECK(t, vt_wait_event(&t->send_cq, 1, VT_TIMEOUT_MS), "not found");
	VT_EQUAL(t, READ_ONCE(eq->stranded), stranded + 1);
	VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_TIMEOUT_MS), 1);
	change.controls = VUHCA_EQ_CONTROL_INTERRUPT;
	vt_command(t, VUHCA_MANAGEMENT_OPCODE_MODIFY_EQ, eq->eqn, &change,
		   sizeof(change), &answer);
	VT_EQUAL(t, answer.status, VUHCA_MANAGEMENT_STATUS_OK);
}

/* Management commands are answered by event as well as by polling. */
static void vt_management_events(struct vt *t)
{
	struct vuhca_eq *eq = &t->dev->eqs[0];
	u64 missed = t->dev->admin.missed_events;
	u64 events = READ_ONCE(eq->events);
	struct vuhca_adapter_attributes adapter;
	unsigned int i;

	for (i = 0; i < 10; i++)
		VT_EQUAL(t, vuhca_query_adapter(t->dev, &adapter), 0);
	/* Events of earlier commands may still have been under way. */
	VT_WAIT(t, READ_ONCE(eq->events) >= events + 10);
	VT_EQUAL(t, t->dev->admin.missed_events, missed);
}

static const struct vt_case vt_cases[] = {
	{ "vectors", vt_vectors },
	{ "other-vectors", vt_other_vectors },
	{ "masked", vt_masked, true },
	{ "masked-idle", vt_masked_idle },
	{ "deadman", vt_deadman },
	{ "management", vt_management_events },
};
VT_SUITE(interrupt, vt_cases);
