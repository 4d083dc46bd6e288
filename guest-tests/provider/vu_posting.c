// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Choice between collect page and doorbell: the tail of the queue is published,
 * and then the same bytes go to a collect page, or a doorbell is rung
 * (vu_doorbell.c). The environment of the process decides: VUHCA_POST (auto,
 * collect, doorbell) and VUHCA_QOS_LEVEL (0, 1). Under auto a lone command
 * takes the way that the kernel module measured as the cheaper one and reported
 * in VUHCA_UCONTEXT_COLLECTS (guest-tests/driver/vuhca_posting.c); several go
 * by one doorbell. Callers hold the lock of the queue.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vu_internal.h"
#include "vu_tail.h"

/* Reads the choices of the process. */
void vu_read_posting(struct vu_context *context)
{
	const char *post = getenv("VUHCA_POST");
	const char *level = getenv("VUHCA_QOS_LEVEL");

	context->post = VU_POST_AUTO;
	if (post && !strcmp(post, "collect"))
		context->post = VU_POST_COLLECT;
	else if (post && !strcmp(post, "doorbell"))
		context->post = VU_POST_DOORBELL;
	else if (post && strcmp(post, "auto"))
		fprintf(stderr,
			VU_PREFIX "VUHCA_POST is auto, collect or doorbell, not %s\n",
			post);
	if (level && !strcmp(level, "1"))
		context->qos_level = 1;
	else if (level && strcmp(level, "0"))
		fprintf(stderr, VU_PREFIX "VUHCA_QOS_LEVEL is 0 or 1, not %s\n",
			level);
}

static bool vu_collects(const struct vu_qp *qp, unsigned int count)
{
	if (qp->post == VU_POST_AUTO)
		return count == 1 &&
		       qp->context->about.flags & VUHCA_UCONTEXT_COLLECTS;
	return qp->post == VU_POST_COLLECT;
}

/* Rings unless the adapter watches the tail by itself. */
static void vu_ring_unwatched(struct vu_qp *qp, uint16_t first)
{
	bool shadow = qp->context->about.flags & VUHCA_UCONTEXT_SHADOW_TAILS;

	if (!shadow || !vu_is_watched(qp->record))
		vu_ring_doorbell(qp->page, qp->qpn, first);
}

/* Apart from vu_submit(), which saves no registers without its loop. */
static __attribute__((noinline)) void
vu_collect(struct vu_qp *qp, uint16_t first, uint16_t tail)
{
	struct vuhca_send_command *command;

	for (; first != tail; first++) {
		command = vu_slot(&qp->sq, first);
		if (!vu_page_collect(qp->page, command,
				     vuhca_send_command_get_collect_length(command)))
			vu_ring_doorbell(qp->page, qp->qpn, first);
	}
}

/* Shows the adapter the commands from number @first on. */
void vu_submit(struct vu_qp *qp, uint16_t first)
{
	uint16_t tail = qp->sq.tail;

	if (first == tail)
		return;
	/* The slots come before the tail that announces them. */
	udma_to_device_barrier();
	__atomic_store_n(&qp->record->send_tail, htole16(tail),
			 __ATOMIC_RELAXED);
	/* The tail comes before the collect page or the doorbell. */
	udma_to_device_barrier();
	if (vu_collects(qp, (uint16_t)(tail - first)))
		vu_collect(qp, first, tail);
	else
		vu_ring_unwatched(qp, first);
}
