// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The life of a function between probe and removal: it is brought into service,
 * stopped for a reset and brought into service again.
 */
#include "vuhca_internal.h"

/* Brings a function that was just reset into service. */
int vuhca_start(struct vuhca_dev *dev)
{
	int err;

	err = vuhca_wait_ready(dev);
	if (err)
		return err;
	pci_set_master(dev->pdev);
	vuhca_overflow_start(dev);
	vuhca_write_csr(dev, VUHCA_CSR_DEVICE_CONTROL_OFF,
			VUHCA_CSR_DEVICE_CONTROL_ENABLE_MASK);
	vuhca_ahs_start(dev);
	vuhca_vcbs_start(dev);
	WRITE_ONCE(dev->state, VUHCA_DEV_STARTING);
	err = vuhca_query_adapter(dev, &dev->attributes);
	if (!err)
		err = vuhca_eqs_create(dev);
	if (err) {
		WRITE_ONCE(dev->state, VUHCA_DEV_DOWN);
		return err;
	}
	vuhca_posting_measure(dev);
	vuhca_tails_start(dev);
	dev->port_count = min_t(u8, dev->attributes.port_count, VUHCA_PORT_MAX);
	WRITE_ONCE(dev->state, VUHCA_DEV_UP);
	vuhca_deadman_start(dev);
	if (vuhca_adapter_disabled(dev))
		dev_warn(&dev->pdev->dev,
			 "the physical function has disabled the adapter: sends wait until it enables it\n");
	return 0;
}

/*
 * Event handler: the adapter reports that an event queue or the function
 * failed.
 */
void vuhca_device_error_event(struct vuhca_dev *dev,
			      const struct vuhca_event_entry *entry)
{
	dev_err_ratelimited(&dev->pdev->dev, "event %u, object %u, cause %u\n",
			    entry->event_type,
			    vuhca_event_entry_get_object_number(entry),
			    entry->fault_kind);
	if (entry->event_type == VUHCA_EVENT_TYPE_EQ_ERROR)
		vuhca_eqs_failed(dev);
}

/* Reports to the owners of all objects that a reset destroys them. */
static void vuhca_orphan_objects(struct vuhca_dev *dev)
{
	struct vuhca_cq *cq;
	struct vuhca_srq *srq;
	struct vuhca_qp *qp;
	unsigned long number;

	xa_for_each(&dev->qps, number, qp) {
		xa_erase_irq(&dev->qps, number);
		if (qp->event)
			qp->event(VUHCA_EVENT_TYPE_DEVICE_FATAL,
				  VUHCA_FAULT_KIND_NONE, qp->context);
	}
	xa_for_each(&dev->srqs, number, srq) {
		xa_erase_irq(&dev->srqs, number);
		if (srq->event)
			srq->event(VUHCA_EVENT_TYPE_DEVICE_FATAL,
				   VUHCA_FAULT_KIND_NONE, srq->context);
	}
	vuhca_pio_stop(dev);
	xa_for_each(&dev->cqs, number, cq) {
		xa_erase_irq(&dev->cqs, number);
		if (cq->event)
			cq->event(VUHCA_EVENT_TYPE_DEVICE_FATAL,
				  VUHCA_FAULT_KIND_NONE, cq->context);
	}
}

/*
 * Stops the function before a reset. No command, handler or timer runs
 * afterwards, and none starts before vuhca_start(), because each checks the
 * state first.
 */
void vuhca_stop(struct vuhca_dev *dev)
{
	if (READ_ONCE(dev->state) != VUHCA_DEV_GONE)
		WRITE_ONCE(dev->state, VUHCA_DEV_DOWN);
	WRITE_ONCE(dev->generation, dev->generation + 1);
	/* A command that waits for its answer fails at once. */
	vuhca_admin_abort(dev);
	vuhca_admin_set_event_queue(dev, 0);
	vuhca_eqs_quiesce(dev);
	cancel_work_sync(&dev->shares.changed);
	vuhca_port_events_stop(dev);
	vuhca_orphan_objects(dev);
}

/*
 * Stops the function for a removal or a sleep. Ends with a reset: after it the
 * adapter writes to no memory.
 */
void vuhca_quiesce(struct vuhca_dev *dev)
{
	vuhca_stop(dev);
	if (READ_ONCE(dev->state) != VUHCA_DEV_GONE)
		vuhca_soft_reset(dev);
	pci_clear_master(dev->pdev);
}

/*
 * Brings a function that was reset back into service. It is gone when that
 * fails.
 */
int vuhca_restart(struct vuhca_dev *dev)
{
	int err;

	if (READ_ONCE(dev->state) == VUHCA_DEV_GONE)
		return -ENODEV;
	err = vuhca_start(dev);
	if (err) {
		dev_err(&dev->pdev->dev, "did not come back from a reset: %d\n",
			err);
		WRITE_ONCE(dev->state, VUHCA_DEV_GONE);
	}
	return err;
}

/* Brings the function back into service after a reset, for its clients, too. */
void vuhca_resume(struct vuhca_dev *dev)
{
	if (!vuhca_restart(dev))
		vuhca_client_reset_done(dev);
}

/**
 * vuhca_reset() - Reset the function by its register and bring it back into
 *	service.
 * @dev: Function of the adapter.
 *
 * All objects of the function are destroyed; their memory stays until they are
 * destroyed by their owners. A removal may wait for the caller, for instance in
 * a client's remove(); the reset therefore waits for none.
 *
 * Context: May sleep. Takes the device lock.
 * Return: 0, -EBUSY while a client or the function is added or removed, or
 * -ENODEV or the error of bring-up.
 */
int vuhca_reset(struct vuhca_dev *dev)
{
	int err = -EBUSY, started;

	if (!device_trylock(&dev->pdev->dev))
		return -EBUSY;
	if (!vuhca_clients_try_lock())
		goto unlock;
	vuhca_clients_prepare(dev);
	vuhca_stop(dev);
	err = vuhca_soft_reset(dev);
	started = vuhca_restart(dev);
	if (!started)
		vuhca_clients_resume(dev);
	if (!err)
		err = started;
	vuhca_clients_unlock();
unlock:
	device_unlock(&dev->pdev->dev);
	return err;
}
EXPORT_SYMBOL_GPL(vuhca_reset);
