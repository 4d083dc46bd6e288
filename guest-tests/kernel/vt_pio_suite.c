// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Send contexts: packets that software composes arrive whatever the order in
 * which their blocks are filled. Credits are in vt_pio_credits.c.
 */
#include <linux/slab.h>
#include <rdma/ib_smi.h>

#include "vt_pio.h"

#define VT_LARGE_BYTES	600
/* More contexts than a line has credit words. */
#define VT_CONTEXTS	10
static void vt_lengths(struct vt *t)
{
	static const u16 lengths[] = { 0, 1, 3, 4, 28, 29, 92, 93, 1000, 2048 };
	struct vuhca_send_context *sc = vt_create_send_context(t, 64, 0);
	u8 *payload = kmalloc(2048, GFP_KERNEL);
	struct vuhca_datagram packet;
	unsigned int i;

	for (i = 0; sc && payload && i < ARRAY_SIZE(lengths); i++) {
		vt_fill(payload, lengths[i], i + 1);
		packet = vt_pio_datagram(t, payload, lengths[i]);
		vt_pio_receive(t, i);
		VT_EQUAL(t, vuhca_pio_send_datagram(sc, &packet, NULL, NULL), 0);
		vt_pio_expect(t, payload, lengths[i]);
	}
	kfree(payload);
	if (sc)
		VT_EQUAL(t, vuhca_destroy_send_context(sc), 0);
}

/* Fills the blocks of two packets word by word in a random order. */
static void vt_fill_mixed(struct vt *t, struct vuhca_pio_buffer *blocks,
			  u64 (*images)[128])
{
	unsigned int words[2], order[256], total, i, j;

	words[0] = blocks[0].count * 8;
	words[1] = blocks[1].count * 8;
	total = words[0] + words[1];
	for (i = 0; i < total; i++)
		order[i] = i;
	for (i = total; i-- > 1;) {
		j = prandom_u32_state(&t->random) % (i + 1);
		swap(order[i], order[j]);
	}
	for (i = 0; i < total; i++) {
		bool second = order[i] >= words[0];
		unsigned int word = order[i] - (second ? words[0] : 0);

		vuhca_pio_write(&blocks[second], word * 8,
				get_unaligned_le64(&images[second][word]));
	}
}

static void vt_image(struct vt *t, u64 *image, size_t bytes, u32 key,
		     u8 *payload)
{
	struct vuhca_datagram packet = vt_pio_datagram(t, payload, bytes);
	struct vuhca_send_control *control = (void *)image;

	vt_fill(payload, bytes, key);
	memset(image, 0, 1024);
	bytes = sizeof(*control) + vuhca_datagram_bytes(bytes);
	vuhca_send_control_set_length_dwords(control, bytes / sizeof(u32));
	vuhca_compose_datagram(control + 1, &packet);
}

/* Two packets at a time with their words mixed: both arrive, in any order. */
static void vt_out_of_order(struct vt *t)
{
	struct vuhca_send_context *sc = vt_create_send_context(t, 40, 0);
	u8 *payload = kmalloc(2 * VT_LARGE_BYTES, GFP_KERNEL);
	u64 (*images)[128] = kcalloc(2, sizeof(*images), GFP_KERNEL);
	struct vuhca_pio_buffer blocks[2];
	unsigned int round, i;
	struct vuhca_wc wc;
	u32 length;

	for (round = 0; sc && payload && images && round < 50; round++) {
		for (i = 0; i < 2; i++) {
			vt_image(t, images[i], VT_LARGE_BYTES - i,
				 2 * round + i, payload + i * VT_LARGE_BYTES);
			vt_pio_receive(t, 2 * round + i);
			length = vuhca_datagram_bytes(VT_LARGE_BYTES - i);
			VT_WAIT(t, !vuhca_pio_alloc(sc, length, NULL, NULL,
						    &blocks[i]));
		}
		vt_fill_mixed(t, blocks, images);
		vuhca_pio_done(&blocks[0]);
		vuhca_pio_done(&blocks[1]);
		for (i = 0; i < 2; i++) {
			if (!VT_EQUAL(t, vt_poll(t->recv_cq.cq, &wc, 1,
						 VT_TIMEOUT_MS), 1))
				goto out;
			/* The packets differ in length. */
			length = wc.byte_length - VUHCA_GRH_AREA_BYTES;
			VT_CHECK(t, vt_holds(t->memory + wc.wr_id +
					     VUHCA_GRH_AREA_BYTES, length,
					     2 * round + VT_LARGE_BYTES - length),
				 "%u bytes in round %u", length, round);
		}
	}
out:
	kfree(images);
	kfree(payload);
	if (sc)
		VT_EQUAL(t, vuhca_destroy_send_context(sc), 0);
}

