// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * XRC domains, and the lists of XRC SRQs whose completions go to a CQ: these
 * completions may name QPs of other processes, so polling looks up the number
 * of the SRQ.
 */
#include <errno.h>
#include <stdlib.h>

#include "vu_internal.h"

struct ibv_xrcd *vu_open_xrcd(struct ibv_context *context,
			      struct ibv_xrcd_init_attr *attr)
{
	struct verbs_xrcd *xrcd = calloc(1, sizeof(*xrcd));
	struct ib_uverbs_open_xrcd_resp resp = {};
	struct ibv_open_xrcd cmd = {};
	int err;

	if (!xrcd) {
		errno = ENOMEM;
		return NULL;
	}
	err = ibv_cmd_open_xrcd(context, xrcd, sizeof(*xrcd), attr, &cmd,
				sizeof(cmd), &resp, sizeof(resp));
	if (!err)
		return &xrcd->xrcd;
	free(xrcd);
	errno = err;
	return NULL;
}

int vu_close_xrcd(struct ibv_xrcd *ibxrcd)
{
	struct verbs_xrcd *xrcd = container_of(ibxrcd, struct verbs_xrcd, xrcd);
	int err = ibv_cmd_close_xrcd(xrcd);

	if (!err)
		free(xrcd);
	return err;
}

void vu_attach_shared(struct vu_cq *cq, struct vu_srq *srq)
{
	vu_lock(&cq->lock);
	srq->cq = cq;
	srq->next = cq->shared;
	cq->shared = srq;
	vu_unlock(&cq->lock);
}

void vu_detach_shared(struct vu_srq *srq)
{
	struct vu_cq *cq = srq->cq;
	struct vu_srq **at;

	vu_lock(&cq->lock);
	for (at = &cq->shared; *at; at = &(*at)->next)
		if (*at == srq) {
			*at = srq->next;
			break;
		}
	vu_unlock(&cq->lock);
}

/* The caller holds the lock of the CQ. */
struct vu_srq *vu_find_shared(struct vu_cq *cq, uint32_t srqn)
{
	struct vu_srq *srq = cq->shared;

	while (srq && srq->srqn != srqn)
		srq = srq->next;
	return srq;
}
