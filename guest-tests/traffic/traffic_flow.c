// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The datagrams of one lane: stretches by collect buffer and by doorbell in
 * turn, each completion waited for by interrupt, without any limit of time (the
 * adapter may stand at a breakpoint), each payload checked.
 */
#include <linux/kthread.h>

#include "traffic.h"

void traffic_event(struct vuhca_cq *cq, void *context)
{
	struct traffic_lane *lane = context;

	atomic_inc(&lane->events);
	wake_up(&lane->wait);
}

static u32 traffic_length(u32 number)
{
	return 16 + number * 97 % (TRAFFIC_PAYLOAD_MAX - 15);
}

static struct vuhca_buffer traffic_buffer(struct traffic_lane *lane,
					  unsigned int slot, u32 length)
{
	return (struct vuhca_buffer) {
		.address = lane->dma + slot * TRAFFIC_SLOT_BYTES,
		.length = length,
		.lkey = lane->mr->lkey,
	};
}

/* The entry first, then the datagram that it is for. */
static bool traffic_post(struct traffic_lane *lane, u32 number)
{
	unsigned int slot = number % TRAFFIC_WINDOW;
	struct vuhca_buffer from, to;
	struct vuhca_send_wr send = {
		.wr_id = number,
		.opcode = VUHCA_SEND_OPCODE_SEND,
		.signaled = true,
		.sge = &from,
		.sge_count = 1,
		.ud.remote_qpn = lane->receiver->qpn,
		.ud.qkey = TRAFFIC_QKEY,
		.ud.ah = lane->ah->index,
	};
	struct vuhca_recv_wr receive = {
		.wr_id = number,
		.sge = &to,
		.sge_count = 1,
	};
	bool collect = number / TRAFFIC_STRETCH % 2 == 0;

	from = traffic_buffer(lane, slot, traffic_length(number));
	to = traffic_buffer(lane, TRAFFIC_WINDOW + slot, TRAFFIC_SLOT_BYTES);
	memset(lane->memory + slot * TRAFFIC_SLOT_BYTES, number & 0xff,
	       from.length);
	if (vuhca_post_recv(lane->receiver, &receive, 1) != 1 ||
	    vuhca_post_send(lane->sender, &send, 1, collect ?
			    VUHCA_POST_COLLECT : VUHCA_POST_DOORBELL) != 1)
		return false;
	if (collect)
		lane->collected++;
	else
		lane->rung++;
	return true;
}

static bool traffic_is_right(struct traffic_lane *lane,
			     const struct vuhca_wc *wc)
{
	u32 number = wc->wr_id;
	unsigned int slot = TRAFFIC_WINDOW + number % TRAFFIC_WINDOW;
	const u8 *payload = lane->memory + slot * TRAFFIC_SLOT_BYTES +
			    VUHCA_GRH_AREA_BYTES;
	u32 length = traffic_length(number);

	return wc->byte_length == VUHCA_GRH_AREA_BYTES + length &&
	       number == lane->delivered &&
	       !memchr_inv(payload, number & 0xff, length);
}

static void traffic_take(struct traffic_lane *lane, const struct vuhca_wc *wc)
{
	if (wc->status != VUHCA_COMPLETION_STATUS_SUCCESS)
		lane->errors++;
	if (!wc->receive) {
		lane->completed++;
		return;
	}
	if (!traffic_is_right(lane, wc))
		lane->errors++;
	lane->bytes += wc->byte_length;
	lane->delivered++;
}

static void traffic_drain(struct traffic_lane *lane)
{
	struct vuhca_wc wc[8];
	int i, found;

	while ((found = vuhca_poll_cq(lane->cq, ARRAY_SIZE(wc), wc)) > 0)
		for (i = 0; i < found; i++)
			traffic_take(lane, &wc[i]);
}

static u32 traffic_outstanding(struct traffic_lane *lane)
{
	return lane->posted - min(lane->completed, lane->delivered);
}

int traffic_thread(void *data)
{
	struct traffic_lane *lane = data;
	int seen;

	while (!kthread_should_stop()) {
		while (traffic_outstanding(lane) < TRAFFIC_WINDOW) {
			if (!traffic_post(lane, lane->posted))
				goto failed;
			lane->posted++;
		}
		seen = atomic_read(&lane->events);
		vuhca_arm_cq(lane->cq, false);
		wait_event_interruptible(lane->wait,
					 atomic_read(&lane->events) != seen ||
					 kthread_should_stop());
		traffic_drain(lane);
	}
	return 0;

failed:
	lane->errors++;
	/* Whoever started the thread stops it. */
	wait_event_interruptible(lane->wait, kthread_should_stop());
	return 0;
}
