// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Pages of on-demand regions: mapped when the adapter misses them, taken back
 * by the notifier of the process's memory. A worker for each region resolves
 * its faults, so a process that faults often delays only itself.
 */
#include <linux/sched/mm.h>

#include "vib_odp.h"

/* Memory of an implicit region that one notifier watches. */
#define VIB_CHILD_SHIFT	21
#define VIB_CHILD_BYTES	BIT_ULL(VIB_CHILD_SHIFT)
/* Attempts at a fault while the kernel keeps changing the memory. */
#define VIB_MAP_TRIES	16

static struct workqueue_struct *vib_odp_wq;

static u64 vib_odp_to_region(struct vib_odp *odp, u64 user)
{
	return user - odp->offset;
}

static bool vib_odp_any_mapped(struct ib_umem_odp *umem, u64 start, u64 end)
{
	size_t index = (start - ib_umem_start(umem)) >> umem->page_shift;
	size_t last = (end - 1 - ib_umem_start(umem)) >> umem->page_shift;

	if (!umem->npages)
		return false;
	for (; index <= last; index++)
		if (vib_odp_is_mapped(umem, index))
			return true;
	return false;
}

/*
 * The kernel takes a range from the process. When this returns, the adapter
 * uses none of it. Memory reclaim may call it, so nothing below allocates
 * memory.
 */
static bool vib_odp_invalidate(struct mmu_interval_notifier *notifier,
			       const struct mmu_notifier_range *range,
			       unsigned long sequence)
{
	struct ib_umem_odp *umem =
		container_of(notifier, struct ib_umem_odp, notifier);
	u64 page_bytes = BIT_ULL(umem->page_shift);
	struct vib_odp *odp;
	u64 start, end;

	if (!mmu_notifier_range_blockable(range))
		return false;
	mutex_lock(&umem->umem_mutex);
	mmu_interval_set_seq(notifier, sequence);
	odp = umem->private;
	start = max_t(u64, ib_umem_start(umem),
		      ALIGN_DOWN(range->start, page_bytes));
	/* The end of the address space of a process that exits is ULONG_MAX. */
	end = ALIGN(min_t(u64, ib_umem_end(umem), range->end), page_bytes);
	if (vib_odp_any_mapped(umem, start, end)) {
		if (odp) {
			vuhca_invalidate_pages(odp->hw,
					       vib_odp_to_region(odp, start),
					       end - start);
			atomic64_inc(&odp->dev->page_invalidations);
		}
		ib_umem_odp_unmap_dma_pages(umem, start, end);
	}
	mutex_unlock(&umem->umem_mutex);
	return true;
}

const struct mmu_interval_notifier_ops vib_odp_ops = {
	.invalidate = vib_odp_invalidate,
};

/* Adds memory to an implicit region. The process may be exiting. */
static struct ib_umem_odp *vib_odp_add_child(struct vib_odp *odp,
					     unsigned long place)
{
	struct mm_struct *mm = odp->umem->umem.owning_mm;
	struct ib_umem_odp *child;
	int err;

	if (!mmget_not_zero(mm))
		return ERR_PTR(-EFAULT);
	child = ib_umem_odp_alloc_child(odp->umem, place << VIB_CHILD_SHIFT,
					VIB_CHILD_BYTES, &vib_odp_ops);
	mmput(mm);
	if (IS_ERR(child))
		return child;
	child->private = odp;
	err = xa_insert(&odp->children, place, child, GFP_KERNEL);
	if (err) {
		ib_umem_odp_release(child);
		return ERR_PTR(err);
	}
	return child;
}

/* Returns the memory that has the address of the process. */
static struct ib_umem_odp *vib_odp_find(struct vib_odp *odp, u64 user)
{
	struct ib_umem_odp *umem = odp->umem;
	unsigned long place = user >> VIB_CHILD_SHIFT;

	if (!umem->is_implicit_odp)
		return user >= ib_umem_start(umem) && user < ib_umem_end(umem) ?
		       umem : ERR_PTR(-EFAULT);
	if (user >= TASK_SIZE)
		return ERR_PTR(-EFAULT);
	mutex_lock(&odp->children_lock);
	umem = xa_load(&odp->children, place);
	if (!umem)
		umem = vib_odp_add_child(odp, place);
	mutex_unlock(&odp->children_lock);
	return umem;
}

/* The caller holds the lock of @umem, whose pages are mapped. */
static int vib_odp_give(struct vib_odp *odp, struct ib_umem_odp *umem,
			u64 start, u64 end)
{
	size_t first = (start - ib_umem_start(umem)) >> umem->page_shift;
	size_t count = (end - start) >> umem->page_shift;
	size_t i;
	int err;

	lockdep_assert_held(&umem->umem_mutex);
	mutex_lock(&odp->list_lock);
	for (i = 0; i < count; i++)
		odp->list[i] = cpu_to_le64(vib_odp_page(umem, first + i));
	err = vuhca_resolve_pages(odp->hw, vib_odp_to_region(odp, start),
				  end - start, odp->list_dma);
	mutex_unlock(&odp->list_lock);
	return err;
}

