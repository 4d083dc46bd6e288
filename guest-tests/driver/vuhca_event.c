// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Events: entries of event queues are consumed in the interrupt handler and
 * handed to the objects they are about. A slow timer looks for events whose
 * interrupt got lost or was held back by the adapter's event timers.
 */
#include <linux/module.h>

#include "vuhca.h"

#define VUHCA_DEADMAN_MS	500

static bool deadman = true;
module_param(deadman, bool, 0644);
MODULE_PARM_DESC(deadman, "Look for events and credits that nothing told of");

/* For tests. Returns what it was. */
bool vuhca_set_deadman(bool on)
{
	return xchg(&deadman, on);
}
EXPORT_SYMBOL_GPL(vuhca_set_deadman);

static struct vuhca_event_entry *vuhca_eq_next(struct vuhca_eq *eq)
{
	u32 slot = eq->consumed & (BIT(eq->entries_log2) - 1);
	struct vuhca_event_entry *entry = eq->entries + slot;

	if (le32_to_cpu(READ_ONCE(entry->sequence)) != eq->consumed + 1)
		return NULL;
	/* The body is read after the sequence word that made it valid. */
	dma_rmb();
	return entry;
}

static void vuhca_eq_give_back(struct vuhca_eq *eq)
{
	struct vuhca_eq_consumer word = {};

	vuhca_eq_consumer_set_eqn(&word, eq->eqn);
	word.consumed = cpu_to_le32(eq->consumed);
	vuhca_write_eight(eq->dev->csr + VUHCA_CSR_EQ_CONSUMER_OFF, &word);
}

static void vuhca_cq_event(struct vuhca_dev *dev,
			   const struct vuhca_event_entry *entry)
{
	u32 cqn = vuhca_event_entry_get_object_number(entry);
	struct vuhca_cq *cq = xa_load(&dev->cqs, cqn);

	if (!cq)
		return;
	if (entry->event_type == VUHCA_EVENT_TYPE_COMPLETION) {
		if (cq->completion)
			cq->completion(cq, cq->context);
	} else if (cq->event) {
		cq->event(entry->event_type, entry->fault_kind, cq->context);
	}
}

static void vuhca_qp_event(struct vuhca_dev *dev,
			   const struct vuhca_event_entry *entry)
{
	u32 qpn = vuhca_event_entry_get_object_number(entry);
	struct vuhca_qp *qp = xa_load(&dev->qps, qpn);

	if (qp && qp->event)
		qp->event(entry->event_type, entry->fault_kind, qp->context);
}

static void vuhca_srq_event(struct vuhca_dev *dev,
			    const struct vuhca_event_entry *entry)
{
	u32 srqn = vuhca_event_entry_get_object_number(entry);
	struct vuhca_srq *srq = xa_load(&dev->srqs, srqn);

	if (srq && srq->event)
		srq->event(entry->event_type, entry->fault_kind, srq->context);
}

static void vuhca_eq_dispatch(struct vuhca_eq *eq,
			      const struct vuhca_event_entry *entry)
{
	struct vuhca_dev *dev = eq->dev;
	u32 object = vuhca_event_entry_get_object_number(entry);

	switch (entry->event_type) {
	case VUHCA_EVENT_TYPE_COMPLETION:
	case VUHCA_EVENT_TYPE_CQ_ERROR:
		vuhca_cq_event(dev, entry);
		break;
	case VUHCA_EVENT_TYPE_MANAGEMENT_COMPLETE:
		vuhca_admin_event(dev, object);
		break;
	case VUHCA_EVENT_TYPE_QP_FATAL:
	case VUHCA_EVENT_TYPE_QP_REQUEST_ERROR:
	case VUHCA_EVENT_TYPE_QP_ACCESS_ERROR:
	case VUHCA_EVENT_TYPE_COMMUNICATION_ESTABLISHED:
	case VUHCA_EVENT_TYPE_SEND_QUEUE_DRAINED:
	case VUHCA_EVENT_TYPE_PATH_MIGRATED:
	case VUHCA_EVENT_TYPE_LAST_WQE_REACHED:
		vuhca_qp_event(dev, entry);
		break;
	case VUHCA_EVENT_TYPE_SRQ_LIMIT:
	case VUHCA_EVENT_TYPE_SRQ_ERROR:
		vuhca_srq_event(dev, entry);
		break;
	case VUHCA_EVENT_TYPE_RESOURCES_CHANGED:
		vuhca_share_event(dev);
		break;
	case VUHCA_EVENT_TYPE_SEND_CONTEXT_HALTED:
		vuhca_send_halted(dev, object);
		break;
	case VUHCA_EVENT_TYPE_EQ_ERROR:
	case VUHCA_EVENT_TYPE_DEVICE_FATAL:
		dev_err_ratelimited(&dev->pdev->dev,
				    "event %u, object %u, cause %u\n",
				    entry->event_type, object,
				    entry->fault_kind);
		break;
	default:
		dev_dbg(&dev->pdev->dev, "event %u, port %u\n",
			entry->event_type, entry->port);
	}
}

/*
 * Consumes what is there. Handlers run under eq->lock: taking and dropping
 * that lock after an object left its xarray waits for the last handler.
 */
unsigned int vuhca_eq_process(struct vuhca_eq *eq)
{
	const struct vuhca_event_entry *entry;
	unsigned int count = 0;

	lockdep_assert_held(&eq->lock);
	while ((entry = vuhca_eq_next(eq))) {
		vuhca_eq_dispatch(eq, entry);
		eq->consumed++;
		count++;
		/* Half a queue at a time, so that a storm cannot overrun it. */
		if (!(count & (BIT(eq->entries_log2 - 1) - 1)))
			vuhca_eq_give_back(eq);
	}
	if (count)
		vuhca_eq_give_back(eq);
	eq->events += count;
	return count;
}

irqreturn_t vuhca_eq_interrupt(int irq, void *data)
{
	struct vuhca_eq *eq = data;
	unsigned long flags;

	spin_lock_irqsave(&eq->lock, flags);
	eq->interrupts++;
	if (!eq->eqn || !vuhca_eq_serve(eq))
		eq->empty_interrupts++;
	else
		vuhca_poller_note(eq);
	spin_unlock_irqrestore(&eq->lock, flags);
	if (!eq->index)
		vuhca_sends_interrupt(eq->dev);
	/* MSI-X vectors are never shared, so an empty one is still ours. */
	return IRQ_HANDLED;
}

static void vuhca_eq_check(struct vuhca_eq *eq)
{
	unsigned long flags;

	spin_lock_irqsave(&eq->lock, flags);
	if (!eq->eqn || !vuhca_eq_next(eq)) {
		eq->suspect = 0;
	} else if (eq->suspect == eq->consumed + 1) {
		/* Seen at two ticks: its interrupt is not going to come. */
		eq->stranded++;
		vuhca_eq_serve(eq);
		eq->suspect = 0;
	} else {
		eq->suspect = eq->consumed + 1;
	}
	spin_unlock_irqrestore(&eq->lock, flags);
}

void vuhca_deadman(struct timer_list *timer)
{
	struct vuhca_dev *dev = from_timer(dev, timer, deadman);
	unsigned int i;

	if (!vuhca_is_up(dev))
		return;
	if (vuhca_check_gone(dev)) {
		complete(&dev->admin.done);
		return;
	}
	if (READ_ONCE(deadman)) {
		for (i = 0; i < dev->eq_count; i++)
			vuhca_eq_check(&dev->eqs[i]);
		vuhca_sends_deadman(dev);
	}
	mod_timer(timer, jiffies + msecs_to_jiffies(VUHCA_DEADMAN_MS));
}
