// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Attributes of the device and its ports, the clock, and address handles. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "vu_internal.h"

int vu_query_device(struct ibv_context *context,
		    const struct ibv_query_device_ex_input *input,
		    struct ibv_device_attr_ex *attr, size_t attr_size)
{
	struct ib_uverbs_ex_query_device_resp resp;
	size_t resp_size = sizeof(resp);
	uint64_t version;
	int err;

	err = ibv_cmd_query_device_any(context, input, attr, attr_size, &resp,
				       &resp_size);
	if (err)
		return err;
	/* Major, minor and subminor have 16 bits each; the last is unused. */
	version = resp.base.fw_ver;
	snprintf(attr->orig_attr.fw_ver, sizeof(attr->orig_attr.fw_ver),
		 "%u.%u", (unsigned int)(version >> 32) & UINT16_MAX,
		 (unsigned int)(version >> 16) & UINT16_MAX);
	return 0;
}

int vu_query_port(struct ibv_context *context, uint8_t port,
		  struct ibv_port_attr *attr)
{
	struct ibv_query_port cmd;

	return ibv_cmd_query_port(context, port, attr, &cmd, sizeof(cmd));
}

/* The local time of the adapter, from which completions get their time stamps. */
int vu_query_values(struct ibv_context *ibcontext, struct ibv_values_ex *values)
{
	struct vu_context *context = to_vu_context(ibcontext);
	const uint64_t nanoseconds = 1000000000;
	uint64_t time;

	if (values->comp_mask & ~IBV_VALUES_MASK_RAW_CLOCK)
		return EINVAL;
	if (!(values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK))
		return 0;
	if (!context->clock) {
		values->comp_mask = 0;
		return EOPNOTSUPP;
	}
	time = le64toh(__atomic_load_n((const uint64_t *)context->clock,
				       __ATOMIC_RELAXED));
	values->raw_clock.tv_sec = time / nanoseconds;
	values->raw_clock.tv_nsec = time % nanoseconds;
	return 0;
}

struct ibv_ah *vu_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct vu_cmd_create_ah_resp resp = {};
	struct vu_ah *ah = calloc(1, sizeof(*ah));
	int err;

	if (!ah)
		return NULL;
	err = ibv_cmd_create_ah(pd, &ah->base, attr, &resp.ibv_resp,
				sizeof(resp));
	if (!err) {
		ah->index = resp.index;
		return &ah->base;
	}
	free(ah);
	errno = err;
	return NULL;
}

int vu_destroy_ah(struct ibv_ah *ah)
{
	int err = ibv_cmd_destroy_ah(ah);

	if (!err)
		free(container_of(ah, struct vu_ah, base));
	return err;
}
