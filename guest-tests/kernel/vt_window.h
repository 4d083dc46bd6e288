/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* A memory window, and the pair of QPs that uses it. */
#ifndef VT_WINDOW_H
#define VT_WINDOW_H

#include "vt_pair.h"

#define VT_OK		VUHCA_COMPLETION_STATUS_SUCCESS

struct vt_window {
	struct vt *t;
	struct vt_pair pair;
	struct vt_areas areas;
	struct vuhca_mr *mr;	/* memory region to which the window is bound */
	struct vuhca_mw *mw;
};

void vt_on_window(struct vt *t, enum vuhca_mw_kind kind,
		  void (*run)(struct vt_window *w));
struct vuhca_mw_attributes vt_window_query(struct vt_window *w);
bool vt_window_bind_range(struct vt_window *w, const struct vuhca_buffer *range,
			  u32 access, u8 status);
bool vt_window_bind(struct vt_window *w, size_t offset, u32 length, u32 access,
		    u8 status);
bool vt_window_use(struct vt_window *w, struct vt_pair *pair, u8 opcode,
		   u32 rkey, size_t offset, u32 length, u8 status);
bool vt_window_write(struct vt_window *w, u32 rkey, size_t offset, u32 length,
		     u8 status);

#endif /* VT_WINDOW_H */
