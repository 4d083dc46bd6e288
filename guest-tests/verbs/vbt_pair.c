// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* A pair of queue pairs with a buffer each, and checks of their traffic. */
#include <linux/slab.h>

#include "vbt.h"

bool vbt_check(struct vbt *t, bool condition, const char *format, ...)
{
	struct va_format text = { .fmt = format };
	va_list args;

	if (condition)
		return true;
	t->failed = true;
	va_start(args, format);
	text.va = &args;
	pr_info(VBT_PREFIX "  # %pV\n", &text);
	va_end(args);
	return false;
}

static int vbt_to_init(struct vbt_end *end, enum ib_qp_type type)
{
	struct ib_qp_attr to = {
		.qp_state = IB_QPS_INIT,
		.port_num = end->port,
		.qp_access_flags = IB_ACCESS_REMOTE_WRITE,
	};

	if (type == IB_QPT_RC)
		to.qp_access_flags |= IB_ACCESS_REMOTE_READ |
				      IB_ACCESS_REMOTE_ATOMIC;
	return ib_modify_qp(end->qp, &to, IB_QP_STATE | IB_QP_PKEY_INDEX |
					  IB_QP_PORT | IB_QP_ACCESS_FLAGS);
}

static int vbt_to_rtr(struct vbt_end *end, struct vbt_end *peer,
		      enum ib_qp_type type)
{
	int mask = IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN |
		   IB_QP_RQ_PSN;
	struct ib_qp_attr to = {
		.qp_state = IB_QPS_RTR,
		.path_mtu = IB_MTU_2048,
		.dest_qp_num = peer->qp->qp_num,
		.rq_psn = peer->port,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
	};

	to.ah_attr.type = RDMA_AH_ATTR_TYPE_IB;
	rdma_ah_set_dlid(&to.ah_attr, peer->lid);
	rdma_ah_set_port_num(&to.ah_attr, end->port);
	if (type == IB_QPT_RC)
		mask |= IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER;
	return ib_modify_qp(end->qp, &to, mask);
}

static int vbt_to_rts(struct vbt_end *end, enum ib_qp_type type)
{
	int mask = IB_QP_STATE | IB_QP_SQ_PSN;
	struct ib_qp_attr to = {
		.qp_state = IB_QPS_RTS,
		.sq_psn = end->port,
		.timeout = 18,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 4,
	};

	if (type == IB_QPT_RC)
		mask |= IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
			IB_QP_MAX_QP_RD_ATOMIC;
	return ib_modify_qp(end->qp, &to, mask);
}

static bool vbt_buffer_create(struct vbt *t, struct vbt_end *end)
{
	u8 *bytes = kzalloc(VBT_BYTES, GFP_KERNEL);
	int err;

	if (!VBT_CHECK(t, bytes, "no memory"))
		return false;
	end->dma = ib_dma_map_single(t->dev, bytes, VBT_BYTES,
				     DMA_BIDIRECTIONAL);
	err = ib_dma_mapping_error(t->dev, end->dma);
	if (!VBT_CHECK(t, !err, "%d", err)) {
		kfree(bytes);
		return false;
	}
	/* Unmaps and frees everything that is set. */
	end->bytes = bytes;
	return true;
}

static bool vbt_end_create(struct vbt *t, int i, enum ib_qp_type type,
			   struct ib_srq *srq)
{
	struct vbt_end *end = &t->end[i];
	struct ib_qp_init_attr init = {
		.srq = srq,
		.cap = {
			.max_send_wr = VBT_ENTRIES,
			.max_recv_wr = VBT_ENTRIES,
			.max_send_sge = 2,
			.max_recv_sge = 1,
			.max_inline_data = 128,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = type,
	};
	struct ib_port_attr port;
	int err;

