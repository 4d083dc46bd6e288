// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Device memory of processes. A process maps its own memory in whole pages, at
 * an offset that a method of this driver returns. No other process gets the
 * pages before the last mapping is gone.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#define UVERBS_MODULE_NAME vuhca_ib
#include <rdma/uverbs_named_ioctl.h>

#include "vib_user.h"

struct vib_dm {
	struct ib_dm ibdm;
	struct vuhca_dm *hw;
	struct rdma_user_mmap_entry entry;
};

static struct vib_dm *to_vdm(struct ib_dm *ibdm)
{
	return container_of(ibdm, struct vib_dm, ibdm);
}

/* Whole pages, because a mapping shows everything that shares a page. */
struct ib_dm *vib_alloc_dm(struct ib_device *ibdev, struct ib_ucontext *ibuc,
			   struct ib_dm_alloc_attr *attr,
			   struct uverbs_attr_bundle *attributes)
{
	u32 alignment = max_t(u32, attr->alignment, PAGE_SHIFT);
	struct vib_dm *dm;
	int err;

	if (!attr->length || attr->length > VUHCA_DEVICE_MEMORY_MAX_BYTES ||
	    attr->alignment > ilog2(VUHCA_DEVICE_MEMORY_MAX_BYTES))
		return ERR_PTR(-EINVAL);
	dm = kzalloc(sizeof(*dm), GFP_KERNEL);
	if (!dm)
		return ERR_PTR(-ENOMEM);
	dm->hw = vuhca_alloc_dm(to_vdev(ibdev)->hw, PAGE_ALIGN(attr->length),
				alignment);
	if (IS_ERR(dm->hw)) {
		err = PTR_ERR(dm->hw);
		goto free;
	}
	err = rdma_user_mmap_entry_insert_range(ibuc, &dm->entry,
						dm->hw->length,
						VUHCA_MMAP_DEVICE_MEMORY,
						U32_MAX);
	if (!err)
		return &dm->ibdm;
	vuhca_free_dm(dm->hw);
free:
	kfree(dm);
	return ERR_PTR(err == -ENOSPC ? -ENOMEM : err);
}

/* No process has its pages any longer, and it has no regions. */
void vib_free_dm(struct rdma_user_mmap_entry *entry)
{
	struct vib_dm *dm = container_of(entry, struct vib_dm, entry);

	if (vuhca_free_dm(dm->hw))
		dev_warn(&dm->hw->dev->pdev->dev,
			 "device memory %u is lost\n", dm->hw->number);
	kfree(dm);
}

int vib_dealloc_dm(struct ib_dm *ibdm, struct uverbs_attr_bundle *attributes)
{
	rdma_user_mmap_entry_remove(&to_vdm(ibdm)->entry);
	return 0;
}

struct ib_mr *vib_reg_dm_mr(struct ib_pd *ibpd, struct ib_dm *ibdm,
			    struct ib_dm_mr_attr *attr,
			    struct uverbs_attr_bundle *attributes)
{
	struct vib_mr *mr;

	if (attr->access_flags & (IB_ACCESS_ON_DEMAND | IB_ACCESS_HUGETLB))
		return ERR_PTR(-EOPNOTSUPP);
	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->hw = vuhca_reg_dm(to_vpd(ibpd)->hw, vib_access(attr->access_flags),
			      0, to_vdm(ibdm)->hw, attr->offset, attr->length);
	return vib_mr_finish(mr, mr->hw);
}

int vib_mmap_dm(struct ib_ucontext *ibuc, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry;
	struct vib_dm *dm;
	int err;

	entry = rdma_user_mmap_entry_get(ibuc, vma);
	if (!entry)
		return -EINVAL;
	dm = container_of(entry, struct vib_dm, entry);
	err = rdma_user_mmap_io(ibuc, vma, PHYS_PFN(vuhca_dm_phys(dm->hw)),
				dm->hw->length,
				pgprot_noncached(vma->vm_page_prot), entry);
	rdma_user_mmap_entry_put(entry);
	return err;
}

static int UVERBS_HANDLER(VUHCA_METHOD_DM_QUERY)(struct uverbs_attr_bundle *attributes)
{
	struct ib_dm *ibdm =
		uverbs_attr_get_obj(attributes, VUHCA_ATTR_DM_QUERY_HANDLE);
	struct vuhca_query_dm_resp about = {};

	if (IS_ERR(ibdm))
		return PTR_ERR(ibdm);
	about.length = ibdm->length;
	about.mmap_page = to_vdm(ibdm)->entry.start_pgoff;
	return uverbs_copy_to(attributes, VUHCA_ATTR_DM_QUERY_RESP, &about,
			      sizeof(about));
}

DECLARE_UVERBS_NAMED_METHOD(VUHCA_METHOD_DM_QUERY,
			    UVERBS_ATTR_IDR(VUHCA_ATTR_DM_QUERY_HANDLE,
					    UVERBS_OBJECT_DM,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(VUHCA_ATTR_DM_QUERY_RESP,
						UVERBS_ATTR_STRUCT(struct vuhca_query_dm_resp,
								   reserved),
						UA_MANDATORY));

ADD_UVERBS_METHODS(vib_dm_methods, UVERBS_OBJECT_DM,
		   &UVERBS_METHOD(VUHCA_METHOD_DM_QUERY));

const struct uapi_definition vib_dm_definitions[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DM, &vib_dm_methods),
	{},
};
