// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* A module that refuses to load. */
#include <linux/module.h>

static int __init bad_load_init(void)
{
	return -EINVAL;
}
module_init(bad_load_init);

MODULE_DESCRIPTION("Does not load");
MODULE_LICENSE("Dual BSD/GPL");
