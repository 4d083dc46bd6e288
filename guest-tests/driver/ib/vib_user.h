/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Objects of user processes (docs/verbs/VERBS.md, "User space"): their collect pages,
 * and the memory of their queues, which is pinned while the adapter uses it.
 */
#ifndef VIB_USER_H
#define VIB_USER_H

#include <rdma/ib_umem.h>

#include "vib.h"
#include "vuhca-abi.h"

struct vib_mw {
	struct ib_mw ibmw;
	struct vuhca_mw *hw;
};

/**
 * struct vib_mmap_page - A collect page that a process has mapped.
 * @entry: The entry of the core.
 * @node: In the list of the context.
 * @context: Owner of the page.
 * @vcb: The page.
 */
struct vib_mmap_page {
	struct rdma_user_mmap_entry entry;
	struct list_head node;
	struct vib_context *context;
	struct vuhca_vcb *vcb;
};

/**
 * struct vib_page_list - Pages of memory as the adapter reads them.
 * @list: Their bus addresses; of an indirect list those of @parts.
 * @dma: Bus address of @list.
 * @count: Pages.
 * @shift: log2 of the page size.
 * @parts: NULL, or pages with the entries of an indirect list.
 */
struct vib_page_list {
	__le64 *list;
	dma_addr_t dma;
	size_t count;
	u8 shift;
	__le64 **parts;
};

static inline struct vib_context *to_vcontext(struct ib_ucontext *ibuc)
{
	return container_of(ibuc, struct vib_context, ibuc);
}

static inline struct vib_mw *to_vmw(struct ib_mw *ibmw)
{
	return container_of(ibmw, struct vib_mw, ibmw);
}

/* The context of a call of a process. */
static inline struct vib_context *vib_context_of(struct ib_udata *udata)
{
	return rdma_udata_to_drv_context(udata, struct vib_context, ibuc);
}

/* vib_user_memory.c */
struct ib_umem *vib_pin(struct ib_device *ibdev, u64 address, size_t bytes,
			int access);
int vib_list_pages(struct ib_device *ibdev, struct ib_umem *umem,
		   unsigned long page_bytes, struct vib_page_list *pages);
int vib_list_region(struct ib_device *ibdev, struct ib_umem *umem,
		    unsigned long page_bytes, struct vib_page_list *pages);
void vib_free_pages(struct ib_device *ibdev, struct vib_page_list *pages);
struct vib_record_page *vib_get_record(struct vib_context *context, u64 address);
void vib_put_record(struct vib_context *context, struct vib_record_page *page);
int vib_copy_request(void *request, size_t bytes, struct ib_udata *udata);
int vib_copy_answer(const void *answer, size_t bytes, struct ib_udata *udata);

/* vib_dm.c */
extern const struct uapi_definition vib_dm_definitions[];
struct ib_dm *vib_alloc_dm(struct ib_device *ibdev, struct ib_ucontext *ibuc,
			   struct ib_dm_alloc_attr *attr,
			   struct uverbs_attr_bundle *attributes);
void vib_free_dm(struct rdma_user_mmap_entry *entry);
int vib_dealloc_dm(struct ib_dm *ibdm, struct uverbs_attr_bundle *attributes);
struct ib_mr *vib_reg_dm_mr(struct ib_pd *ibpd, struct ib_dm *ibdm,
			    struct ib_dm_mr_attr *attr,
			    struct uverbs_attr_bundle *attributes);
int vib_mmap_dm(struct ib_ucontext *ibuc, struct vm_area_struct *vma);

/* vib_user_context.c */
extern const struct uapi_definition vib_definitions[];
int vib_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata);
int vib_query_ucontext(struct ib_ucontext *ibuc,
		       struct uverbs_attr_bundle *attributes);
void vib_dealloc_ucontext(struct ib_ucontext *ibuc);
void vib_disassociate_ucontext(struct ib_ucontext *ibuc);
int vib_mmap(struct ib_ucontext *ibuc, struct vm_area_struct *vma);
void vib_mmap_free(struct rdma_user_mmap_entry *entry);

/* vib_ah.c */
int vib_create_user_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
		       struct ib_udata *udata);

/* vib_user_mr.c */
struct ib_mr *vib_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
			      u64 address, int access, struct ib_udata *udata);
struct ib_mr *vib_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				u64 length, u64 address, int access,
				struct ib_pd *ibpd, struct ib_udata *udata);
int vib_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata);
int vib_dealloc_mw(struct ib_mw *ibmw);

/* vib_user_queue.c */
void vib_release_queue(struct vib_user_queue *queue);
void vib_tell_dead(struct vib_user_queue *queue);
int vib_create_user_cq(struct vib_cq *cq, struct vuhca_cq_init *init,
		       struct ib_udata *udata);
int vib_resize_user_cq(struct ib_cq *ibcq, unsigned int entries,
		       struct ib_udata *udata);
int vib_create_user_srq(struct vib_srq *srq, struct vuhca_srq_init *init,
			struct ib_udata *udata);
int vib_resize_user_srq(struct ib_srq *ibsrq, struct ib_udata *udata);
int vib_create_user_qp(struct vib_qp *qp, struct vuhca_qp_init *init,
		       struct ib_udata *udata);

#endif /* VIB_USER_H */
