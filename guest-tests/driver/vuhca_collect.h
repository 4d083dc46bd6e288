/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Collect contexts: collect pages that can be mapped into user processes. */
#ifndef VUHCA_COLLECT_H
#define VUHCA_COLLECT_H

#include <linux/types.h>

#include "vuhca_hw.h"

struct vuhca_dev;
struct vuhca_vcb;

/**
 * struct vuhca_collect_context - Collect context: the collect pages of a process.
 * @dev: Function of the context.
 * @number: Number of the context.
 * @generation: dev->generation at creation.
 */
struct vuhca_collect_context {
	struct vuhca_dev *dev;
	u32 number;
	u32 generation;
};

struct vuhca_collect_context *
vuhca_create_collect_context(struct vuhca_dev *dev);
int vuhca_destroy_collect_context(struct vuhca_collect_context *context);
int vuhca_query_collect_context(struct vuhca_collect_context *context,
				struct vuhca_collect_context_attributes *attributes);
struct vuhca_vcb *vuhca_give_vcb(struct vuhca_collect_context *context,
				 u8 qos_level);
int vuhca_take_back_vcb(struct vuhca_collect_context *context,
			struct vuhca_vcb *vcb);
phys_addr_t vuhca_vcb_phys(struct vuhca_dev *dev, const struct vuhca_vcb *vcb);

#endif /* VUHCA_COLLECT_H */
