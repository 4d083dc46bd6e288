// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Blocks of a send context: allocation, writing and return. Software counts
 * blocks sent and blocks freed. The adapter returns the lowest 11 bits of the
 * blocks freed, which are unambiguous because a context has at most 1024
 * blocks. The number of blocks need not be a power of two, so the index of a
 * block is kept and does not come from a count, which wraps.
 */
#include "vuhca_internal.h"

/*
 * Writes the control register with the enable and interrupt bits as they are.
 */
void vuhca_pio_write_control(struct vuhca_send_context *sc, u32 bits)
{
	bits |= VUHCA_CSR_SEND_CONTEXT_CONTROL_ENABLE_MASK;
	if (sc->interrupts)
		bits |= VUHCA_CSR_SEND_CONTEXT_CONTROL_CREDIT_INTERRUPT_MASK;
	vuhca_write_csr(sc->dev, VUHCA_CSR_SEND_CONTEXT_CONTROL_OFF + sc->number *
			VUHCA_CSR_SEND_CONTEXT_CONTROL_STRIDE, bits);
}

void vuhca_pio_force_credits_locked(struct vuhca_send_context *sc)
{
	lockdep_assert_held(&sc->lock);
	if (!sc->running || !vuhca_is_current(sc->dev, sc->generation))
		return;
	/* The adapter reacts to the rising edge of the bit. */
	vuhca_pio_write_control(sc, VUHCA_CSR_SEND_CONTEXT_CONTROL_FORCE_MASK);
	vuhca_pio_write_control(sc, 0);
}

/**
 * vuhca_pio_force_credits() - Make the adapter return the free blocks.
 * @sc: Send context.
 *
 * Context: Any context.
 */
void vuhca_pio_force_credits(struct vuhca_send_context *sc)
{
	unsigned long flags;

	spin_lock_irqsave(&sc->lock, flags);
	vuhca_pio_force_credits_locked(sc);
	spin_unlock_irqrestore(&sc->lock, flags);
}
EXPORT_SYMBOL_GPL(vuhca_pio_force_credits);

/* Takes the count from memory, which is read once. */
static void vuhca_pio_read_credits(struct vuhca_send_context *sc)
{
	struct vuhca_credit_return word;

	lockdep_assert_held(&sc->lock);
	word.dw0 = READ_ONCE(sc->credits->dw0);
	if (sc->running)
		sc->freed += (vuhca_credit_return_get_free_counter(&word) -
			      sc->freed) & VUHCA_SEND_COUNTER_MASK;
}

/* Takes the next packet whose blocks are free; false when there is none. */
static bool vuhca_pio_take(struct vuhca_send_context *sc, bool all,
			   struct vuhca_pio_pending *pending)
{
	unsigned long flags;
	bool found;

	spin_lock_irqsave(&sc->lock, flags);
	found = sc->tail != sc->head;
	if (found) {
		*pending = sc->pending[sc->tail];
		found = all || (s32)(sc->freed - pending->end) >= 0;
	}
	if (found)
		sc->tail = sc->tail == sc->blocks ? 0 : sc->tail + 1;
	spin_unlock_irqrestore(&sc->lock, flags);
	return found;
}

static void vuhca_pio_release_all(struct vuhca_send_context *sc, bool flush)
{
	struct vuhca_pio_pending pending;
	unsigned long flags;

	spin_lock_irqsave(&sc->release_lock, flags);
	while (vuhca_pio_take(sc, flush, &pending)) {
		sc->flushed += flush;
		if (pending.release)
			pending.release(pending.context, !flush);
	}
	spin_unlock_irqrestore(&sc->release_lock, flags);
}

/**
 * vuhca_pio_update_credits() - Take returned blocks and release the packets
 *	they held.
 * @sc: Send context.
 *
 * Context: Any context; runs release callbacks.
 */
void vuhca_pio_update_credits(struct vuhca_send_context *sc)
{
	unsigned long flags;

	spin_lock_irqsave(&sc->lock, flags);
	vuhca_pio_read_credits(sc);
	spin_unlock_irqrestore(&sc->lock, flags);
	vuhca_pio_release_all(sc, false);
}
EXPORT_SYMBOL_GPL(vuhca_pio_update_credits);

/* Drops all remaining packets: no credit returns any longer. */
void vuhca_pio_flush(struct vuhca_send_context *sc)
{
	vuhca_pio_release_all(sc, true);
}

/* Index of the block that is @ahead blocks after the one with index @block. */
static u32 vuhca_pio_index(const struct vuhca_send_context *sc, u32 block,
			   size_t ahead)
{
	return (block + ahead) % sc->blocks;
}

/**
 * vuhca_pio_alloc() - Allocate the blocks of a packet.
 * @sc: Send context.
 * @packet_bytes: Length of the packet, LRH to payload, without CRCs.
 * @release: Called when the blocks are free again, or NULL.
 * @context: Argument of @release.
 * @blocks: Receives the blocks.
 *
 * vuhca_pio_done() must follow: a restart waits for it.
 *
 * Context: Any context.
 * Return: 0; -EAGAIN: not enough blocks are free; -EIO: the context is halted
 *	or gone; -EMSGSIZE: the context is too small for the packet.
 */
