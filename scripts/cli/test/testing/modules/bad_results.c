// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* A module that prints less than its plan, in the dialect of KUnit, with a prefix and a failure. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>

static int __init bad_results_init(void)
{
	pr_info("KTAP version 1\n");
	pr_info("1..1\n");
	pr_info("    KTAP version 1\n");
	pr_info("    # Subtest: ring\n");
	pr_info("    1..3\n");
	pr_info("    ok 1 wraps\n");
	pr_info("    # overflows: EXPECTATION FAILED at ring_test.c:12\n");
	pr_info("    not ok 2 overflows\n");
	return 0;
}
module_init(bad_results_init);

static void __exit bad_results_exit(void)
{
}
module_exit(bad_results_exit);

MODULE_DESCRIPTION("Prints broken KTAP");
MODULE_LICENSE("Dual BSD/GPL");