/*
 * Maps a range of at most VIB_ODP_PAGES pages, all in @umem. The core looks at
 * the pages of the process before it takes the lock of @umem, and writes what it
 * has found to a list that all callers share: a prefetch must not overwrite what
 * a fault has found.
 */
static int vib_odp_map(struct vib_odp *odp, struct ib_umem_odp *umem, u64 start,
		       u64 end, bool write, bool fault)
{
	u64 access = vib_odp_access(write && umem->umem.writable);
	unsigned int tries = 0;
	int err;

	mutex_lock(&odp->map_lock);
	do {
		err = ib_umem_odp_map_dma_and_lock(umem, start, end - start,
						   access, fault);
	} while (err == -EAGAIN && ++tries < VIB_MAP_TRIES);
	mutex_unlock(&odp->map_lock);
	if (err < 0)
		return err;
	err = vib_odp_give(odp, umem, start, end);
	mutex_unlock(&umem->umem_mutex);
	return err;
}

/*
 * Makes a range of the process's memory present. With @fault pages are brought
 * in, else only those that the process has are mapped.
 */
int vib_odp_map_range(struct vib_odp *odp, u64 user, u64 length, bool write,
		      bool fault)
{
	u64 last = user + length;
	int err = 0;

	while (!err && user < last) {
		struct ib_umem_odp *umem = vib_odp_find(odp, user);
		u64 page_bytes, start, end;

		if (IS_ERR(umem))
			return PTR_ERR(umem);
		page_bytes = BIT_ULL(umem->page_shift);
		start = ALIGN_DOWN(user, page_bytes);
		end = min_t(u64, ALIGN(last, page_bytes), ib_umem_end(umem));
		end = min(end, start + VIB_ODP_PAGES * page_bytes);
		err = vib_odp_map(odp, umem, start, end, write, fault);
		user = end;
	}
	return err;
}

/*
 * Pages are made writable in advance where the process may write: most are
 * written later. The rest of the message is mapped as well if possible.
 */
static void vib_odp_resolve(struct vib_odp *odp,
			    const struct vib_page_fault *fault)
{
	u64 page_bytes = BIT_ULL(odp->umem->is_implicit_odp ?
				 PAGE_SHIFT : odp->umem->page_shift);
	u64 most = VIB_ODP_PAGES * page_bytes;
	u64 user = fault->address + odp->offset;

	if (!vib_odp_map_range(odp, user, min_t(u64, fault->length, most), true,
			       true))
		return;
	if (!vib_odp_map_range(odp, user, 1, true, true))
		return;
	if (!fault->write && !vib_odp_map_range(odp, user, 1, false, true))
		return;
	vuhca_refuse_pages(odp->hw, ALIGN_DOWN(fault->address, page_bytes),
			   page_bytes);
}

static bool vib_odp_take(struct vib_odp *odp, struct vib_page_fault *fault)
{
	bool taken = false;

	spin_lock_irq(&odp->lock);
	if (odp->head != odp->tail) {
		*fault = odp->faults[odp->head++ % VIB_ODP_FAULTS];
		taken = true;
	}
	spin_unlock_irq(&odp->lock);
	return taken;
}

void vib_odp_work(struct work_struct *work)
{
	struct vib_odp *odp = container_of(work, struct vib_odp, work);
	struct vib_page_fault fault;

	while (vib_odp_take(odp, &fault)) {
		vib_odp_resolve(odp, &fault);
		cond_resched();
	}
}

/*
 * Handler of vuhca.ko; the context is the region. A prefetch may answer a
 * pending fault, so more may come than are outstanding. Those beyond the ring
 * are lost; only the process that caused them suffers.
 */
void vib_odp_fault(void *context, u64 address, u32 length, bool write)
{
	struct vib_odp *odp = context;
	unsigned long flags;

	atomic64_inc(&odp->dev->page_faults);
	spin_lock_irqsave(&odp->lock, flags);
	if (odp->tail - odp->head < VIB_ODP_FAULTS)
		odp->faults[odp->tail++ % VIB_ODP_FAULTS] =
			(struct vib_page_fault){ address, length, write };
	spin_unlock_irqrestore(&odp->lock, flags);
	queue_work(vib_odp_wq, &odp->work);
}

bool vib_odp_queue(struct work_struct *work)
{
	return queue_work(vib_odp_wq, work);
}

int vib_odp_start(void)
{
	vib_odp_wq = alloc_workqueue("vuhca_odp", WQ_UNBOUND, 0);
	return vib_odp_wq ? 0 : -ENOMEM;
}

void vib_odp_stop(void)
{
	destroy_workqueue(vib_odp_wq);
}
