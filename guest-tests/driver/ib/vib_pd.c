// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Protection domains (IBTA 11.2.1.5) and XRC domains (annex A14). */
#include "vib_user.h"

int vib_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct vuhca_pd *hw = vuhca_alloc_pd(to_vdev(ibpd->device)->hw);

	struct vuhca_alloc_pd_resp answer = {};
	int err = 0;

	if (IS_ERR(hw))
		return PTR_ERR(hw);
	to_vpd(ibpd)->hw = hw;
	answer.pdn = hw->pdn;
	if (udata)
		err = vib_copy_answer(&answer, sizeof(answer), udata);
	if (err)
		vuhca_dealloc_pd(hw);
	return err;
}

int vib_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	return vuhca_dealloc_pd(to_vpd(ibpd)->hw);
}

int vib_alloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	struct vuhca_xrcd *hw = vuhca_alloc_xrcd(to_vdev(ibxrcd->device)->hw);

	if (IS_ERR(hw))
		return PTR_ERR(hw);
	to_vxrcd(ibxrcd)->hw = hw;
	return 0;
}

int vib_dealloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	return vuhca_dealloc_xrcd(to_vxrcd(ibxrcd)->hw);
}
