// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory registered by work request (IBTA 10.6.4.4): RDMA and atomics under its
 * key, and invalidation by either side.
 */
#include <linux/scatterlist.h>

#include "vbt.h"

#define VBT_REMOTE	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)

/* Registers the buffer of end 1 under the next key. */
static bool vbt_register(struct vbt *t, struct ib_mr *mr)
{
	struct ib_reg_wr reg = {
		.wr.opcode = IB_WR_REG_MR,
		.wr.send_flags = IB_SEND_SIGNALED,
		.mr = mr,
		.access = VBT_REMOTE,
	};
	struct scatterlist sg;
	struct ib_wc wc;
	int mapped;

	sg_init_one(&sg, t->end[1].bytes, VBT_BYTES);
	sg_dma_address(&sg) = t->end[1].dma;
	sg_dma_len(&sg) = VBT_BYTES;
	mapped = ib_map_mr_sg(mr, &sg, 1, NULL, PAGE_SIZE);
	if (!VBT_CHECK(t, mapped == 1, "%d", mapped))
		return false;
	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey) & 0xff);
	reg.key = mr->rkey;
	vbt_send(t, 1, &reg.wr);
	return vbt_completes(t, 1, IB_WC_SUCCESS, IB_WC_REG_MR, &wc);
}

static struct ib_mr *vbt_registered(struct vbt *t)
{
	struct ib_mr *mr = ib_alloc_mr(t->pd, IB_MR_TYPE_MEM_REG,
				       VBT_BYTES / PAGE_SIZE + 1);

	if (!VBT_CHECK(t, !IS_ERR(mr), "%pe", mr))
		return NULL;
	if (vbt_register(t, mr))
		return mr;
	ib_dereg_mr(mr);
	return NULL;
}

/* One-sided request of end 0 on the buffer of end 1. */
static void vbt_remote(struct vbt *t, struct ib_mr *mr, int opcode,
		       enum ib_wc_opcode done, enum ib_wc_status status)
{
	struct ib_sge sge = vbt_sge(t, 0, 0, 5000);
	struct ib_rdma_wr rdma = {
		.wr = {
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = opcode,
			.send_flags = IB_SEND_SIGNALED,
			.ex.imm_data = cpu_to_be32(0xabcd),
		},
		.remote_addr = mr->iova + 1000,
		.rkey = mr->rkey,
	};
	struct ib_wc wc;

	vbt_send(t, 0, &rdma.wr);
	vbt_completes(t, 0, status, done, &wc);
}

static void vbt_rdma(struct vbt *t)
{
	struct ib_mr *mr = vbt_registered(t);
	struct ib_wc wc;

	if (!mr)
		return;
	vbt_fill(t, 0, 0, 5000, 21);
	vbt_remote(t, mr, IB_WR_RDMA_WRITE, IB_WC_RDMA_WRITE, IB_WC_SUCCESS);
	VBT_CHECK(t, vbt_holds(t, 1, 1000, 5000, 21), "not written");
	vbt_recv(t, 1, 8192, 64, 4);
	vbt_fill(t, 0, 0, 5000, 22);
	vbt_remote(t, mr, IB_WR_RDMA_WRITE_WITH_IMM, IB_WC_RDMA_WRITE,
		   IB_WC_SUCCESS);
	if (vbt_completes(t, 1, IB_WC_SUCCESS, IB_WC_RECV_RDMA_WITH_IMM, &wc))
		VBT_CHECK(t, wc.ex.imm_data == cpu_to_be32(0xabcd), "%x",
			  be32_to_cpu(wc.ex.imm_data));
	vbt_fill(t, 1, 1000, 5000, 23);
	vbt_remote(t, mr, IB_WR_RDMA_READ, IB_WC_RDMA_READ, IB_WC_SUCCESS);
	VBT_CHECK(t, vbt_holds(t, 0, 0, 5000, 23), "not read");
	VBT_OK(t, ib_dereg_mr(mr));
}

