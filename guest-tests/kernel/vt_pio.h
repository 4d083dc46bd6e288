/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Functions that the suites of send contexts share. */
#ifndef VT_PIO_H
#define VT_PIO_H

#include "vt.h"

/* Counts released packets and checks their order. */
struct vt_pio_releases {
	atomic_t sent;
	atomic_t flushed;
	u32 next;
	bool disordered;
};

/* Number of a packet, for its release. */
struct vt_pio_release {
	struct vt_pio_releases *all;
	u32 number;
};

struct vuhca_send_context *vt_create_send_context(struct vt *t, unsigned int blocks,
						  unsigned int threshold);
struct vuhca_datagram vt_pio_datagram(struct vt *t, const void *payload, size_t bytes);
void vt_pio_released(void *context, bool sent);
void vt_pio_expect(struct vt *t, const void *payload, size_t bytes);
int vt_pio_send_one(struct vt *t, struct vuhca_send_context *sc, u32 number);
u32 vt_pio_free_counter(struct vuhca_send_context *sc);
u32 vt_pio_lid(struct vt *t, unsigned int port);
void vt_pio_receive(struct vt *t, unsigned int slot);

/* vt_pio_credits.c */
void vt_pio_allocator(struct vt *t);
void vt_pio_reasons(struct vt *t);
void vt_pio_waiters(struct vt *t);
void vt_pio_counter_wrap(struct vt *t);

#endif /* VT_PIO_H */
