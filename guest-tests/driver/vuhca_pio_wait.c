// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Waiting for blocks of a send context. The first waiter enables the credit
 * interrupt and forces a return, because the last block may have come back just
 * before.
 */
#include "vuhca_internal.h"

/* Waiters woken at a time; more would find the blocks taken again. */
#define VUHCA_PIO_WAKE_BATCH 5

/**
 * vuhca_pio_wait() - Wait for free blocks.
 * @sc: Send context.
 * @waiter: Waiter; its callback runs once.
 *
 * Context: Any context.
 * Return: 0; -EIO: a reset has destroyed the context.
 */
int vuhca_pio_wait(struct vuhca_send_context *sc,
		   struct vuhca_pio_waiter *waiter)
{
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&sc->lock, flags);
	if (!vuhca_is_current(sc->dev, sc->generation)) {
		err = -EIO;
		goto unlock;
	}
	list_add_tail(&waiter->list, &sc->waiters);
	if (!sc->interrupts) {
		sc->interrupts = true;
		vuhca_pio_force_credits_locked(sc);
	}
unlock:
	spin_unlock_irqrestore(&sc->lock, flags);
	return err;
}
EXPORT_SYMBOL_GPL(vuhca_pio_wait);

/**
 * vuhca_pio_cancel_wait() - Cancel a wait for free blocks.
 * @sc: Send context.
 * @waiter: Waiter of vuhca_pio_wait().
 *
 * Context: Any context.
 * Return: True when the wait was cancelled; false when the callback has run or
 *	is about to run.
 */
bool vuhca_pio_cancel_wait(struct vuhca_send_context *sc,
			   struct vuhca_pio_waiter *waiter)
{
	unsigned long flags;
	bool waited;

	spin_lock_irqsave(&sc->lock, flags);
	waited = !list_empty(&waiter->list);
	list_del_init(&waiter->list);
	spin_unlock_irqrestore(&sc->lock, flags);
	return waited;
}
EXPORT_SYMBOL_GPL(vuhca_pio_cancel_wait);

/* Wakes a batch of waiters; another forced return serves the rest. */
void vuhca_pio_wake(struct vuhca_send_context *sc)
{
	struct vuhca_pio_waiter *batch[VUHCA_PIO_WAKE_BATCH];
	unsigned int i, count = 0;
	unsigned long flags;

	spin_lock_irqsave(&sc->lock, flags);
	while (count < VUHCA_PIO_WAKE_BATCH && !list_empty(&sc->waiters)) {
		batch[count] = list_first_entry(&sc->waiters,
						struct vuhca_pio_waiter, list);
		list_del_init(&batch[count++]->list);
	}
	sc->wakes += count;
	if (!list_empty(&sc->waiters)) {
		vuhca_pio_force_credits_locked(sc);
	} else if (sc->interrupts) {
		sc->interrupts = false;
		if (sc->running && vuhca_is_current(sc->dev, sc->generation))
			vuhca_pio_write_control(sc, 0);
	}
	spin_unlock_irqrestore(&sc->lock, flags);
	for (i = 0; i < count; i++)
		batch[i]->wake(batch[i]);
}

/* Tests whether there are waiters and blocks for the first of them. */
static bool vuhca_pio_may_wake(struct vuhca_send_context *sc)
{
	unsigned long flags;
	bool may;

	spin_lock_irqsave(&sc->lock, flags);
	may = !list_empty(&sc->waiters) && sc->running &&
	      sc->sent - sc->freed < sc->blocks;
	spin_unlock_irqrestore(&sc->lock, flags);
	return may;
}

/* Called when the vector of event queue 0 fired, which send contexts share. */
void vuhca_pio_credit_interrupt(struct vuhca_dev *dev)
{
	struct vuhca_send_context *sc;
	unsigned long number, flags;

	/*
	 * vuhca_destroy_send_context() takes the context off this xarray first.
	 */
	xa_lock_irqsave(&dev->send_contexts, flags);
	xa_for_each(&dev->send_contexts, number, sc) {
		if (list_empty(&sc->waiters))
			continue;
		vuhca_pio_update_credits(sc);
		if (vuhca_pio_may_wake(sc))
			vuhca_pio_wake(sc);
	}
	xa_unlock_irqrestore(&dev->send_contexts, flags);
}

/* Without traffic, credits come back only when they are forced. */
void vuhca_pio_deadman(struct vuhca_dev *dev)
{
	struct vuhca_send_context *sc;
	unsigned long number, flags;

	xa_lock_irqsave(&dev->send_contexts, flags);
	xa_for_each(&dev->send_contexts, number, sc) {
		vuhca_pio_update_credits(sc);
		if (READ_ONCE(sc->tail) != READ_ONCE(sc->head))
			vuhca_pio_force_credits(sc);
	}
	xa_unlock_irqrestore(&dev->send_contexts, flags);
}
