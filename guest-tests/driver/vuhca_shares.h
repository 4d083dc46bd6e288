/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The function's share of the adapter's resources. */
#ifndef VUHCA_SHARES_H
#define VUHCA_SHARES_H

#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "vuhca_hw.h"

struct vuhca_answer;
struct vuhca_dev;

/**
 * struct vuhca_shares - Changes of the function's share, and requests for them.
 * @changed: Work that adopts a changed share.
 * @lock: Serialises text requests and protects @last_error.
 * @last_error: Reason why the last text request failed, or "none".
 * @events: Count of changes that another function caused.
 */
struct vuhca_shares {
	struct work_struct changed;
	struct mutex lock;	/* text requests */
	char last_error[192];
	u64 events;
};

void vuhca_shares_refresh(struct vuhca_dev *dev);
int vuhca_request_resources(struct vuhca_dev *dev,
			    const struct vuhca_resource_change *changes,
			    unsigned int count, struct vuhca_answer *answer);
int vuhca_query_resources(struct vuhca_dev *dev, u32 function,
			  struct vuhca_resource_share *share);
int vuhca_query_lane(struct vuhca_dev *dev, u32 lane,
		     struct vuhca_lane_attributes *attributes);

#endif /* VUHCA_SHARES_H */
