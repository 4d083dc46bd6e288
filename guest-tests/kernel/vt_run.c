// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Parameters and output of the running suite. */
#include <linux/module.h>

#include "vt.h"
#include "vt_run.h"

#define VT_FIFO_BYTES 65536

static unsigned long long seed = 1;
module_param(seed, ullong, 0644);
MODULE_PARM_DESC(seed, "Seed of all random numbers");

static unsigned int count = 10000;
module_param(count, uint, 0644);
MODULE_PARM_DESC(count, "Datagrams of the bulk tests");

u64 vt_seed(void)
{
	return seed;
}

unsigned int vt_count(void)
{
	return count;
}

/* Output of the running suite; waits for the reader when it is slow. */
void vt_emit(struct vt_run *run, const char *text, size_t length)
{
	unsigned int copied;

	while (length) {
		copied = kfifo_in_spinlocked(&run->output, text, length,
					     &run->lock);
		text += copied;
		length -= copied;
		wake_up_interruptible(&run->wait);
		if (length && !wait_event_timeout(run->wait,
						  !kfifo_is_full(&run->output),
						  msecs_to_jiffies(VT_TIMEOUT_MS)))
			return;
	}
}

int vt_run_init(struct vt_run *run)
{
	spin_lock_init(&run->lock);
	init_waitqueue_head(&run->wait);
	return kfifo_alloc(&run->output, VT_FIFO_BYTES, GFP_KERNEL);
}

void vt_run_cleanup(struct vt_run *run)
{
	kfifo_free(&run->output);
}
