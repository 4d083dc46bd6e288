// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Contexts of user processes and the pages that they map. A process gets
 * collect pages of its own, which act on its queues only, when it maps them.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#define UVERBS_MODULE_NAME vuhca_ib
#include <rdma/uverbs_named_ioctl.h>

#include "vib_user.h"

static void vib_describe(struct vuhca_dev *hw,
			 struct vuhca_alloc_ucontext_resp *about)
{
	const struct vuhca_adapter_attributes *limits = &hw->attributes;

	about->layout_hash = VUHCA_LAYOUT_HASH;
	about->flags = VUHCA_UCONTEXT_CLOCK;
	if (vuhca_collects_lone(hw))
		about->flags |= VUHCA_UCONTEXT_COLLECTS;
	if (hw->shadow_tails)
		about->flags |= VUHCA_UCONTEXT_SHADOW_TAILS;
	if (le32_to_cpu(limits->capabilities) & VUHCA_CAPABILITY_POLLS_PAUSE)
		about->flags |= VUHCA_UCONTEXT_POLLS_PAUSE;
	about->clock_khz = VIB_CLOCK_KHZ;
	about->max_inline = VUHCA_INLINE_MAX_BYTES;
	about->max_sge = limits->max_sge;
	about->send_queue_max_log2 = ilog2(VIB_MAX_QP_WR);
	about->receive_queue_max_log2 = ilog2(VIB_MAX_QP_WR);
	about->completion_queue_max_log2 = ilog2(VIB_MAX_CQE);
}

int vib_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata)
{
	struct vuhca_dev *hw = to_vdev(ibuc->device)->hw;
	struct vib_context *context = to_vcontext(ibuc);
	struct vuhca_alloc_ucontext_resp about = {};
	int err;

	mutex_init(&context->pages_lock);
	mutex_init(&context->records_lock);
	INIT_LIST_HEAD(&context->pages);
	INIT_LIST_HEAD(&context->records);
	context->collect = vuhca_create_collect_context(hw);
	if (IS_ERR(context->collect))
		return PTR_ERR(context->collect);
	vib_describe(hw, &about);
	err = vib_copy_answer(&about, sizeof(about), udata);
	if (err)
		vuhca_destroy_collect_context(context->collect);
	return err;
}

/* Tells a process that imports the context what its first owner was told. */
int vib_query_ucontext(struct ib_ucontext *ibuc,
		       struct uverbs_attr_bundle *attributes)
{
	struct vuhca_alloc_ucontext_resp about = {};

	vib_describe(to_vdev(ibuc->device)->hw, &about);
	return uverbs_copy_to_struct_or_zero(attributes,
					     VUHCA_ATTR_QUERY_CONTEXT, &about,
					     sizeof(about));
}

ADD_UVERBS_ATTRIBUTES_SIMPLE(vib_query_context, UVERBS_OBJECT_DEVICE,
			     UVERBS_METHOD_QUERY_CONTEXT,
			     UVERBS_ATTR_PTR_OUT(VUHCA_ATTR_QUERY_CONTEXT,
						 UVERBS_ATTR_STRUCT(struct vuhca_alloc_ucontext_resp,
								    reserved),
						 UA_MANDATORY));

const struct uapi_definition vib_definitions[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DEVICE, &vib_query_context),
	UAPI_DEF_CHAIN(vib_dm_definitions),
	{},
};

/* Called when the process has unmapped its pages and its objects are gone. */
void vib_dealloc_ucontext(struct ib_ucontext *ibuc)
{
	struct vib_context *context = to_vcontext(ibuc);
	struct vib_mmap_page *page, *next;
	int err;

	list_for_each_entry_safe(page, next, &context->pages, node)
		rdma_user_mmap_entry_remove(&page->entry);
	err = vuhca_destroy_collect_context(context->collect);
	if (err)
		ibdev_warn(ibuc->device, "collect context %u stays: %d\n",
			   context->collect->number, err);
	mutex_destroy(&context->records_lock);
	mutex_destroy(&context->pages_lock);
}

/* With this operation the core takes away a process's pages at a removal. */
void vib_disassociate_ucontext(struct ib_ucontext *ibuc)
{
}

/* No process has the collect page mapped any longer. */
static void vib_free_page(struct rdma_user_mmap_entry *entry)
{
	struct vib_mmap_page *page =
		container_of(entry, struct vib_mmap_page, entry);
	struct vib_context *context = page->context;

	if (vuhca_take_back_vcb(context->collect, page->vcb))
		ibdev_warn(context->ibuc.device, "collect page %u is lost\n",
			   page->vcb->index);
	kfree(page);
}

