// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The provider itself: its devices, its contexts, and the table of its
 * functions.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <rdma/ib_user_ioctl_cmds.h>

#include "vu_internal.h"

static void vu_free_context(struct ibv_context *context);

static const struct verbs_context_ops vu_ops = {
	.advise_mr = vu_advise_mr,
	.alloc_dm = vu_alloc_dm,
	.alloc_mw = vu_alloc_mw,
	.alloc_parent_domain = vu_alloc_parent_domain,
	.alloc_pd = vu_alloc_pd,
	.alloc_td = vu_alloc_td,
	.attach_mcast = ibv_cmd_attach_mcast,
	.bind_mw = vu_bind_mw,
	.close_xrcd = vu_close_xrcd,
	.create_ah = vu_create_ah,
	.create_cq = vu_create_cq,
	.create_cq_ex = vu_create_cq_ex,
	.create_qp = vu_create_qp,
	.create_qp_ex = vu_create_qp_ex,
	.create_srq = vu_create_srq,
	.create_srq_ex = vu_create_srq_ex,
	.dealloc_mw = vu_dealloc_mw,
	.dealloc_pd = vu_dealloc_pd,
	.dealloc_td = vu_dealloc_td,
	.dereg_mr = vu_dereg_mr,
	.destroy_ah = vu_destroy_ah,
	.destroy_cq = vu_destroy_cq,
	.destroy_qp = vu_destroy_qp,
	.destroy_srq = vu_destroy_srq,
	.detach_mcast = ibv_cmd_detach_mcast,
	.free_context = vu_free_context,
	.free_dm = vu_free_dm,
	.get_srq_num = vu_get_srq_num,
	.import_dm = vu_import_dm,
	.import_mr = vu_import_mr,
	.import_pd = vu_import_pd,
	.modify_cq = vu_modify_cq,
	.modify_qp = vu_modify_qp,
	.modify_srq = vu_modify_srq,
	.open_qp = vu_open_qp,
	.open_xrcd = vu_open_xrcd,
	.poll_cq = vu_poll_cq,
	.post_recv = vu_post_recv,
	.post_send = vu_post_send,
	.post_srq_recv = vu_post_srq_recv,
	.query_device_ex = vu_query_device,
	.query_port = vu_query_port,
	.query_qp = vu_query_qp,
	.query_rt_values = vu_query_values,
	.query_srq = vu_query_srq,
	.reg_dm_mr = vu_reg_dm_mr,
	.reg_dmabuf_mr = vu_reg_dmabuf_mr,
	.reg_mr = vu_reg_mr,
	.req_notify_cq = vu_req_notify_cq,
	.rereg_mr = vu_rereg_mr,
	.resize_cq = vu_resize_cq,
	.unimport_dm = vu_unimport_dm,
	.unimport_mr = vu_unimport_mr,
	.unimport_pd = vu_unimport_pd,
};

/* Maps the pages that every process needs, and the clock if there is one. */
static int vu_map_context(struct vu_context *context)
{
	void *clock = MAP_FAILED;
	int err;

	err = vu_map_page(context, &context->pages[0], VUHCA_MMAP_COLLECT, true);
	if (err)
		return err;
	if (context->about.flags & VUHCA_UCONTEXT_CLOCK)
		clock = mmap(NULL, VU_PAGE_BYTES, PROT_READ, MAP_SHARED,
			     context->base.context.cmd_fd,
			     (off_t)VUHCA_MMAP_CLOCK * VU_PAGE_BYTES);
	if (clock != MAP_FAILED)
		context->clock = clock;
	return 0;
}

static int vu_setup_context(struct vu_context *context)
{
	if (context->about.layout_hash != VUHCA_LAYOUT_HASH) {
		fprintf(stderr,
			VU_PREFIX "the kernel module vuhca_ib and this provider are of different versions (layouts %016llx and %016llx)\n",
			(unsigned long long)context->about.layout_hash,
			(unsigned long long)VUHCA_LAYOUT_HASH);
		return EINVAL;
	}
	pthread_mutex_init(&context->lock, NULL);
	vu_read_posting(context);
	verbs_set_ops(&context->base, &vu_ops);
	return vu_map_context(context);
}

static struct vu_context *vu_new_context(struct ibv_device *device, int fd)
{
	struct vu_context *context;

	/* The kernel has no number for this driver. */
	return verbs_init_and_alloc_context(device, fd, context, base,
					    RDMA_DRIVER_UNKNOWN);
}

static struct verbs_context *vu_finish_context(struct vu_context *context,
					       int err)
{
	if (!err)
		err = vu_setup_context(context);
	if (!err)
		return &context->base;
	verbs_uninit_context(&context->base);
	free(context);
	errno = err;
	return NULL;
}

static struct verbs_context *vu_alloc_context(struct ibv_device *device, int fd,
					      void *private_data)
{
	struct vu_cmd_alloc_ucontext_resp resp = {};
	struct ibv_get_context cmd = {};
	struct vu_context *context = vu_new_context(device, fd);
	int err;

	if (!context)
		return NULL;
	err = ibv_cmd_get_context(&context->base, &cmd, sizeof(cmd),
				  &resp.ibv_resp, sizeof(resp));
	context->about = resp.drv_payload;
	return vu_finish_context(context, err);
}

/*
 * A context that another process, or another part of this one, uses as well:
 * both would write to one collect page, so this one only rings doorbells.
 */
static struct verbs_context *vu_import_context(struct ibv_device *device, int fd)
{
	DECLARE_COMMAND_BUFFER(driver, UVERBS_OBJECT_DEVICE,
			       UVERBS_METHOD_QUERY_CONTEXT, 1);
	struct vu_context *context = vu_new_context(device, fd);

	if (!context)
		return NULL;
	context->pages[0].shared = true;
	fill_attr_out_ptr(driver, VUHCA_ATTR_QUERY_CONTEXT, &context->about);
	return vu_finish_context(context,
				 ibv_cmd_query_context(&context->base.context,
						       driver));
}

static void vu_free_context(struct ibv_context *ibcontext)
{
	struct vu_context *context = to_vu_context(ibcontext);
	unsigned int i;

	for (i = 0; i < VUHCA_QOS_LEVELS; i++)
		vu_unmap_page(&context->pages[i]);
	if (context->clock)
		munmap((void *)context->clock, VU_PAGE_BYTES);
	vu_free_records(context);
	for (i = 0; i < VU_TABLE_SIZE; i++)
		free(context->qps[i]);
	pthread_mutex_destroy(&context->lock);
	verbs_uninit_context(&context->base);
	free(context);
}

static struct verbs_device *vu_alloc_device(struct verbs_sysfs_dev *sysfs)
{
	return calloc(1, sizeof(struct verbs_device));
}

static void vu_uninit_device(struct verbs_device *device)
{
	free(device);
}

static const struct verbs_match_ent vu_matches[] = {
	VERBS_PCI_MATCH(VUHCA_VENDOR_ID, VUHCA_DEVICE_ID_PF, NULL),
	VERBS_PCI_MATCH(VUHCA_VENDOR_ID, VUHCA_DEVICE_ID_VF, NULL),
	{},
};

static const struct verbs_device_ops vu_device_ops = {
	.name = "vuhca",
	.match_min_abi_version = VUHCA_ABI_VERSION,
	.match_max_abi_version = VUHCA_ABI_VERSION,
	.match_table = vu_matches,
	.alloc_device = vu_alloc_device,
	.uninit_device = vu_uninit_device,
	.alloc_context = vu_alloc_context,
	.import_context = vu_import_context,
};
PROVIDER_DRIVER(vuhca, vu_device_ops);
