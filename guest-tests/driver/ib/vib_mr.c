// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory regions of kernel users: all of memory for the local key of a PD, and
 * regions that work requests register (IBTA 10.6.4.4).
 */
#include <linux/dma-mapping.h>
#include <linux/slab.h>

#include "vib_user.h"

static_assert((int)VUHCA_ACCESS_FLAG_LOCAL_WRITE == IB_ACCESS_LOCAL_WRITE);
static_assert((int)VUHCA_ACCESS_FLAG_REMOTE_WRITE == IB_ACCESS_REMOTE_WRITE);
static_assert((int)VUHCA_ACCESS_FLAG_REMOTE_READ == IB_ACCESS_REMOTE_READ);
static_assert((int)VUHCA_ACCESS_FLAG_REMOTE_ATOMIC == IB_ACCESS_REMOTE_ATOMIC);
static_assert((int)VUHCA_ACCESS_FLAG_WINDOW_BIND == IB_ACCESS_MW_BIND);
static_assert((int)VUHCA_ACCESS_FLAG_ZERO_BASED == IB_ZERO_BASED);
static_assert((int)VUHCA_ACCESS_FLAG_ON_DEMAND == IB_ACCESS_ON_DEMAND);

static_assert((int)VUHCA_ACCESS_FLAG_FLUSH_GLOBAL == IB_ACCESS_FLUSH_GLOBAL);
static_assert((int)VUHCA_ACCESS_FLAG_FLUSH_PERSISTENT ==
	      IB_ACCESS_FLUSH_PERSISTENT);

#define VIB_ACCESS_FLAGS \
	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
	 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_MW_BIND | \
	 IB_ZERO_BASED | IB_ACCESS_ON_DEMAND | IB_ACCESS_FLUSH_GLOBAL | \
	 IB_ACCESS_FLUSH_PERSISTENT)

/* The rights that the adapter knows; the others are hints. */
u32 vib_access(int flags)
{
	return flags & VIB_ACCESS_FLAGS;
}

/* Frees @mr when there is no region of the adapter. */
struct ib_mr *vib_mr_finish(struct vib_mr *mr, struct vuhca_mr *hw)
{
	if (IS_ERR(hw)) {
		kfree(mr);
		return ERR_CAST(hw);
	}
	mr->hw = hw;
	mr->ibmr.lkey = hw->lkey;
	mr->ibmr.rkey = hw->rkey;
	return &mr->ibmr;
}

struct ib_mr *vib_get_dma_mr(struct ib_pd *ibpd, int access)
{
	struct vib_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);

	if (!mr)
		return ERR_PTR(-ENOMEM);
	return vib_mr_finish(mr, vuhca_get_dma_mr(to_vpd(ibpd)->hw,
						  vib_access(access)));
}

static struct device *vib_dma_device(struct ib_device *ibdev)
{
	return &to_vdev(ibdev)->hw->pdev->dev;
}

static void vib_free_list(struct ib_device *ibdev, struct vib_mr *mr)
{
	if (mr->list)
		dma_free_coherent(vib_dma_device(ibdev),
				  mr->max_pages * sizeof(*mr->list), mr->list,
				  mr->list_dma);
}

struct ib_mr *vib_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type,
			   u32 max_pages)
{
	struct vuhca_mr *hw;
	struct vib_mr *mr;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_pages || max_pages > VIB_MAX_FAST_PAGES)
		return ERR_PTR(-EINVAL);
	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->max_pages = max_pages;
	mr->list = dma_alloc_coherent(vib_dma_device(ibpd->device),
				      max_pages * sizeof(*mr->list),
				      &mr->list_dma, GFP_KERNEL);
	if (!mr->list) {
		kfree(mr);
		return ERR_PTR(-ENOMEM);
	}
	hw = vuhca_alloc_fast_mr(to_vpd(ibpd)->hw, max_pages);
	if (IS_ERR(hw))
		vib_free_list(ibpd->device, mr);
	return vib_mr_finish(mr, hw);
}

static int vib_set_page(struct ib_mr *ibmr, u64 address)
{
	struct vib_mr *mr = to_vmr(ibmr);

	if (mr->page_count == mr->max_pages)
		return -ENOMEM;
	mr->list[mr->page_count++] = cpu_to_le64(address);
	return 0;
}

int vib_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int count,
		  unsigned int *offset)
{
	to_vmr(ibmr)->page_count = 0;
	return ib_sg_to_pages(ibmr, sg, count, offset, vib_set_page);
}

int vib_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct vib_mr *mr = to_vmr(ibmr);
	int err;

	err = mr->odp ? vib_dereg_odp(mr) : vuhca_dereg_mr(mr->hw);
	if (err)
		return err;
	vib_free_list(ibmr->device, mr);
	if (mr->umem)
		ib_umem_release(mr->umem);
	kfree(mr);
	return 0;
}
