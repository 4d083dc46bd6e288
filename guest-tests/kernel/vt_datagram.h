/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Datagrams in bulk. */
#ifndef VT_DATAGRAM_H
#define VT_DATAGRAM_H

#include "vt.h"

/* Most datagrams under way, and most datagrams in a batch. */
#define VT_WINDOW	32
#define VT_BATCH	16

void vt_datagram_bulk(struct vt *t, enum vuhca_post_mode mode,
		      unsigned int batch);

#endif /* VT_DATAGRAM_H */
