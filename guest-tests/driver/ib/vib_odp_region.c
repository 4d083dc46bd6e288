// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* On-demand regions: registration, deregistration and advice (ibv_advise_mr). */
#include <linux/dma-mapping.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#include "vib_odp.h"

#define VIB_LIST_BYTES	(VIB_ODP_PAGES * sizeof(__le64))

/**
 * struct vib_prefetch - A prefetch for which the process does not wait.
 * @work: Does it.
 * @advice: The advice.
 * @count: Ranges.
 * @ranges: The ranges with their regions, which are held.
 */
struct vib_prefetch {
	struct work_struct work;
	enum ib_uverbs_advise_mr_advice advice;
	u32 count;
	struct vib_prefetch_range {
		struct vib_odp *odp;
		u64 address;
		u32 length;
	} ranges[];
};

static struct device *vib_odp_device(struct vib_odp *odp)
{
	return &odp->dev->hw->pdev->dev;
}

static void vib_odp_free(struct vib_odp *odp)
{
	struct ib_umem_odp *child;
	unsigned long place;

	xa_for_each(&odp->children, place, child)
		ib_umem_odp_release(child);
	xa_destroy(&odp->children);
	if (!IS_ERR_OR_NULL(odp->umem))
		ib_umem_odp_release(odp->umem);
	if (odp->list)
		dma_free_coherent(vib_odp_device(odp), VIB_LIST_BYTES,
				  odp->list, odp->list_dma);
	mutex_destroy(&odp->children_lock);
	mutex_destroy(&odp->list_lock);
	mutex_destroy(&odp->map_lock);
	kfree(odp);
}

static struct vib_odp *vib_odp_alloc(struct ib_pd *pd)
{
	struct vib_odp *odp = kzalloc(sizeof(*odp), GFP_KERNEL);

	if (!odp)
		return NULL;
	odp->dev = to_vdev(pd->device);
	odp->pd = pd;
	xa_init(&odp->children);
	mutex_init(&odp->children_lock);
	mutex_init(&odp->map_lock);
	mutex_init(&odp->list_lock);
	spin_lock_init(&odp->lock);
	INIT_WORK(&odp->work, vib_odp_work);
	refcount_set(&odp->users, 1);
	init_completion(&odp->idle);
	odp->list = dma_alloc_coherent(vib_odp_device(odp), VIB_LIST_BYTES,
				       &odp->list_dma, GFP_KERNEL);
	if (odp->list)
		return odp;
	vib_odp_free(odp);
	return NULL;
}

/* Memory of the process: a range, or its whole address space. */
static int vib_odp_watch(struct vib_odp *odp, u64 start, u64 length,
			 u64 address, int access)
{
	struct ib_device *ibdev = &odp->dev->ibdev;
	struct ib_umem_odp *umem;

	if (start || length != U64_MAX)
		umem = ib_umem_odp_get(ibdev, start, length, access,
				       &vib_odp_ops);
	else if (!address)
		umem = ib_umem_odp_alloc_implicit(ibdev, access);
	else
		return -EINVAL;
	odp->umem = umem;
	if (IS_ERR(umem))
		return PTR_ERR(umem);
	umem->private = odp;
	odp->offset = start - address;
	/* Each page of the region is a page of the process. */
	if (!umem->is_implicit_odp &&
	    odp->offset & (BIT_ULL(umem->page_shift) - 1))
		return -EINVAL;
	return 0;
}

static int vib_odp_create(struct vib_odp *odp, u64 address, u64 length,
			  u32 access)
{
	bool implicit = odp->umem->is_implicit_odp;
	struct vuhca_mr *hw;
	int err;

	hw = vuhca_reg_on_demand(to_vpd(odp->pd)->hw, access, address,
				 implicit ? VUHCA_DMA_MR_BYTES : length,
				 implicit ? PAGE_SHIFT : odp->umem->page_shift,
				 vib_odp_fault, odp);
	if (IS_ERR(hw))
		return PTR_ERR(hw);
	odp->hw = hw;
	err = xa_insert(&odp->dev->on_demand, hw->lkey, odp, GFP_KERNEL);
	if (err) {
		vuhca_stop_faults(hw);
		cancel_work_sync(&odp->work);
		vuhca_dereg_mr(hw);
	}
	return err;
}

/* Registers memory whose pages are not pinned. @hw_access: rights of the adapter. */
int vib_reg_odp(struct vib_mr *mr, struct ib_pd *pd, u64 start, u64 length,
		u64 address, int access, u32 hw_access)
{
	struct vib_odp *odp;
	int err;

	/* Faults name virtual addresses, and windows would outlive the region. */
	if (access & (IB_ACCESS_MW_BIND | IB_ZERO_BASED))
		return -EOPNOTSUPP;
	if (!length)
		return -EINVAL;
	odp = vib_odp_alloc(pd);
	if (!odp)
		return -ENOMEM;
	err = vib_odp_watch(odp, start, length, address, access);
	if (!err)
		err = vib_odp_create(odp, address, length, hw_access);
	if (err) {
		vib_odp_free(odp);
		return err;
	}
	mr->odp = odp;
	mr->hw = odp->hw;
	return 0;
}

