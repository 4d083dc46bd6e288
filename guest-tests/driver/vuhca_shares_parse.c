// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Resource requests as text, as written to debugfs (docs/PROGRAMMING.md): groups
 * of words divided by semicolons or line ends, each about a function, a QoS level
 * of this one, a lane, or the dedicated buffers; all of it one request. A group
 * about the adapter stands alone. What went wrong is in shares.last_error.
 */
#include <linux/bitmap.h>
#include <linux/ctype.h>
#include <linux/string.h>

#include "vuhca.h"

enum vuhca_scope {
	VUHCA_SCOPE_FUNCTION,
	VUHCA_SCOPE_LEVEL,
	VUHCA_SCOPE_LANE,
	VUHCA_SCOPE_DEDICATED,
	VUHCA_SCOPE_ADAPTER,
};

static const struct {
	const char *name;
	bool numbered;
} vuhca_scopes[] = {
	[VUHCA_SCOPE_FUNCTION]	= { "function", true },
	[VUHCA_SCOPE_LEVEL]	= { "level", true },
	[VUHCA_SCOPE_LANE]	= { "lane", true },
	[VUHCA_SCOPE_DEDICATED]	= { "dedicated", false },
	[VUHCA_SCOPE_ADAPTER]	= { "adapter", false },
};

/* Words of each scope; `lanes` has a list of lanes, the others have a number. */
static const struct {
	u8 scope;
	const char *name;
	u32 code;		/* resource, or bits of ADAPTER_CONTROL */
} vuhca_words[] = {
	{ VUHCA_SCOPE_FUNCTION, "vcbs", VUHCA_RESOURCE_KIND_VCBS },
	{ VUHCA_SCOPE_FUNCTION, "base", VUHCA_RESOURCE_KIND_VCB_BASE },
	{ VUHCA_SCOPE_FUNCTION, "pcbs", VUHCA_RESOURCE_KIND_PCBS },
	{ VUHCA_SCOPE_FUNCTION, "tvls", VUHCA_RESOURCE_KIND_TVLS },
	{ VUHCA_SCOPE_FUNCTION, "lanes", VUHCA_RESOURCE_KIND_TVL_MAP },
	{ VUHCA_SCOPE_FUNCTION, "buffers", VUHCA_RESOURCE_KIND_SCHEDULER_BUFFERS },
	{ VUHCA_SCOPE_LEVEL, "vcbs", VUHCA_RESOURCE_KIND_VCBS },
	{ VUHCA_SCOPE_LEVEL, "pcbs", VUHCA_RESOURCE_KIND_PCBS },
	{ VUHCA_SCOPE_LEVEL, "tvls", VUHCA_RESOURCE_KIND_TVLS },
	{ VUHCA_SCOPE_LEVEL, "lanes", VUHCA_RESOURCE_KIND_TVL_MAP },
	{ VUHCA_SCOPE_LANE, "execution", VUHCA_RESOURCE_KIND_TVL_EXECUTION_CREDITS },
	{ VUHCA_SCOPE_LANE, "completion", VUHCA_RESOURCE_KIND_TVL_COMPLETION_CREDITS },
	{ VUHCA_SCOPE_LANE, "shared", VUHCA_RESOURCE_KIND_TVL_SHARED_CREDITS },
	{ VUHCA_SCOPE_LANE, "list", VUHCA_RESOURCE_KIND_TVL_LIST_SIZE },
	{ VUHCA_SCOPE_LANE, "weight", VUHCA_RESOURCE_KIND_TVL_WEIGHT },
	{ VUHCA_SCOPE_DEDICATED, "lanes", VUHCA_RESOURCE_KIND_DEDICATED_TVL_MAP },
	{ VUHCA_SCOPE_ADAPTER, "disable", VUHCA_CSR_ADAPTER_CONTROL_DISABLE_MASK },
	{ VUHCA_SCOPE_ADAPTER, "return", VUHCA_CSR_ADAPTER_CONTROL_RETURN_SHARES_MASK },
	{ VUHCA_SCOPE_ADAPTER, "lend", VUHCA_CSR_ADAPTER_CONTROL_LEND_IDLE_MASK },
};

