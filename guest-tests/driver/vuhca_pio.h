/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Send contexts: memory of the adapter that whole packets are written to,
 * block by block. Blocks are allocated in order, filled in any order, and come
 * back as an absolute count in memory.
 */
#ifndef VUHCA_PIO_H
#define VUHCA_PIO_H

#include "vuhca_objects.h"

struct vuhca_send_context;

/*
 * A packet's blocks are free, once, in order of allocation: it left the adapter
 * or, with @sent false, a restart dropped it. Any context; must not allocate.
 */
typedef void (*vuhca_pio_release)(void *context, bool sent);

struct vuhca_send_context_init {
	u8 port;
	u16 blocks;
	u16 threshold;		/* more free than that are returned */
	u16 virtual_lanes;	/* one bit each */
	u16 pkey;		/* that packets must carry, 0: any */
};

/* Blocks of one packet, from vuhca_pio_alloc() to vuhca_pio_done(). */
struct vuhca_pio_buffer {
	struct vuhca_send_context *context;
	u32 first;		/* absolute count */
	u32 count;
};

/* Told once that credits may be there, or that the context is gone. */
struct vuhca_pio_waiter {
	struct list_head list;
	void (*wake)(struct vuhca_pio_waiter *waiter);
};

struct vuhca_pio_pending {
	u32 end;		/* count of blocks when it is free */
	vuhca_pio_release release;
	void *context;
};

struct vuhca_send_context {
	struct vuhca_dev *dev;
	u32 number;
	u32 generation;
	unsigned int blocks;
	struct vuhca_credit_return *credits;	/* this context's word */
	void *line;
	dma_addr_t dma;

	spinlock_t lock;	/* what follows */
	bool running;		/* may be allocated from */
	bool interrupts;	/* asked for */
	u32 sent;		/* absolute counts of blocks */
	u32 freed;
	unsigned int writers;	/* between allocation and done */
	struct list_head waiters;
	struct vuhca_pio_pending *pending;	/* ring of blocks + 1 */
	unsigned int head;
	unsigned int tail;

	spinlock_t release_lock;	/* callbacks run in order */
	struct delayed_work restart;
	wait_queue_head_t drained;	/* no writers any more */
	u64 restarts;
	u64 flushed;
	u64 wakes;
};

static inline unsigned int vuhca_pio_block_count(size_t packet_bytes)
{
	return DIV_ROUND_UP(sizeof(struct vuhca_send_control) + packet_bytes,
			    VUHCA_SEND_BLOCK_BYTES);
}

/* vuhca_pio_buffer.c */
int vuhca_pio_alloc(struct vuhca_send_context *sc, size_t packet_bytes,
		     vuhca_pio_release release, void *context,
		     struct vuhca_pio_buffer *blocks);
void vuhca_pio_write(const struct vuhca_pio_buffer *blocks, size_t offset,
		      u64 value);
void vuhca_pio_done(const struct vuhca_pio_buffer *blocks);
int vuhca_pio_send_packet(struct vuhca_send_context *sc,
		      struct vuhca_send_control control, const void *packet,
		      size_t bytes, vuhca_pio_release release, void *context);
void vuhca_pio_update_credits(struct vuhca_send_context *sc);
void vuhca_pio_force_credits(struct vuhca_send_context *sc);
void vuhca_pio_write_control(struct vuhca_send_context *sc, u32 bits);
void vuhca_pio_force_credits_locked(struct vuhca_send_context *sc);

/* vuhca_pio_wait.c */
int vuhca_pio_wait(struct vuhca_send_context *sc,
		    struct vuhca_pio_waiter *waiter);
bool vuhca_pio_cancel_wait(struct vuhca_send_context *sc,
		       struct vuhca_pio_waiter *waiter);
void vuhca_pio_wake(struct vuhca_send_context *sc);
void vuhca_pio_credit_interrupt(struct vuhca_dev *dev);
void vuhca_pio_deadman(struct vuhca_dev *dev);

/* vuhca_pio_restart.c */
struct vuhca_send_context *
vuhca_create_send_context(struct vuhca_dev *dev,
			  const struct vuhca_send_context_init *init);
int vuhca_destroy_send_context(struct vuhca_send_context *sc);
int vuhca_query_send_context(struct vuhca_send_context *sc,
			     struct vuhca_send_context_attributes *attributes);
void vuhca_pio_flush(struct vuhca_send_context *sc);
void vuhca_pio_halt_event(struct vuhca_dev *dev,
		       const struct vuhca_event_entry *entry);
void vuhca_pio_stop(struct vuhca_dev *dev);

/* vuhca_datagram.c */
struct vuhca_datagram {
	u16 slid;
	u16 dlid;
	u8 service_level;
	u16 pkey;
	u32 source_qpn;
	u32 remote_qpn;
	u32 qkey;
	u32 psn;
	bool solicited;
	const void *payload;
	size_t bytes;
};

/* Room for the headers of a datagram and the padding of its payload. */
#define VUHCA_DATAGRAM_HEADER_BYTES 28

size_t vuhca_datagram_bytes(size_t payload_bytes);
void vuhca_compose_datagram(void *bytes, const struct vuhca_datagram *packet);
int vuhca_pio_send_datagram(struct vuhca_send_context *sc,
			const struct vuhca_datagram *packet,
			vuhca_pio_release release, void *context);
int vuhca_pio_send_smp(struct vuhca_send_context *sc, u16 slid, u16 dlid,
		   const void *smp, vuhca_pio_release release, void *context);

#endif /* VUHCA_PIO_H */
