// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* XRC domains (IBTA annex A14), which XRC targets and XRC SRQs share. */
#include <linux/slab.h>

#include "vuhca_internal.h"

/**
 * vuhca_alloc_xrcd() - Create an XRC domain.
 * @dev: Function of the adapter.
 *
 * Context: May sleep.
 * Return: The domain, or ERR_PTR() of -ENOMEM or of the error of
 *	vuhca_admin_execute().
 */
struct vuhca_xrcd *vuhca_alloc_xrcd(struct vuhca_dev *dev)
{
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_CREATE_XRC_DOMAIN,
	};
	struct vuhca_xrcd *xrcd = kzalloc(sizeof(*xrcd), GFP_KERNEL);
	struct vuhca_answer answer;
	int err;

	if (!xrcd)
		return ERR_PTR(-ENOMEM);
	xrcd->dev = dev;
	xrcd->generation = READ_ONCE(dev->generation);
	err = vuhca_admin_execute(dev, &command, &answer);
	if (err) {
		kfree(xrcd);
		return ERR_PTR(err);
	}
	xrcd->number = answer.object;
	return xrcd;
}
EXPORT_SYMBOL_GPL(vuhca_alloc_xrcd);

/**
 * vuhca_dealloc_xrcd() - Destroy an XRC domain.
 * @xrcd: Domain; stays when the call fails.
 *
 * Context: May sleep.
 * Return: 0; -EBUSY while SRQs or QPs use the domain; or the error of
 *	vuhca_admin_execute().
 */
int vuhca_dealloc_xrcd(struct vuhca_xrcd *xrcd)
{
	int err;

	err = vuhca_admin_destroy(xrcd->dev,
				  VUHCA_MANAGEMENT_OPCODE_DESTROY_XRC_DOMAIN,
				  xrcd->number, xrcd->generation);
	if (!err)
		kfree(xrcd);
	return err;
}
EXPORT_SYMBOL_GPL(vuhca_dealloc_xrcd);
