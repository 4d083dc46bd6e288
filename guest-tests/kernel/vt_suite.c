// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Runs the cases of a suite and prints them as a KTAP subtest. The kernel log
 * gets a line when a case begins and ends, so that its messages can be
 * attributed to the case.
 */
#include <linux/ktime.h>
#include <linux/slab.h>

#include "vt.h"
#include "vt_run.h"

static void vt_run_case(struct vt *t, const struct vt_case *test)
{
	bool deadman = test->no_deadman && vuhca_set_deadman(false);
	u32 tails = vt_csr(t, VUHCA_CSR_SHADOW_TAILS_OFF);
	int err = vt_env_create(t);

	if (err)
		vt_complain(t, "the environment was not created: %d", err);
	else
		test->run(t);
	vt_env_destroy(t);
	vuhca_write_csr(t->dev, VUHCA_CSR_SHADOW_TAILS_OFF, tails);
	if (deadman)
		vuhca_set_deadman(true);
	if (t->complaints > VT_COMPLAINTS)
		vt_note(t, "%u complaints in all", t->complaints);
}

static void vt_result(struct vt *t, unsigned int number, const char *name,
		      s64 ms)
{
	vt_note(t, "duration_ms %lld", ms);
	if (t->skipped && !t->failed)
		vt_line(t->run, "ok %u %s # SKIP %s", number, name,
			t->skip_reason);
	else
		vt_line(t->run, "%s %u %s", t->failed ? "not ok" : "ok",
			number, name);
}

static unsigned int vt_planned(const struct vt_suite *suite, const char *only)
{
	unsigned int i, planned = 0;

	if (!*only)
		return suite->count;
	for (i = 0; i < suite->count; i++)
		planned += !strcmp(only, suite->cases[i].name);
	return planned;
}

void vt_run_suite(struct vt_run *run, const struct vt_suite *suite,
		  struct vuhca_dev *dev, const char *only)
{
	unsigned int i, number = 0;
	struct vt *t;
	ktime_t start;

	t = kzalloc(sizeof(*t), GFP_KERNEL);
	if (!t)
		return;
	vt_line(run, "KTAP version 1");
	vt_line(run, "# Subtest: %s", suite->name);
	vt_line(run, "1..%u", vt_planned(suite, only));
	for (i = 0; i < suite->count; i++) {
		if (*only && strcmp(only, suite->cases[i].name))
			continue;
		memset(t, 0, sizeof(*t));
		t->dev = dev;
		t->run = run;
		prandom_seed_state(&t->random, vt_seed());
		pr_info("vuhca-test: %s/%s begins\n", suite->name,
			suite->cases[i].name);
		start = ktime_get();
		vt_run_case(t, &suite->cases[i]);
		vt_result(t, ++number, suite->cases[i].name,
			  ktime_ms_delta(ktime_get(), start));
		pr_info("vuhca-test: %s/%s %s\n", suite->name,
			suite->cases[i].name, t->failed ? "failed" : "ends");
	}
	kfree(t);
}
