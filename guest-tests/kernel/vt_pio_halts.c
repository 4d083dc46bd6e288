// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Halts of send contexts: each misuse halts only its own context, the driver
 * restarts it, and only incomplete packets are lost.
 */
#include <linux/slab.h>

#include "vt_pio.h"

#define VT_HALT_BLOCKS 8

static u8 __iomem *vt_window(struct vuhca_send_context *sc)
{
	return sc->dev->pio +
	       (size_t)sc->number * VUHCA_SEND_CONTEXT_WINDOW_BYTES;
}

/* Writes after the blocks sent, without the driver's bookkeeping. */
static void vt_raw(struct vuhca_send_context *sc, bool start, size_t offset,
		   u64 value)
{
	offset += (size_t)sc->sent * VUHCA_SEND_BLOCK_BYTES;
	offset %= (size_t)sc->blocks * VUHCA_SEND_BLOCK_BYTES;
	if (start)
		offset += VUHCA_SEND_START_OF_PACKET_OFFSET;
	writeq(value, vt_window(sc) + offset);
}

static void vt_no_start(struct vuhca_send_context *sc)
{
	vt_raw(sc, false, 0, 0);
}

static void vt_start_inside(struct vuhca_send_context *sc)
{
	vt_raw(sc, true, 0, 40);
	vt_raw(sc, true, 64, 0);
}

static void vt_beyond(struct vuhca_send_context *sc)
{
	writeq(0, vt_window(sc) + VT_HALT_BLOCKS * VUHCA_SEND_BLOCK_BYTES);
}

static void vt_too_long(struct vuhca_send_context *sc)
{
	vt_raw(sc, true, 0, VT_HALT_BLOCKS * VUHCA_SEND_BLOCK_BYTES / 4 + 1);
}

static void vt_no_length(struct vuhca_send_context *sc)
{
	vt_raw(sc, true, 0, 0);
}

static void vt_overflow(struct vuhca_send_context *sc)
{
	vt_raw(sc, true, 0, 80);
	vt_raw(sc, true, 5 * VUHCA_SEND_BLOCK_BYTES, 80);
}

/* A packet of a VL that the context may not use. */
static void vt_foreign_lane(struct vuhca_send_context *sc)
{
	struct vuhca_send_control control = {};
	unsigned int word;

	vuhca_send_control_set_length_dwords(&control, 9);
	vuhca_send_control_set_virtual_lane(&control, 3);
	for (word = 1; word < 8; word++)
		vt_raw(sc, true, word * 8, 0);
	vt_raw(sc, true, 0, get_unaligned_le64(&control));
}

/*
 * Halts a context that runs. During a restart the register belongs to the
 * driver: the halt would enable the context again, which then never drains.
 */
static void vt_by_software(struct vuhca_send_context *sc)
{
	spin_lock_irq(&sc->lock);
	if (sc->running)
		vuhca_write_csr(sc->dev, VUHCA_CSR_SEND_CONTEXT_CONTROL_OFF +
				sc->number *
				VUHCA_CSR_SEND_CONTEXT_CONTROL_STRIDE,
				VUHCA_CSR_SEND_CONTEXT_CONTROL_ENABLE_MASK |
				VUHCA_CSR_SEND_CONTEXT_CONTROL_HALT_MASK);
	spin_unlock_irq(&sc->lock);
}

static const struct {
	const char *name;
	void (*provoke)(struct vuhca_send_context *sc);
	enum vuhca_send_halt_cause cause;
} vt_misuses[] = {
	{ "no start", vt_no_start, VUHCA_SEND_HALT_CAUSE_INCONSISTENT_SOP },
	{ "start inside", vt_start_inside,
	  VUHCA_SEND_HALT_CAUSE_INCONSISTENT_SOP },
	{ "beyond", vt_beyond, VUHCA_SEND_HALT_CAUSE_OUT_OF_BOUNDS },
	{ "too long", vt_too_long, VUHCA_SEND_HALT_CAUSE_BAD_LENGTH },
	{ "no length", vt_no_length, VUHCA_SEND_HALT_CAUSE_BAD_LENGTH },
	{ "overflow", vt_overflow, VUHCA_SEND_HALT_CAUSE_OVERFLOW },
	{ "foreign lane", vt_foreign_lane,
	  VUHCA_SEND_HALT_CAUSE_DISALLOWED_PACKET },
	{ "software", vt_by_software, VUHCA_SEND_HALT_CAUSE_SOFTWARE },
};

