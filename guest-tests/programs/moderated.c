// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Moderation of a CQ by a program (ibv_modify_cq): the event of a lone
 * completion waits for the period, and that of as many completions as the CQ
 * counts comes with the last of them. Ends with 0 when both hold.
 *
 *     moderated DEVICE PORT PEER_PORT
 */
#include <errno.h>
#include <stdio.h>

#include "pair.h"

#define COUNT 8
#define PERIOD_US 60000
/* The clocks of guest and adapter differ. */
#define PERIOD_LEAST_US (PERIOD_US * 9 / 10)
#define MESSAGE_BYTES 64

static void moderate(struct ibv_cq *cq, uint16_t count, uint16_t period)
{
	struct ibv_modify_cq_attr attr = {
		.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = { .cq_count = count, .cq_period = period },
	};

	errno = ibv_modify_cq(cq, &attr);
	if (errno)
		pair_fail("ibv_modify_cq");
}

/*
 * Posts @messages to a CQ that is armed, and waits for its event. Returns the
 * number of completions by then, and in @waited_us the time.
 */
static unsigned int await_event(struct pair_base *base, struct ibv_qp *qp,
				unsigned int messages, long *waited_us)
{
	double begin = pair_now_ns();
	unsigned int i, found, done;
	struct ibv_cq *cq;
	void *context;

	errno = ibv_req_notify_cq(base->cq, 0);
	if (errno)
		pair_fail("arming");
	for (i = 0; i < messages; i++)
		pair_write(base, qp, MESSAGE_BYTES);
	if (ibv_get_cq_event(base->cq->channel, &cq, &context))
		pair_fail("an event");
	*waited_us = (pair_now_ns() - begin) / 1000;
	ibv_ack_cq_events(cq, 1);
	for (found = done = pair_poll(base); done < messages; )
		done += pair_poll(base);
	return found;
}

int main(int argc, char **argv)
{
	struct pair_place place = { .gid_index = -1 };
	struct ibv_comp_channel *channel;
	struct pair_base base;
	unsigned int found;
	struct ibv_qp *qp;
	long waited_us;

	if (argc != 4) {
		fprintf(stderr, "usage: moderated DEVICE PORT PEER_PORT\n");
		return 2;
	}
	place.device = argv[1];
	place.port = pair_number(argv[2]);
	place.peer_port = pair_number(argv[3]);
	pair_open(&base, &place, MESSAGE_BYTES, COUNT);
	channel = ibv_create_comp_channel(base.context);
	if (!channel)
		pair_fail("a completion channel");
	base.cq = ibv_create_cq(base.context, 2 * COUNT, NULL, channel, 0);
	if (!base.cq)
		pair_fail("a CQ with a channel");
	qp = pair_connect(&base, COUNT, 0);

	await_event(&base, qp, 1, &waited_us);
	printf("not moderated: an event after %ld us\n", waited_us);

	moderate(base.cq, COUNT, PERIOD_US);
	await_event(&base, qp, 1, &waited_us);
	printf("one completion: an event after %ld us\n", waited_us);
	if (waited_us < PERIOD_LEAST_US)
		return 1;

	found = await_event(&base, qp, COUNT, &waited_us);
	printf("%u completions: an event after %ld us\n", found, waited_us);
	if (found < COUNT && waited_us < PERIOD_LEAST_US)
		return 1;

	moderate(base.cq, 0, 0);
	await_event(&base, qp, 1, &waited_us);
	printf("not moderated again: an event after %ld us\n", waited_us);
	return 0;
}
