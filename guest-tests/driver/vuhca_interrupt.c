// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The MSI-X handler of event queues, and the deadman: a slow timer that looks
 * for events whose interrupt was lost or is held back by the adapter's event
 * timers, and that notices when the device is gone.
 */
#include <linux/module.h>

#include "vuhca_internal.h"

#define VUHCA_DEADMAN_MS	500

static bool deadman = true;
module_param(deadman, bool, 0644);
MODULE_PARM_DESC(deadman, "Look for events and credits that no interrupt announced");

/**
 * vuhca_set_deadman() - Switch the search for lost events and credits on or
 *	off.
 * @on: The deadman looks for lost events and credits.
 *
 * For tests.
 *
 * Context: Any context.
 * Return: The former setting.
 */
bool vuhca_set_deadman(bool on)
{
	return xchg(&deadman, on);
}
EXPORT_SYMBOL_GPL(vuhca_set_deadman);

irqreturn_t vuhca_eq_interrupt(int irq, void *data)
{
	struct vuhca_eq *eq = data;
	unsigned long flags;

	spin_lock_irqsave(&eq->lock, flags);
	eq->interrupts++;
	if (READ_ONCE(eq->poller.polling))
		eq->poller.interrupts++;
	if (!eq->eqn || !vuhca_eq_serve(eq))
		eq->empty_interrupts++;
	else
		vuhca_poller_count_interrupt(eq);
	spin_unlock_irqrestore(&eq->lock, flags);
	if (!eq->index)
		eq->dev->event_ops->credit_interrupt(eq->dev);
	/*
	 * MSI-X vectors are not shared, so an interrupt without events is ours.
	 */
	return IRQ_HANDLED;
}

/*
 * An entry of queue 0 may have no summary byte. Entries of the others may
 * remain after their events were handled by byte.
 */
static bool vuhca_eq_has_event(struct vuhca_eq *eq)
{
	return vuhca_poller_is_marked(eq) ||
	       (!eq->index && vuhca_eq_has_entry(eq));
}

static void vuhca_eq_check(struct vuhca_eq *eq)
{
	unsigned long flags;
	u32 progress;
	bool found;

	spin_lock_irqsave(&eq->lock, flags);
	progress = eq->consumed + (u32)eq->poller.marked;
	found = eq->eqn && vuhca_eq_has_event(eq);
	if (found && eq->suspected && eq->suspect == progress) {
		/*
		 * The event was there at two ticks: its interrupt will not
		 * come.
		 */
		eq->stranded++;
		vuhca_eq_serve(eq);
		found = false;
	}
	eq->suspected = found;
	eq->suspect = progress;
	spin_unlock_irqrestore(&eq->lock, flags);
}

static void vuhca_deadman_tick(struct timer_list *timer)
{
	struct vuhca_dev *dev = timer_container_of(dev, timer, deadman);
	unsigned int i;

	if (!vuhca_is_up(dev))
		return;
	if (vuhca_check_gone(dev)) {
		vuhca_admin_abort(dev);
		return;
	}
	if (READ_ONCE(deadman)) {
		for (i = 0; i < dev->eq_count; i++)
			vuhca_eq_check(&dev->eqs[i]);
		vuhca_eqs_check_overruns(dev);
		dev->event_ops->deadman(dev);
	}
	mod_timer(timer, jiffies + msecs_to_jiffies(VUHCA_DEADMAN_MS));
}

void vuhca_deadman_init(struct vuhca_dev *dev)
{
	timer_setup(&dev->deadman, vuhca_deadman_tick, 0);
}

/* The first tick comes after a second, later ones every VUHCA_DEADMAN_MS. */
void vuhca_deadman_start(struct vuhca_dev *dev)
{
	mod_timer(&dev->deadman, jiffies + HZ);
}