/*
 * The driver has restarted the context by now; the first fault still names the
 * cause of the halt. A disallowed packet is a fault of its own, which comes
 * first.
 */
static void vt_expect_cause(struct vt *t, struct vuhca_send_context *sc,
			    enum vuhca_send_halt_cause cause)
{
	if (cause == VUHCA_SEND_HALT_CAUSE_SOFTWARE) {
		VT_EQUAL(t, vuhca_read_csr(t->dev,
					   VUHCA_CSR_FIRST_FAULT_KIND_OFF),
			 VUHCA_FAULT_KIND_NONE);
		return;
	}
	if (cause == VUHCA_SEND_HALT_CAUSE_DISALLOWED_PACKET) {
		vt_expect_first_fault(t, VUHCA_FAULT_KIND_SEND_PACKET,
				      sc->number);
		return;
	}
	vt_expect_first_fault(t, VUHCA_FAULT_KIND_SEND_CONTEXT_HALTED,
			      sc->number);
	VT_EQUAL(t, vuhca_read_csr64(t->dev, VUHCA_CSR_FIRST_FAULT_ADDRESS_OFF),
		 cause);
}

/* docs/HAZARDS.md, hazard 25. */
static void vt_misuse(struct vt *t)
{
	const enum vuhca_fault_kind halted =
		VUHCA_FAULT_KIND_SEND_CONTEXT_HALTED;
	struct vuhca_send_context *sc = vt_create_send_context(t, VT_HALT_BLOCKS, 0);
	struct vuhca_send_context *other = vt_create_send_context(t, VT_HALT_BLOCKS, 0);
	unsigned int i;
	u64 restarts;
	u32 faults;

	for (i = 0; sc && other && i < ARRAY_SIZE(vt_misuses); i++) {
		restarts = READ_ONCE(sc->restarts);
		faults = vt_fault_count(t, halted);
		vt_clear_first_fault(t);
		vt_misuses[i].provoke(sc);
		if (!VT_CHECK(t, VT_WAIT(t, READ_ONCE(sc->restarts) ==
					 restarts + 1),
			      "%s: not restarted", vt_misuses[i].name))
			break;
		faults += vt_misuses[i].cause != VUHCA_SEND_HALT_CAUSE_SOFTWARE;
		VT_EQUAL(t, vt_fault_count(t, halted), faults);
		vt_expect_cause(t, sc, vt_misuses[i].cause);
		VT_EQUAL(t, vt_pio_send_one(t, sc, i), 0);
		VT_EQUAL(t, vt_pio_send_one(t, other, i), 0);
		VT_EQUAL(t, other->restarts, 0);
	}
	vt_clear_first_fault(t);
	if (sc)
		VT_EQUAL(t, vuhca_destroy_send_context(sc), 0);
	if (other)
		VT_EQUAL(t, vuhca_destroy_send_context(other), 0);
}

/* A context of one partition sends only into that partition. */
static void vt_partition(struct vt *t)
{
	struct vuhca_send_context_init init = {
		.port = 1,
		.blocks = VT_HALT_BLOCKS,
		.virtual_lanes = BIT(0),
		.pkey = 0x8001,
	};
	struct vuhca_send_context *sc = vuhca_create_send_context(t->dev, &init);
	struct vuhca_datagram packet = vt_pio_datagram(t, "", 0);
	struct vuhca_send_context_attributes now = {};

	VT_REQUIRE(t, !IS_ERR(sc), "%pe", sc);
	vt_clear_first_fault(t);
	VT_EQUAL(t, vuhca_pio_send_datagram(sc, &packet, NULL, NULL), 0);
	VT_WAIT(t, READ_ONCE(sc->restarts) == 1);
	vt_expect_cause(t, sc, VUHCA_SEND_HALT_CAUSE_DISALLOWED_PACKET);
	vt_clear_first_fault(t);
	packet.pkey = init.pkey;
	VT_EQUAL(t, vuhca_pio_send_datagram(sc, &packet, NULL, NULL), 0);
	VT_WAIT(t, (vuhca_pio_force_credits(sc), vuhca_pio_update_credits(sc),
		    sc->sent == sc->freed));
	VT_EQUAL(t, vuhca_query_send_context(sc, &now), 0);
	VT_EQUAL(t, le32_to_cpu(now.packets_sent), 1);
	VT_EQUAL(t, le32_to_cpu(now.packets_dropped), 1);
	VT_EQUAL(t, READ_ONCE(sc->restarts), 1);
	VT_EQUAL(t, vuhca_destroy_send_context(sc), 0);
}

