// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The QPs of a context by number. Polling looks QPs up without a lock: a QP is
 * removed when no entry of it is left in its CQs.
 */
#include <errno.h>
#include <stdlib.h>

#include "vu_internal.h"

int vu_table_add(struct vu_context *context, struct vu_qp *qp)
{
	unsigned int index = qp->qpn & (VU_TABLE_SIZE * VU_TABLE_SIZE - 1);
	struct vu_qp ***row = &context->qps[index >> VU_TABLE_LOG2];

	pthread_mutex_lock(&context->lock);
	if (!*row)
		*row = calloc(VU_TABLE_SIZE, sizeof(**row));
	if (*row)
		(*row)[index & (VU_TABLE_SIZE - 1)] = qp;
	pthread_mutex_unlock(&context->lock);
	return *row ? 0 : ENOMEM;
}

void vu_table_remove(struct vu_context *context, struct vu_qp *qp)
{
	unsigned int index = qp->qpn & (VU_TABLE_SIZE * VU_TABLE_SIZE - 1);
	struct vu_qp **row = context->qps[index >> VU_TABLE_LOG2];

	pthread_mutex_lock(&context->lock);
	if (row && row[index & (VU_TABLE_SIZE - 1)] == qp)
		row[index & (VU_TABLE_SIZE - 1)] = NULL;
	pthread_mutex_unlock(&context->lock);
}

/*
 * The first QP from an index on, and the index after it. The caller holds the
 * lock.
 */
struct vu_qp *vu_table_next(struct vu_context *context, uint32_t *index)
{
	struct vu_qp *qp = NULL;

	while (!qp && *index < VU_TABLE_SIZE * VU_TABLE_SIZE) {
		struct vu_qp **row = context->qps[*index >> VU_TABLE_LOG2];

		if (row)
			qp = row[*index & (VU_TABLE_SIZE - 1)];
		*index += row ? 1 : VU_TABLE_SIZE;
	}
	return qp;
}

struct vu_qp *vu_table_find(struct vu_context *context, uint32_t qpn)
{
	unsigned int index = qpn & (VU_TABLE_SIZE * VU_TABLE_SIZE - 1);
	struct vu_qp **row = context->qps[index >> VU_TABLE_LOG2];
	struct vu_qp *qp;

	if (!row)
		return NULL;
	qp = row[index & (VU_TABLE_SIZE - 1)];
	return qp && qp->qpn == qpn ? qp : NULL;
}
