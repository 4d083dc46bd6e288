// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Resets during traffic: afterwards the adapter writes no memory and raises no
 * interrupt, registers have their power-on values, and the driver works again.
 */

#include "vt.h"

#define VT_TRAFFIC 64
#define VT_FLOOD 480

static int vt_function_reset(struct vuhca_dev *dev)
{
	return pci_reset_function(dev->pdev);
}

static u32 vt_reset_count(struct vt *t)
{
	u32 status = vuhca_read_csr(t->dev, VUHCA_CSR_DEVICE_STATUS_OFF);

	return (status & VUHCA_CSR_DEVICE_STATUS_RESET_COUNT_MASK) >>
	       VUHCA_CSR_DEVICE_STATUS_RESET_COUNT_SHIFT;
}

/* Posts datagrams from a new QP to port 2 and rings one doorbell. */
static struct vuhca_qp *vt_flood(struct vt *t)
{
	struct vt_qp_options options = { .port = 1, .entries_log2 = 9 };
	struct vuhca_buffer buffer = vt_buffer(t, 0, 2048);
	struct vuhca_qp *qp = vt_create_qp(t, NULL, &options);
	static struct vuhca_send_wr wrs[VT_FLOOD];
	unsigned int i;

	if (!qp)
		return NULL;
	for (i = 0; i < VT_FLOOD; i++)
		wrs[i] = vt_send_wr(t, 0, 1, &buffer);
	VT_EQUAL(t, vuhca_post_send(qp, wrs, VT_FLOOD, VUHCA_POST_DOORBELL),
		 VT_FLOOD);
	return qp;
}

/*
 * Starts datagrams by both ways of posting; returns the QP of the larger part.
 */
static struct vuhca_qp *vt_start_traffic(struct vt *t)
{
	struct vuhca_buffer buffer = vt_buffer(t, 0, 2048);
	struct vuhca_send_wr wr;
	unsigned int i;

	for (i = 0; i < VT_TRAFFIC; i++)
		VT_EQUAL(t, vt_post_recv(t, t->end[1].qp, 65536 + i * 4096,
					 4096, i), 0);
	vuhca_arm_cq(t->send_cq.cq, false);
	vuhca_arm_cq(t->recv_cq.cq, false);
	for (i = 0; i < 4; i++) {
		wr = vt_send_wr(t, 0, 1, &buffer);
		VT_EQUAL(t, vuhca_post_send(t->end[0].qp, &wr, 1,
					    VUHCA_POST_COLLECT), 1);
	}
	return vt_flood(t);
}

/* Counts the sends that completed; the others were in the adapter. */
static unsigned int vt_completed(struct vt *t)
{
	const struct vuhca_cq *cq = t->send_cq.cq;
	unsigned int i;

	for (i = 0; i < BIT(cq->entries_log2); i++)
		if (le32_to_cpu(cq->entries[i].sequence) != i + 1)
			break;
	return i;
}

/*
 * The adapter's count: an interrupt that it raised before the reset can reach
 * the handler after the reset.
 */
static u32 vt_interrupts(struct vt *t)
{
	struct vuhca_eq_attributes eq = {};
	u32 interrupts = 0;
	unsigned int i;

	for (i = 1; i < t->dev->eq_count; i++) {
		VT_EQUAL(t, vuhca_query_eq(&t->dev->eqs[i], &eq), 0);
		interrupts += le32_to_cpu(eq.interrupts);
	}
	return interrupts;
}

static void vt_poison(struct vt *t)
{
	memset(t->memory, VT_POISON, VT_MEMORY_BYTES);
	memset(t->send_cq.cq->entries, VT_POISON, t->send_cq.cq->bytes);
	memset(t->recv_cq.cq->entries, VT_POISON, t->recv_cq.cq->bytes);
	memset(t->end[0].qp->memory, VT_POISON, t->end[0].qp->bytes);
	memset(t->end[1].qp->memory, VT_POISON, t->end[1].qp->bytes);
}

static void vt_expect_poison(struct vt *t)
{
	VT_CHECK(t, vt_is_poison(t->memory, VT_MEMORY_BYTES), "payload");
	VT_CHECK(t, vt_is_poison(t->send_cq.cq->entries, t->send_cq.cq->bytes),
		 "send CQ");
	VT_CHECK(t, vt_is_poison(t->recv_cq.cq->entries, t->recv_cq.cq->bytes),
		 "receive CQ");
	VT_CHECK(t, vt_is_poison(t->end[0].qp->memory, t->end[0].qp->bytes),
		 "QP of port 1");
	VT_CHECK(t, vt_is_poison(t->end[1].qp->memory, t->end[1].qp->bytes),
		 "QP of port 2");
}

