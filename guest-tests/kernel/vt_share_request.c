// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Resource requests with one change, and the function's own share. */
#include "vt_share_request.h"

struct vuhca_resource_change vt_encode(const struct vt_change *change)
{
	struct vuhca_resource_change encoded = {
		.amount = cpu_to_le32(change->amount),
	};

	vuhca_resource_change_set_resource(&encoded, change->resource);
	vuhca_resource_change_set_qos_level(&encoded, change->level);
	vuhca_resource_change_set_word(&encoded, change->word);
	vuhca_resource_change_set_target(&encoded, change->target);
	return encoded;
}

int vt_ask(struct vt *t, u8 resource, u8 level, u16 target, u32 amount)
{
	const struct vt_change change = { resource, level, target, amount };
	struct vuhca_resource_change encoded = vt_encode(&change);
	struct vuhca_answer answer;

	return vuhca_request_resources(t->dev, &encoded, 1, &answer);
}

bool vt_share(struct vt *t, struct vuhca_resource_share *share)
{
	return VT_EQUAL(t, vuhca_query_resources(t->dev, t->dev->function,
						 share), 0);
}
