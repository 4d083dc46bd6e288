// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Credits of send contexts: every block is allocated once and returned for each
 * reason, waiters are woken, counters wrap.
 */
#include <linux/completion.h>
#include <linux/slab.h>

#include "vt_pio.h"

#define VT_PACKETS_WRAP	6000
#define VT_FEW_BLOCKS	8

/* Every block is allocated once, and again after it was returned. */
void vt_pio_allocator(struct vt *t)
{
	struct vuhca_send_context *sc = vt_create_send_context(t, VT_FEW_BLOCKS,
							       VT_FEW_BLOCKS);
	bool deadman = vuhca_set_deadman(false);
	u8 payload[VT_FEW_BLOCKS * VUHCA_SEND_BLOCK_BYTES] = {};
	struct vuhca_datagram packet = vt_pio_datagram(t, payload, 4);
	struct vuhca_datagram large = vt_pio_datagram(t, payload, sizeof(payload));
	unsigned int round, i;

	/* No QP has this number: only the credits matter. */
	packet.remote_qpn = VT_ABSENT;
	for (round = 1; sc && round <= 3; round++) {
		for (i = 1; i <= VT_FEW_BLOCKS; i++)
			VT_EQUAL(t, vuhca_pio_send_datagram(sc, &packet, NULL, NULL),
				 0);
		VT_EQUAL(t, sc->sent, round * VT_FEW_BLOCKS);
		/*
		 * The packets may have left, but nothing makes the adapter
		 * return their blocks.
		 */
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

/*
 * Credits return only by threshold, by request of a packet, or by force.
 */
void vt_pio_reasons(struct vt *t)
{
	struct vuhca_send_context *sc = vt_create_send_context(t, 16, 4);
	struct vuhca_send_control control = {};
	u8 payload[36], bytes[64];
	size_t length = vuhca_datagram_bytes(sizeof(payload));
	struct vuhca_datagram packet = vt_pio_datagram(t, payload, sizeof(payload));
	struct vuhca_credit_return word;
	bool deadman;
	u32 i;

	if (!sc)
		return;
	/* The deadman would force credits, too. */
	deadman = vuhca_set_deadman(false);
	for (i = 0; i < 2; i++)
		VT_EQUAL(t, vt_pio_send_one(t, sc, i), 0);
	VT_EQUAL(t, vt_pio_free_counter(sc), 0);
	VT_EQUAL(t, vt_pio_send_one(t, sc, 2), 0);
	VT_WAIT(t, vt_pio_free_counter(sc) == 6);
	word.dw0 = READ_ONCE(sc->credits->dw0);
	VT_CHECK(t, vuhca_credit_return_get_due_threshold(&word), "threshold");
	VT_EQUAL(t, vt_pio_send_one(t, sc, 3), 0);
	VT_EQUAL(t, vt_pio_free_counter(sc), 6);
	vuhca_pio_force_credits(sc);
	VT_WAIT(t, vt_pio_free_counter(sc) == 8);
	word.dw0 = READ_ONCE(sc->credits->dw0);
	VT_CHECK(t, vuhca_credit_return_get_due_force(&word), "force");
	vt_fill(payload, sizeof(payload), 4);
	vt_pio_receive(t, 4);
	vuhca_compose_datagram(bytes, &packet);
	vuhca_send_control_set_credit_return(&control, 1);
	VT_EQUAL(t, vuhca_pio_send_packet(sc, control, bytes, length, NULL,
					  NULL), 0);
	vt_pio_expect(t, payload, sizeof(payload));
	VT_WAIT(t, vt_pio_free_counter(sc) == 10);
	word.dw0 = READ_ONCE(sc->credits->dw0);
	VT_CHECK(t, vuhca_credit_return_get_due_request(&word), "request");
	vuhca_set_deadman(deadman);
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
	unsigned long timeout = msecs_to_jiffies(VT_TIMEOUT_MS);

	if (wait_for_completion_timeout(&waiter->woken, timeout))
		return true;
	if (!vuhca_pio_cancel_wait(sc, &waiter->waiter))
		wait_for_completion(&waiter->woken);
	return false;
}

/*
 * All credits are free, but none was returned, because the threshold cannot be
 * reached. Only the forced return wakes waiters that come then
 * (docs/HAZARDS.md, hazard 24).
 */
void vt_pio_waiters(struct vt *t)
{
	struct vuhca_send_context *sc = vt_create_send_context(t, 4, 4);
	bool deadman = vuhca_set_deadman(false);
	struct vt_waiter waiters[8];
	unsigned int round, i;

	for (round = 0; sc && round < 20 && !t->failed; round++) {
		for (i = 0; i < 2; i++)
			VT_EQUAL(t, vt_pio_send_one(t, sc, round * 3 + i), 0);
		for (i = 0; i < ARRAY_SIZE(waiters); i++) {
			waiters[i].waiter.wake = vt_wake;
			init_completion(&waiters[i].woken);
			VT_EQUAL(t, vuhca_pio_wait(sc, &waiters[i].waiter), 0);
		}
		for (i = 0; i < ARRAY_SIZE(waiters); i++)
			VT_CHECK(t, vt_woken(sc, &waiters[i]),
				 "waiter %u of round %u", i, round);
		VT_EQUAL(t, vt_pio_send_one(t, sc, round * 3 + 2), 0);
		vuhca_pio_force_credits(sc);
		VT_WAIT(t, (vuhca_pio_update_credits(sc), sc->freed == sc->sent));
	}
	vuhca_set_deadman(deadman);
	if (sc)
		VT_EQUAL(t, vuhca_destroy_send_context(sc), 0);
}

/*
 * Counters of 11 bits wrap many times, also with a full context
 * (docs/HAZARDS.md, hazard 21).
 */
void vt_pio_counter_wrap(struct vt *t)
{
	struct vuhca_send_context *sc = vt_create_send_context(t, 1024, 100);
	struct vt_pio_release *releases = kvcalloc(VT_PACKETS_WRAP, sizeof(*releases),
						   GFP_KERNEL);
	struct vt_pio_releases all = {};
	u8 payload[4] = {};
	struct vuhca_datagram packet = vt_pio_datagram(t, payload, sizeof(payload));
	unsigned int i, full = 0;
	int err = 0;

	/* No QP has this number: only the credits matter. */
	packet.remote_qpn = VT_ABSENT;
	for (i = 0; sc && releases && i < VT_PACKETS_WRAP && !err; i++) {
		releases[i] = (struct vt_pio_release) { &all, i };
		for (;;) {
			err = vuhca_pio_send_datagram(sc, &packet,
						      vt_pio_released,
						      &releases[i]);
			if (err != -EAGAIN)
				break;
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
		vt_note(t, "full %u times", full);
		VT_EQUAL(t, vuhca_destroy_send_context(sc), 0);
	}
	kvfree(releases);
}
