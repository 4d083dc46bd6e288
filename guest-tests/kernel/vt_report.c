// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Reports of a case: notes, failed checks, skips. KTAP requires diagnostics
 * before their result, so they are printed at once.
 */
#include "vt.h"
#include "vt_run.h"

#define VT_LINE_BYTES	256

static __printf(3, 0) void vt_vline(struct vt_run *run, const char *prefix,
				    const char *format, va_list args)
{
	char line[VT_LINE_BYTES];
	int used = scnprintf(line, sizeof(line) - 1, "%s", prefix);

	used += vscnprintf(line + used, sizeof(line) - 1 - used, format, args);
	line[used++] = '\n';
	vt_emit(run, line, used);
}

void vt_line(struct vt_run *run, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vt_vline(run, "  ", format, args);
	va_end(args);
}

void vt_note(struct vt *t, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vt_vline(t->run, "  # ", format, args);
	va_end(args);
}

void vt_complain(struct vt *t, const char *format, ...)
{
	va_list args;

	t->failed = true;
	if (t->complaints++ >= VT_COMPLAINTS)
		return;
	va_start(args, format);
	vt_vline(t->run, "  # ", format, args);
	va_end(args);
}

void vt_skip(struct vt *t, const char *format, ...)
{
	va_list args;

	t->skipped = true;
	va_start(args, format);
	vscnprintf(t->skip_reason, sizeof(t->skip_reason), format, args);
	va_end(args);
}
