// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Messages: SEND in its forms, and chains of requests. */
#include "vbt.h"

static void vbt_immediate(struct vbt *t)
{
	struct ib_sge sge[2] = { vbt_sge(t, 0, 0, 100), vbt_sge(t, 0, 100, 60) };
	struct ib_send_wr wr = {
		.wr_id = 5,
		.sg_list = sge,
		.num_sge = 2,
		.opcode = IB_WR_SEND_WITH_IMM,
		.send_flags = IB_SEND_SIGNALED | IB_SEND_SOLICITED,
		.ex.imm_data = cpu_to_be32(0x12345678),
	};
	struct ib_wc wc;

	vbt_fill(t, 0, 0, 160, 3);
	vbt_recv(t, 1, 0, 4096, 9);
	vbt_send(t, 0, &wr);
	if (vbt_completes(t, 0, IB_WC_SUCCESS, IB_WC_SEND, &wc)) {
		VBT_CHECK(t, wc.wr_id == 5, "%llu", wc.wr_id);
		VBT_CHECK(t, wc.qp == t->end[0].qp, "another QP");
	}
	if (vbt_completes(t, 1, IB_WC_SUCCESS, IB_WC_RECV, &wc)) {
		VBT_CHECK(t, wc.wr_id == 9, "%llu", wc.wr_id);
		VBT_CHECK(t, wc.byte_len == 160, "%u", wc.byte_len);
		VBT_CHECK(t, wc.wc_flags & IB_WC_WITH_IMM, "%x", wc.wc_flags);
		VBT_CHECK(t, wc.ex.imm_data == cpu_to_be32(0x12345678), "%x",
			  be32_to_cpu(wc.ex.imm_data));
	}
	VBT_CHECK(t, vbt_holds(t, 1, 0, 160, 3), "other bytes");
}

/* The payload of an inline request is copied at once, from kernel addresses. */
static void vbt_inline(struct vbt *t)
{
	u8 here[48];
	struct ib_sge sge = {
		.addr = (uintptr_t)here,
		.length = sizeof(here),
	};
	struct ib_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED | IB_SEND_INLINE,
	};
	struct ib_wc wc;

	vbt_fill(t, 0, 0, sizeof(here), 77);
	memcpy(here, t->end[0].bytes, sizeof(here));
	vbt_recv(t, 1, 0, 4096, 0);
	vbt_send(t, 0, &wr);
	memset(here, 0, sizeof(here));
	vbt_completes(t, 0, IB_WC_SUCCESS, IB_WC_SEND, &wc);
	vbt_completes(t, 1, IB_WC_SUCCESS, IB_WC_RECV, &wc);
	VBT_CHECK(t, vbt_holds(t, 1, 0, sizeof(here), 77), "other bytes");
}

/* A chain completes in order; only its last request is signalled. */
static void vbt_chain(struct vbt *t)
{
	struct ib_send_wr wrs[VBT_ENTRIES] = {};
	struct ib_sge sges[VBT_ENTRIES];
	struct ib_wc wc;
	int i;

	for (i = 0; i < VBT_ENTRIES; i++) {
		vbt_fill(t, 0, i * 64, 64, i);
		vbt_recv(t, 1, i * 64, 64, i);
		sges[i] = vbt_sge(t, 0, i * 64, 64);
		wrs[i].wr_id = i;
		wrs[i].sg_list = &sges[i];
		wrs[i].num_sge = 1;
		wrs[i].opcode = IB_WR_SEND;
		if (i)
			wrs[i - 1].next = &wrs[i];
	}
	wrs[VBT_ENTRIES - 1].send_flags = IB_SEND_SIGNALED;
	vbt_send(t, 0, wrs);
	if (vbt_completes(t, 0, IB_WC_SUCCESS, IB_WC_SEND, &wc))
		VBT_CHECK(t, wc.wr_id == VBT_ENTRIES - 1, "%llu", wc.wr_id);
	for (i = 0; i < VBT_ENTRIES; i++) {
		if (!vbt_completes(t, 1, IB_WC_SUCCESS, IB_WC_RECV, &wc))
			return;
		VBT_CHECK(t, wc.wr_id == i, "%llu", wc.wr_id);
		VBT_CHECK(t, vbt_holds(t, 1, i * 64, 64, i), "%d", i);
	}
}

/* A full queue accepts no request, and names the first refused one. */
static void vbt_full(struct vbt *t)
{
	struct ib_sge sge = vbt_sge(t, 1, 0, 64);
	struct ib_recv_wr first = { .sg_list = &sge, .num_sge = 1 };
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };
	const struct ib_recv_wr *bad = NULL;
	int i;

	for (i = 0; i < VBT_ENTRIES - 1; i++)
		vbt_recv(t, 1, 0, 64, 0);
	first.next = &wr;
	VBT_CHECK(t, ib_post_recv(t->end[1].qp, &first, &bad) == -ENOMEM, "-");
	VBT_CHECK(t, bad == &wr, "another request");
}

const struct vbt_case vbt_message_cases[] = {
	{ "rc-immediate", IB_QPT_RC, vbt_immediate },
	{ "uc-immediate", IB_QPT_UC, vbt_immediate },
	{ "inline", IB_QPT_RC, vbt_inline },
	{ "chain", IB_QPT_RC, vbt_chain },
	{ "full", IB_QPT_RC, vbt_full },
};
const unsigned int vbt_message_count = ARRAY_SIZE(vbt_message_cases);
