// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The provider's choice between a doorbell, a collect page and neither
 * (provider/vu_posting.c), with a page and a record in this process in the place
 * of an adapter. provider.test.ts compiles it with those files and compares the
 * lines: POST TAILS WATCHED COUNT: what the adapter got.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vu_internal.h"

#define QPN 5
#define FIRST 7

static unsigned int collected;

bool vu_page_collect(struct vu_page *page, const void *command, size_t bytes)
{
	collected++;
	return true;
}

static void submit(enum vu_post post, bool tails, bool watched, unsigned int count)
{
	static const char *const names[] = {
		[VU_POST_AUTO] = "auto",
		[VU_POST_COLLECT] = "collect",
		[VU_POST_DOORBELL] = "doorbell",
	};
	static uint8_t slots[16][64];
	struct vuhca_queue_pair_record record = {};
	static uint8_t bytes[VUHCA_DOORBELL_OFFSET + 8];
	struct vuhca_doorbell *bell = (void *)(bytes + VUHCA_DOORBELL_OFFSET);
	struct vu_context *context = calloc(1, sizeof(*context));
	struct vu_qp *qp = calloc(1, sizeof(*qp));
	struct vu_page page = { .at = bytes };

	if (tails)
		context->about.flags = VUHCA_UCONTEXT_SHADOW_TAILS;
	qp->context = context;
	qp->record = &record;
	qp->page = &page;
	qp->qpn = QPN;
	qp->post = post;
	qp->sq.slots = slots[0];
	qp->sq.mask = 15;
	qp->sq.entries_log2 = 4;
	qp->sq.stride_log2 = 6;
	qp->sq.tail = FIRST + count;
	vuhca_queue_pair_record_set_watched(&record, watched);
	memset(bytes, 0, sizeof(bytes));
	collected = 0;
	vu_submit(qp, FIRST);
	printf("%s %d %d %u: tail %u, collected %u", names[post], tails, watched,
	       count, le16toh(record.send_tail), collected);
	if (vuhca_doorbell_get_qpn(bell))
		printf(", rang %u for %u", vuhca_doorbell_get_qpn(bell),
		       vuhca_doorbell_get_sequence(bell));
	printf("\n");
	free(qp);
	free(context);
}

int main(void)
{
	unsigned int at;

	for (at = 0; at < 8; at++)
		submit(VU_POST_AUTO, at & 4, at & 2, 1 + (at & 1));
	submit(VU_POST_DOORBELL, true, true, 1);
	submit(VU_POST_DOORBELL, true, false, 1);
	submit(VU_POST_COLLECT, true, true, 2);
	return 0;
}
