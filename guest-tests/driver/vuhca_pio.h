/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Send contexts: memory of the adapter to which software writes whole packets,
 * block by block (PIO). Blocks are allocated in order, filled in any order, and
 * returned as an absolute count in memory.
 */
#ifndef VUHCA_PIO_H
#define VUHCA_PIO_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "vuhca_hw.h"

struct vuhca_dev;
struct vuhca_send_context;

/**
 * typedef vuhca_pio_release - The blocks of a packet are free.
 * @context: Context given with the packet.
 * @sent: The packet left the adapter; false: a restart dropped it.
 *
 * Called once for each packet, in the order of allocation; must not allocate.
 *
 * Context: Any context, under the send context's release_lock.
 */
typedef void (*vuhca_pio_release)(void *context, bool sent);

/**
 * struct vuhca_send_context_init - Parameters of a new send context.
 * @port: Port that packets leave by.
 * @blocks: Blocks of 64 bytes.
 * @threshold: The adapter returns credits when more than this many blocks are
 *	free.
 * @virtual_lanes: VLs that packets may use, one bit each.
 * @pkey: P_Key that packets must carry, 0: any.
 */
struct vuhca_send_context_init {
	u8 port;
	u16 blocks;
	u16 threshold;
	u16 virtual_lanes;
	u16 pkey;
};

/**
 * struct vuhca_pio_buffer - Blocks of a packet that is being written.
 * @context: Send context.
 * @first: Index of the first block.
 * @count: Blocks.
 */
struct vuhca_pio_buffer {
	struct vuhca_send_context *context;
	u32 first;
	u32 count;
};

/**
 * struct vuhca_pio_waiter - Waits for blocks.
 * @list: Entry in the send context's list of waiters.
 * @wake: Called once, when credits may be there or the send context is gone.
 *	Any context.
 */
struct vuhca_pio_waiter {
	struct list_head list;
	void (*wake)(struct vuhca_pio_waiter *waiter);
};

/**
 * struct vuhca_pio_pending - A packet whose blocks are not free yet.
 * @end: Count of freed blocks at which they are.
 * @release: Called then, or NULL.
 * @context: Argument of @release.
 */
struct vuhca_pio_pending {
	u32 end;
	vuhca_pio_release release;
	void *context;
};

/**
 * struct vuhca_send_context - Send context.
 * @dev: Function of the context.
 * @number: Number of the context.
 * @generation: dev->generation at creation.
 * @blocks: Blocks of 64 bytes.
 * @credits: The context's word in the lines that the contexts of the function
 *	share: absolute count of blocks freed.
 * @lock: Protects the members from @running to @tail.
 * @running: Blocks may be allocated.
 * @interrupts: The credit interrupt is enabled.
 * @sent: Count of blocks allocated. It wraps, as does @freed: only differences
 *	of the two have a meaning.
 * @freed: Count of blocks freed.
 * @next: Index of the block that is allocated next.
 * @writers: Packets between allocation and vuhca_pio_done().
 * @waiters: Waiters for blocks.
 * @pending: Ring of packets, @blocks + 1 entries.
 * @head: Next free entry of @pending.
 * @tail: Oldest entry of @pending.
 * @release_lock: Keeps the release callbacks in order.
 * @restart: Restarts the context after a halt.
 * @drained: Woken when there are no writers.
 * @restarts: Count of restarts.
 * @flushed: Count of packets that restarts dropped.
 * @wakes: Count of waiters woken.
 */
struct vuhca_send_context {
	struct vuhca_dev *dev;
	u32 number;
	u32 generation;
	unsigned int blocks;
	struct vuhca_credit_return *credits;
	spinlock_t lock;	/* running to tail */
	bool running;
	bool interrupts;
	u32 sent;
	u32 freed;
	u32 next;
	unsigned int writers;
	struct list_head waiters;
	struct vuhca_pio_pending *pending;
	unsigned int head;
	unsigned int tail;
	spinlock_t release_lock;	/* order of callbacks */
	struct delayed_work restart;
	wait_queue_head_t drained;
	u64 restarts;
	u64 flushed;
	u64 wakes;
};

/**
 * struct vuhca_datagram - A UD packet without GRH, which software composes.
 * @slid: Source LID.
 * @dlid: Destination LID.
 * @service_level: Service level.
 * @pkey: P_Key.
 * @source_qpn: Source QPN.
 * @remote_qpn: Destination QPN.
 * @qkey: Q_Key.
 * @psn: PSN.
 * @solicited: The packet asks for a solicited event.
 * @payload: Payload.
 * @bytes: Length of @payload.
 */
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

/* LRH, BTH and DETH of a datagram. */
#define VUHCA_DATAGRAM_HEADER_BYTES 28

/*
 * Number of blocks of a packet of that many bytes, LRH to payload, without
 * CRCs.
 */
static inline unsigned int vuhca_pio_block_count(size_t packet_bytes)
{
	return DIV_ROUND_UP(sizeof(struct vuhca_send_control) + packet_bytes,
			    VUHCA_SEND_BLOCK_BYTES);
}

struct vuhca_send_context *
vuhca_create_send_context(struct vuhca_dev *dev,
			  const struct vuhca_send_context_init *init);
int vuhca_destroy_send_context(struct vuhca_send_context *sc);
int vuhca_query_send_context(struct vuhca_send_context *sc,
			     struct vuhca_send_context_attributes *attributes);

int vuhca_pio_alloc(struct vuhca_send_context *sc, size_t packet_bytes,
		    vuhca_pio_release release, void *context,
		    struct vuhca_pio_buffer *blocks);
void vuhca_pio_write(const struct vuhca_pio_buffer *blocks, size_t offset,
		     u64 value);
void vuhca_pio_done(const struct vuhca_pio_buffer *blocks);
int vuhca_pio_send_packet(struct vuhca_send_context *sc,
			  struct vuhca_send_control control, const void *packet,
			  size_t bytes, vuhca_pio_release release,
			  void *context);
void vuhca_pio_update_credits(struct vuhca_send_context *sc);
void vuhca_pio_force_credits(struct vuhca_send_context *sc);
int vuhca_pio_wait(struct vuhca_send_context *sc,
		   struct vuhca_pio_waiter *waiter);
bool vuhca_pio_cancel_wait(struct vuhca_send_context *sc,
			   struct vuhca_pio_waiter *waiter);

size_t vuhca_datagram_bytes(size_t payload_bytes);
void vuhca_compose_datagram(void *bytes, const struct vuhca_datagram *datagram);
int vuhca_pio_send_datagram(struct vuhca_send_context *sc,
			    const struct vuhca_datagram *datagram,
			    vuhca_pio_release release, void *context);
int vuhca_pio_send_smp(struct vuhca_send_context *sc, u16 slid, u16 dlid,
		       const void *smp, vuhca_pio_release release,
		       void *context);

#endif /* VUHCA_PIO_H */
