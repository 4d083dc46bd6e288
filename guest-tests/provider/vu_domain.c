// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Protection domains; thread domains, whose QPs have collect pages of their
 * own and so need no lock; parent domains, which join both with an allocator.
 */
#include <errno.h>
#include <stdlib.h>

#include "vu_internal.h"

#define VU_DOMAIN_BITS 64
#define VU_PARENT_MASK                                                         \
	(IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |                              \
	 IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)

struct ibv_pd *vu_alloc_pd(struct ibv_context *context)
{
	struct vu_cmd_alloc_pd_resp resp = {};
	struct ibv_alloc_pd cmd = {};
	struct vu_pd *pd = calloc(1, sizeof(*pd));
	int err;

	if (!pd)
		return NULL;
	err = ibv_cmd_alloc_pd(context, &pd->base, &cmd, sizeof(cmd),
			       &resp.ibv_resp, sizeof(resp));
	if (!err)
		return &pd->base;
	free(pd);
	errno = err;
	return NULL;
}

/* Objects hold their parent domain, whose allocator frees their memory. */
void vu_hold_parent(struct vu_pd *pd)
{
	if (pd)
		__atomic_add_fetch(&pd->users, 1, __ATOMIC_RELAXED);
}

void vu_release_parent(struct vu_pd *pd)
{
	if (pd)
		__atomic_sub_fetch(&pd->users, 1, __ATOMIC_RELAXED);
}

static int vu_dealloc_parent(struct vu_pd *pd)
{
	if (pd->td)
		__atomic_sub_fetch(&pd->td->users, 1, __ATOMIC_RELAXED);
	vu_release_parent(pd->parent_of);
	free(pd);
	return 0;
}

int vu_dealloc_pd(struct ibv_pd *ibpd)
{
	struct vu_pd *pd = to_vu_pd(ibpd);
	int err;

	if (__atomic_load_n(&pd->users, __ATOMIC_RELAXED))
		return EBUSY;
	if (pd->parent_of)
		return vu_dealloc_parent(pd);
	err = ibv_cmd_dealloc_pd(ibpd);
	if (!err)
		free(pd);
	return err;
}

struct ibv_pd *vu_alloc_parent_domain(struct ibv_context *context,
				      struct ibv_parent_domain_init_attr *attr)
{
	struct vu_pd *pd;

	if (ibv_check_alloc_parent_domain(attr))
		return NULL;
	if (attr->comp_mask & ~VU_PARENT_MASK) {
		errno = EINVAL;
		return NULL;
	}
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;
	pd->parent_of = to_vu_pd(attr->pd);
	vu_hold_parent(pd->parent_of);
	if (attr->td) {
		pd->td = container_of(attr->td, struct vu_td, base);
		__atomic_add_fetch(&pd->td->users, 1, __ATOMIC_RELAXED);
	}
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) {
		pd->alloc = attr->alloc;
		pd->free = attr->free;
	}
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)
		pd->context = attr->pd_context;
	ibv_initialize_parent_domain(&pd->base, attr->pd);
	pd->base.context = context;
	return &pd->base;
}

/* Pages of a thread domain are mapped when the first QP needs them. */
struct ibv_td *vu_alloc_td(struct ibv_context *ibcontext,
			   struct ibv_td_init_attr *attr)
{
	struct vu_context *context = to_vu_context(ibcontext);
	unsigned int slot, slots = ARRAY_SIZE(context->domains) * VU_DOMAIN_BITS;
	struct vu_td *td;

	if (attr->comp_mask) {
		errno = EINVAL;
		return NULL;
	}
	td = calloc(1, sizeof(*td));
	if (!td)
		return NULL;
	td->base.context = ibcontext;
	pthread_mutex_lock(&context->lock);
	for (slot = 0; slot < slots; slot++) {
		uint64_t *word = &context->domains[slot / VU_DOMAIN_BITS];
		uint64_t bit = 1ULL << slot % VU_DOMAIN_BITS;

		if (*word & bit)
			continue;
		*word |= bit;
		break;
	}
	pthread_mutex_unlock(&context->lock);
	if (slot < slots) {
		td->slot = slot;
		return &td->base;
	}
	free(td);
	errno = ENOSPC;
	return NULL;
}

int vu_dealloc_td(struct ibv_td *ibtd)
{
	struct vu_td *td = container_of(ibtd, struct vu_td, base);
	struct vu_context *context = to_vu_context(ibtd->context);
	unsigned int level;

	if (__atomic_load_n(&td->users, __ATOMIC_RELAXED))
		return EBUSY;
	for (level = 0; level < VUHCA_QOS_LEVELS; level++)
		vu_unmap_page(&td->pages[level]);
	pthread_mutex_lock(&context->lock);
	context->domains[td->slot / VU_DOMAIN_BITS] &=
		~(1ULL << td->slot % VU_DOMAIN_BITS);
	pthread_mutex_unlock(&context->lock);
	free(td);
	return 0;
}

/* The kernel's PD with that handle, which another context made. */
struct ibv_pd *vu_import_pd(struct ibv_context *context, uint32_t handle)
{
	struct vu_pd *pd = calloc(1, sizeof(*pd));

	if (!pd)
		return NULL;
	pd->base.context = context;
	pd->base.handle = handle;
	return &pd->base;
}

void vu_unimport_pd(struct ibv_pd *pd)
{
	free(to_vu_pd(pd));
}
