// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* A module that stops the kernel. */
#include <linux/module.h>
#include <linux/panic.h>

static int __init bad_panic_init(void)
{
	panic("bad_panic was loaded");
}
module_init(bad_panic_init);

MODULE_DESCRIPTION("Panics");
MODULE_LICENSE("Dual BSD/GPL");
