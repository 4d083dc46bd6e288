// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The life of a send context: created, halted by the adapter or by software,
 * restarted, destroyed. A restart stops allocation, waits for writers to finish
 * and for whole packets to leave, drops all other packets and starts again with
 * counters at zero (docs/FEATURES.md, send contexts).
 */
#include <linux/iopoll.h>
#include <linux/slab.h>

#include "vuhca_internal.h"

#define VUHCA_PIO_RETRY_MS	10

static void vuhca_pio_set_control(struct vuhca_send_context *sc, u32 control)
{
	vuhca_write_csr(sc->dev, VUHCA_CSR_SEND_CONTEXT_CONTROL_OFF + sc->number *
			VUHCA_CSR_SEND_CONTEXT_CONTROL_STRIDE, control);
}

static unsigned int vuhca_pio_state(struct vuhca_send_context *sc)
{
	u32 status = vuhca_read_csr(sc->dev, VUHCA_CSR_SEND_CONTEXT_STATUS_OFF +
				    sc->number *
				    VUHCA_CSR_SEND_CONTEXT_STATUS_STRIDE);

	return (status & VUHCA_CSR_SEND_CONTEXT_STATUS_STATE_MASK) >>
	       VUHCA_CSR_SEND_CONTEXT_STATUS_STATE_SHIFT;
}

/* Zeroes the counters and enables; false while all contexts are frozen. */
static bool vuhca_pio_enable(struct vuhca_send_context *sc)
{
	bool enabled;

	WRITE_ONCE(sc->credits->dw0, 0);
	/* Zero the word before the adapter may write it. */
	wmb();
	vuhca_pio_set_control(sc, VUHCA_CSR_SEND_CONTEXT_CONTROL_ENABLE_MASK);
	/* The read keeps packet writes from overtaking the enable bit. */
	enabled = vuhca_pio_state(sc) == VUHCA_SEND_CONTEXT_STATE_ENABLED;
	spin_lock_irq(&sc->lock);
	sc->sent = 0;
	sc->freed = 0;
	sc->next = 0;
	sc->interrupts = false;
	sc->running = enabled;
	spin_unlock_irq(&sc->lock);
	return enabled;
}

/* Stops allocation and waits until no packet is being written. */
static void vuhca_pio_quiesce(struct vuhca_send_context *sc)
{
	spin_lock_irq(&sc->lock);
	sc->running = false;
	spin_unlock_irq(&sc->lock);
	wait_event(sc->drained, !READ_ONCE(sc->writers));
}

/* Whole packets leave, unless the device is gone; then no memory is written. */
static int vuhca_pio_disable(struct vuhca_send_context *sc)
{
	unsigned int state;

	/* When the register reads DISABLED, the credits have been written. */
	vuhca_pio_set_control(sc, 0);
	return read_poll_timeout(vuhca_pio_state, state,
				 state == VUHCA_SEND_CONTEXT_STATE_DISABLED ||
				 vuhca_check_gone(sc->dev), 50,
				 VUHCA_BOUND_MS * USEC_PER_MSEC, false, sc);
}

static void vuhca_pio_restart(struct work_struct *work)
{
	struct vuhca_send_context *sc =
		container_of(work, struct vuhca_send_context, restart.work);
	u32 count;

	if (!vuhca_is_current(sc->dev, sc->generation))
		return;
	vuhca_pio_quiesce(sc);
	if (vuhca_pio_disable(sc) || vuhca_check_gone(sc->dev)) {
		dev_err(&sc->dev->pdev->dev,
			"send context %u does not drain; it stays halted\n",
			sc->number);
		vuhca_pio_flush(sc);
		return;
	}
	/* A disabled context has returned the blocks of packets that left. */
	spin_lock_irq(&sc->lock);
	count = vuhca_credit_return_get_free_counter(sc->credits);
	sc->freed += (count - sc->freed) & VUHCA_SEND_COUNTER_MASK;
	spin_unlock_irq(&sc->lock);
	vuhca_pio_update_credits(sc);
	vuhca_pio_flush(sc);
	if (!vuhca_pio_enable(sc)) {
		schedule_delayed_work(&sc->restart,
				      msecs_to_jiffies(VUHCA_PIO_RETRY_MS));
		return;
	}
	sc->restarts++;
	while (!list_empty_careful(&sc->waiters))
		vuhca_pio_wake(sc);
}

/* Event handler: the adapter has halted a send context. */
void vuhca_pio_halt_event(struct vuhca_dev *dev,
			  const struct vuhca_event_entry *entry)
{
	u32 number = vuhca_event_entry_get_object_number(entry);
	struct vuhca_send_context *sc;
	unsigned long flags;

	xa_lock_irqsave(&dev->send_contexts, flags);
	sc = xa_load(&dev->send_contexts, number);
	if (sc) {
		spin_lock(&sc->lock);
		sc->running = false;
		spin_unlock(&sc->lock);
		schedule_delayed_work(&sc->restart, 0);
	}
	xa_unlock_irqrestore(&dev->send_contexts, flags);
}

static int vuhca_pio_create(struct vuhca_send_context *sc,
			    const struct vuhca_send_context_init *init)
{
	struct vuhca_send_context_attributes attributes = {
		.blocks = cpu_to_le16(init->blocks),
		.virtual_lanes = cpu_to_le16(init->virtual_lanes),
		.credit_address = cpu_to_le64(sc->dev->credits_dma),
		.threshold = cpu_to_le16(init->threshold),
	};
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_CREATE_SEND_CONTEXT,
		.payload = &attributes,
		.payload_bytes = sizeof(attributes),
	};
	struct vuhca_answer answer;
	int err;

	vuhca_send_context_attributes_set_port(&attributes, init->port);
	vuhca_send_context_attributes_set_check_pkey(&attributes, !!init->pkey);
	vuhca_send_context_attributes_set_pkey(&attributes, init->pkey);
	err = vuhca_admin_execute(sc->dev, &command, &answer);
	if (err == -ENOSPC)
		vuhca_pio_report_share(sc->dev, init->blocks);
	if (err)
		return err;
	sc->number = answer.object;
	sc->credits = sc->dev->credits + sc->number;
	return 0;
}

