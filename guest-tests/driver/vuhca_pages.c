// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Pages of on-demand regions (docs/FEATURES.md, On-demand paging): their
 * faults, and the commands that make them present and take them back.
 */
#include "vuhca_internal.h"

/* Event handler: an access has met an absent page. */
void vuhca_page_event(struct vuhca_dev *dev,
		      const struct vuhca_event_entry *entry)
{
	struct vuhca_mr *mr = xa_load(&dev->on_demand,
				      le32_to_cpu(entry->page_key));

	if (mr)
		mr->page_fault(mr->context, le64_to_cpu(entry->page_address),
			       le32_to_cpu(entry->page_length),
			       vuhca_event_entry_get_page_write(entry));
}

/**
 * vuhca_reg_on_demand() - Create a memory region without any present page.
 * @pd: PD of the region.
 * @access: VUHCA_ACCESS_FLAG_*, ON_DEMAND among them.
 * @start: First virtual address.
 * @length: Length of the region in bytes.
 * @page_shift: log2 of the page size.
 * @page_fault: Called when an access meets a page that is not present.
 * @context: First argument of @page_fault.
 *
 * vuhca_stop_faults() comes before vuhca_dereg_mr().
 *
 * Context: May sleep.
 * Return: The MR, or an ERR_PTR() as of vuhca_get_dma_mr().
 */
struct vuhca_mr *vuhca_reg_on_demand(struct vuhca_pd *pd, u32 access, u64 start,
				     u64 length, u8 page_shift,
				     vuhca_page_handler page_fault,
				     void *context)
{
	struct vuhca_mr_attributes attributes = {
		.access = cpu_to_le32(access),
		.start_address = cpu_to_le64(start),
		.length = cpu_to_le64(length),
		.page_shift = page_shift,
	};
	struct vuhca_mr *mr;
	int err;

	vuhca_mr_attributes_set_kind(&attributes, VUHCA_MR_KIND_PAGED);
	mr = vuhca_create_mr(pd, &attributes);
	if (IS_ERR(mr))
		return mr;
	mr->page_fault = page_fault;
	mr->context = context;
	err = xa_insert_irq(&pd->dev->on_demand, mr->lkey, mr, GFP_KERNEL);
	if (err) {
		vuhca_dereg_mr(mr);
		return ERR_PTR(err);
	}
	return mr;
}
EXPORT_SYMBOL_GPL(vuhca_reg_on_demand);

/**
 * vuhca_stop_faults() - Stop the page fault reports of an on-demand region.
 * @mr: Memory region.
 *
 * Its handler does not run afterwards. Accesses that wait for pages keep
 * waiting until the region is destroyed.
 *
 * Context: May sleep.
 */
void vuhca_stop_faults(struct vuhca_mr *mr)
{
	struct vuhca_eq *eq = &mr->dev->eqs[0];

	xa_erase_irq(&mr->dev->on_demand, mr->lkey);
	/* Handlers run under the lock of the event queue. */
	spin_lock_irq(&eq->lock);
	spin_unlock_irq(&eq->lock);
}
EXPORT_SYMBOL_GPL(vuhca_stop_faults);

static int vuhca_page_command(struct vuhca_mr *mr, u8 opcode,
			      const struct vuhca_page_range *range)
{
	struct vuhca_command command = {
		.opcode = opcode,
		.object = mr->number,
		.payload = range,
		.payload_bytes = sizeof(*range),
	};
	struct vuhca_answer answer;

	/* A reset has ended all accesses. */
	if (!vuhca_is_current(mr->dev, mr->generation))
		return 0;
	return vuhca_admin_execute(mr->dev, &command, &answer);
}

/**
 * vuhca_resolve_pages() - Make pages of an on-demand region present.
 * @mr: Memory region.
 * @address: Virtual address of the first page.
 * @length: Length of the pages in bytes; at most 4096 pages.
 * @list: Bus address of the list of pages with VUHCA_PAGE_FLAG_* bits; the
 *	adapter reads it only during this call. 0 leaves a page as it is.
 *
 * Context: May sleep; allocates no memory.
 * Return: 0, or the error of vuhca_admin_execute().
 */
int vuhca_resolve_pages(struct vuhca_mr *mr, u64 address, u64 length,
			dma_addr_t list)
{
	struct vuhca_page_range range = {
		.address = cpu_to_le64(address),
		.length = cpu_to_le64(length),
		.page_list_address = cpu_to_le64(list),
	};

	return vuhca_page_command(mr, VUHCA_MANAGEMENT_OPCODE_RESOLVE_PAGES,
				  &range);
}
EXPORT_SYMBOL_GPL(vuhca_resolve_pages);

/**
 * vuhca_refuse_pages() - Fail the accesses that wait for pages.
 * @mr: Memory region.
 * @address: Virtual address of the first page.
 * @length: Length of the pages in bytes; at most 4096 pages.
 *
 * Context: May sleep; allocates no memory.
 * Return: 0, or the error of vuhca_admin_execute().
 */
int vuhca_refuse_pages(struct vuhca_mr *mr, u64 address, u64 length)
{
	struct vuhca_page_range range = {
		.address = cpu_to_le64(address),
		.length = cpu_to_le64(length),
	};

	vuhca_page_range_set_refuse(&range, 1);
	return vuhca_page_command(mr, VUHCA_MANAGEMENT_OPCODE_RESOLVE_PAGES,
				  &range);
}
EXPORT_SYMBOL_GPL(vuhca_refuse_pages);

/**
 * vuhca_invalidate_pages() - Take pages of an on-demand region back.
 * @mr: Memory region.
 * @address: Virtual address of the first page.
 * @length: Length of the pages in bytes.
 *
 * After a return of 0 the adapter neither reads nor writes the pages.
 *
 * Context: May sleep; allocates no memory, so that memory reclaim may call it.
 * Return: 0, or the error of vuhca_admin_execute().
 */
int vuhca_invalidate_pages(struct vuhca_mr *mr, u64 address, u64 length)
{
	struct vuhca_page_range range = {
		.address = cpu_to_le64(address),
		.length = cpu_to_le64(length),
	};

	return vuhca_page_command(mr, VUHCA_MANAGEMENT_OPCODE_INVALIDATE_PAGES,
				  &range);
}
EXPORT_SYMBOL_GPL(vuhca_invalidate_pages);