/* The driver itself refuses objects from before the reset. */
static void vt_expect_stale(struct vt *t)
{
	struct vuhca_send_wr wr = { .opcode = VUHCA_SEND_OPCODE_NOP };
	struct vuhca_cq_attributes cq;

	VT_EQUAL(t, vuhca_post_send(t->end[0].qp, &wr, 1, VUHCA_POST_AUTO),
		 -ESTALE);
	VT_EQUAL(t, vuhca_qp_to_state(t->end[0].qp, VUHCA_QP_STATE_ERR), -ESTALE);
	VT_EQUAL(t, vuhca_query_cq(t->send_cq.cq, &cq), -ESTALE);
	VT_CHECK(t, t->end[0].last_event == VUHCA_EVENT_TYPE_DEVICE_FATAL,
		 "no event for the QP");
}

static void vt_after_reset(struct vt *t)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		VT_EQUAL(t, vuhca_read_csr(t->dev, VUHCA_CSR_VCB_IN_USE_OFF +
					   i * VUHCA_CSR_VCB_IN_USE_STRIDE), 0);
	VT_EQUAL(t, vuhca_read_csr(t->dev, VUHCA_CSR_PCB_IN_USE_OFF), 0);
	VT_EQUAL(t, vuhca_read_csr(t->dev, VUHCA_CSR_EXECUTION_CREDITS_USED_OFF),
		 0);
	VT_EQUAL(t, vuhca_read_csr(t->dev,
				   VUHCA_CSR_COMPLETION_CREDITS_USED_OFF), 0);
	VT_EQUAL(t, vuhca_read_csr64(t->dev, VUHCA_CSR_SCRATCH_OFF), 0);
	VT_EQUAL(t, vuhca_read_csr(t->dev, VUHCA_CSR_FIRST_FAULT_KIND_OFF),
		 VUHCA_FAULT_KIND_NONE);
}

/*
 * One reset during traffic. The case's own objects are destroyed then; their
 * memory is poisoned and must stay so.
 */
static void vt_one_reset(struct vt *t, int (*reset)(struct vuhca_dev *dev),
			 unsigned int delay_us)
{
	u32 resets = vt_reset_count(t);
	u32 generation = t->dev->generation;
	struct vuhca_qp *flood;
	u32 interrupts;
	int err;

	vuhca_write_csr64(t->dev, VUHCA_CSR_SCRATCH_OFF, 0x1234);
	flood = vt_start_traffic(t);
	VT_REQUIRE(t, flood, "no traffic");
	udelay(delay_us);
	err = reset(t->dev);
	VT_CHECK(t, !err, "the reset failed: %d", err);
	vt_note(t, "reset after %u us and %u of %u completions", delay_us,
		vt_completed(t), VT_FLOOD + 4);
	VT_EQUAL(t, vuhca_destroy_qp(flood), 0);
	interrupts = vt_interrupts(t);
	vt_expect_stale(t);
	vt_poison(t);
	VT_CHECK(t, vt_reset_count(t) != resets, "the device saw no reset");
	VT_CHECK(t, t->dev->generation != generation, "the driver saw no reset");
	VT_CHECK(t, vuhca_is_up(t->dev), "the driver is not up");
	vt_after_reset(t);
	msleep(VT_QUIET_MS);
	vt_expect_poison(t);
	VT_EQUAL(t, vt_interrupts(t), interrupts);
	vt_alive(t);
	vt_expect_poison(t);
}

static void vt_many_resets(struct vt *t, int (*reset)(struct vuhca_dev *dev),
			   unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count && !t->failed; i++) {
		vt_one_reset(t, reset, prandom_u32_state(&t->random) % 2000);
		vt_env_destroy(t);
		if (!VT_EQUAL(t, vt_env_create(t), 0))
			return;
	}
}

static void vt_software(struct vt *t)
{
	vt_many_resets(t, vuhca_reset, 8);
}

static void vt_function_level(struct vt *t)
{
	vt_many_resets(t, vt_function_reset, 5);
}

/* A command that was half-written before the reset does not come back. */
static void vt_half_written(struct vt *t)
{
	struct vuhca_vcb *vcb = vuhca_alloc_vcb(t->dev, 0);
	u32 kicks;

	VT_REQUIRE(t, !IS_ERR(vcb), "%pe", vcb);
	writeq(0x0040000000001001ULL | ((u64)t->end[0].qp->qpn << 8), vcb->page);
	writeq(0, vcb->page + 8);
	vt_drain_stores();
	VT_EQUAL(t, vuhca_reset(t->dev), 0);
	vt_after_reset(t);
	kicks = vuhca_read_csr(t->dev, VUHCA_CSR_COLLECT_KICKS_OFF);
	writeq(0, vcb->page + 16);
	vuhca_vcb_cancel(vcb);
	VT_EQUAL(t, vuhca_read_csr(t->dev, VUHCA_CSR_COLLECT_KICKS_OFF), kicks);
	vuhca_free_vcb(t->dev, vcb);
	vt_alive(t);
}

