// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory of user processes that the adapter reads and writes: pinned, and named
 * to it by lists of pages. Records of several objects share a page, which is
 * pinned once.
 */
#include <linux/dma-mapping.h>
#include <linux/slab.h>
#include <rdma/iter.h>
#include <rdma/uverbs_ioctl.h>

#include "vib_user.h"

#define VIB_RECORD_BYTES	64
#define VIB_ENTRIES_OF_PART	(PAGE_SIZE / sizeof(__le64))

/* Pins memory of the calling process. */
struct ib_umem *vib_pin(struct ib_device *ibdev, u64 address, size_t bytes,
			int access)
{
	return vib_umem_get(ibdev, address, bytes, access);
}

static struct device *vib_dma_device(struct ib_device *ibdev)
{
	return &to_vdev(ibdev)->hw->pdev->dev;
}

/*
 * Lists pinned memory in pages of the given size, for one command of the
 * adapter.
 */
int vib_list_pages(struct ib_device *ibdev, struct ib_umem *umem,
		   unsigned long page_bytes, struct vib_page_list *pages)
{
	struct ib_block_iter iter;
	size_t i = 0;

	pages->count = ib_umem_num_dma_blocks(umem, page_bytes);
	pages->shift = ilog2(page_bytes);
	pages->list = dma_alloc_coherent(vib_dma_device(ibdev),
					 pages->count * sizeof(*pages->list),
					 &pages->dma, GFP_KERNEL | __GFP_NOWARN);
	if (!pages->list)
		return -ENOMEM;
	rdma_umem_for_each_dma_block(umem, &iter, page_bytes)
		pages->list[i++] =
			cpu_to_le64(rdma_block_iter_dma_address(&iter));
	return 0;
}

/* Pages of entries, and the list of them. */
static int vib_alloc_parts(struct device *device, struct vib_page_list *pages)
{
	size_t i, count = DIV_ROUND_UP(pages->count, VIB_ENTRIES_OF_PART);
	dma_addr_t dma;

	pages->parts = kvcalloc(count, sizeof(*pages->parts), GFP_KERNEL);
	if (!pages->parts)
		return -ENOMEM;
	pages->list = dma_alloc_coherent(device, count * sizeof(*pages->list),
					 &pages->dma, GFP_KERNEL);
	if (!pages->list)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		pages->parts[i] = dma_alloc_coherent(device, PAGE_SIZE, &dma,
						     GFP_KERNEL);
		if (!pages->parts[i])
			return -ENOMEM;
		pages->list[i] = cpu_to_le64(dma);
	}
	return 0;
}

/*
 * As vib_list_pages(); a list longer than a page is an indirect one, because
 * the kernel has no contiguous memory for long lists.
 */
int vib_list_region(struct ib_device *ibdev, struct ib_umem *umem,
		    unsigned long page_bytes, struct vib_page_list *pages)
{
	const struct vuhca_dev *hw = to_vdev(ibdev)->hw;
	struct ib_block_iter iter;
	size_t i = 0;
	int err;

	pages->count = ib_umem_num_dma_blocks(umem, page_bytes);
	pages->shift = ilog2(page_bytes);
	if (pages->count > le32_to_cpu(hw->attributes.max_pages_per_region))
		return -EINVAL;
	if (pages->count <= VIB_ENTRIES_OF_PART)
		return vib_list_pages(ibdev, umem, page_bytes, pages);
	err = vib_alloc_parts(vib_dma_device(ibdev), pages);
	if (err) {
		vib_free_pages(ibdev, pages);
		return err;
	}
	rdma_umem_for_each_dma_block(umem, &iter, page_bytes) {
		pages->parts[i / VIB_ENTRIES_OF_PART][i % VIB_ENTRIES_OF_PART] =
			cpu_to_le64(rdma_block_iter_dma_address(&iter));
		i++;
	}
	return 0;
}

static void vib_free_parts(struct device *device, struct vib_page_list *pages)
{
	size_t i, count = DIV_ROUND_UP(pages->count, VIB_ENTRIES_OF_PART);

	for (i = 0; pages->list && i < count && pages->parts[i]; i++)
		dma_free_coherent(device, PAGE_SIZE, pages->parts[i],
				  le64_to_cpu(pages->list[i]));
	kvfree(pages->parts);
	pages->parts = NULL;
	/* vib_free_pages() frees the list of the parts. */
	pages->count = count;
}

void vib_free_pages(struct ib_device *ibdev, struct vib_page_list *pages)
{
	struct device *device = vib_dma_device(ibdev);

	if (pages->parts)
		vib_free_parts(device, pages);
	if (pages->list)
		dma_free_coherent(device, pages->count * sizeof(*pages->list),
				  pages->list, pages->dma);
	pages->list = NULL;
}

static struct vib_record_page *vib_pin_record(struct vib_context *context,
					      u64 address)
{
	struct vib_record_page *page = kzalloc(sizeof(*page), GFP_KERNEL);
	struct scatterlist *sg;

	if (!page)
		return ERR_PTR(-ENOMEM);
	page->umem = vib_pin(context->ibuc.device, address & PAGE_MASK,
			     PAGE_SIZE, IB_ACCESS_LOCAL_WRITE);
	if (IS_ERR(page->umem)) {
		struct ib_umem *umem = page->umem;

		kfree(page);
		return ERR_CAST(umem);
	}
	sg = page->umem->sgt_append.sgt.sgl;
	page->user = address & PAGE_MASK;
	page->at = page_address(sg_page(sg)) + sg->offset;
	page->dma = sg_dma_address(sg);
	list_add(&page->node, &context->records);
	return page;
}

/* Pins the page of a record if no other record has. */
struct vib_record_page *vib_get_record(struct vib_context *context, u64 address)
{
	struct vib_record_page *page;

	if (!IS_ALIGNED(address, VIB_RECORD_BYTES))
		return ERR_PTR(-EINVAL);
	mutex_lock(&context->records_lock);
	list_for_each_entry(page, &context->records, node)
		if (page->user == (address & PAGE_MASK))
			goto found;
	page = vib_pin_record(context, address);
	if (IS_ERR(page))
		goto unlock;
found:
	page->users++;
unlock:
	mutex_unlock(&context->records_lock);
	return page;
}

void vib_put_record(struct vib_context *context, struct vib_record_page *page)
{
	mutex_lock(&context->records_lock);
	if (!--page->users) {
		list_del(&page->node);
		ib_umem_release(page->umem);
		kfree(page);
	}
	mutex_unlock(&context->records_lock);
}

/* Copies the fields that the provider has sent; -EINVAL when it sent fewer. */
int vib_copy_request(void *request, size_t bytes, struct ib_udata *udata)
{
	if (udata->inlen < bytes)
		return -EINVAL;
	return ib_copy_from_udata(request, udata, bytes);
}

/* Gives the provider as many fields as it knows. */
int vib_copy_answer(const void *answer, size_t bytes, struct ib_udata *udata)
{
	return ib_copy_to_udata(udata, (void *)answer,
				min_t(size_t, bytes, udata->outlen));
}
