// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* A module whose load waits forever. */
#include <linux/completion.h>
#include <linux/module.h>

static int __init bad_hang_init(void)
{
	DECLARE_COMPLETION_ONSTACK(never);

	return wait_for_completion_killable(&never);
}
module_init(bad_hang_init);

MODULE_DESCRIPTION("Hangs");
MODULE_LICENSE("Dual BSD/GPL");
