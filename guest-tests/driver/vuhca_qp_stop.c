// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Taking a send queue off the adapter's scheduler before its memory goes: the
 * adapter links the descriptors of waiting queues, so one that vanished would
 * break the list. The stop doorbell has `destroyed` set; the link is null once
 * the queue is in no list and no read for it is outstanding.
 */
#include <linux/delay.h>

#include "vuhca.h"

/* How long nothing may move before it is taken that nothing will. */
#define VUHCA_STOP_MS		500
#define VUHCA_NOT_QUEUED	0xff

static struct vuhca_send_queue_descriptor
vuhca_read_descriptor(const struct vuhca_qp *qp)
{
	struct vuhca_send_queue_descriptor seen = {};

	seen.dw1 = READ_ONCE(qp->descriptor->dw1);
	/* The link is at least as new as the flag. */
	dma_rmb();
	seen.dw0 = READ_ONCE(qp->descriptor->dw0);
	return seen;
}

static bool vuhca_is_stopped(const struct vuhca_send_queue_descriptor *seen)
{
	return vuhca_send_queue_descriptor_get_destroyed(seen) &&
	       vuhca_send_queue_descriptor_get_next_state(seen) ==
	       VUHCA_NOT_QUEUED;
}

static int vuhca_wait_stopped(struct vuhca_qp *qp)
{
	unsigned long slice = msecs_to_jiffies(VUHCA_STOP_MS);
	struct vuhca_send_queue_descriptor seen, last = {};
	unsigned long end = jiffies + slice;

	for (;;) {
		/* Looked at before the time, so that a late look still counts. */
		bool late = time_after(jiffies, end);

		seen = vuhca_read_descriptor(qp);
		if (vuhca_is_stopped(&seen))
			return 0;
		if (!vuhca_is_current(qp->dev, qp->generation))
			return -EIO;
		if (seen.dw0 != last.dw0 || seen.dw1 != last.dw1) {
			last = seen;
			end = jiffies + slice;
		} else if (late) {
			return -ETIMEDOUT;
		}
		usleep_range(20, 100);
	}
}

/*
 * Stops the QP for good, until it is reset. -EINVAL in a state without sends,
 * -ENODEV when there is no collect page to ask by, -EIO when a reset came,
 * -ETIMEDOUT when the adapter did nothing for VUHCA_STOP_MS. May sleep.
 */
int vuhca_stop_qp(struct vuhca_qp *qp)
{
	struct vuhca_doorbell word = {};

	if (!vuhca_is_current(qp->dev, qp->generation))
		return -EIO;
	if (READ_ONCE(qp->state) < VUHCA_QP_STATE_RTS)
		return -EINVAL;
	vuhca_doorbell_set_qpn(&word, qp->qpn);
	wmb();
	if (!vuhca_vcb_write_word(qp->dev, VUHCA_STOP_OFFSET, &word))
		return -ENODEV;
	return vuhca_wait_stopped(qp);
}
EXPORT_SYMBOL_GPL(vuhca_stop_qp);