/* From now on the notifier of the memory no longer informs the adapter. */
static void vib_odp_part(struct ib_umem_odp *umem)
{
	mutex_lock(&umem->umem_mutex);
	umem->private = NULL;
	mutex_unlock(&umem->umem_mutex);
}

/* Takes all pages back; faults and prefetches have ended. */
static void vib_odp_take_back(struct vib_odp *odp)
{
	struct ib_umem_odp *umem = odp->umem;
	u64 start = 0, length = VUHCA_DMA_MR_BYTES;

	if (!umem->is_implicit_odp) {
		start = ib_umem_start(umem) - odp->offset;
		length = ib_umem_end(umem) - ib_umem_start(umem);
	}
	vuhca_invalidate_pages(odp->hw, start, length);
}

static void vib_odp_put(struct vib_odp *odp)
{
	if (refcount_dec_and_test(&odp->users))
		complete(&odp->idle);
}

/*
 * Ends faults and prefetches, then destroys the region of the adapter, and then
 * frees its pages: while the adapter may access memory, the notifier informs
 * it.
 */
int vib_dereg_odp(struct vib_mr *mr)
{
	struct vib_odp *odp = mr->odp;
	struct ib_umem_odp *child;
	unsigned long place;
	int err;

	if (xa_cmpxchg(&odp->dev->on_demand, mr->ibmr.lkey, odp, NULL, 0) == odp) {
		vib_odp_put(odp);
		wait_for_completion(&odp->idle);
	}
	vuhca_stop_faults(odp->hw);
	cancel_work_sync(&odp->work);
	vib_odp_take_back(odp);
	xa_for_each(&odp->children, place, child)
		vib_odp_part(child);
	if (!odp->umem->is_implicit_odp)
		vib_odp_part(odp->umem);
	err = vuhca_dereg_mr(odp->hw);
	if (!err)
		vib_odp_free(odp);
	return err;
}

/* Finds and holds the on-demand region of that local key. */
static struct vib_odp *vib_odp_hold(struct ib_pd *pd, u32 lkey)
{
	struct xarray *regions = &to_vdev(pd->device)->on_demand;
	struct vib_odp *odp;

	xa_lock(regions);
	odp = xa_load(regions, lkey);
	if (odp && !refcount_inc_not_zero(&odp->users))
		odp = NULL;
	xa_unlock(regions);
	return odp;
}

static int vib_prefetch(const struct vib_prefetch_range *range,
			enum ib_uverbs_advise_mr_advice advice)
{
	bool write = advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	bool fault = advice != IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT;

	return vib_odp_map_range(range->odp,
				 range->address + range->odp->offset,
				 range->length, write, fault);
}

static int vib_prefetch_all(struct vib_prefetch *prefetch)
{
	int err = 0;
	u32 i;

	for (i = 0; i < prefetch->count; i++) {
		if (!err)
			err = vib_prefetch(&prefetch->ranges[i],
					   prefetch->advice);
		vib_odp_put(prefetch->ranges[i].odp);
	}
	kvfree(prefetch);
	return err;
}

static void vib_prefetch_work(struct work_struct *work)
{
	vib_prefetch_all(container_of(work, struct vib_prefetch, work));
}

/* Finds and holds the region of a range. */
static int vib_prefetch_add(struct ib_pd *pd, struct vib_prefetch *prefetch,
			    const struct ib_sge *sge)
{
	struct vib_odp *odp = vib_odp_hold(pd, sge->lkey);

	if (!odp)
		return -ENOENT;
	prefetch->ranges[prefetch->count++] = (struct vib_prefetch_range){
		.odp = odp, .address = sge->addr, .length = sge->length };
	if (odp->pd != pd)
		return -EPERM;
	if (prefetch->advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE &&
	    !odp->umem->umem.writable)
		return -EPERM;
	return 0;
}

int vib_advise_mr(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice,
		  u32 flags, struct ib_sge *sges, u32 count,
		  struct uverbs_attr_bundle *attributes)
{
	struct vib_prefetch *prefetch;
	int err = 0;
	u32 i;

	if (advice > IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return -EOPNOTSUPP;
	prefetch = kvzalloc(struct_size(prefetch, ranges, count), GFP_KERNEL);
	if (!prefetch)
		return -ENOMEM;
	prefetch->advice = advice;
	for (i = 0; !err && i < count; i++)
		err = vib_prefetch_add(pd, prefetch, &sges[i]);
	if (err) {
		while (prefetch->count)
			vib_odp_put(prefetch->ranges[--prefetch->count].odp);
		kvfree(prefetch);
		return err;
	}
	if (flags & IB_UVERBS_ADVISE_MR_FLAG_FLUSH)
		return vib_prefetch_all(prefetch);
	INIT_WORK(&prefetch->work, vib_prefetch_work);
	vib_odp_queue(&prefetch->work);
	return 0;
}