static const char *const vuhca_reasons[] = {
	[VUHCA_MANAGEMENT_STATUS_BAD_FIELD] = "out of range",
	[VUHCA_MANAGEMENT_STATUS_BAD_OBJECT] = "there is no such function or lane",
	[VUHCA_MANAGEMENT_STATUS_BAD_STATE] = "the lane would have no credits",
	[VUHCA_MANAGEMENT_STATUS_NO_RESOURCES] = "not so much is unallocated",
	[VUHCA_MANAGEMENT_STATUS_NOT_PERMITTED] = "only its owner may ask for this",
	[VUHCA_MANAGEMENT_STATUS_SHARE_EXCEEDED] = "the function has not so much",
	[VUHCA_MANAGEMENT_STATUS_CONVERGING] = "still in use by another function, try again",
};

struct vuhca_request {
	struct vuhca_dev *dev;
	struct vuhca_resource_change changes[VUHCA_RESOURCE_CHANGES_MAX];
	unsigned int count;
	u8 scope;
	u32 target;
	u32 control_set;
	u32 control_mask;
};

static __printf(2, 3) int vuhca_request_error(struct vuhca_request *request,
					      const char *format, ...)
{
	struct vuhca_shares *shares = &request->dev->shares;
	va_list args;

	va_start(args, format);
	vscnprintf(shares->last_error, sizeof(shares->last_error), format, args);
	va_end(args);
	return -EINVAL;
}

/* The next word of @text, or NULL. */
static char *vuhca_next_word(char **text)
{
	char *word;

	do {
		word = strsep(text, " \t");
	} while (word && !*word);
	return word;
}

static int vuhca_add_change(struct vuhca_request *request, u8 resource, u8 word,
			    u32 amount)
{
	struct vuhca_resource_change *change = request->changes + request->count;
	bool level = request->scope == VUHCA_SCOPE_LEVEL;

	if (request->count == VUHCA_RESOURCE_CHANGES_MAX)
		return vuhca_request_error(request, "more than %u changes",
					   VUHCA_RESOURCE_CHANGES_MAX);
	vuhca_resource_change_set_resource(change, resource);
	vuhca_resource_change_set_qos_level(change, level ? request->target :
					    VUHCA_RESOURCE_NO_LEVEL);
	vuhca_resource_change_set_word(change, word);
	vuhca_resource_change_set_target(change, level ? request->dev->function :
					 request->target);
	change->amount = cpu_to_le32(amount);
	request->count++;
	return 0;
}

/* The map as a whole: lanes that are not in the list are given back. */
static int vuhca_add_lanes(struct vuhca_request *request, u8 resource,
			   const char *list)
{
	u32 lanes = vuhca_read_csr(request->dev, VUHCA_CSR_TVL_COUNT_OFF);
	u32 words[BITS_TO_U32(VUHCA_TVL_MAX)];
	DECLARE_BITMAP(map, VUHCA_TVL_MAX);
	unsigned int i;
	int err = 0;

	if (bitmap_parselist(strcmp(list, "none") ? list : "", map,
			     VUHCA_TVL_MAX))
		return vuhca_request_error(request, "lanes %s: no list like 0-3,7 or none",
					   list);
	bitmap_to_arr32(words, map, VUHCA_TVL_MAX);
	for (i = 0; !err && i < ARRAY_SIZE(words); i++)
		if (i * 32 < lanes || words[i])
			err = vuhca_add_change(request, resource, i, words[i]);
	return err;
}

static int vuhca_parse_pair(struct vuhca_request *request, const char *name,
			    const char *value)
{
	unsigned int i;
	u32 amount, code;

	for (i = 0; i < ARRAY_SIZE(vuhca_words); i++)
		if (vuhca_words[i].scope == request->scope &&
		    !strcmp(vuhca_words[i].name, name))
			break;
	if (i == ARRAY_SIZE(vuhca_words))
		return vuhca_request_error(request, "%s: no word about a %s", name,
					   vuhca_scopes[request->scope].name);
	if (!value)
		return vuhca_request_error(request, "%s: how much?", name);
	code = vuhca_words[i].code;
	if (!strcmp(name, "lanes"))
		return vuhca_add_lanes(request, code, value);
	if (kstrtou32(value, 0, &amount))
		return vuhca_request_error(request, "%s %s: not a number", name, value);
	if (request->scope != VUHCA_SCOPE_ADAPTER)
		return vuhca_add_change(request, code, 0, amount);
	if (amount > 1)
		return vuhca_request_error(request, "%s %s: 0 or 1", name, value);
	request->control_mask |= code;
	request->control_set = (request->control_set & ~code) |
			       (amount ? code : 0);
	return 0;
}

