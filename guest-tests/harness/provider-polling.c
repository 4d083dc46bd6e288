// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Polls of the provider (provider/vu_poll.c) of a CQ in this process, whose lock
 * another thread holds: a poll that needs it does not return. provider.test.ts
 * compiles it with those files and compares the lines.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "vu_internal.h"

#define ENTRIES_LOG2 2
#define ENTRIES (1 << ENTRIES_LOG2)
#define PATIENCE_S 10

static struct vuhca_completion_entry entries[ENTRIES];
/* The record, and the kernel's word behind it. */
static uint32_t record[(VUHCA_CQ_DEAD_OFFSET + 4) / 4];

/* What the polls of this program do not reach. */
struct vu_qp *vu_table_find(struct vu_context *context, uint32_t qpn)
{
	abort();
}

struct vu_qp *vu_table_next(struct vu_context *context, uint32_t *index)
{
	abort();
}

struct vu_srq *vu_find_shared(struct vu_cq *cq, uint32_t srqn)
{
	abort();
}

bool vu_srq_retire(struct vu_srq *srq, uint16_t sequence, uint64_t *wr_id)
{
	abort();
}

bool vu_wq_retire(struct vu_wq *wq, uint16_t sequence, uint64_t *wr_id)
{
	abort();
}

/* The next entry of software is @consumed; its slot has the number @sequence. */
static void peek(const char *what, struct vu_cq *cq, uint32_t consumed,
		 uint32_t sequence)
{
	struct ibv_wc wc;
	bool found;

	cq->consumed = consumed;
	entries[consumed % ENTRIES].sequence = htole32(sequence);
	found = vu_peek(cq);
	/* The lock is not free. */
	if (!found && vu_poll_cq(&cq->base.cq, 1, &wc))
		abort();
	printf("%s: %s\n", what, found ? "look" : "nothing");
}

int main(void)
{
	struct vu_context *context = calloc(1, sizeof(*context));
	struct vu_cq *cq = calloc(1, sizeof(*cq));
	const uint32_t last = UINT32_MAX;

	alarm(PATIENCE_S);
	cq->base.cq.context = &context->base.context;
	cq->entries = entries;
	cq->entries_log2 = ENTRIES_LOG2;
	cq->record = (void *)record;
	vu_lock_init(&cq->lock, true);
	vu_lock(&cq->lock);

	peek("never written", cq, 0, 0);
	peek("written", cq, 0, 1);
	peek("written a lap ago", cq, 9, 10 - ENTRIES);
	peek("written, and taken by another thread", cq, 9, 10 + ENTRIES);
	peek("the last number", cq, last, 0);
	peek("not yet the last number", cq, last, -ENTRIES);
	peek("not yet after the last number", cq, 1, 2 - ENTRIES);
	context->about.flags = VUHCA_UCONTEXT_POLLS_PAUSE;
	peek("never written, in turns", cq, 0, 0);
	record[VUHCA_CQ_DEAD_OFFSET / 4] = 1;
	peek("a dead adapter", cq, 0, 0);
	return 0;
}
