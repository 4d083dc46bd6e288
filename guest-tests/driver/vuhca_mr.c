// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Protection domains and memory regions. */
#include <linux/slab.h>

#include "vuhca.h"

struct vuhca_pd *vuhca_alloc_pd(struct vuhca_dev *dev)
{
	struct vuhca_pd_attributes attributes = {};
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_CREATE_PD,
		.payload = &attributes,
		.payload_bytes = sizeof(attributes),
	};
	struct vuhca_answer answer;
	struct vuhca_pd *pd;
	int err;

	pd = kzalloc(sizeof(*pd), GFP_KERNEL);
	if (!pd)
		return ERR_PTR(-ENOMEM);
	pd->dev = dev;
	pd->generation = READ_ONCE(dev->generation);
	err = vuhca_admin_execute(dev, &command, &answer);
	if (err) {
		kfree(pd);
		return ERR_PTR(err);
	}
	pd->pdn = answer.object;
	return pd;
}
EXPORT_SYMBOL_GPL(vuhca_alloc_pd);

/* -EBUSY, with the PD kept, while objects use it. */
int vuhca_dealloc_pd(struct vuhca_pd *pd)
{
	int err;

	err = vuhca_admin_destroy(pd->dev, VUHCA_MANAGEMENT_OPCODE_DESTROY_PD,
				  pd->pdn, pd->generation);
	if (!err)
		kfree(pd);
	return err;
}
EXPORT_SYMBOL_GPL(vuhca_dealloc_pd);

static struct vuhca_mr *vuhca_create_mr(struct vuhca_pd *pd,
					struct vuhca_mr_attributes *attributes)
{
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_CREATE_MR,
		.payload = attributes,
		.payload_bytes = sizeof(*attributes),
	};
	const struct vuhca_mr_attributes *created;
	struct vuhca_answer answer;
	struct vuhca_mr *mr;
	int err;

	if (!vuhca_is_current(pd->dev, pd->generation))
		return ERR_PTR(-ESTALE);
	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->dev = pd->dev;
	mr->generation = pd->generation;
	vuhca_mr_attributes_set_pd(attributes, pd->pdn);
	err = vuhca_admin_execute(pd->dev, &command, &answer);
	if (err) {
		kfree(mr);
		return ERR_PTR(err);
	}
	created = (const void *)answer.payload;
	mr->number = answer.object;
	mr->lkey = le32_to_cpu(created->lkey);
	mr->rkey = le32_to_cpu(created->rkey);
	return mr;
}

/* The whole of memory by its bus addresses, for kernel users. */
struct vuhca_mr *vuhca_get_dma_mr(struct vuhca_pd *pd, u32 access)
{
	struct vuhca_mr_attributes attributes = {
		.access = cpu_to_le32(access),
		.length = cpu_to_le64(VUHCA_DMA_MR_BYTES),
	};

	vuhca_mr_attributes_set_kind(&attributes, VUHCA_MR_KIND_PHYSICAL);
	return vuhca_create_mr(pd, &attributes);
}
EXPORT_SYMBOL_GPL(vuhca_get_dma_mr);

/*
 * Pages as one range of virtual addresses. The adapter reads the list during
 * this call only.
 */
struct vuhca_mr *vuhca_reg_pages(struct vuhca_pd *pd, u32 access, u64 start,
				 u64 length, dma_addr_t page_list,
				 u32 page_count, u8 page_shift)
{
	struct vuhca_mr_attributes attributes = {
		.access = cpu_to_le32(access),
		.start_address = cpu_to_le64(start),
		.length = cpu_to_le64(length),
		.page_list_address = cpu_to_le64(page_list),
		.page_count = cpu_to_le32(page_count),
		.page_shift = page_shift,
	};

	vuhca_mr_attributes_set_kind(&attributes, VUHCA_MR_KIND_PAGED);
	return vuhca_create_mr(pd, &attributes);
}
EXPORT_SYMBOL_GPL(vuhca_reg_pages);

/*
 * A region that is registered by FAST_REGISTER requests and taken out of use
 * by invalidation. Each registration may give its keys another low byte.
 */
struct vuhca_mr *vuhca_alloc_fast_mr(struct vuhca_pd *pd, u32 max_pages)
{
	struct vuhca_mr_attributes attributes = {
		.page_count = cpu_to_le32(max_pages),
	};

	vuhca_mr_attributes_set_kind(&attributes, VUHCA_MR_KIND_FAST);
	return vuhca_create_mr(pd, &attributes);
}
EXPORT_SYMBOL_GPL(vuhca_alloc_fast_mr);

/*
 * Changes what attribute_mask names of PD, access and translation, under the
 * same keys. All or nothing; -EBUSY while a memory window is bound to the MR.
 */
int vuhca_rereg_mr(struct vuhca_mr *mr,
		   const struct vuhca_mr_attributes *attributes)
{
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_MODIFY_MR,
		.object = mr->number,
		.payload = attributes,
		.payload_bytes = sizeof(*attributes),
	};
	struct vuhca_answer answer;

	if (!vuhca_is_current(mr->dev, mr->generation))
		return -ESTALE;
	return vuhca_admin_execute(mr->dev, &command, &answer);
}
EXPORT_SYMBOL_GPL(vuhca_rereg_mr);

int vuhca_dereg_mr(struct vuhca_mr *mr)
{
	int err;

	err = vuhca_admin_destroy(mr->dev, VUHCA_MANAGEMENT_OPCODE_DESTROY_MR,
				  mr->number, mr->generation);
	if (!err)
		kfree(mr);
	return err;
}
EXPORT_SYMBOL_GPL(vuhca_dereg_mr);