static u64 vbt_atomic(struct vbt *t, struct ib_mr *mr, int opcode,
		      u64 compare_add, u64 swap)
{
	struct ib_sge sge = vbt_sge(t, 0, 64, 8);
	struct ib_atomic_wr atomic = {
		.wr = {
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = opcode,
			.send_flags = IB_SEND_SIGNALED,
		},
		.remote_addr = mr->iova + 8,
		.rkey = mr->rkey,
		.compare_add = compare_add,
		.swap = swap,
	};
	struct ib_wc wc;

	vbt_send(t, 0, &atomic.wr);
	vbt_completes(t, 0, IB_WC_SUCCESS,
		      opcode == IB_WR_ATOMIC_CMP_AND_SWP ? IB_WC_COMP_SWAP :
							   IB_WC_FETCH_ADD,
		      &wc);
	return *(u64 *)(t->end[0].bytes + 64);
}

static void vbt_atomics(struct vbt *t)
{
	struct ib_mr *mr = vbt_registered(t);
	u64 *there = (u64 *)(t->end[1].bytes + 8);
	u64 before;

	if (!mr)
		return;
	*there = 40;
	before = vbt_atomic(t, mr, IB_WR_ATOMIC_FETCH_AND_ADD, 2, 0);
	VBT_CHECK(t, before == 40 && *there == 42, "%llu, %llu", before, *there);
	before = vbt_atomic(t, mr, IB_WR_ATOMIC_CMP_AND_SWP, 42, 7);
	VBT_CHECK(t, before == 42 && *there == 7, "%llu, %llu", before, *there);
	before = vbt_atomic(t, mr, IB_WR_ATOMIC_CMP_AND_SWP, 42, 8);
	VBT_CHECK(t, before == 7 && *there == 7, "%llu, %llu", before, *there);
	VBT_OK(t, ib_dereg_mr(mr));
}

/* After its own invalidation the region accepts another registration. */
static void vbt_local_invalidate(struct vbt *t)
{
	struct ib_mr *mr = vbt_registered(t);
	struct ib_send_wr wr = {
		.opcode = IB_WR_LOCAL_INV,
		.send_flags = IB_SEND_SIGNALED,
		/* Fields that an operation does not use are ignored. */
		.num_sge = 1000,
	};
	struct ib_wc wc;

	if (!mr)
		return;
	wr.ex.invalidate_rkey = mr->rkey;
	vbt_send(t, 1, &wr);
	vbt_completes(t, 1, IB_WC_SUCCESS, IB_WC_LOCAL_INV, &wc);
	if (vbt_register(t, mr))
		vbt_remote(t, mr, IB_WR_RDMA_WRITE, IB_WC_RDMA_WRITE,
			   IB_WC_SUCCESS);
	VBT_OK(t, ib_dereg_mr(mr));
}

/* The other side invalidates the key; a later access under it fails. */
static void vbt_send_invalidate(struct vbt *t)
{
	struct ib_mr *mr = vbt_registered(t);
	struct ib_sge sge = vbt_sge(t, 0, 0, 8);
	struct ib_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IB_WR_SEND_WITH_INV,
		.send_flags = IB_SEND_SIGNALED,
	};
	struct ib_wc wc;

	if (!mr)
		return;
	wr.ex.invalidate_rkey = mr->rkey;
	vbt_recv(t, 1, 8192, 64, 4);
	vbt_send(t, 0, &wr);
	vbt_completes(t, 0, IB_WC_SUCCESS, IB_WC_SEND, &wc);
	if (vbt_completes(t, 1, IB_WC_SUCCESS, IB_WC_RECV, &wc)) {
		VBT_CHECK(t, wc.wc_flags & IB_WC_WITH_INVALIDATE, "%x",
			  wc.wc_flags);
		VBT_CHECK(t, wc.ex.invalidate_rkey == mr->rkey, "%x",
			  wc.ex.invalidate_rkey);
	}
	vbt_remote(t, mr, IB_WR_RDMA_WRITE, IB_WC_RDMA_WRITE,
		   IB_WC_REM_ACCESS_ERR);
	VBT_OK(t, ib_dereg_mr(mr));
}

const struct vbt_case vbt_key_cases[] = {
	{ "rdma", IB_QPT_RC, vbt_rdma },
	{ "atomics", IB_QPT_RC, vbt_atomics },
	{ "local-invalidate", IB_QPT_RC, vbt_local_invalidate },
	{ "send-invalidate", IB_QPT_RC, vbt_send_invalidate },
};
const unsigned int vbt_key_count = ARRAY_SIZE(vbt_key_cases);