int vuhca_pio_alloc(struct vuhca_send_context *sc, size_t packet_bytes,
		    vuhca_pio_release release, void *context,
		    struct vuhca_pio_buffer *blocks)
{
	unsigned int count = vuhca_pio_block_count(packet_bytes);
	unsigned long flags;
	int err = 0;

	if (count > sc->blocks)
		return -EMSGSIZE;
	if (READ_ONCE(sc->sent) - READ_ONCE(sc->freed) + count > sc->blocks)
		vuhca_pio_update_credits(sc);
	spin_lock_irqsave(&sc->lock, flags);
	if (!sc->running) {
		err = -EIO;
	} else if (sc->sent - sc->freed + count > sc->blocks ||
		   (sc->head == sc->blocks ? 0 : sc->head + 1) == sc->tail) {
		/*
		 * The ring is full while release callbacks of free blocks are
		 * running.
		 */
		err = -EAGAIN;
	} else {
		*blocks = (struct vuhca_pio_buffer) { sc, sc->next, count };
		sc->next = vuhca_pio_index(sc, sc->next, count);
		sc->sent += count;
		sc->pending[sc->head] = (struct vuhca_pio_pending) {
			sc->sent, release, context
		};
		sc->head = sc->head == sc->blocks ? 0 : sc->head + 1;
		sc->writers++;
	}
	spin_unlock_irqrestore(&sc->lock, flags);
	return err;
}
EXPORT_SYMBOL_GPL(vuhca_pio_alloc);

/**
 * vuhca_pio_write() - Write eight bytes of a packet's blocks.
 * @blocks: Blocks of vuhca_pio_alloc().
 * @offset: Offset in the blocks, a multiple of 8.
 * @value: Bytes, the first one lowest.
 *
 * Writes may come in any order, but all of each block must come.
 *
 * Context: Any context.
 */
void vuhca_pio_write(const struct vuhca_pio_buffer *blocks, size_t offset,
		     u64 value)
{
	struct vuhca_send_context *sc = blocks->context;
	u32 block = vuhca_pio_index(sc, blocks->first,
				    offset / VUHCA_SEND_BLOCK_BYTES);
	size_t at = (size_t)block * VUHCA_SEND_BLOCK_BYTES +
		    offset % VUHCA_SEND_BLOCK_BYTES;

	at += (size_t)sc->number * VUHCA_SEND_CONTEXT_WINDOW_BYTES;
	if (offset < VUHCA_SEND_BLOCK_BYTES)
		at += VUHCA_SEND_START_OF_PACKET_OFFSET;
	writeq(value, sc->dev->pio + at);
}
EXPORT_SYMBOL_GPL(vuhca_pio_write);

/**
 * vuhca_pio_done() - End the writing of a packet.
 * @blocks: Blocks of vuhca_pio_alloc(), all written.
 *
 * Context: Any context.
 */
void vuhca_pio_done(const struct vuhca_pio_buffer *blocks)
{
	struct vuhca_send_context *sc = blocks->context;
	unsigned long flags;

	/* Drain write-combining, or the packet may be delayed. */
	wmb();
	spin_lock_irqsave(&sc->lock, flags);
	if (!--sc->writers)
		wake_up(&sc->drained);
	spin_unlock_irqrestore(&sc->lock, flags);
}
EXPORT_SYMBOL_GPL(vuhca_pio_done);

/**
 * vuhca_pio_send_packet() - Write a whole packet.
 * @sc: Send context.
 * @control: Control word; the length is filled in here.
 * @packet: Packet, LRH to payload, without CRCs.
 * @bytes: Length of @packet, a multiple of 4.
 * @release: Called when the blocks are free again, or NULL.
 * @context: Argument of @release.
 *
 * Context: Any context.
 * Return: 0, or the error of vuhca_pio_alloc().
 */
int vuhca_pio_send_packet(struct vuhca_send_context *sc,
			  struct vuhca_send_control control, const void *packet,
			  size_t bytes, vuhca_pio_release release,
			  void *context)
{
	struct vuhca_pio_buffer blocks;
	size_t at, total;
	int err = vuhca_pio_alloc(sc, bytes, release, context, &blocks);

	if (err)
		return err;
	vuhca_send_control_set_length_dwords(&control,
					     (sizeof(control) + bytes) / sizeof(u32));
	vuhca_pio_write(&blocks, 0, get_unaligned_le64(&control));
	total = (size_t)blocks.count * VUHCA_SEND_BLOCK_BYTES;
	for (at = 0; at < total - sizeof(control); at += sizeof(u64)) {
		__le64 word = 0;

		if (at < bytes)
			memcpy(&word, packet + at, min(sizeof(word), bytes - at));
		vuhca_pio_write(&blocks, sizeof(control) + at,
				le64_to_cpu(word));
	}
	vuhca_pio_done(&blocks);
	return 0;
}
EXPORT_SYMBOL_GPL(vuhca_pio_send_packet);
