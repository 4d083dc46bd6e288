// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Executes resource requests that were written to debugfs as text, and puts the
 * reason of a refusal in words into shares.last_error.
 */
#include "vuhca_internal.h"
#include "vuhca_shares_parse.h"

static const char *const vuhca_reasons[] = {
	[VUHCA_MANAGEMENT_STATUS_BAD_FIELD] = "out of range",
	[VUHCA_MANAGEMENT_STATUS_BAD_OBJECT] = "no such function or lane",
	[VUHCA_MANAGEMENT_STATUS_BAD_STATE] = "the lane would have no credits",
	[VUHCA_MANAGEMENT_STATUS_NO_RESOURCES] = "more than is unallocated",
	[VUHCA_MANAGEMENT_STATUS_NOT_PERMITTED] = "only the owner may request this",
	[VUHCA_MANAGEMENT_STATUS_SHARE_EXCEEDED] = "more than the function has",
	[VUHCA_MANAGEMENT_STATUS_CONVERGING] = "still in use by another function, try again",
};

/* Writes the refused change, in the words of the request, and the reason. */
static void vuhca_explain_refusal(struct vuhca_text_request *request,
				  const struct vuhca_answer *answer, int err)
{
	const struct vuhca_resource_change *change;
	const struct vuhca_share_word *word;
	unsigned int index, offset;
	const char *group;
	u8 level;

	offset = answer->bad_offset - sizeof(struct vuhca_management_command);
	index = offset / sizeof(*change);
	if (answer->bad_offset < sizeof(struct vuhca_management_command) ||
	    index >= request->count ||
	    answer->status >= ARRAY_SIZE(vuhca_reasons) ||
	    !vuhca_reasons[answer->status]) {
		vuhca_text_error(request, "status %u, offset %u, error %d",
				 answer->status, answer->bad_offset, err);
		return;
	}
	change = request->changes + index;
	word = vuhca_shares_word_of(change, &group);
	level = vuhca_resource_change_get_qos_level(change);
	vuhca_text_error(request,
			 "change %u, %s %u %s %u: %s (status %u, byte %zu, limit %llu)",
			 index + 1, group, level == VUHCA_RESOURCE_NO_LEVEL ?
			 vuhca_resource_change_get_target(change) : level,
			 word->name, le32_to_cpu(change->amount),
			 vuhca_reasons[answer->status], answer->status,
			 offset % sizeof(*change), answer->limit);
}

static int vuhca_control_adapter(struct vuhca_text_request *request)
{
	struct vuhca_dev *dev = request->dev;
	u32 control;

	if (dev->function) {
		vuhca_text_error(request, "only the physical function controls the adapter");
		return -EPERM;
	}
	control = vuhca_read_csr(dev, VUHCA_CSR_ADAPTER_CONTROL_OFF);
	vuhca_write_csr(dev, VUHCA_CSR_ADAPTER_CONTROL_OFF,
			(control & ~request->control_mask) |
			request->control_set);
	return 0;
}

/* Executes the request @text and modifies it. The caller holds shares.lock. */
int vuhca_shares_request_text(struct vuhca_dev *dev, char *text)
{
	struct vuhca_text_request request = { .dev = dev };
	struct vuhca_answer answer;
	int err = vuhca_shares_parse(&request, text);

	if (err)
		return err;
	if (request.control_mask) {
		err = vuhca_control_adapter(&request);
	} else {
		err = vuhca_request_resources(dev, request.changes,
					      request.count, &answer);
		if (err)
			vuhca_explain_refusal(&request, &answer, err);
	}
	if (!err)
		strscpy(dev->shares.last_error, "none",
			sizeof(dev->shares.last_error));
	return err;
}