	end->port = min_t(u32, i + 1, t->dev->phys_port_cnt);
	VBT_OK(t, ib_query_port(t->dev, end->port, &port));
	end->lid = port.lid;
	if (!vbt_buffer_create(t, end))
		return false;
	end->cq = ib_alloc_cq(t->dev, NULL, 2 * VBT_ENTRIES, i, IB_POLL_DIRECT);
	if (!VBT_CHECK(t, !IS_ERR(end->cq), "%pe", end->cq))
		return false;
	init.send_cq = end->cq;
	init.recv_cq = end->cq;
	end->qp = ib_create_qp(t->pd, &init);
	if (!VBT_CHECK(t, !IS_ERR(end->qp), "%pe", end->qp))
		return false;
	err = vbt_to_init(end, type);
	return VBT_CHECK(t, !err, "%d", err);
}

bool vbt_pair_create(struct vbt *t, enum ib_qp_type type, struct ib_srq *srq)
{
	int i;

	memset(t->end, 0, sizeof(t->end));
	for (i = 0; i < 2; i++)
		if (!vbt_end_create(t, i, type, i ? srq : NULL))
			return false;
	for (i = 0; i < 2; i++) {
		VBT_OK(t, vbt_to_rtr(&t->end[i], &t->end[1 - i], type));
		VBT_OK(t, vbt_to_rts(&t->end[i], type));
	}
	return !t->failed;
}

void vbt_pair_destroy(struct vbt *t)
{
	int i;

	for (i = 0; i < 2; i++) {
		struct vbt_end *end = &t->end[i];

		if (!IS_ERR_OR_NULL(end->qp))
			VBT_OK(t, ib_destroy_qp(end->qp));
		if (!IS_ERR_OR_NULL(end->cq))
			ib_free_cq(end->cq);
		if (end->bytes)
			ib_dma_unmap_single(t->dev, end->dma, VBT_BYTES,
					    DMA_BIDIRECTIONAL);
		kfree(end->bytes);
	}
}

struct ib_sge vbt_sge(struct vbt *t, int end, u32 offset, u32 length)
{
	return (struct ib_sge){
		.addr = t->end[end].dma + offset,
		.length = length,
		.lkey = t->pd->local_dma_lkey,
	};
}

void vbt_fill(struct vbt *t, int end, u32 offset, u32 length, u8 seed)
{
	u32 i;

	for (i = 0; i < length; i++)
		t->end[end].bytes[offset + i] = seed + i * 7;
}

bool vbt_holds(struct vbt *t, int end, u32 offset, u32 length, u8 seed)
{
	u32 i;

	for (i = 0; i < length; i++)
		if (t->end[end].bytes[offset + i] != (u8)(seed + i * 7))
			return false;
	return true;
}

void vbt_recv(struct vbt *t, int end, u32 offset, u32 length, u64 wr_id)
{
	struct ib_sge sge = vbt_sge(t, end, offset, length);
	struct ib_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };

	VBT_OK(t, ib_post_recv(t->end[end].qp, &wr, NULL));
}

void vbt_send(struct vbt *t, int end, struct ib_send_wr *wr)
{
	VBT_OK(t, ib_post_send(t->end[end].qp, wr, NULL));
}

/* Waits for the next completion of an end and checks it. */
bool vbt_completes(struct vbt *t, int end, enum ib_wc_status status,
		   enum ib_wc_opcode opcode, struct ib_wc *wc)
{
	unsigned long limit = jiffies + msecs_to_jiffies(VBT_WAIT_MS);
	int found;

	do {
		found = ib_poll_cq(t->end[end].cq, 1, wc);
		if (!found)
			usleep_range(50, 200);
	} while (!found && time_before(jiffies, limit));
	if (!VBT_CHECK(t, found == 1, "end %d: %d completions", end, found))
		return false;
	if (!VBT_CHECK(t, wc->status == status, "end %d: %s, vendor %u", end,
		       ib_wc_status_msg(wc->status), wc->vendor_err))
		return false;
	/* The opcode of a failed request is not defined. */
	return status || VBT_CHECK(t, wc->opcode == opcode, "%d", wc->opcode);
}
