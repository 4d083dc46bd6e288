// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Registers that identify the function and show whether it answers, is ready or
 * is disabled; and the soft reset (docs/PROGRAMMING.md, docs/REGISTERS.md).
 */
#include <linux/iopoll.h>

#include "vuhca_internal.h"

/* Tests whether the function no longer answers, and remembers it. */
bool vuhca_check_gone(struct vuhca_dev *dev)
{
	if (READ_ONCE(dev->state) == VUHCA_DEV_GONE)
		return true;
	if (vuhca_read_csr(dev, VUHCA_CSR_DEVICE_STATUS_OFF) != U32_MAX)
		return false;
	dev_err(&dev->pdev->dev, "the device is gone: reads return all ones\n");
	WRITE_ONCE(dev->state, VUHCA_DEV_GONE);
	schedule_work(&dev->lost);
	return true;
}

int vuhca_wait_ready(struct vuhca_dev *dev)
{
	u32 status;

	if (!readl_poll_timeout(dev->csr + VUHCA_CSR_DEVICE_STATUS_OFF, status,
				status & VUHCA_CSR_DEVICE_STATUS_READY_MASK,
				100, VUHCA_BOUND_MS * USEC_PER_MSEC) &&
	    status != U32_MAX)
		return 0;
	dev_err(&dev->pdev->dev, "not ready after %u s, status %#x\n",
		VUHCA_BOUND_MS / (unsigned int)MSEC_PER_SEC, status);
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

/* Finds the dedicated buffers, which must lie inside the collect BAR. */
int vuhca_find_dedicated(struct vuhca_dev *dev)
{
	u64 offset = vuhca_read_csr64(dev, VUHCA_CSR_DEDICATED_OFFSET_OFF);
	u64 count = vuhca_read_csr(dev, VUHCA_CSR_DEDICATED_COUNT_OFF);

	if (!count || count > VUHCA_DEDICATED_MAX ||
	    dev->collect_bytes < count * VUHCA_PAGE_BYTES ||
	    offset > dev->collect_bytes - count * VUHCA_PAGE_BYTES) {
		dev_err(&dev->pdev->dev,
			"%llu dedicated collect buffers at %#llx are outside the BAR\n",
			count, offset);
		return -ENODEV;
	}
	dev->dedicated = dev->collect + offset;
	return 0;
}

/**
 * vuhca_adapter_disabled() - Test whether the physical function has disabled
 *	the adapter.
 * @dev: Function of the adapter.
 *
 * A disabled adapter executes management commands, but no sends.
 *
 * Context: Any context.
 * Return: True when the adapter is disabled.
 */
bool vuhca_adapter_disabled(struct vuhca_dev *dev)
{
	u32 status = vuhca_read_csr(dev, VUHCA_CSR_DEVICE_STATUS_OFF);

	return status != U32_MAX &&
	       status & VUHCA_CSR_DEVICE_STATUS_ADAPTER_DISABLED_MASK;
}
EXPORT_SYMBOL_GPL(vuhca_adapter_disabled);
