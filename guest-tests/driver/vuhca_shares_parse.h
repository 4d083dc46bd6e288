/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Resource requests as text: between vuhca_shares_parse.c and its caller. */
#ifndef VUHCA_SHARES_PARSE_H
#define VUHCA_SHARES_PARSE_H

#include "vuhca_shares.h"

enum vuhca_scope {
	VUHCA_SCOPE_FUNCTION,
	VUHCA_SCOPE_LEVEL,
	VUHCA_SCOPE_LANE,
	VUHCA_SCOPE_DEDICATED,
	VUHCA_SCOPE_ADAPTER,
};

/* A word of a group. `lanes` takes a list of lanes, the others a number. */
struct vuhca_share_word {
	u8 scope;
	const char *name;
	u32 code;		/* resource, or bits of ADAPTER_CONTROL */
};

struct vuhca_text_request {
	struct vuhca_dev *dev;
	struct vuhca_resource_change changes[VUHCA_RESOURCE_CHANGES_MAX];
	unsigned int count;
	u8 scope;
	u32 target;
	u32 control_set;
	u32 control_mask;
};

__printf(2, 3) int vuhca_text_error(struct vuhca_text_request *request,
				    const char *format, ...);
int vuhca_shares_parse(struct vuhca_text_request *request, char *text);
const struct vuhca_share_word *
vuhca_shares_word_of(const struct vuhca_resource_change *change,
		     const char **group);

#endif /* VUHCA_SHARES_PARSE_H */
