// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Parses resource requests that were written to debugfs as text
 * (docs/FEATURES.md): groups of words separated by semicolons or line ends.
 * Each group is about a function, a QoS level of this function, a lane, or the
 * dedicated buffers; all groups form one request. A group about the adapter
 * stands alone.
 */
#include <linux/bitmap.h>
#include <linux/ctype.h>
#include <linux/string.h>

#include "vuhca_internal.h"
#include "vuhca_shares_parse.h"

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

/* The last word is about the adapter; no change corresponds to it. */
static const struct vuhca_share_word vuhca_words[] = {
	{ VUHCA_SCOPE_FUNCTION, "vcbs", VUHCA_RESOURCE_KIND_VCBS },
	{ VUHCA_SCOPE_FUNCTION, "base", VUHCA_RESOURCE_KIND_VCB_BASE },
	{ VUHCA_SCOPE_FUNCTION, "pcbs", VUHCA_RESOURCE_KIND_PCBS },
	{ VUHCA_SCOPE_FUNCTION, "tvls", VUHCA_RESOURCE_KIND_TVLS },
	{ VUHCA_SCOPE_FUNCTION, "lanes", VUHCA_RESOURCE_KIND_TVL_MAP },
	{ VUHCA_SCOPE_FUNCTION, "buffers", VUHCA_RESOURCE_KIND_SCHEDULER_BUFFERS },
	{ VUHCA_SCOPE_FUNCTION, "contexts", VUHCA_RESOURCE_KIND_SEND_CONTEXTS },
	{ VUHCA_SCOPE_FUNCTION, "send-blocks", VUHCA_RESOURCE_KIND_SEND_BLOCKS },
	{ VUHCA_SCOPE_FUNCTION, "lane-table", VUHCA_RESOURCE_KIND_TVL_TABLE_ENTRY },
	{ VUHCA_SCOPE_FUNCTION, "policy", VUHCA_RESOURCE_KIND_DOORBELL_POLICY },
	{ VUHCA_SCOPE_FUNCTION, "link-check", VUHCA_RESOURCE_KIND_DOORBELL_LINK_CHECK },
	{ VUHCA_SCOPE_FUNCTION, "adaptive", VUHCA_RESOURCE_KIND_DOORBELL_ADAPTIVE },
	{ VUHCA_SCOPE_FUNCTION, "host-queue", VUHCA_RESOURCE_KIND_DOORBELL_HOST_QUEUE },
	{ VUHCA_SCOPE_FUNCTION, "spill-buffered", VUHCA_RESOURCE_KIND_DOORBELL_SPILL_BUFFERED },
	{ VUHCA_SCOPE_FUNCTION, "spill-commands", VUHCA_RESOURCE_KIND_DOORBELL_SPILL_COMMANDS },
	{ VUHCA_SCOPE_FUNCTION, "low", VUHCA_RESOURCE_KIND_DOORBELL_THRESHOLD_LOW },
	{ VUHCA_SCOPE_FUNCTION, "high", VUHCA_RESOURCE_KIND_DOORBELL_THRESHOLD_HIGH },
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
	{ VUHCA_SCOPE_ADAPTER, "freeze", VUHCA_CSR_ADAPTER_CONTROL_FREEZE_SENDS_MASK },
};

int vuhca_text_error(struct vuhca_text_request *request,
		     const char *format, ...)
{
	struct vuhca_shares *shares = &request->dev->shares;
	va_list args;

	va_start(args, format);
	vscnprintf(shares->last_error, sizeof(shares->last_error), format, args);
	va_end(args);
	return -EINVAL;
}

/* Returns the next word of @text, or NULL. */
static char *vuhca_next_word(char **text)
{
	char *word;

	do {
		word = strsep(text, " \t");
	} while (word && !*word);
	return word;
}

