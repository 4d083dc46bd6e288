// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Send contexts: packets composed by software arrive whatever the order in
 * which their blocks were filled, credits come back for each reason, who waits
 * for them is woken, and counters wrap.
 */
#include <linux/slab.h>
#include <rdma/ib_smi.h>

#include "vt_send_context.h"

#define VT_LARGE_BYTES	600
#define VT_RECEIVE_AT	65536
#define VT_RECEIVE_STRIDE 4096
#define VT_PACKETS_WRAP	6000
#define VT_FEW_BLOCKS	8

struct vuhca_send_context *vt_create_sends(struct vt *t, unsigned int blocks,
					   unsigned int threshold)
{
	struct vuhca_send_context_init init = {
		.port = 1,
		.blocks = blocks,
		.threshold = threshold,
		.virtual_lanes = BIT(0) | BIT(15),
	};
	struct vuhca_send_context *sc = vuhca_create_send_context(t->dev, &init);

	return VT_CHECK(t, !IS_ERR(sc), "%pe", sc) ? sc : NULL;
}

static u32 vt_lid(struct vt *t, unsigned int port)
{
	return vuhca_read_csr(t->dev, VUHCA_CSR_PORT_LID_OFF +
			      (port - 1) * VUHCA_CSR_PORT_LID_STRIDE);
}

/* From port 1 to the QP on port 2. */
struct vuhca_datagram vt_packet(struct vt *t, const void *payload, size_t bytes)
{
	return (struct vuhca_datagram) {
		.slid = vt_lid(t, 1),
		.dlid = vt_lid(t, 2),
		.pkey = 0xffff,
		.source_qpn = t->end[0].qp->qpn,
		.remote_qpn = t->end[1].qp->qpn,
		.qkey = VT_QKEY,
		.payload = payload,
		.bytes = bytes,
	};
}

void vt_released(void *context, bool sent)
{
	struct vt_release *release = context;

	if (release->number != release->all->next++)
		release->all->disordered = true;
	atomic_inc(sent ? &release->all->sent : &release->all->flushed);
}

u32 vt_free_counter(struct vuhca_send_context *sc)
{
	struct vuhca_credit_return word = {
		.dw0 = READ_ONCE(sc->credits->dw0),
	};

	return vuhca_credit_return_get_free_counter(&word);
}

void vt_expect_datagram(struct vt *t, const void *payload, size_t bytes)
{
	struct vuhca_wc wc = {};

	if (!VT_EQUAL(t, vt_poll(t->recv_cq.cq, &wc, 1, VT_TIMEOUT_MS), 1))
		return;
	VT_EQUAL(t, wc.status, VUHCA_COMPLETION_STATUS_SUCCESS);
	VT_EQUAL(t, wc.byte_length, VUHCA_GRH_AREA_BYTES + bytes);
	VT_EQUAL(t, wc.source_qpn, t->end[0].qp->qpn);
	VT_CHECK(t, !memcmp(t->memory + wc.wr_id + VUHCA_GRH_AREA_BYTES,
			    payload, bytes), "payload of %zu bytes", bytes);
}

/* A receive entry whose number is where its buffer lies. */
static void vt_receive(struct vt *t, unsigned int slot)
{
	size_t at = VT_RECEIVE_AT + slot % 64 * VT_RECEIVE_STRIDE;

	VT_EQUAL(t, vt_post_recv(t, t->end[1].qp, at, VT_RECEIVE_STRIDE, at), 0);
}

/* A small datagram of its own payload, to its end. */
int vt_send_one(struct vt *t, struct vuhca_send_context *sc, u32 number)
{
	u8 payload[36];
	struct vuhca_datagram packet = vt_packet(t, payload, sizeof(payload));
	int err;

	vt_fill(payload, sizeof(payload), number);
	vt_receive(t, number);
	err = vuhca_pio_send_datagram(sc, &packet, NULL, NULL);
	if (!err)
		vt_expect_datagram(t, payload, sizeof(payload));
	return err;
}

