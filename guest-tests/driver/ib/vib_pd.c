// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Protection domains (IBTA 11.2.1.5). */
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
