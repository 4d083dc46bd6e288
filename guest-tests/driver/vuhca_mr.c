// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Protection domains and memory regions. */
#include <linux/slab.h>

#include "vuhca_internal.h"

/**
 * vuhca_alloc_pd() - Create a protection domain.
 * @dev: Function of the adapter.
 *
 * Context: May sleep.
 * Return: The PD, or ERR_PTR() of -ENOMEM or of the error of
 *	vuhca_admin_execute().
 */
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

/**
 * vuhca_dealloc_pd() - Destroy a protection domain.
 * @pd: PD; stays when the call fails.
 *
 * Context: May sleep.
 * Return: 0; -EBUSY while objects use the PD; or the error of
 *	vuhca_admin_execute().
 */
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

/* Creates the region that @attributes describe, except for the PD. */
struct vuhca_mr *vuhca_create_mr(struct vuhca_pd *pd,
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

/**
 * vuhca_get_dma_mr() - Create a memory region of all memory by bus addresses.
 * @pd: PD of the region.
 * @access: VUHCA_ACCESS_FLAG_*.
 *
 * For kernel users.
 *
 * Context: May sleep.
 * Return: The MR, or ERR_PTR() of -ENOMEM, -ESTALE (the PD is older than the
 *	last reset) or the error of vuhca_admin_execute().
 */
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

static struct vuhca_mr *vuhca_create_paged_mr(struct vuhca_pd *pd, u32 access,
					      u64 start, u64 length,
					      dma_addr_t page_list,
					      u32 page_count, u8 page_shift,
					      bool indirect)
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
	vuhca_mr_attributes_set_indirect(&attributes, indirect);
	return vuhca_create_mr(pd, &attributes);
}

/**
 * vuhca_reg_pages() - Create a memory region of pages as one range of virtual
 *	addresses.
 * @pd: PD of the region.
 * @access: VUHCA_ACCESS_FLAG_*.
 * @start: First virtual address.
 * @length: Length of the region in bytes.
 * @page_list: Bus address of the list of pages; the adapter reads it only
 *	during this call.
 * @page_count: Pages in the list.
 * @page_shift: log2 of the page size.
 *
 * Context: May sleep.
 * Return: The MR, or an ERR_PTR() as of vuhca_get_dma_mr().
 */
struct vuhca_mr *vuhca_reg_pages(struct vuhca_pd *pd, u32 access, u64 start,
				 u64 length, dma_addr_t page_list,
				 u32 page_count, u8 page_shift)
{
	return vuhca_create_paged_mr(pd, access, start, length, page_list,
				     page_count, page_shift, false);
}
EXPORT_SYMBOL_GPL(vuhca_reg_pages);

/**
 * vuhca_reg_indirect() - Create a memory region of pages whose list lies in
 *	pages that need not be contiguous.
 * @pd: PD of the region.
 * @access: VUHCA_ACCESS_FLAG_*.
 * @start: First virtual address.
 * @length: Length of the region in bytes.
 * @directory: Bus address of a list of pages of VUHCA_PAGE_BYTES, each with 512
 *	entries of the list of pages; the adapter reads both only during this
 *	call.
 * @page_count: Pages in the list.
 * @page_shift: log2 of the page size.
 *
 * Context: May sleep.
 * Return: The MR, or an ERR_PTR() as of vuhca_get_dma_mr().
 */
struct vuhca_mr *vuhca_reg_indirect(struct vuhca_pd *pd, u32 access, u64 start,
				    u64 length, dma_addr_t directory,
				    u32 page_count, u8 page_shift)
{
	return vuhca_create_paged_mr(pd, access, start, length, directory,
				     page_count, page_shift, true);
}
EXPORT_SYMBOL_GPL(vuhca_reg_indirect);

/**
 * vuhca_alloc_fast_mr() - Create a memory region that work requests register.
 * @pd: PD of the region.
 * @max_pages: Most pages of a registration.
 *
 * FAST_REGISTER requests register it and may change the low byte of its keys;
 * invalidation takes the registration back.
 *
 * Context: May sleep.
 * Return: The MR, or an ERR_PTR() as of vuhca_get_dma_mr().
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

/**
 * vuhca_rereg_mr() - Change PD, access or translation of a memory region
 *	under the same keys.
 * @mr: Memory region; unchanged when the call fails.
 * @attributes: Attributes; attribute_mask names those to change.
 *
 * Context: May sleep.
 * Return: 0; -ESTALE: a reset has destroyed the MR; -EBUSY while a memory
 *	window is bound to it; or the error of vuhca_admin_execute().
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

/**
 * vuhca_dereg_mr() - Destroy a memory region.
 * @mr: Memory region; stays when the call fails.
 *
 * Context: May sleep.
 * Return: 0; -EBUSY while a memory window is bound to the MR; or the error of
 *	vuhca_admin_execute().
 */
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