/*
 * A younger packet leaves first: no credit comes back before the older one has
 * left (docs/HAZARDS.md, hazard 22).
 */
static void vt_contiguous(struct vt *t)
{
	struct vuhca_send_context *sc = vt_create_send_context(t, 16, 0);
	u8 payload[36];
	u64 image[128];
	struct vuhca_pio_buffer blocks;
	unsigned int word;

	if (!sc)
		return;
	vt_image(t, image, sizeof(payload), 7, payload);
	VT_EQUAL(t, vuhca_pio_alloc(sc, vuhca_datagram_bytes(sizeof(payload)),
				    NULL, NULL, &blocks), 0);
	VT_EQUAL(t, vt_pio_send_one(t, sc, 8), 0);
	VT_EQUAL(t, vt_pio_free_counter(sc), 0);
	vt_pio_receive(t, 7);
	for (word = blocks.count * 8; word-- > 0;)
		vuhca_pio_write(&blocks, word * 8,
				get_unaligned_le64(&image[word]));
	vuhca_pio_done(&blocks);
	vt_pio_expect(t, payload, sizeof(payload));
	VT_WAIT(t, vt_pio_free_counter(sc) == 2 * blocks.count);
	VT_EQUAL(t, vuhca_destroy_send_context(sc), 0);
}

/*
 * Contexts of one guest share lines: each has the word of its number, which
 * begins at zero even if an earlier context had that number.
 */
static void vt_shared_lines_once(struct vt *t)
{
	struct vuhca_send_context *all[VT_CONTEXTS] = {};
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		all[i] = vt_create_send_context(t, 16, 0);
		if (!all[i])
			goto out;
		VT_CHECK(t, all[i]->credits == t->dev->credits + all[i]->number,
			 "context %u has another word", all[i]->number);
	}
	for (i = 0; i < ARRAY_SIZE(all); i++) {
		VT_EQUAL(t, vt_pio_send_one(t, all[i], i), 0);
		VT_WAIT(t, vt_pio_free_counter(all[i]) != 0);
		for (j = i + 1; j < ARRAY_SIZE(all); j++)
			VT_EQUAL(t, vt_pio_free_counter(all[j]), 0);
	}
out:
	for (i = 0; i < ARRAY_SIZE(all) && all[i]; i++)
		VT_EQUAL(t, vuhca_destroy_send_context(all[i]), 0);
}

static void vt_shared_lines(struct vt *t)
{
	unsigned int round;

	for (round = 0; round < 2; round++)
		vt_shared_lines_once(t);
}

/*
 * A context takes blocks from the function's share; a context beyond it is
 * refused.
 */
