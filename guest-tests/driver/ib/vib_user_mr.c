// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Memory regions and memory windows of user processes (IBTA 10.6). */
#include <linux/slab.h>

#include "vib_user.h"

/* Hints, except those that would need page faults of the adapter. */
#define VIB_UNSUPPORTED_ACCESS	(IB_ACCESS_ON_DEMAND | IB_ACCESS_HUGETLB)

/*
 * Pins the memory and lists it in the largest pages that it and its address
 * allow.
 */
static int vib_pin_region(struct ib_device *ibdev, u64 start, u64 length,
			  u64 address, int access, struct ib_umem **umem,
			  struct vib_page_list *pages)
{
	unsigned long page_bytes;
	int err;

	if (access & VIB_UNSUPPORTED_ACCESS)
		return -EOPNOTSUPP;
	if (!length)
		return -EINVAL;
	*umem = vib_pin(ibdev, start, length, access);
	if (IS_ERR(*umem))
		return PTR_ERR(*umem);
	page_bytes = ib_umem_find_best_pgsz(*umem, VIB_PAGE_SIZES, address);
	err = page_bytes ? vib_list_pages(ibdev, *umem, page_bytes, pages) :
			   -EINVAL;
	if (err)
		ib_umem_release(*umem);
	return err;
}

struct ib_mr *vib_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
			      u64 address, int access, struct ib_udata *udata)
{
	struct vib_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	struct vib_page_list pages = {};
	int err;

	if (!mr)
		return ERR_PTR(-ENOMEM);
	err = vib_pin_region(ibpd->device, start, length, address, access,
			     &mr->umem, &pages);
	if (err)
		goto free_mr;
	mr->hw = vuhca_reg_pages(to_vpd(ibpd)->hw, vib_access(access), address,
				 length, pages.dma, pages.count, pages.shift);
	vib_free_pages(ibpd->device, &pages);
	if (IS_ERR(mr->hw)) {
		err = PTR_ERR(mr->hw);
		goto release;
	}
	mr->ibmr.lkey = mr->hw->lkey;
	mr->ibmr.rkey = mr->hw->rkey;
	mr->access = access;
	return &mr->ibmr;

release:
	ib_umem_release(mr->umem);
free_mr:
	kfree(mr);
	return ERR_PTR(err);
}

/* The adapter changes all or nothing, and the keys stay. */
struct ib_mr *vib_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				u64 length, u64 address, int access,
				struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct vuhca_mr_attributes attributes = {};
	struct vib_mr *mr = to_vmr(ibmr);
	struct vib_page_list pages = {};
	struct ib_umem *umem = NULL;
	u32 mask = 0;
	int err = 0;

	if (!(flags & IB_MR_REREG_ACCESS))
		access = mr->access;
	if (flags & IB_MR_REREG_TRANS) {
		err = vib_pin_region(ibmr->device, start, length, address,
				     access, &umem, &pages);
		if (err)
			return ERR_PTR(err);
		mask |= VUHCA_MR_MASK_TRANSLATION;
		vuhca_mr_attributes_set_kind(&attributes, VUHCA_MR_KIND_PAGED);
		attributes.start_address = cpu_to_le64(address);
		attributes.length = cpu_to_le64(length);
		attributes.page_list_address = cpu_to_le64(pages.dma);
		attributes.page_count = cpu_to_le32(pages.count);
		attributes.page_shift = pages.shift;
	}
	if (flags & IB_MR_REREG_PD) {
		mask |= VUHCA_MR_MASK_PD;
		vuhca_mr_attributes_set_pd(&attributes,
					   to_vpd(ibpd)->hw->pdn);
	}
	if (flags & IB_MR_REREG_ACCESS) {
		/* Pages that were pinned for reading must not be written. */
		if (!umem && !mr->umem->writable && ib_access_writable(access))
			return ERR_PTR(-EOPNOTSUPP);
		mask |= VUHCA_MR_MASK_ACCESS;
		attributes.access = cpu_to_le32(vib_access(access));
	}
	attributes.attribute_mask = cpu_to_le32(mask);
	err = vuhca_rereg_mr(mr->hw, &attributes);
	vib_free_pages(ibmr->device, &pages);
	if (!err) {
		mr->access = access;
		if (umem)
			swap(umem, mr->umem);
	}
	if (umem)
		ib_umem_release(umem);
	return err ? ERR_PTR(err) : NULL;
}

int vib_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata)
{
	struct vuhca_mw *hw;

	hw = vuhca_alloc_mw(to_vpd(ibmw->pd)->hw,
			    ibmw->type == IB_MW_TYPE_1 ? VUHCA_MW_KIND_TYPE_1 :
							 VUHCA_MW_KIND_TYPE_2);
	if (IS_ERR(hw))
		return PTR_ERR(hw);
	to_vmw(ibmw)->hw = hw;
	ibmw->rkey = hw->rkey;
	return 0;
}

int vib_dealloc_mw(struct ib_mw *ibmw)
{
	return vuhca_dealloc_mw(to_vmw(ibmw)->hw);
}