void vib_mmap_free(struct rdma_user_mmap_entry *entry)
{
	if (entry->start_pgoff >= VUHCA_MMAP_DEVICE_MEMORY)
		vib_free_dm(entry);
	else
		vib_free_page(entry);
}

/* QoS level of the page at that offset, or a negative error number. */
static int vib_level_of(unsigned long offset)
{
	if (offset < VUHCA_MMAP_COLLECT + VUHCA_QOS_LEVELS)
		return offset - VUHCA_MMAP_COLLECT;
	if (offset >= VUHCA_MMAP_DOMAIN && offset < VUHCA_MMAP_END)
		return (offset - VUHCA_MMAP_DOMAIN) % VUHCA_QOS_LEVELS;
	return -EINVAL;
}

static struct vib_mmap_page *vib_add_page(struct vib_context *context,
					  unsigned long offset, int level)
{
	struct vib_mmap_page *page = kzalloc(sizeof(*page), GFP_KERNEL);
	int err;

	if (!page)
		return ERR_PTR(-ENOMEM);
	page->context = context;
	page->vcb = vuhca_give_vcb(context->collect, level);
	if (IS_ERR(page->vcb)) {
		err = PTR_ERR(page->vcb);
		goto free_page;
	}
	err = rdma_user_mmap_entry_insert_exact(&context->ibuc, &page->entry,
						PAGE_SIZE, offset);
	if (err)
		goto take_back;
	list_add(&page->node, &context->pages);
	return page;

take_back:
	vuhca_take_back_vcb(context->collect, page->vcb);
free_page:
	kfree(page);
	if (err == -ENOSPC)
		ibdev_warn_ratelimited(context->ibuc.device,
				       "no collect page of QoS level %d is left for process %d\n",
				       level, task_tgid_nr(current));
	return ERR_PTR(err == -ENOSPC ? -ENOMEM : err);
}

/* The entry of an offset, with a reference; the first use makes it. */
static struct rdma_user_mmap_entry *vib_get_entry(struct vib_context *context,
						  struct vm_area_struct *vma)
{
	int level = vib_level_of(vma->vm_pgoff);
	struct rdma_user_mmap_entry *entry;
	struct vib_mmap_page *page = NULL;

	if (level < 0)
		return ERR_PTR(level);
	mutex_lock(&context->pages_lock);
	entry = rdma_user_mmap_entry_get(&context->ibuc, vma);
	if (!entry)
		page = vib_add_page(context, vma->vm_pgoff, level);
	if (!entry && !IS_ERR(page))
		entry = rdma_user_mmap_entry_get(&context->ibuc, vma);
	mutex_unlock(&context->pages_lock);
	return IS_ERR(page) ? ERR_CAST(page) : entry;
}

/* Maps the time of the adapter, read-only. */
static int vib_mmap_clock(struct ib_ucontext *ibuc, struct vm_area_struct *vma)
{
	struct pci_dev *pdev = to_vdev(ibuc->device)->hw->pdev;
	phys_addr_t address = pci_resource_start(pdev, VUHCA_BAR_REGISTERS) +
			      VUHCA_CSR_USER_TIME_OFF;

	if (vma->vm_flags & VM_WRITE)
		return -EPERM;
	vib_clear_vm_flags(vma, VM_MAYWRITE);
	return rdma_user_mmap_io(ibuc, vma, PHYS_PFN(address), PAGE_SIZE,
				 pgprot_noncached(vma->vm_page_prot), NULL);
}

int vib_mmap(struct ib_ucontext *ibuc, struct vm_area_struct *vma)
{
	struct vib_context *context = to_vcontext(ibuc);
	struct rdma_user_mmap_entry *entry;
	struct vib_mmap_page *page;
	phys_addr_t address;
	int err;

	if (vma->vm_pgoff >= VUHCA_MMAP_DEVICE_MEMORY)
		return vib_mmap_dm(ibuc, vma);
	if (vma->vm_end - vma->vm_start != PAGE_SIZE)
		return -EINVAL;
	if (vma->vm_pgoff == VUHCA_MMAP_CLOCK)
		return vib_mmap_clock(ibuc, vma);
	entry = vib_get_entry(context, vma);
	if (IS_ERR_OR_NULL(entry))
		return entry ? PTR_ERR(entry) : -EINVAL;
	page = container_of(entry, struct vib_mmap_page, entry);
	address = vuhca_vcb_phys(context->collect->dev, page->vcb);
	/* Two processes that share a page would mix their commands. */
	vib_set_vm_flags(vma, VM_DONTCOPY);
	err = rdma_user_mmap_io(ibuc, vma, PHYS_PFN(address), PAGE_SIZE,
				pgprot_writecombine(vma->vm_page_prot), entry);
	rdma_user_mmap_entry_put(entry);
	return err;
}
