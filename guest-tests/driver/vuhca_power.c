// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Sleep of the system: suspend to idle and to memory, and hibernation. The
 * function may lose its state, and must not write to memory of which an image is
 * made. So a sleep is a reset to the users of the function, as in other drivers
 * of channel adapters: their objects end before it, and they start again after
 * it.
 */
#include <linux/pm.h>

#include "vuhca_internal.h"

/* The PCI core then saves configuration space, and takes the function to D3hot. */
static int vuhca_pm_suspend(struct device *device)
{
	struct vuhca_dev *dev = dev_get_drvdata(device);

	vuhca_client_reset_prepare(dev);
	dev->asleep = true;
	vuhca_quiesce(dev);
	return 0;
}

/*
 * The function may come from a reset, or from another kernel, which has read
 * the image. vuhca_restart() sees whether the reset has succeeded.
 */
static int vuhca_pm_resume(struct device *device)
{
	struct vuhca_dev *dev = dev_get_drvdata(device);

	vuhca_soft_reset(dev);
	return vuhca_restart(dev);
}

/*
 * Clients register devices below the function, which the kernel forbids as long
 * as the function has not resumed completely. A sleep that failed before it
 * came to the function ends here, too.
 */
static void vuhca_pm_complete(struct device *device)
{
	struct vuhca_dev *dev = dev_get_drvdata(device);

	if (!dev->asleep)
		return;
	dev->asleep = false;
	if (vuhca_is_up(dev))
		vuhca_client_reset_done(dev);
}

const struct dev_pm_ops vuhca_pm_ops = {
	SYSTEM_SLEEP_PM_OPS(vuhca_pm_suspend, vuhca_pm_resume)
	.complete = pm_sleep_ptr(vuhca_pm_complete),
};
