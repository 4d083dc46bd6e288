/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The commands and answers of libibverbs, followed by the fields of
 * vuhca-abi.h. The build makes kernel-abi/vuhca-abi.h from that file
 * (rdma-core's make_abi_structs.py).
 */
#ifndef VU_ABI_H
#define VU_ABI_H

#include <infiniband/kern-abi.h>
#include "vuhca-abi.h"
#include <kernel-abi/vuhca-abi.h>

DECLARE_DRV_CMD(vu_cmd_alloc_ucontext, IB_USER_VERBS_CMD_GET_CONTEXT, empty,
		vuhca_alloc_ucontext_resp);
DECLARE_DRV_CMD(vu_cmd_alloc_pd, IB_USER_VERBS_CMD_ALLOC_PD, empty,
		vuhca_alloc_pd_resp);
DECLARE_DRV_CMD(vu_cmd_create_ah, IB_USER_VERBS_CMD_CREATE_AH, empty,
		vuhca_create_ah_resp);
DECLARE_DRV_CMD(vu_cmd_create_cq, IB_USER_VERBS_CMD_CREATE_CQ, vuhca_create_cq,
		vuhca_create_cq_resp);
DECLARE_DRV_CMD(vu_cmd_create_cq_ex, IB_USER_VERBS_EX_CMD_CREATE_CQ,
		vuhca_create_cq, vuhca_create_cq_resp);
DECLARE_DRV_CMD(vu_cmd_resize_cq, IB_USER_VERBS_CMD_RESIZE_CQ, vuhca_resize_cq,
		empty);
DECLARE_DRV_CMD(vu_cmd_create_srq, IB_USER_VERBS_CMD_CREATE_SRQ,
		vuhca_create_srq, vuhca_create_srq_resp);
DECLARE_DRV_CMD(vu_cmd_create_srq_ex, IB_USER_VERBS_CMD_CREATE_XSRQ,
		vuhca_create_srq, vuhca_create_srq_resp);
DECLARE_DRV_CMD(vu_cmd_modify_srq, IB_USER_VERBS_CMD_MODIFY_SRQ,
		vuhca_modify_srq, empty);
DECLARE_DRV_CMD(vu_cmd_create_qp, IB_USER_VERBS_CMD_CREATE_QP, vuhca_create_qp,
		vuhca_create_qp_resp);
DECLARE_DRV_CMD(vu_cmd_create_qp_ex, IB_USER_VERBS_EX_CMD_CREATE_QP,
		vuhca_create_qp, vuhca_create_qp_resp);

#endif /* VU_ABI_H */
