// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory windows for tests: end 1 binds them to pieces of its area, end 0 uses
 * them. A refusal fails the QPs concerned, so the pair is connected again after
 * it.
 */
#include "vt_window.h"

/* Bytes around the bound piece that the case checks. */
#define VT_SEEN		8192

void vt_on_window(struct vt *t, enum vuhca_mw_kind kind,
		  void (*run)(struct vt_window *w))
{
	struct vt_pair_options options = { .path_mtu = 1 };
	struct vt_window w = { .t = t };

	if (!vt_areas_create(t, &w.areas))
		return;
	w.mr = vuhca_get_dma_mr(t->pd, VUHCA_ACCESS_FLAG_LOCAL_WRITE |
				VUHCA_ACCESS_FLAG_WINDOW_BIND);
	w.mw = vuhca_alloc_mw(t->pd, kind);
	if (VT_CHECK(t, !IS_ERR(w.mr) && !IS_ERR(w.mw), "%pe, %pe", w.mr, w.mw)) {
		if (vt_pair_create(t, &w.pair, &options))
			run(&w);
		vt_pair_destroy(&w.pair);
	}
	if (!IS_ERR(w.mw))
		VT_EQUAL(t, vuhca_dealloc_mw(w.mw), 0);
	if (!IS_ERR(w.mr))
		VT_EQUAL(t, vuhca_dereg_mr(w.mr), 0);
	vt_areas_destroy(t, &w.areas);
}

/* Queries the window and takes over its key. */
struct vuhca_mw_attributes vt_window_query(struct vt_window *w)
{
	struct vuhca_mw_attributes attributes = {};

	VT_EQUAL(w->t, vuhca_query_mw(w->mw, &attributes), 0);
	w->mw->rkey = le32_to_cpu(attributes.rkey);
	return attributes;
}

/* Binds by end 1 and expects @status. */
bool vt_window_bind_range(struct vt_window *w, const struct vuhca_buffer *range,
			  u32 access, u8 status)
{
	struct vt *t = w->t;
	struct vuhca_wc wc;

	if (!VT_EQUAL(t, vuhca_bind_mw(w->pair.end[1].qp, w->mw, 5, range,
				       access), 0) ||
	    !vt_completes(t, t->send_cq.cq, status, &wc))
		return false;
	VT_EQUAL(t, wc.wr_id, 5);
	VT_EQUAL(t, wc.opcode, VUHCA_COMPLETION_OPCODE_BIND_WINDOW);
	if (status == VT_OK)
		return true;
	vt_window_query(w);
	return vt_pair_works(&w->pair, &w->areas);
}

bool vt_window_bind(struct vt_window *w, size_t offset, u32 length, u32 access,
		    u8 status)
{
	struct vuhca_buffer range = {
		.address = w->areas.dma[1] + offset,
		.length = length,
		.lkey = w->mr->lkey,
	};

	return vt_window_bind_range(w, &range, access, status);
}

/* Executes a request of end 0 of @pair under @rkey and expects @status. */
bool vt_window_use(struct vt_window *w, struct vt_pair *pair, u8 opcode,
		   u32 rkey, size_t offset, u32 length, u8 status)
{
	struct vuhca_buffer here = vt_area_buffer(&w->areas, 0, 0, length);
	struct vuhca_send_wr wr = vt_rdma_wr(&w->areas, opcode,
					     length ? &here : NULL, offset);
	bool read = opcode == VUHCA_SEND_OPCODE_RDMA_READ;
	u8 *target = w->areas.bytes[!read];
	size_t at = read ? 0 : offset;
	struct vt *t = w->t;
	bool fine;

	wr.remote.rkey = rkey;
	memset(target, VT_POISON, VT_SEEN);
	vt_fill(w->areas.bytes[read] + (read ? offset : 0), length, rkey);
	if (!vt_do(pair, &wr, status))
		return false;
	if (status == VT_OK)
		return VT_CHECK(t, vt_holds(target + at, length, rkey) &&
				vt_is_poison(target, at) &&
				vt_is_poison(target + at + length,
					     VT_SEEN - at - length),
				"opcode %u at %zu", opcode, offset);
	fine = VT_CHECK(t, vt_is_poison(target, VT_SEEN), "changed");
	return vt_pair_works(pair, &w->areas) && fine;
}

bool vt_window_write(struct vt_window *w, u32 rkey, size_t offset, u32 length,
		     u8 status)
{
	return vt_window_use(w, &w->pair, VUHCA_SEND_OPCODE_RDMA_WRITE, rkey, offset,
			     length, status);
}