static void vt_lengths(struct vt *t)
{
	static const u16 lengths[] = { 0, 1, 3, 4, 28, 29, 92, 93, 1000, 2048 };
	struct vuhca_send_context *sc = vt_create_sends(t, 64, 0);
	u8 *payload = kmalloc(2048, GFP_KERNEL);
	struct vuhca_datagram packet;
	unsigned int i;

	for (i = 0; sc && payload && i < ARRAY_SIZE(lengths); i++) {
		vt_fill(payload, lengths[i], i + 1);
		packet = vt_packet(t, payload, lengths[i]);
		vt_receive(t, i);
		VT_EQUAL(t, vuhca_pio_send_datagram(sc, &packet, NULL, NULL), 0);
		vt_expect_datagram(t, payload, lengths[i]);
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
	struct vuhca_datagram packet = vt_packet(t, payload, bytes);
	struct vuhca_send_control *control = (void *)image;

	vt_fill(payload, bytes, key);
	memset(image, 0, 1024);
	vuhca_send_control_set_length_dwords(control,
		(sizeof(*control) + vuhca_datagram_bytes(bytes)) / 4);
	vuhca_compose_datagram(control + 1, &packet);
}

/* Every block is given once, none too many, and again when it came back. */
static void vt_allocator(struct vt *t)
{
	struct vuhca_send_context *sc = vt_create_sends(t, VT_FEW_BLOCKS,
							VT_FEW_BLOCKS);
	bool deadman = vuhca_set_deadman(false);
	u8 payload[VT_FEW_BLOCKS * VUHCA_SEND_BLOCK_BYTES] = {};
	struct vuhca_datagram packet = vt_packet(t, payload, 4);
	struct vuhca_datagram large = vt_packet(t, payload, sizeof(payload));
	unsigned int round, i;

	/* To nobody: what counts is the credits. */
	packet.remote_qpn = 0xfffffe;
	for (round = 1; sc && round <= 3; round++) {
		for (i = 1; i <= VT_FEW_BLOCKS; i++)
			VT_EQUAL(t, vuhca_pio_send_datagram(sc, &packet, NULL, NULL),
				 0);
		VT_EQUAL(t, sc->sent, round * VT_FEW_BLOCKS);
		/* Whatever has left: nothing makes the adapter return it. */
		VT_EQUAL(t, vuhca_pio_send_datagram(sc, &packet, NULL, NULL), -EAGAIN);
		VT_EQUAL(t, vuhca_pio_send_datagram(sc, &large, NULL, NULL), -EMSGSIZE);
		VT_EQUAL(t, sc->freed, (round - 1) * VT_FEW_BLOCKS);
		VT_WAIT(t, (vuhca_pio_force_credits(sc), vuhca_pio_update_credits(sc),
			    sc->freed == round * VT_FEW_BLOCKS));
	}
	vuhca_set_deadman(deadman);
	if (sc) {
		VT_EQUAL(t, sc->restarts, 0);
		VT_EQUAL(t, vuhca_destroy_send_context(sc), 0);
	}
}

/* Two packets at a time, their words mixed: both arrive, in whatever order. */
static void vt_out_of_order(struct vt *t)
{
	struct vuhca_send_context *sc = vt_create_sends(t, 40, 0);
	u8 *payload = kmalloc(2 * VT_LARGE_BYTES, GFP_KERNEL);
	u64 (*images)[128] = kcalloc(2, sizeof(*images), GFP_KERNEL);
	struct vuhca_pio_buffer blocks[2];
	unsigned int round, i;
	struct vuhca_wc wc;

	for (round = 0; sc && payload && images && round < 50; round++) {
		for (i = 0; i < 2; i++) {
			vt_image(t, images[i], VT_LARGE_BYTES - i,
				 2 * round + i, payload + i * VT_LARGE_BYTES);
			vt_receive(t, 2 * round + i);
			VT_WAIT(t, !vuhca_pio_alloc(sc,
					vuhca_datagram_bytes(VT_LARGE_BYTES - i),
					NULL, NULL, &blocks[i]));
		}
		vt_fill_mixed(t, blocks, images);
		vuhca_pio_done(&blocks[0]);
		vuhca_pio_done(&blocks[1]);
		for (i = 0; i < 2; i++) {
			u32 length;

			if (!VT_EQUAL(t, vt_poll(t->recv_cq.cq, &wc, 1,
						 VT_TIMEOUT_MS), 1))
				goto out;
			/* Their lengths tell them apart. */
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

/* Hazard 22: the younger packet leaves; no credit before the older has left. */
static void vt_contiguous(struct vt *t)
{
	struct vuhca_send_context *sc = vt_create_sends(t, 16, 0);
	u8 payload[36];
	u64 image[128];
	struct vuhca_pio_buffer blocks;
	unsigned int word;

	if (!sc)
		return;
	vt_image(t, image, sizeof(payload), 7, payload);
	VT_EQUAL(t, vuhca_pio_alloc(sc, vuhca_datagram_bytes(sizeof(payload)),
				     NULL, NULL, &blocks), 0);
	VT_EQUAL(t, vt_send_one(t, sc, 8), 0);
	VT_EQUAL(t, vt_free_counter(sc), 0);
	vt_receive(t, 7);
	for (word = blocks.count * 8; word-- > 0;)
		vuhca_pio_write(&blocks, word * 8,
				 get_unaligned_le64(&image[word]));
	vuhca_pio_done(&blocks);
	vt_expect_datagram(t, payload, sizeof(payload));
	VT_WAIT(t, vt_free_counter(sc) == 2 * blocks.count);
	VT_EQUAL(t, vuhca_destroy_send_context(sc), 0);
}

/* Credits by threshold, by request of a packet, by force; never by themselves. */
static void vt_reasons(struct vt *t)
{
	struct vuhca_send_context *sc = vt_create_sends(t, 16, 4);
	struct vuhca_send_control control = {};
	u8 payload[36], bytes[64];
	struct vuhca_datagram packet = vt_packet(t, payload, sizeof(payload));
	struct vuhca_credit_return word;
	u32 i;

	if (!sc)
		return;
	for (i = 0; i < 2; i++)
		VT_EQUAL(t, vt_send_one(t, sc, i), 0);
	VT_EQUAL(t, vt_free_counter(sc), 0);
	VT_EQUAL(t, vt_send_one(t, sc, 2), 0);
	VT_WAIT(t, vt_free_counter(sc) == 6);
	word.dw0 = READ_ONCE(sc->credits->dw0);
	VT_CHECK(t, vuhca_credit_return_get_due_threshold(&word), "threshold");
	VT_EQUAL(t, vt_send_one(t, sc, 3), 0);
	VT_EQUAL(t, vt_free_counter(sc), 6);
	vuhca_pio_force_credits(sc);
	VT_WAIT(t, vt_free_counter(sc) == 8);
	word.dw0 = READ_ONCE(sc->credits->dw0);
	VT_CHECK(t, vuhca_credit_return_get_due_force(&word), "force");
	vt_fill(payload, sizeof(payload), 4);
	vt_receive(t, 4);
	vuhca_compose_datagram(bytes, &packet);
	vuhca_send_control_set_credit_return(&control, 1);
	VT_EQUAL(t, vuhca_pio_send_packet(sc, control, bytes,
				      vuhca_datagram_bytes(sizeof(payload)), NULL,
				      NULL), 0);
	vt_expect_datagram(t, payload, sizeof(payload));
	VT_WAIT(t, vt_free_counter(sc) == 10);
	word.dw0 = READ_ONCE(sc->credits->dw0);
	VT_CHECK(t, vuhca_credit_return_get_due_request(&word), "request");
	VT_EQUAL(t, vuhca_destroy_send_context(sc), 0);
}

struct vt_waiter {
	struct vuhca_pio_waiter waiter;
	struct completion woken;
};

static void vt_wake(struct vuhca_pio_waiter *waiter)
{
	complete(&container_of(waiter, struct vt_waiter, waiter)->woken);
}

static bool vt_woken(struct vuhca_send_context *sc, struct vt_waiter *waiter)
{
	unsigned long timeout = msecs_to_jiffies(VT_TIMEOUT_MS / 5);

	if (wait_for_completion_timeout(&waiter->woken, timeout))
		return true;
	if (!vuhca_pio_cancel_wait(sc, &waiter->waiter))
		wait_for_completion(&waiter->woken);
	return false;
}

/*
 * Hazard 24: all credits are free, none was returned (the threshold cannot be
 * reached), then somebody waits: only the forced return can wake him.
 */
static void vt_waiters(struct vt *t)
{
	struct vuhca_send_context *sc = vt_create_sends(t, 4, 4);
	bool deadman = vuhca_set_deadman(false);
	struct vt_waiter waiters[8];
	unsigned int round, i;

	for (round = 0; sc && round < 20 && !t->failed; round++) {
		for (i = 0; i < 2; i++)
			VT_EQUAL(t, vt_send_one(t, sc, round * 3 + i), 0);
		for (i = 0; i < ARRAY_SIZE(waiters); i++) {
			waiters[i].waiter.wake = vt_wake;
			init_completion(&waiters[i].woken);
			VT_EQUAL(t, vuhca_pio_wait(sc, &waiters[i].waiter), 0);
		}
		for (i = 0; i < ARRAY_SIZE(waiters); i++)
			VT_CHECK(t, vt_woken(sc, &waiters[i]),
				 "waiter %u of round %u", i, round);
		VT_EQUAL(t, vt_send_one(t, sc, round * 3 + 2), 0);
		vuhca_pio_force_credits(sc);
		VT_WAIT(t, (vuhca_pio_update_credits(sc), sc->freed == sc->sent));
	}
	vuhca_set_deadman(deadman);
	if (sc)
		VT_EQUAL(t, vuhca_destroy_send_context(sc), 0);
}

/* Counters of 11 bits wrap many times, in order, with a full context, too. */
static void vt_wrap(struct vt *t)
{
	struct vuhca_send_context *sc = vt_create_sends(t, 1024, 100);
	struct vt_release *releases = kvcalloc(VT_PACKETS_WRAP, sizeof(*releases),
					       GFP_KERNEL);
	struct vt_releases all = {};
	u8 payload[4] = {};
	struct vuhca_datagram packet = vt_packet(t, payload, sizeof(payload));
	unsigned int i, full = 0;
	int err = 0;

	/* To nobody: what counts is the credits. */
	packet.remote_qpn = 0xfffffe;
	for (i = 0; sc && releases && i < VT_PACKETS_WRAP && !err; i++) {
		releases[i] = (struct vt_release) { &all, i };
		while ((err = vuhca_pio_send_datagram(sc, &packet, vt_released,
						  &releases[i])) == -EAGAIN) {
			full++;
			vuhca_pio_force_credits(sc);
			usleep_range(50, 100);
		}
	}
	VT_EQUAL(t, err, 0);
	if (sc) {
		vuhca_pio_force_credits(sc);
		VT_WAIT(t, (vuhca_pio_force_credits(sc), vuhca_pio_update_credits(sc),
			    atomic_read(&all.sent) == VT_PACKETS_WRAP));
		VT_EQUAL(t, sc->freed, VT_PACKETS_WRAP);
		VT_CHECK(t, !all.disordered, "released out of order");
		vt_note(t, "found %u times full", full);
		VT_EQUAL(t, vuhca_destroy_send_context(sc), 0);
	}
	kvfree(releases);
}

static u64 vt_received(struct vt *t, unsigned int port)
{
	return vuhca_read_csr64(t->dev, VUHCA_CSR_PORT_RECEIVE_PACKETS_OFF +
				(port - 1) *
				VUHCA_CSR_PORT_RECEIVE_PACKETS_STRIDE);
}

/* Subnet management packets take VL 15 and are counted by the other port. */
static void vt_smps(struct vt *t)
{
	struct vuhca_send_context *sc = vt_create_sends(t, 32, 0);
	struct ib_smp *smp = kzalloc(sizeof(struct ib_mad), GFP_KERNEL);
	u64 before = vt_received(t, 2) + vt_port_drops(t, 2);
	struct vt_release releases[5];
	struct vt_releases all = {};
	unsigned int i;

	if (sc && smp) {
		ib_init_query_mad(smp);
		smp->attr_id = IB_SMP_ATTR_NODE_INFO;
		for (i = 0; i < ARRAY_SIZE(releases); i++) {
			releases[i] = (struct vt_release) { &all, i };
			VT_EQUAL(t, vuhca_pio_send_smp(sc, vt_lid(t, 1),
						   vt_lid(t, 2), smp,
						   vt_released, &releases[i]),
				 0);
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
	{ "allocator", vt_allocator },
	{ "out-of-order-fill", vt_out_of_order },
	{ "hazard-22-contiguous", vt_contiguous },
	{ "reasons", vt_reasons },
	{ "hazard-24-waiters", vt_waiters },
	{ "counter-wrap", vt_wrap },
	{ "subnet-management", vt_smps },
};
VT_SUITE(sends, vt_cases);