#define VT_LOAD_PACKETS 3000

/*
 * The context is halted again and again while packets are written
 * (docs/HAZARDS.md, hazard 26). Every packet is released once, in order, and
 * all credits come back.
 */
static void vt_under_load(struct vt *t)
{
	struct vuhca_send_context *sc = vt_create_send_context(t, 32, 4);
	struct vt_pio_release *releases = kvcalloc(VT_LOAD_PACKETS, sizeof(*releases),
						   GFP_KERNEL);
	struct vt_pio_releases all = {};
	u8 payload[200] = {};
	struct vuhca_datagram packet = vt_pio_datagram(t, payload, sizeof(payload));
	ktime_t progress = ktime_get();
	unsigned int i;
	int err;

	packet.remote_qpn = VT_ABSENT;
	for (i = 0; sc && releases && i < VT_LOAD_PACKETS &&
	     ktime_ms_delta(ktime_get(), progress) < VT_TIMEOUT_MS;) {
		if (prandom_u32_state(&t->random) % 100 == 0)
			vt_by_software(sc);
		releases[i] = (struct vt_pio_release) { &all, i };
		err = vuhca_pio_send_datagram(sc, &packet, vt_pio_released, &releases[i]);
		if (!err) {
			i++;
			progress = ktime_get();
			continue;
		}
		if (err == -EAGAIN)
			vuhca_pio_force_credits(sc);
		usleep_range(50, 100);
		if (err != -EAGAIN && !VT_EQUAL(t, -err, EIO))
			break;
	}
	VT_EQUAL(t, i, VT_LOAD_PACKETS);
	if (sc) {
		VT_WAIT(t, (vuhca_pio_force_credits(sc), vuhca_pio_update_credits(sc),
			    atomic_read(&all.sent) + atomic_read(&all.flushed) ==
			    i));
		VT_WAIT(t, READ_ONCE(sc->running) && sc->sent == sc->freed);
		VT_CHECK(t, !all.disordered, "released out of order");
		VT_CHECK(t, sc->restarts, "never halted");
		vt_note(t, "%llu restarts, %d sent, %d flushed", sc->restarts,
			atomic_read(&all.sent), atomic_read(&all.flushed));
		VT_EQUAL(t, vt_pio_send_one(t, sc, 1), 0);
		VT_EQUAL(t, vuhca_destroy_send_context(sc), 0);
	}
	kvfree(releases);
}

/* The physical function freezes all contexts; afterwards they are restarted. */
static void vt_freeze(struct vt *t)
{
	struct vuhca_send_context *sc = vt_create_send_context(t, VT_HALT_BLOCKS, 0);
	u32 control = vuhca_read_csr(t->dev, VUHCA_CSR_ADAPTER_CONTROL_OFF);

	if (!sc)
		return;
	vuhca_write_csr(t->dev, VUHCA_CSR_ADAPTER_CONTROL_OFF, control |
			VUHCA_CSR_ADAPTER_CONTROL_FREEZE_SENDS_MASK);
	VT_WAIT(t, !READ_ONCE(sc->running));
	msleep(VT_QUIET_MS);
	VT_EQUAL(t, sc->restarts, 0);
	VT_EQUAL(t, vt_pio_send_one(t, sc, 1), -EIO);
	vuhca_write_csr(t->dev, VUHCA_CSR_ADAPTER_CONTROL_OFF, control);
	VT_WAIT(t, READ_ONCE(sc->restarts) == 1);
	/* The receive entry of the refused datagram is still posted. */
	VT_EQUAL(t, vt_pio_send_one(t, sc, 1), 0);
	VT_EQUAL(t, vuhca_destroy_send_context(sc), 0);
}

static const struct vt_case vt_cases[] = {
	{ "hazard-25-misuse", vt_misuse },
	{ "partition", vt_partition },
	{ "hazard-26-under-load", vt_under_load },
	{ "freeze", vt_freeze },
};
VT_SUITE(pio_halts, vt_cases);
