// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Memory regions and memory windows of user processes (IBTA 10.6). */
#include <linux/ioport.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "vib_user.h"

/* Pinned memory is listed in the largest possible pages anyway. */
#define VIB_UNSUPPORTED_ACCESS	(IB_ACCESS_ON_DEMAND | IB_ACCESS_HUGETLB)

/*
 * True when all of the memory is persistent. The adapter writes it by DMA, and
 * data in such memory outlive a loss of power.
 */
static bool vib_is_persistent(struct ib_umem *umem)
{
	struct scatterlist *sg;
	int i;

	for_each_sgtable_sg(&umem->sgt_append.sgt, sg, i)
		if (region_intersects(page_to_phys(sg_page(sg)), sg->length,
				      IORESOURCE_MEM,
				      IORES_DESC_PERSISTENT_MEMORY) !=
		    REGION_INTERSECTS)
			return false;
	return true;
}

/* By that right software vouches that the memory is persistent. */
static int vib_check_flush(struct ib_umem *umem, int access)
{
	if (access & IB_ACCESS_FLUSH_PERSISTENT && !vib_is_persistent(umem))
		return -EINVAL;
	return 0;
}

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
	err = page_bytes ? vib_check_flush(*umem, access) : -EINVAL;
	if (!err)
		err = vib_list_region(ibdev, *umem, page_bytes, pages);
	if (err)
		ib_umem_release(*umem);
	return err;
}

static struct vuhca_mr *vib_reg_pages(struct vuhca_pd *pd, int access,
				      u64 address, u64 length,
				      const struct vib_page_list *pages)
{
	if (pages->parts)
		return vuhca_reg_indirect(pd, vib_access(access), address,
					  length, pages->dma, pages->count,
					  pages->shift);
	return vuhca_reg_pages(pd, vib_access(access), address, length,
			       pages->dma, pages->count, pages->shift);
}

static int vib_reg_pinned(struct vib_mr *mr, struct ib_pd *ibpd, u64 start,
			  u64 length, u64 address, int access)
{
	struct vib_page_list pages = {};
	int err;

	err = vib_pin_region(ibpd->device, start, length, address, access,
			     &mr->umem, &pages);
	if (err)
		return err;
	mr->hw = vib_reg_pages(to_vpd(ibpd)->hw, access, address, length,
			       &pages);
	vib_free_pages(ibpd->device, &pages);
	if (!IS_ERR(mr->hw))
		return 0;
	ib_umem_release(mr->umem);
	return PTR_ERR(mr->hw);
}

struct ib_mr *vib_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
			      u64 address, int access, struct ib_udata *udata)
{
	struct vib_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	int err;

	if (!mr)
		return ERR_PTR(-ENOMEM);
	if (access & IB_ACCESS_ON_DEMAND && access & IB_ACCESS_FLUSH_PERSISTENT)
		err = -EOPNOTSUPP;
	else if (access & IB_ACCESS_ON_DEMAND)
		err = vib_reg_odp(mr, ibpd, start, length, address, access,
				  vib_access(access));
	else
		err = vib_reg_pinned(mr, ibpd, start, length, address, access);
	if (err) {
		kfree(mr);
		return ERR_PTR(err);
	}
	mr->ibmr.lkey = mr->hw->lkey;
	mr->ibmr.rkey = mr->hw->rkey;
	mr->access = access;
	return &mr->ibmr;
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

	if (mr->odp)
		return ERR_PTR(-EOPNOTSUPP);
	if (!(flags & IB_MR_REREG_ACCESS))
		access = mr->access;
	if (access & IB_ACCESS_ON_DEMAND)
		return ERR_PTR(-EOPNOTSUPP);
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
		vuhca_mr_attributes_set_indirect(&attributes, !!pages.parts);
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
		if (!umem && vib_check_flush(mr->umem, access))
			return ERR_PTR(-EINVAL);
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
