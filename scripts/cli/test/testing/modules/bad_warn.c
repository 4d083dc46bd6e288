// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* A module that passes its test and leaves a warning in the kernel's log. */
#include <linux/module.h>

static int __init bad_warn_init(void)
{
	pr_info("KTAP version 1\n1..1\n");
	WARN_ON(1);
	pr_info("ok 1 passes\n");
	return 0;
}
module_init(bad_warn_init);

static void __exit bad_warn_exit(void)
{
}
module_exit(bad_warn_exit);

MODULE_DESCRIPTION("Warns");
MODULE_LICENSE("Dual BSD/GPL");