static void vt_pio_share(struct vt *t)
{
	u32 used = vt_csr(t, VUHCA_CSR_SEND_BLOCKS_IN_USE_OFF);
	u32 left = vt_csr(t, VUHCA_CSR_SEND_BLOCKS_OFF) - used;
	u32 contexts = vt_csr(t, VUHCA_CSR_SEND_CONTEXTS_IN_USE_OFF);
	struct vuhca_send_context_init init = {
		.port = 1,
		.blocks = min_t(u32, left, VUHCA_SEND_CONTEXT_BLOCKS_MAX),
		.virtual_lanes = BIT(0),
	};
	struct vuhca_send_context *all[VUHCA_SEND_CONTEXT_MAX];
	unsigned int count, most;

	most = vt_csr(t, VUHCA_CSR_SEND_CONTEXTS_OFF) - contexts;
	VT_CHECK(t, left <= vt_csr(t, VUHCA_CSR_SEND_MEMORY_BLOCKS_OFF) && left >= 2 &&
		 most >= 1 && most <= ARRAY_SIZE(all), "%u blocks, %u contexts", left, most);
	for (count = 0; count < ARRAY_SIZE(all); count++) {
		all[count] = vuhca_create_send_context(t->dev, &init);
		if (IS_ERR(all[count])) {
			VT_EQUAL(t, PTR_ERR(all[count]), -ENOSPC);
			break;
		}
	}
	VT_EQUAL(t, count, min(most, left / init.blocks));
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_SEND_BLOCKS_IN_USE_OFF), used + count * init.blocks);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_SEND_CONTEXTS_IN_USE_OFF), contexts + count);
	while (count--)
		VT_EQUAL(t, vuhca_destroy_send_context(all[count]), 0);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_SEND_BLOCKS_IN_USE_OFF), used);
}

static u64 vt_received(struct vt *t, unsigned int port)
{
	return vuhca_read_csr64(t->dev, VUHCA_CSR_PORT_RECEIVE_PACKETS_OFF +
				(port - 1) *
				VUHCA_CSR_PORT_RECEIVE_PACKETS_STRIDE);
}

/* Subnet management packets use VL 15, and the other port counts them. */
static void vt_smps(struct vt *t)
{
	struct vuhca_send_context *sc = vt_create_send_context(t, 32, 0);
	struct ib_smp *smp = kzalloc(sizeof(struct ib_mad), GFP_KERNEL);
	u64 before = vt_received(t, 2) + vt_port_drops(t, 2);
	u16 from = vt_pio_lid(t, 1), to = vt_pio_lid(t, 2);
	struct vt_pio_release releases[5];
	struct vt_pio_releases all = {};
	unsigned int i;

	if (sc && smp) {
		ib_init_query_mad(smp);
		smp->attr_id = IB_SMP_ATTR_NODE_INFO;
		for (i = 0; i < ARRAY_SIZE(releases); i++) {
			releases[i] = (struct vt_pio_release) { &all, i };
			VT_EQUAL(t, vuhca_pio_send_smp(sc, from, to, smp,
						       vt_pio_released,
						       &releases[i]), 0);
		}
		VT_WAIT(t, vt_received(t, 2) + vt_port_drops(t, 2) ==
			before + ARRAY_SIZE(releases));
		VT_WAIT(t, (vuhca_pio_update_credits(sc), atomic_read(&all.sent) ==
			    ARRAY_SIZE(releases)));
		VT_CHECK(t, !all.disordered, "released out of order");
		VT_EQUAL(t, sc->restarts, 0);
	}
	kfree(smp);
	if (sc)
		VT_EQUAL(t, vuhca_destroy_send_context(sc), 0);
}

static const struct vt_case vt_cases[] = {
	{ "lengths", vt_lengths },
	{ "allocator", vt_pio_allocator },
	{ "out-of-order-fill", vt_out_of_order },
	{ "hazard-22-contiguous", vt_contiguous },
	{ "shared-lines", vt_shared_lines },
	{ "reasons", vt_pio_reasons },
	{ "hazard-24-waiters", vt_pio_waiters },
	{ "counter-wrap", vt_pio_counter_wrap },
	{ "subnet-management", vt_smps },
	{ "share", vt_pio_share },
};
VT_SUITE(pio, vt_cases);