static int vuhca_add_change(struct vuhca_text_request *request, u8 resource,
			    u8 word, u32 amount)
{
	struct vuhca_resource_change *change = request->changes + request->count;
	bool level = request->scope == VUHCA_SCOPE_LEVEL;

	if (request->count == VUHCA_RESOURCE_CHANGES_MAX)
		return vuhca_text_error(request, "more than %u changes",
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

/* Requests the whole map: lanes that are not in the list are given back. */
static int vuhca_add_lanes(struct vuhca_text_request *request, u8 resource,
			   const char *list)
{
	u32 lanes = vuhca_read_csr(request->dev, VUHCA_CSR_TVL_COUNT_OFF);
	u32 words[BITS_TO_U32(VUHCA_TVL_MAX)];
	DECLARE_BITMAP(map, VUHCA_TVL_MAX);
	unsigned int i;
	int err = 0;

	if (bitmap_parselist(strcmp(list, "none") ? list : "", map,
			     VUHCA_TVL_MAX))
		return vuhca_text_error(request,
					"lanes %s: neither none nor a list like 0-3,7",
					list);
	bitmap_to_arr32(words, map, VUHCA_TVL_MAX);
	for (i = 0; !err && i < ARRAY_SIZE(words); i++)
		if (i * 32 < lanes || words[i])
			err = vuhca_add_change(request, resource, i, words[i]);
	return err;
}

static int vuhca_parse_pair(struct vuhca_text_request *request,
			    const char *name, const char *value)
{
	unsigned int i;
	u32 amount, code;

	for (i = 0; i < ARRAY_SIZE(vuhca_words); i++)
		if (vuhca_words[i].scope == request->scope &&
		    !strcmp(vuhca_words[i].name, name))
			break;
	if (i == ARRAY_SIZE(vuhca_words))
		return vuhca_text_error(request, "%s: unknown word for %s", name,
					vuhca_scopes[request->scope].name);
	if (!value)
		return vuhca_text_error(request, "%s: the number is missing", name);
	code = vuhca_words[i].code;
	if (!strcmp(name, "lanes"))
		return vuhca_add_lanes(request, code, value);
	if (kstrtou32(value, 0, &amount))
		return vuhca_text_error(request, "%s %s: not a number", name,
					value);
	if (request->scope != VUHCA_SCOPE_ADAPTER)
		return vuhca_add_change(request, code, 0, amount);
	if (amount > 1)
		return vuhca_text_error(request, "%s %s: neither 0 nor 1", name,
					value);
	request->control_mask |= code;
	request->control_set = (request->control_set & ~code) |
			       (amount ? code : 0);
	return 0;
}

static int vuhca_parse_scope(struct vuhca_text_request *request,
			     const char *name, char **rest)
{
	const char *number;
	u16 target = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(vuhca_scopes); i++)
		if (!strcmp(vuhca_scopes[i].name, name))
			break;
	if (i == ARRAY_SIZE(vuhca_scopes))
		return vuhca_text_error(request,
					"%s: not function, level, lane, dedicated or adapter",
					name);
	if (vuhca_scopes[i].numbered) {
		number = vuhca_next_word(rest);
		if (!number || kstrtou16(number, 0, &target) ||
		    (i == VUHCA_SCOPE_LEVEL && target >= VUHCA_RESOURCE_NO_LEVEL))
			return vuhca_text_error(request,
						"%s %s: not a valid number",
						name, number ?: "");
	}
	request->scope = i;
	request->target = target;
	return 0;
}

int vuhca_shares_parse(struct vuhca_text_request *request, char *text)
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
		err = vuhca_text_error(request, request->count ?
				       "adapter must be the only group" :
				       "the request is empty");
	return err;
}

/* Finds the word for @change, and the name of its group. */
const struct vuhca_share_word *
vuhca_shares_word_of(const struct vuhca_resource_change *change,
		     const char **group)
{
	bool of_level = vuhca_resource_change_get_qos_level(change) !=
			VUHCA_RESOURCE_NO_LEVEL;
	const struct vuhca_share_word *word = vuhca_words;
	u8 resource = vuhca_resource_change_get_resource(change);

	while (word < vuhca_words + ARRAY_SIZE(vuhca_words) - 1 &&
	       (word->code != resource ||
		of_level != (word->scope == VUHCA_SCOPE_LEVEL)))
		word++;
	*group = vuhca_scopes[word->scope].name;
	return word;
}
