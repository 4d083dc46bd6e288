// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Takes a send queue off the adapter's scheduler before its memory is freed:
 * the adapter links the descriptors of waiting queues, so a freed one would
 * break the list. The stop doorbell sets `destroyed`; the link is null once the
 * queue is in no list and no read for it is outstanding.
 */
#include <linux/delay.h>

#include "vuhca_internal.h"

/* After this time without a stop the request is written again. */
#define VUHCA_STOP_SLICE_MS	500
#define VUHCA_STOP_SLICES	(VUHCA_BOUND_MS / VUHCA_STOP_SLICE_MS)
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

/* Waits for one slice; true when the queue is stopped or a reset came. */
static bool vuhca_wait_stopped(struct vuhca_qp *qp)
{
	unsigned long end = jiffies + msecs_to_jiffies(VUHCA_STOP_SLICE_MS);
	struct vuhca_send_queue_descriptor seen;

	for (;;) {
		/*
		 * Read the time before the descriptor, so that a late read
		 * still counts.
		 */
		bool late = time_after(jiffies, end);

		seen = vuhca_read_descriptor(qp);
		if (vuhca_is_stopped(&seen) ||
		    !vuhca_is_current(qp->dev, qp->generation))
			return true;
		if (late)
			return false;
		usleep_range(20, 100);
	}
}

/*
 * Writes the stop request, which may be repeated, and returns when the adapter
 * has received it. Earlier stores to the adapter may take long while others
 * flood it.
 */
static int vuhca_write_stop(struct vuhca_qp *qp)
{
	struct vuhca_doorbell word = {};

	vuhca_doorbell_set_qpn(&word, qp->qpn);
	/* Stores to the queue come before the stop request. */
	wmb();
	if (!vuhca_vcb_write_word(qp->dev, VUHCA_STOP_OFFSET, &word))
		return -ENODEV;
	/* This read does not pass the request. */
	return vuhca_check_gone(qp->dev) ? -EIO : 0;
}

/**
 * vuhca_stop_qp() - Take a QP's send queue off the adapter's scheduler until
 *	the QP is reset.
 * @qp: QP.
 *
 * A request that the adapter drops, because the function's share of collect
 * pages changes, is repeated.
 *
 * Context: May sleep.
 * Return: 0; -EINVAL: the QP is in a state without sends or an XRC target; -ENODEV: there is no
 *	collect page to write the request to; -EIO: a reset came, or the device is
 *	gone; -ETIMEDOUT: the adapter is disabled and has reads of the queue
 *	outstanding, or it did not stop the queue within VUHCA_BOUND_MS.
 */
int vuhca_stop_qp(struct vuhca_qp *qp)
{
	bool stopped = false;
	unsigned int slice;
	int err;

	if (!vuhca_is_current(qp->dev, qp->generation))
		return -EIO;
	if (qp->xrcd || READ_ONCE(qp->state) < VUHCA_QP_STATE_RTS)
		return -EINVAL;
	/* A slice counts once, even with the adapter at a breakpoint. */
	for (slice = 0; !stopped && slice < VUHCA_STOP_SLICES; slice++) {
		err = vuhca_write_stop(qp);
		if (err)
			return err;
		stopped = vuhca_wait_stopped(qp);
		if (!stopped && vuhca_adapter_disabled(qp->dev))
			break;
	}
	if (!vuhca_is_current(qp->dev, qp->generation))
		return -EIO;
	return stopped ? 0 : -ETIMEDOUT;
}
EXPORT_SYMBOL_GPL(vuhca_stop_qp);
