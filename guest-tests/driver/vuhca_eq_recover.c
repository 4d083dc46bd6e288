// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Recovery of event queues that overran: their entries are handled and
 * returned, the error is cleared, and each CQ that is armed and has completions
 * posts its event again. Asynchronous events that were lost are not repeated.
 */
#include "vuhca_internal.h"

static bool vuhca_eq_has_failed(struct vuhca_eq *eq)
{
	struct vuhca_eq_attributes attributes;

	return eq->eqn && !vuhca_query_eq(eq, &attributes) &&
	       vuhca_eq_attributes_get_error(&attributes);
}

/* The adapter posts the event of an armed CQ again if it was lost. */
static void vuhca_eq_repeat(struct vuhca_eq *eq)
{
	struct vuhca_dev *dev = eq->dev;
	unsigned long number;
	struct vuhca_cq *cq;

	spin_lock_irq(&eq->lock);
	xa_for_each(&dev->cqs, number, cq)
		if (cq->eq == eq)
			vuhca_eq_clear_pending(dev, cq->cqn);
	spin_unlock_irq(&eq->lock);
}

static void vuhca_eq_recover(struct vuhca_eq *eq)
{
	struct vuhca_eq_attributes attributes = {
		.attribute_mask = cpu_to_le32(VUHCA_EQ_MASK_ERROR),
	};
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_MODIFY_EQ,
		.object = eq->eqn,
		.payload = &attributes,
		.payload_bytes = sizeof(attributes),
	};
	struct vuhca_answer answer;
	int err;

	spin_lock_irq(&eq->lock);
	if (eq->eqn)
		vuhca_eq_serve(eq);
	spin_unlock_irq(&eq->lock);
	err = vuhca_admin_execute(eq->dev, &command, &answer);
	if (!err)
		vuhca_eq_repeat(eq);
	eq->recoveries++;
	dev_warn_ratelimited(&eq->dev->pdev->dev,
			     "event queue %u overran; recovery: %d\n",
			     eq->index, err);
}

static void vuhca_eqs_recover(struct work_struct *work)
{
	struct vuhca_dev *dev = container_of(work, struct vuhca_dev,
					     eq_recovery);
	unsigned int i;

	for (i = 0; vuhca_is_up(dev) && i < dev->eq_count; i++)
		if (vuhca_eq_has_failed(&dev->eqs[i]))
			vuhca_eq_recover(&dev->eqs[i]);
}

void vuhca_eqs_recovery_init(struct vuhca_dev *dev)
{
	INIT_WORK(&dev->eq_recovery, vuhca_eqs_recover);
}

/*
 * Event handler: an event queue has failed. The recovery finds out which one.
 */
void vuhca_eqs_failed(struct vuhca_dev *dev)
{
	schedule_work(&dev->eq_recovery);
}

/*
 * Tick of the deadman: the queue of asynchronous events cannot report its own
 * failure, but the adapter counts it.
 */
void vuhca_eqs_check_overruns(struct vuhca_dev *dev)
{
	u32 overruns = vuhca_read_csr(dev, VUHCA_CSR_FAULT_COUNT_OFF +
				      VUHCA_FAULT_KIND_EQ_OVERRUN *
				      VUHCA_CSR_FAULT_COUNT_STRIDE);

	if (overruns == dev->eq_overruns)
		return;
	dev->eq_overruns = overruns;
	vuhca_eqs_failed(dev);
}