static int vuhca_pio_destroy(struct vuhca_send_context *sc)
{
	u8 opcode = VUHCA_MANAGEMENT_OPCODE_DESTROY_SEND_CONTEXT;

	return vuhca_admin_destroy(sc->dev, opcode, sc->number, sc->generation);
}

static void vuhca_pio_free(struct vuhca_send_context *sc)
{
	kfree(sc->pending);
	kfree(sc);
}

/**
 * vuhca_create_send_context() - Create a send context and enable it.
 * @dev: Function of the adapter.
 * @init: Parameters.
 *
 * Context: May sleep.
 * Return: The send context, or ERR_PTR() of -ENOMEM; -ENOSPC: the function has
 *	used up its share of the PIO send memory; or the error of
 *	vuhca_admin_execute().
 */
struct vuhca_send_context *
vuhca_create_send_context(struct vuhca_dev *dev,
			  const struct vuhca_send_context_init *init)
{
	struct vuhca_send_context *sc = kzalloc(sizeof(*sc), GFP_KERNEL);
	int err = -ENOMEM;

	if (!sc)
		return ERR_PTR(-ENOMEM);
	sc->dev = dev;
	sc->generation = READ_ONCE(dev->generation);
	sc->blocks = init->blocks;
	spin_lock_init(&sc->lock);
	spin_lock_init(&sc->release_lock);
	INIT_LIST_HEAD(&sc->waiters);
	INIT_DELAYED_WORK(&sc->restart, vuhca_pio_restart);
	init_waitqueue_head(&sc->drained);
	sc->pending = kcalloc(init->blocks + 1, sizeof(*sc->pending), GFP_KERNEL);
	if (!sc->pending)
		goto free;
	err = vuhca_pio_create(sc, init);
	if (err)
		goto free;
	err = vuhca_pio_set_credit_line(sc);
	if (err)
		goto destroy;
	err = xa_err(xa_store_irq(&dev->send_contexts, sc->number, sc, GFP_KERNEL));
	if (err)
		goto destroy;
	if (!vuhca_pio_enable(sc))
		schedule_delayed_work(&sc->restart, 0);
	return sc;

destroy:
	vuhca_pio_destroy(sc);
free:
	vuhca_pio_free(sc);
	return ERR_PTR(err);
}
EXPORT_SYMBOL_GPL(vuhca_create_send_context);

/**
 * vuhca_destroy_send_context() - Destroy a send context.
 * @sc: Send context; it stays, with its memory, when the call fails, because
 *	the adapter may still return credits.
 *
 * Packets that are not whole are dropped. Release callbacks and waiters are
 * called.
 *
 * Context: May sleep.
 * Return: 0; -ETIMEDOUT: the context does not drain; or the error of
 *	vuhca_admin_execute().
 */
int vuhca_destroy_send_context(struct vuhca_send_context *sc)
{
	struct vuhca_dev *dev = sc->dev;
	int err = 0;

	/* After a reset the number may belong to another context. */
	xa_cmpxchg_irq(&dev->send_contexts, sc->number, sc, NULL, 0);
	cancel_delayed_work_sync(&sc->restart);
	vuhca_pio_quiesce(sc);
	if (vuhca_is_current(dev, sc->generation))
		err = vuhca_pio_disable(sc);
	if (!err)
		err = vuhca_pio_destroy(sc);
	vuhca_pio_flush(sc);
	while (!list_empty_careful(&sc->waiters))
		vuhca_pio_wake(sc);
	if (!err)
		vuhca_pio_free(sc);
	return err;
}
EXPORT_SYMBOL_GPL(vuhca_destroy_send_context);

/**
 * vuhca_query_send_context() - Query the attributes of a send context.
 * @sc: Send context.
 * @attributes: Receives the attributes.
 *
 * Context: May sleep.
 * Return: 0; -ESTALE: a reset has destroyed the context; or the error of
 *	vuhca_admin_execute().
 */
int vuhca_query_send_context(struct vuhca_send_context *sc,
			     struct vuhca_send_context_attributes *attributes)
{
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_QUERY_SEND_CONTEXT,
		.object = sc->number,
	};
	struct vuhca_answer answer;
	int err;

	if (!vuhca_is_current(sc->dev, sc->generation))
		return -ESTALE;
	err = vuhca_admin_execute(sc->dev, &command, &answer);
	if (!err)
		memcpy(attributes, answer.payload, sizeof(*attributes));
	return err;
}
EXPORT_SYMBOL_GPL(vuhca_query_send_context);

/*
 * Before a reset, which destroys all contexts: blocks are no longer allocated,
 * waiters are woken.
 */
void vuhca_pio_stop(struct vuhca_dev *dev)
{
	struct vuhca_send_context *sc;
	unsigned long number;

	xa_for_each(&dev->send_contexts, number, sc) {
		xa_erase_irq(&dev->send_contexts, number);
		cancel_delayed_work_sync(&sc->restart);
		vuhca_pio_quiesce(sc);
		vuhca_pio_flush(sc);
		while (!list_empty_careful(&sc->waiters))
			vuhca_pio_wake(sc);
	}
}
