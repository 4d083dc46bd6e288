/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* SRQs whose entries each receive at a place of their own. */
#ifndef VT_SRQ_H
#define VT_SRQ_H

#include "vt_pair.h"

/* Room of an entry. */
#define VT_ENTRY_BYTES	4096

/* Entry number i uses place i of area 1, modulo the places, and its wr_id is i. */
struct vt_srq {
	struct vuhca_srq *srq;
	struct vt_areas *areas;
	size_t base;		/* offset of the first place */
	unsigned int places;
	unsigned int posted;
};

/* The SRQ has as many places as entries. On failure @queue->srq is NULL. */
bool vt_srq_create(struct vt *t, struct vt_srq *queue, struct vt_areas *areas,
		   size_t base, const struct vuhca_srq_init *init);
void vt_srq_destroy(struct vt *t, struct vt_srq *queue);
/* Posts the next entry. */
bool vt_srq_post(struct vt *t, struct vt_srq *queue);
/*
 * Sends a message from end 0 and expects that it uses entry @number and
 * completes on @cq.
 */
bool vt_srq_takes(struct vt_pair *pair, struct vt_srq *queue,
		  struct vuhca_cq *cq, unsigned int number);

#endif /* VT_SRQ_H */
