// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Memory regions and memory windows. */
#include <errno.h>
#include <stdlib.h>

#include "vu_internal.h"

struct ibv_mr *vu_reg_mr(struct ibv_pd *pd, void *at, size_t length,
			 uint64_t address, int access)
{
	struct ib_uverbs_reg_mr_resp resp;
	struct ibv_reg_mr cmd;
	struct verbs_mr *mr = calloc(1, sizeof(*mr));
	int err;

	if (!mr)
		return NULL;
	err = ibv_cmd_reg_mr(pd, at, length, address, access, mr, &cmd,
			     sizeof(cmd), &resp, sizeof(resp));
	if (!err)
		return &mr->ibv_mr;
	free(mr);
	errno = err;
	return NULL;
}

struct ibv_mr *vu_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				size_t length, uint64_t address, int fd,
				int access)
{
	struct verbs_mr *mr = calloc(1, sizeof(*mr));
	int err;

	if (!mr)
		return NULL;
	err = ibv_cmd_reg_dmabuf_mr(pd, offset, length, address, fd, access, mr,
				    NULL);
	if (!err)
		return &mr->ibv_mr;
	free(mr);
	errno = err;
	return NULL;
}

int vu_rereg_mr(struct verbs_mr *mr, int flags, struct ibv_pd *pd, void *at,
		size_t length, int access)
{
	struct ib_uverbs_rereg_mr_resp resp;
	struct ibv_rereg_mr cmd;

	return ibv_cmd_rereg_mr(mr, flags, at, length, (uintptr_t)at, access,
				pd, &cmd, sizeof(cmd), &resp, sizeof(resp));
}

int vu_dereg_mr(struct verbs_mr *mr)
{
	int err = ibv_cmd_dereg_mr(mr);

	if (!err)
		free(mr);
	return err;
}

int vu_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice,
		 uint32_t flags, struct ibv_sge *sges, uint32_t count)
{
	return ibv_cmd_advise_mr(pd, advice, flags, sges, count);
}

struct ibv_mr *vu_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	struct verbs_mr *mr = calloc(1, sizeof(*mr));
	int err;

	if (!mr)
		return NULL;
	err = ibv_cmd_query_mr(pd, mr, handle);
	if (!err)
		return &mr->ibv_mr;
	free(mr);
	errno = err;
	return NULL;
}

void vu_unimport_mr(struct ibv_mr *mr)
{
	free(verbs_get_mr(mr));
}

struct ibv_mw *vu_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ib_uverbs_alloc_mw_resp resp;
	struct ibv_alloc_mw cmd;
	struct vu_mw *mw = calloc(1, sizeof(*mw));
	int err;

	if (!mw)
		return NULL;
	err = ibv_cmd_alloc_mw(pd, type, &mw->base, &cmd, sizeof(cmd), &resp,
			       sizeof(resp));
	if (!err) {
		mw->key = mw->base.rkey;
		return &mw->base;
	}
	free(mw);
	errno = err;
	return NULL;
}

int vu_dealloc_mw(struct ibv_mw *mw)
{
	int err = ibv_cmd_dealloc_mw(mw);

	if (!err)
		free(container_of(mw, struct vu_mw, base));
	return err;
}
