// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The datagrams of one direction, alternately by collect buffer and by
 * doorbell. The thread waits for each completion by interrupt without a time
 * limit, because the adapter may be stopped at a breakpoint, and checks each
 * payload.
 */
#include <linux/kthread.h>

#include "traffic.h"

void traffic_event(struct vuhca_cq *cq, void *context)
{
	struct traffic_flow *flow = context;

	atomic_inc(&flow->events);
	wake_up(&flow->wait);
}

static u32 traffic_length(u32 number)
{
	return 16 + number * 97 % (TRAFFIC_PAYLOAD_MAX - 15);
}

static struct vuhca_buffer traffic_buffer(struct traffic_flow *flow,
					  unsigned int slot, u32 length)
{
	return (struct vuhca_buffer) {
		.address = flow->dma + slot * TRAFFIC_SLOT_BYTES,
		.length = length,
		.lkey = flow->mr->lkey,
	};
}

/* Posts the receive before the datagram that uses it. */
static bool traffic_post(struct traffic_flow *flow, u32 number)
{
	unsigned int slot = number % TRAFFIC_WINDOW;
	struct vuhca_buffer from, to;
	struct vuhca_send_wr send = {
		.wr_id = number,
		.opcode = VUHCA_SEND_OPCODE_SEND,
		.signaled = true,
		.sge = &from,
		.sge_count = 1,
		.ud.remote_qpn = flow->receiver->qpn,
		.ud.qkey = TRAFFIC_QKEY,
		.ud.ah = flow->ah->index,
	};
	struct vuhca_recv_wr receive = {
		.wr_id = number,
		.sge = &to,
		.sge_count = 1,
	};
	bool collect = number / TRAFFIC_STRETCH % 2 == 0;

	from = traffic_buffer(flow, slot, traffic_length(number));
	to = traffic_buffer(flow, TRAFFIC_WINDOW + slot, TRAFFIC_SLOT_BYTES);
	memset(flow->memory + slot * TRAFFIC_SLOT_BYTES, number & 0xff,
	       from.length);
	if (vuhca_post_recv(flow->receiver, &receive, 1) != 1 ||
	    vuhca_post_send(flow->sender, &send, 1, collect ?
			    VUHCA_POST_COLLECT : VUHCA_POST_DOORBELL) != 1)
		return false;
	if (collect)
		flow->collected++;
	else
		flow->rung++;
	return true;
}

static bool traffic_is_right(struct traffic_flow *flow,
			     const struct vuhca_wc *wc)
{
	u32 number = wc->wr_id;
	unsigned int slot = TRAFFIC_WINDOW + number % TRAFFIC_WINDOW;
	const u8 *payload = flow->memory + slot * TRAFFIC_SLOT_BYTES +
			    VUHCA_GRH_AREA_BYTES;
	u32 length = traffic_length(number);

	return wc->byte_length == VUHCA_GRH_AREA_BYTES + length &&
	       number == flow->delivered &&
	       !memchr_inv(payload, number & 0xff, length);
}

static void traffic_take(struct traffic_flow *flow, const struct vuhca_wc *wc)
{
	if (wc->status != VUHCA_COMPLETION_STATUS_SUCCESS)
		flow->errors++;
	if (!wc->receive) {
		flow->completed++;
		return;
	}
	if (!traffic_is_right(flow, wc))
		flow->errors++;
	flow->bytes += wc->byte_length;
	flow->delivered++;
}

static void traffic_drain(struct traffic_flow *flow)
{
	struct vuhca_wc wc[8];
	int i, found;

	while ((found = vuhca_poll_cq(flow->cq, ARRAY_SIZE(wc), wc)) > 0)
		for (i = 0; i < found; i++)
			traffic_take(flow, &wc[i]);
}

static u32 traffic_outstanding(struct traffic_flow *flow)
{
	return flow->posted - min(flow->completed, flow->delivered);
}

int traffic_thread(void *data)
{
	struct traffic_flow *flow = data;
	int seen;

	while (!kthread_should_stop()) {
		while (traffic_outstanding(flow) < TRAFFIC_WINDOW) {
			if (!traffic_post(flow, flow->posted))
				goto failed;
			flow->posted++;
		}
		seen = atomic_read(&flow->events);
		vuhca_arm_cq(flow->cq, false);
		wait_event_interruptible(flow->wait,
					 atomic_read(&flow->events) != seen ||
					 kthread_should_stop());
		traffic_drain(flow);
	}
	return 0;

failed:
	flow->errors++;
	/* traffic_stop() stops the thread. */
	wait_event_interruptible(flow->wait, kthread_should_stop());
	return 0;
}
