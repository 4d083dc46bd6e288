// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Takes a send queue off the adapter's scheduler before its memory is freed:
 * the adapter links the descriptors of waiting queues, so a freed one would
 * break the list. The stop doorbell sets `destroyed`; the link is null once the
 * queue is in no list and no read for it is outstanding.
 */
#include <linux/delay.h>

#include "vuhca_internal.h"

/* When the descriptor does not change for this time, it will not change. */
#define VUHCA_STOP_MS		500
#define VUHCA_NOT_QUEUED	0xff

static struct vuhca_send_queue_descriptor
vuhca_read_descriptor(const struct vuhca_qp *qp)
{
	struct vuhca_send_queue_descriptor seen = {};

	seen.dw1 = READ_ONCE(qp->descriptor->dw1);
	/* Read the link after the flag, so that it is at least as new. */
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
		/*
		 * Read the time before the descriptor, so that a late look
		 * still counts.
		 */
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

/**
 * vuhca_stop_qp() - Take a QP's send queue off the adapter's scheduler until
 *	the QP is reset.
 * @qp: QP.
 *
 * Context: May sleep.
 * Return: 0; -EINVAL: the QP is in a state without sends; -ENODEV: there is no
 *	collect page to write the request to; -EIO: a reset came; -ETIMEDOUT: the
 *	descriptor did not change for VUHCA_STOP_MS.
 */
int vuhca_stop_qp(struct vuhca_qp *qp)
{
	struct vuhca_doorbell word = {};

	if (!vuhca_is_current(qp->dev, qp->generation))
		return -EIO;
	if (READ_ONCE(qp->state) < VUHCA_QP_STATE_RTS)
		return -EINVAL;
	vuhca_doorbell_set_qpn(&word, qp->qpn);
	/* Stores to the queue come before the stop request. */
	wmb();
	if (!vuhca_vcb_write_word(qp->dev, VUHCA_STOP_OFFSET, &word))
		return -ENODEV;
	return vuhca_wait_stopped(qp);
}
EXPORT_SYMBOL_GPL(vuhca_stop_qp);