/* A reset releases the lock of the dedicated buffer. */
static void vt_lock_released(struct vt *t)
{
	VT_EQUAL(t, vuhca_read_csr(t->dev, VUHCA_CSR_DEDICATED_LOCK_OFF), 1);
	VT_EQUAL(t, vuhca_reset(t->dev), 0);
	vt_alive(t);
}

/* A disabled function drops commands; once enabled, it takes them again. */
static void vt_disabled(struct vt *t)
{
	u32 faults = vt_fault_count(t, VUHCA_FAULT_KIND_COMMAND_BAD_QP);
	struct vuhca_wc wc;

	vuhca_write_csr(t->dev, VUHCA_CSR_DEVICE_CONTROL_OFF, 0);
	VT_EQUAL(t, vuhca_read_csr(t->dev, VUHCA_CSR_DEVICE_STATUS_OFF) &
		    VUHCA_CSR_DEVICE_STATUS_ENABLED_MASK, 0);
	VT_EQUAL(t, vt_post_nops(t->end[0].qp, 1), 0);
	VT_WAIT(t, vt_fault_count(t, VUHCA_FAULT_KIND_COMMAND_BAD_QP) > faults);
	VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_QUIET_MS), 0);
	vuhca_write_csr(t->dev, VUHCA_CSR_DEVICE_CONTROL_OFF,
			VUHCA_CSR_DEVICE_CONTROL_ENABLE_MASK);
	vuhca_ring_doorbell(t->end[0].qp, 0);
	VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_TIMEOUT_MS), 1);
	VT_EQUAL(t, wc.status, VUHCA_COMPLETION_STATUS_SUCCESS);
}

/* Without bus mastering the device reads and writes no memory. */
static void vt_bus_master_off(struct vt *t)
{
	struct vuhca_wc wc;

	vt_clear_first_fault(t);
	pci_clear_master(t->dev->pdev);
	VT_EQUAL(t, vuhca_read_csr(t->dev, VUHCA_CSR_DEVICE_STATUS_OFF) &
		    VUHCA_CSR_DEVICE_STATUS_BUS_MASTER_MASK, 0);
	VT_EQUAL(t, vt_post_nops(t->end[0].qp, 1), 0);
	VT_WAIT(t, vt_fault_count(t, VUHCA_FAULT_KIND_BUS_MASTER_OFF) > 0);
	VT_EQUAL(t, vt_poll(t->send_cq.cq, &wc, 1, VT_QUIET_MS), 0);
	pci_set_master(t->dev->pdev);
	VT_EQUAL(t, vuhca_reset(t->dev), 0);
	vt_alive(t);
}

/* Reads the registers after a reset, before the driver sets them up. */
static void vt_power_on(struct vt *t)
{
	struct vuhca_dev *dev = t->dev;

	vuhca_write_csr(dev, VUHCA_CSR_DEVICE_CONTROL_OFF,
			VUHCA_CSR_DEVICE_CONTROL_RESET_MASK);
	VT_EQUAL(t, vuhca_read_csr(dev, VUHCA_CSR_DEVICE_CONTROL_OFF), 0);
	VT_EQUAL(t, vuhca_read_csr(dev, VUHCA_CSR_DEVICE_STATUS_OFF) & 0xf,
		 VUHCA_CSR_DEVICE_STATUS_READY_MASK |
		 VUHCA_CSR_DEVICE_STATUS_BUS_MASTER_MASK);
	VT_EQUAL(t, vuhca_read_csr64(dev, VUHCA_CSR_ADDRESS_HANDLE_TABLE_OFF), 0);
	VT_EQUAL(t, vuhca_read_csr(dev, VUHCA_CSR_ADDRESS_HANDLE_COUNT_OFF), 0);
	VT_EQUAL(t, vuhca_read_csr(dev, VUHCA_CSR_MANAGEMENT_COMMANDS_OFF), 0);
	VT_EQUAL(t, vuhca_read_csr(dev, VUHCA_CSR_COLLECT_KICKS_OFF), 0);
	VT_EQUAL(t, vuhca_read_csr(dev, VUHCA_CSR_DOORBELLS_EXPLICIT_OFF), 0);
	VT_CHECK(t, vuhca_read_csr64(dev, VUHCA_CSR_QOS_DIVIDER_OFF) !=
		    (u64)dev->vcbs[1].first * VUHCA_PAGE_BYTES ||
		    !dev->vcbs[1].count, "the QoS divider was not reset");
	VT_EQUAL(t, vuhca_reset(dev), 0);
	vt_alive(t);
}

static const struct vt_case vt_cases[] = {
	{ "power-on", vt_power_on },
	{ "disabled", vt_disabled },
	{ "bus-master", vt_bus_master_off },
	{ "lock", vt_lock_released },
	{ "half-written", vt_half_written },
	{ "software", vt_software },
	{ "function-level", vt_function_level },
};
VT_SUITE(reset, vt_cases);
