// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Protection domains (IBTA 11.2.1.5). */
#include "vib.h"

int vib_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct vuhca_pd *hw = vuhca_alloc_pd(to_vdev(ibpd->device)->hw);

	if (IS_ERR(hw))
		return PTR_ERR(hw);
	to_vpd(ibpd)->hw = hw;
	return 0;
}

int vib_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	return vuhca_dealloc_pd(to_vpd(ibpd)->hw);
}