static int vuhca_parse_scope(struct vuhca_request *request, const char *name,
			     char **rest)
{
	const char *number;
	u16 target = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(vuhca_scopes); i++)
		if (!strcmp(vuhca_scopes[i].name, name))
			break;
	if (i == ARRAY_SIZE(vuhca_scopes))
		return vuhca_request_error(request,
					   "%s: not function, level, lane, dedicated or adapter",
					   name);
	if (vuhca_scopes[i].numbered) {
		number = vuhca_next_word(rest);
		if (!number || kstrtou16(number, 0, &target) ||
		    (i == VUHCA_SCOPE_LEVEL && target >= VUHCA_RESOURCE_NO_LEVEL))
			return vuhca_request_error(request, "%s %s: which?", name,
						   number ?: "");
	}
	request->scope = i;
	request->target = target;
	return 0;
}

static int vuhca_parse(struct vuhca_request *request, char *text)
{
	char *group, *word;
	int err = 0;

	while (!err && (group = strsep(&text, ";\n"))) {
		word = vuhca_next_word(&group);
		if (word)
			err = vuhca_parse_scope(request, word, &group);
		while (!err && (word = vuhca_next_word(&group)))
			err = vuhca_parse_pair(request, word,
					       vuhca_next_word(&group));
	}
	if (!err && !request->count == !request->control_mask)
		err = vuhca_request_error(request, request->count ?
					  "the adapter's controls stand alone" :
					  "nothing is asked for");
	return err;
}

/* Which change was refused, in the words it was asked for, and why. */
static void vuhca_explain_refusal(struct vuhca_request *request,
				  const struct vuhca_answer *answer, int err)
{
	unsigned int i, index, offset;
	const struct vuhca_resource_change *change;
	u8 resource, level;

	offset = answer->bad_offset - sizeof(struct vuhca_management_command);
	index = offset / sizeof(*change);
	if (answer->bad_offset < sizeof(struct vuhca_management_command) ||
	    index >= request->count ||
	    answer->status >= ARRAY_SIZE(vuhca_reasons) ||
	    !vuhca_reasons[answer->status]) {
		vuhca_request_error(request, "status %u, offset %u, error %d",
				    answer->status, answer->bad_offset, err);
		return;
	}
	change = request->changes + index;
	resource = vuhca_resource_change_get_resource(change);
	level = vuhca_resource_change_get_qos_level(change);
	for (i = 0; i < ARRAY_SIZE(vuhca_words) - 1; i++)
		if (vuhca_words[i].code == resource &&
		    (vuhca_words[i].scope == VUHCA_SCOPE_LEVEL) ==
		    (level != VUHCA_RESOURCE_NO_LEVEL))
			break;
	vuhca_request_error(request,
			    "change %u, %s %u %s %u: %s (status %u, byte %zu, limit %llu)",
			    index + 1, vuhca_scopes[vuhca_words[i].scope].name,
			    level == VUHCA_RESOURCE_NO_LEVEL ?
			    vuhca_resource_change_get_target(change) : level,
			    vuhca_words[i].name, le32_to_cpu(change->amount),
			    vuhca_reasons[answer->status], answer->status,
			    offset % sizeof(*change), answer->limit);
}

static int vuhca_control_adapter(struct vuhca_request *request)
{
	struct vuhca_dev *dev = request->dev;
	u32 control;

	if (dev->function) {
		vuhca_request_error(request, "the adapter is the physical function's");
		return -EPERM;
	}
	control = vuhca_read_csr(dev, VUHCA_CSR_ADAPTER_CONTROL_OFF);
	vuhca_write_csr(dev, VUHCA_CSR_ADAPTER_CONTROL_OFF,
			(control & ~request->control_mask) |
			request->control_set);
	return 0;
}

/* Executes @text, which is changed. The caller holds shares.lock. */
int vuhca_shares_request_text(struct vuhca_dev *dev, char *text)
{
	struct vuhca_request request = { .dev = dev };
	struct vuhca_answer answer;
	int err = vuhca_parse(&request, text);

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
