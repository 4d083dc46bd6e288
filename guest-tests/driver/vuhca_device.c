// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The life of a function between probe and removal: put into service, stopped
 * for a reset and put into service again; and the clients that are told when
 * it comes and goes.
 */
#include <linux/iopoll.h>
#include <linux/module.h>

#include "vuhca.h"

#define VUHCA_READY_TIMEOUT_US (5 * USEC_PER_SEC)

static DEFINE_MUTEX(vuhca_lists);	/* devices and clients */
static LIST_HEAD(vuhca_devices);
static LIST_HEAD(vuhca_clients);

/* True, and remembered, when the function no longer answers. */
bool vuhca_check_gone(struct vuhca_dev *dev)
{
	if (READ_ONCE(dev->state) == VUHCA_DEV_GONE)
		return true;
	if (vuhca_read_csr(dev, VUHCA_CSR_DEVICE_STATUS_OFF) != U32_MAX)
		return false;
	dev_err(&dev->pdev->dev, "the device is gone: reads return all ones\n");
	WRITE_ONCE(dev->state, VUHCA_DEV_GONE);
	return true;
}

static int vuhca_wait_ready(struct vuhca_dev *dev)
{
	u32 status;

	if (!readl_poll_timeout(dev->csr + VUHCA_CSR_DEVICE_STATUS_OFF, status,
				status & VUHCA_CSR_DEVICE_STATUS_READY_MASK,
				100, VUHCA_READY_TIMEOUT_US) &&
	    status != U32_MAX)
		return 0;
	dev_err(&dev->pdev->dev, "not ready after %lu s, status %#x\n",
		VUHCA_READY_TIMEOUT_US / USEC_PER_SEC, status);
	return -ENODEV;
}

int vuhca_soft_reset(struct vuhca_dev *dev)
{
	vuhca_write_csr(dev, VUHCA_CSR_DEVICE_CONTROL_OFF,
			VUHCA_CSR_DEVICE_CONTROL_RESET_MASK);
	return vuhca_wait_ready(dev);
}

int vuhca_identify(struct vuhca_dev *dev)
{
	u32 identity = vuhca_read_csr(dev, VUHCA_CSR_IDENTITY_OFF);
	u64 hash = vuhca_read_csr64(dev, VUHCA_CSR_LAYOUT_HASH_OFF);

	if (identity != VUHCA_IDENTITY_MAGIC) {
		dev_err(&dev->pdev->dev, "identity %#x is not this adapter's %#x\n",
			identity, VUHCA_IDENTITY_MAGIC);
		return -ENODEV;
	}
	if (hash != VUHCA_LAYOUT_HASH) {
		dev_err(&dev->pdev->dev,
			"layout hash of the device is %#llx, of this driver %#llx: build both from the same sources\n",
			hash, VUHCA_LAYOUT_HASH);
		return -ENODEV;
	}
	return 0;
}

/* The dedicated buffers must be where the collect BAR is mapped. */
int vuhca_find_dedicated(struct vuhca_dev *dev)
{
	u64 offset = vuhca_read_csr64(dev, VUHCA_CSR_DEDICATED_OFFSET_OFF);

	if (dev->collect_bytes < VUHCA_PAGE_BYTES ||
	    offset > dev->collect_bytes - VUHCA_PAGE_BYTES) {
		dev_err(&dev->pdev->dev,
			"dedicated collect buffer at %#llx is outside the BAR\n",
			offset);
		return -ENODEV;
	}
	dev->dedicated = dev->collect + offset;
	return 0;
}

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
	dev->port_count = min_t(u8, dev->attributes.port_count, VUHCA_PORT_MAX);
	WRITE_ONCE(dev->state, VUHCA_DEV_UP);
	mod_timer(&dev->deadman, jiffies + HZ);
	if (vuhca_adapter_disabled(dev))
		dev_warn(&dev->pdev->dev,
			 "the physical function has disabled the adapter: sends wait until it enables it\n");
	return 0;
}

/* Tells the owners of all objects that the reset takes them away. */
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
	vuhca_sends_stop(dev);
	xa_for_each(&dev->cqs, number, cq) {
		xa_erase_irq(&dev->cqs, number);
		if (cq->event)
			cq->event(VUHCA_EVENT_TYPE_DEVICE_FATAL,
				  VUHCA_FAULT_KIND_NONE, cq->context);
	}
}

/*
 * Before a reset: no command, handler or timer runs afterwards, and none starts
 * before vuhca_start(), because all of them look at the state first.
 */
void vuhca_stop(struct vuhca_dev *dev)
{
	if (READ_ONCE(dev->state) != VUHCA_DEV_GONE)
		WRITE_ONCE(dev->state, VUHCA_DEV_DOWN);
	WRITE_ONCE(dev->generation, dev->generation + 1);
	/* A command that waits for its answer gives up at once. */
	complete(&dev->admin.done);
	mutex_lock(&dev->admin.lock);
	dev->admin.event_queue = 0;
	mutex_unlock(&dev->admin.lock);
	vuhca_eqs_quiesce(dev);
	cancel_work_sync(&dev->shares.changed);
	vuhca_orphan_objects(dev);
}

int vuhca_resume(struct vuhca_dev *dev)
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

/* Resets the function by its own register and brings it back. May sleep. */
int vuhca_reset(struct vuhca_dev *dev)
{
	int err, started;

	device_lock(&dev->pdev->dev);
	vuhca_stop(dev);
	err = vuhca_soft_reset(dev);
	started = vuhca_resume(dev);
	device_unlock(&dev->pdev->dev);
	return err ? err : started;
}
EXPORT_SYMBOL_GPL(vuhca_reset);

int vuhca_register_client(struct vuhca_client *client)
{
	struct vuhca_dev *dev;

	mutex_lock(&vuhca_lists);
	list_add_tail(&client->list, &vuhca_clients);
	list_for_each_entry(dev, &vuhca_devices, list)
		client->add(dev);
	mutex_unlock(&vuhca_lists);
	return 0;
}
EXPORT_SYMBOL_GPL(vuhca_register_client);

void vuhca_unregister_client(struct vuhca_client *client)
{
	struct vuhca_dev *dev;

	mutex_lock(&vuhca_lists);
	list_for_each_entry(dev, &vuhca_devices, list)
		client->remove(dev);
	list_del(&client->list);
	mutex_unlock(&vuhca_lists);
}
EXPORT_SYMBOL_GPL(vuhca_unregister_client);

void vuhca_announce(struct vuhca_dev *dev)
{
	struct vuhca_client *client;

	mutex_lock(&vuhca_lists);
	list_add_tail(&dev->list, &vuhca_devices);
	list_for_each_entry(client, &vuhca_clients, list)
		client->add(dev);
	mutex_unlock(&vuhca_lists);
}

void vuhca_withdraw(struct vuhca_dev *dev)
{
	struct vuhca_client *client;

	mutex_lock(&vuhca_lists);
	list_for_each_entry(client, &vuhca_clients, list)
		client->remove(dev);
	list_del(&dev->list);
	mutex_unlock(&vuhca_lists);
}
