// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Device memory. A process maps its own pages; they are not cached, and the
 * adapter takes loads and stores of 4 and 8 bytes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <util/mmio.h>

#include <rdma/ib_user_ioctl_cmds.h>

#include "vu_internal.h"

#define VU_DM_UNIT sizeof(uint32_t)

struct vu_dm {
	struct verbs_dm base;
	uint64_t length;
	uint8_t *at;
};

static struct vu_dm *to_vu_dm(struct ibv_dm *ibdm)
{
	return container_of(ibdm, struct vu_dm, base.dm);
}

/* True for whole units of the adapter that lie in the memory. */
static bool vu_dm_has(const struct vu_dm *dm, uint64_t offset, size_t length)
{
	return !((offset | length) % VU_DM_UNIT) && length <= dm->length &&
	       offset <= dm->length - length;
}

static bool vu_fits_eight(const uint8_t *at, size_t length)
{
	return !((uintptr_t)at % sizeof(uint64_t)) && length >= sizeof(uint64_t);
}

/* One store of 8 or 4 bytes; returns their number. */
static size_t vu_dm_store(uint8_t *at, const void *host, size_t length)
{
	uint64_t eight;
	uint32_t four;

	if (vu_fits_eight(at, length)) {
		memcpy(&eight, host, sizeof(eight));
		__atomic_store_n((uint64_t *)at, eight, __ATOMIC_RELAXED);
		return sizeof(eight);
	}
	memcpy(&four, host, sizeof(four));
	__atomic_store_n((uint32_t *)at, four, __ATOMIC_RELAXED);
	return sizeof(four);
}

/* One load of 8 or 4 bytes; returns their number. */
static size_t vu_dm_load(void *host, const uint8_t *at, size_t length)
{
	uint64_t eight;
	uint32_t four;

	if (vu_fits_eight(at, length)) {
		eight = __atomic_load_n((const uint64_t *)at, __ATOMIC_RELAXED);
		memcpy(host, &eight, sizeof(eight));
		return sizeof(eight);
	}
	four = __atomic_load_n((const uint32_t *)at, __ATOMIC_RELAXED);
	memcpy(host, &four, sizeof(four));
	return sizeof(four);
}

static int vu_memcpy_to_dm(struct ibv_dm *ibdm, uint64_t offset,
			   const void *host, size_t length)
{
	struct vu_dm *dm = to_vu_dm(ibdm);
	uint8_t *at = dm->at + offset;
	size_t step;

	if (!vu_dm_has(dm, offset, length))
		return EINVAL;
	for (; length; length -= step, host += step, at += step)
		step = vu_dm_store(at, host, length);
	/* A later doorbell finds the data. */
	mmio_flush_writes();
	return 0;
}

static int vu_memcpy_from_dm(void *host, struct ibv_dm *ibdm, uint64_t offset,
			     size_t length)
{
	struct vu_dm *dm = to_vu_dm(ibdm);
	const uint8_t *at = dm->at + offset;
	size_t step;

	if (!vu_dm_has(dm, offset, length))
		return EINVAL;
	for (; length; length -= step, host += step, at += step)
		step = vu_dm_load(host, at, length);
	return 0;
}

/* Asks the kernel where the process maps the memory, and for its length. */
static int vu_map_dm(struct ibv_context *context, struct vu_dm *dm)
{
	DECLARE_COMMAND_BUFFER(command, UVERBS_OBJECT_DM, VUHCA_METHOD_DM_QUERY,
			       2);
	struct vuhca_query_dm_resp about = {};
	int err;

	fill_attr_in_obj(command, VUHCA_ATTR_DM_QUERY_HANDLE, dm->base.handle);
	fill_attr_out_ptr(command, VUHCA_ATTR_DM_QUERY_RESP, &about);
	err = execute_ioctl(context, command);
	if (err)
		return err;
	dm->length = about.length;
	dm->at = mmap(NULL, align(dm->length, VU_PAGE_BYTES),
		      PROT_READ | PROT_WRITE, MAP_SHARED, context->cmd_fd,
		      (off_t)about.mmap_page * VU_PAGE_BYTES);
	if (dm->at == MAP_FAILED)
		return errno;
	dm->base.dm.memcpy_to_dm = vu_memcpy_to_dm;
	dm->base.dm.memcpy_from_dm = vu_memcpy_from_dm;
	return 0;
}

static void vu_unmap_dm(struct vu_dm *dm)
{
	munmap(dm->at, align(dm->length, VU_PAGE_BYTES));
	free(dm);
}

struct ibv_dm *vu_alloc_dm(struct ibv_context *context,
			   struct ibv_alloc_dm_attr *attr)
{
	struct vu_dm *dm;
	int err;

	if (attr->comp_mask) {
		errno = EINVAL;
		return NULL;
	}
	dm = calloc(1, sizeof(*dm));
	if (!dm)
		return NULL;
	err = ibv_cmd_alloc_dm(context, attr, &dm->base, NULL);
	if (!err) {
		err = vu_map_dm(context, dm);
		if (!err)
			return &dm->base.dm;
		ibv_cmd_free_dm(&dm->base);
	}
	free(dm);
	errno = err;
	return NULL;
}

int vu_free_dm(struct ibv_dm *ibdm)
{
	struct vu_dm *dm = to_vu_dm(ibdm);
	int err = ibv_cmd_free_dm(&dm->base);

	if (!err)
		vu_unmap_dm(dm);
	return err;
}

struct ibv_dm *vu_import_dm(struct ibv_context *context, uint32_t handle)
{
	struct vu_dm *dm = calloc(1, sizeof(*dm));
	int err;

	if (!dm)
		return NULL;
	dm->base.handle = handle;
	dm->base.dm.handle = handle;
	dm->base.dm.context = context;
	err = vu_map_dm(context, dm);
	if (!err)
		return &dm->base.dm;
	free(dm);
	errno = err;
	return NULL;
}

void vu_unimport_dm(struct ibv_dm *dm)
{
	vu_unmap_dm(to_vu_dm(dm));
}

struct ibv_mr *vu_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm,
			    uint64_t offset, size_t length, unsigned int access)
{
	struct verbs_mr *mr = calloc(1, sizeof(*mr));
	int err;

	if (!mr)
		return NULL;
	err = ibv_cmd_reg_dm_mr(pd, &to_vu_dm(dm)->base, offset, length, access,
				mr, NULL);
	if (!err)
		return &mr->ibv_mr;
	free(mr);
	errno = err;
	return NULL;
}
