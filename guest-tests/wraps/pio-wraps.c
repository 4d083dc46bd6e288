// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The blocks of a send context over the wraps of their counts: vuhca_pio_buffer.c
 * of the driver itself, on the host, over a window that checks each store.
 * pio-wraps BLOCKS COUNT SEED: a context of BLOCKS blocks whose counts begin at
 * COUNT sends packets of random length, and gets blocks back at random. Prints
 * faults, and ends with 1 when there are any.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernel.h"
#include "../driver/vuhca_pio_buffer.c"

#define STEPS 20000
#define BLOCKS_MAX 1024

static unsigned int blocks, seed;
/* Index of the block that is due, and bytes written of the packet. */
static unsigned int due, written;
/* Blocks of the packets in flight, from oldest to newest, and packets freed. */
static unsigned int lengths[STEPS];
static unsigned int first, last, released;

static void fail(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf("; %u blocks, seed %u\n", blocks, seed);
	exit(1);
}

/* Expects a store to the next eight bytes of the packet. */
void writeq(u64 value, char *at)
{
	size_t offset = (uintptr_t)at % VUHCA_SEND_START_OF_PACKET_OFFSET;
	size_t block = (due + written / VUHCA_SEND_BLOCK_BYTES) % blocks;

	(void)value;
	if (offset != block * VUHCA_SEND_BLOCK_BYTES +
		      written % VUHCA_SEND_BLOCK_BYTES)
		fail("byte %u of packet %u goes to block %zu in place of %zu",
		     written, last, offset / VUHCA_SEND_BLOCK_BYTES, block);
	written += sizeof(value);
}

static void release(void *context, bool sent)
{
	if (!sent || (uintptr_t)context != released)
		fail("packet %zu is released in place of %u",
		     (size_t)(uintptr_t)context, released);
	released++;
}

int main(int argc, char **argv)
{
	static struct vuhca_pio_pending pending[BLOCKS_MAX + 1];
	static u8 packet[8 * VUHCA_SEND_BLOCK_BYTES];
	struct vuhca_credit_return word = {};
	struct vuhca_dev dev = {};
	struct vuhca_send_context sc = { .dev = &dev, .credits = &word };
	unsigned int used = 0, i;
	u32 freed;

	if (argc != 4)
		return 2;
	blocks = strtoul(argv[1], NULL, 10);
	freed = strtoul(argv[2], NULL, 10);
	seed = strtoul(argv[3], NULL, 10);
	srand(seed);
	sc.blocks = blocks;
	sc.running = true;
	sc.pending = pending;
	sc.sent = freed;
	sc.freed = freed;
	sc.next = due = freed % blocks;
	vuhca_credit_return_set_free_counter(&word, freed & VUHCA_SEND_COUNTER_MASK);
	for (i = 0; i < STEPS; i++) {
		size_t bytes = 4 * (1 + rand() % (sizeof(packet) / 4 - 4));
		unsigned int count = vuhca_pio_block_count(bytes);
		struct vuhca_send_control control = {};
		int err;

		written = 0;
		err = vuhca_pio_send_packet(&sc, control, packet, bytes, release,
					    (void *)(uintptr_t)last);
		if (err != (count > blocks ? -EMSGSIZE :
			    used + count > blocks ? -EAGAIN : 0))
			fail("packet of %u blocks, %u in use: error %d", count,
			     used, err);
		if (!err) {
			due = (due + count) % blocks;
			lengths[last++] = count;
			used += count;
		}
		while (first != last && rand() % 3) {
			used -= lengths[first];
			freed += lengths[first++];
		}
		vuhca_credit_return_set_free_counter(&word, freed &
						     VUHCA_SEND_COUNTER_MASK);
		if (rand() % 2)
			vuhca_pio_update_credits(&sc);
	}
	vuhca_pio_update_credits(&sc);
	if (released != first || sc.sent - sc.freed != used)
		fail("%u of %u packets released, %u blocks in use", released,
		     first, sc.sent - sc.freed);
	printf("%u packets\n", last);
	return 0;
}
