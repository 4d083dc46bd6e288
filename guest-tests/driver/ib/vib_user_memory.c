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

/* Lists pinned memory in pages of that size, for one command of the adapter. */
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

void vib_free_pages(struct ib_device *ibdev, struct vib_page_list *pages)
{
	if (pages->list)
		dma_free_coherent(vib_dma_device(ibdev),
				  pages->count * sizeof(*pages->list),
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

/* Takes over the fields that the provider has sent; -EINVAL: it sent fewer. */
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
