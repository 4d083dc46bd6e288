// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Identity of the device, and the effect of each kind of access on its
 * registers.
 */
#include "vt.h"

static void vt_pci_identity(struct vt *t)
{
	struct pci_dev *pdev = t->dev->pdev;

	VT_EQUAL(t, pdev->vendor, VUHCA_VENDOR_ID);
	VT_EQUAL(t, pdev->device, VUHCA_DEVICE_ID_PF);
	VT_EQUAL(t, pdev->subsystem_device, VUHCA_SUBSYSTEM_ID);
	VT_EQUAL(t, pdev->class, VUHCA_CLASS_CODE);
	VT_EQUAL(t, pci_resource_len(pdev, VUHCA_BAR_REGISTERS),
		 VUHCA_BAR_REGISTERS_BYTES);
	VT_EQUAL(t, pci_resource_len(pdev, VUHCA_BAR_PIO), VUHCA_BAR_PIO_BYTES);
	VT_CHECK(t, !(pci_resource_flags(pdev, VUHCA_BAR_REGISTERS) &
		      IORESOURCE_PREFETCH), "registers are not prefetchable");
	VT_CHECK(t, pci_resource_flags(pdev, VUHCA_BAR_COLLECT) &
		    IORESOURCE_PREFETCH, "collect buffers are");
	VT_CHECK(t, pci_resource_flags(pdev, VUHCA_BAR_COLLECT) &
		    IORESOURCE_MEM_64, "collect buffers are 64-bit");
	VT_EQUAL(t, pci_msix_vec_count(pdev), VUHCA_VECTOR_COUNT);
	VT_CHECK(t, pci_is_pcie(pdev), "no PCIe capability");
	VT_CHECK(t, pdev->devcap & PCI_EXP_DEVCAP_FLR, "no FLR");
	VT_CHECK(t, !pdev->pin, "there is an INTx pin");
}

static void vt_register_identity(struct vt *t)
{
	u64 offset = vuhca_read_csr64(t->dev, VUHCA_CSR_DEDICATED_OFFSET_OFF);
	u32 vcbs = vt_csr(t, VUHCA_CSR_VCB_COUNT_OFF);

	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_IDENTITY_OFF), VUHCA_IDENTITY_MAGIC);
	VT_EQUAL(t, vuhca_read_csr64(t->dev, VUHCA_CSR_LAYOUT_HASH_OFF),
		 VUHCA_LAYOUT_HASH);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_FUNCTION_NUMBER_OFF), 0);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_PORT_COUNT_OFF), VT_PORTS);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_VECTOR_COUNT_OFF), VUHCA_VECTOR_COUNT);
	VT_CHECK(t, vcbs >= 1 && vcbs <= VUHCA_VCB_MAX, "%u VCBs", vcbs);
	VT_CHECK(t, offset >= (u64)vcbs * VUHCA_PAGE_BYTES,
		 "dedicated buffers at %#llx lie among %u VCBs", offset, vcbs);
	VT_CHECK(t, vt_csr(t, VUHCA_CSR_DEDICATED_COUNT_OFF) >= 1, "none");
	VT_CHECK(t, vt_csr(t, VUHCA_CSR_CLOCK_FREQUENCY_HZ_OFF), "no clock");
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_DEVICE_STATUS_OFF) & 0xf,
		 VUHCA_CSR_DEVICE_STATUS_READY_MASK |
		 VUHCA_CSR_DEVICE_STATUS_ENABLED_MASK |
		 VUHCA_CSR_DEVICE_STATUS_BUS_MASTER_MASK);
}

static void vt_read_write(struct vt *t)
{
	void __iomem *scratch = t->dev->csr + VUHCA_CSR_SCRATCH_OFF;

	writeq(0x0123456789abcdefULL, scratch);
	VT_EQUAL(t, readq(scratch), 0x0123456789abcdefULL);
	VT_EQUAL(t, readl(scratch), 0x89abcdef);
	VT_EQUAL(t, readl(scratch + 4), 0x01234567);
	VT_EQUAL(t, readw(scratch + 2), 0x89ab);
	VT_EQUAL(t, readb(scratch + 7), 0x01);
	writel(0xdeadbeef, scratch + 4);
	VT_EQUAL(t, readq(scratch), 0xdeadbeef89abcdefULL);
	writel(0x55aa55aa, scratch);
	VT_EQUAL(t, readq(scratch), 0xdeadbeef55aa55aaULL);
	writeq(0, scratch);
}

/* Expects one more fault of @kind from each access. */
#define VT_FAULTS(t, kind, access)					\
	do {								\
		u32 before_ = vt_fault_count(t, kind);			\
									\
		vt_clear_first_fault(t);				\
		access;							\
		VT_EQUAL(t, vt_fault_count(t, kind), before_ + 1);	\
		VT_EQUAL(t, vt_csr(t, VUHCA_CSR_FIRST_FAULT_KIND_OFF),	\
			 kind);						\
	} while (0)

static void vt_read_only(struct vt *t)
{
	void __iomem *csr = t->dev->csr;

	VT_FAULTS(t, VUHCA_FAULT_KIND_REGISTER_READ_ONLY,
		  writel(1, csr + VUHCA_CSR_IDENTITY_OFF));
	VT_EQUAL(t, vuhca_read_csr64(t->dev, VUHCA_CSR_FIRST_FAULT_ADDRESS_OFF),
		 VUHCA_CSR_IDENTITY_OFF);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_IDENTITY_OFF), VUHCA_IDENTITY_MAGIC);
	VT_FAULTS(t, VUHCA_FAULT_KIND_REGISTER_READ_ONLY,
		  writeq(1, csr + VUHCA_CSR_LAYOUT_HASH_OFF));
	VT_EQUAL(t, vuhca_read_csr64(t->dev, VUHCA_CSR_LAYOUT_HASH_OFF),
		 VUHCA_LAYOUT_HASH);
	VT_FAULTS(t, VUHCA_FAULT_KIND_REGISTER_READ_ONLY,
		  writel(7, csr + VUHCA_CSR_FAULT_COUNT_OFF + 252));
	vt_clear_first_fault(t);
}

static void vt_reserved(struct vt *t)
{
	void __iomem *csr = t->dev->csr;
	/*
	 * In the gaps after the first, the second and the last section of
	 * registers.
	 */
	static const unsigned int offsets[] = { 0x0030, 0x00a0, 0x7ffc };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(offsets); i++) {
		VT_EQUAL(t, vt_csr(t, offsets[i]), 0);
		VT_FAULTS(t, VUHCA_FAULT_KIND_REGISTER_RESERVED,
			  writel(0xffffffff, csr + offsets[i]));
		VT_EQUAL(t, vuhca_read_csr64(t->dev,
					     VUHCA_CSR_FIRST_FAULT_ADDRESS_OFF),
			 offsets[i]);
		VT_EQUAL(t, vt_csr(t, offsets[i]), 0);
	}
	vt_clear_first_fault(t);
	/* Reserved bits of a register read as zero. */
	writel(0xfffffffd, csr + VUHCA_CSR_DEVICE_CONTROL_OFF);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_DEVICE_CONTROL_OFF),
		 VUHCA_CSR_DEVICE_CONTROL_ENABLE_MASK);
}

static void vt_widths(struct vt *t)
{
	void __iomem *csr = t->dev->csr;

	writeq(0x1122334455667788ULL, csr + VUHCA_CSR_SCRATCH_OFF);
	VT_FAULTS(t, VUHCA_FAULT_KIND_REGISTER_WIDTH,
		  writeb(0xff, csr + VUHCA_CSR_SCRATCH_OFF));
	VT_FAULTS(t, VUHCA_FAULT_KIND_REGISTER_WIDTH,
		  writew(0xffff, csr + VUHCA_CSR_SCRATCH_OFF + 2));
	VT_EQUAL(t, readq(csr + VUHCA_CSR_SCRATCH_OFF), 0x1122334455667788ULL);
	/* Half a doorbell must not ring. */
	VT_FAULTS(t, VUHCA_FAULT_KIND_REGISTER_WIDTH,
		  writel(t->end[0].qp->qpn << 8,
			 csr + VUHCA_CSR_SEND_DOORBELL_OFF));
	/* A byte read must not take the lock. */
	(void)readb(csr + VUHCA_CSR_DEDICATED_LOCK_OFF);
	vt_clear_first_fault(t);
}

static void vt_write_only(struct vt *t)
{
	VT_EQUAL(t, vuhca_read_csr64(t->dev, VUHCA_CSR_CQ_NOTIFY_OFF), 0);
	VT_EQUAL(t, vuhca_read_csr64(t->dev, VUHCA_CSR_EQ_CONSUMER_OFF), 0);
	VT_EQUAL(t, vuhca_read_csr64(t->dev, VUHCA_CSR_SEND_DOORBELL_OFF), 0);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_INTERRUPT_TRIGGER_OFF), 0);
}

static void vt_lock(struct vt *t)
{
	u32 count = vt_csr(t, VUHCA_CSR_DEDICATED_COUNT_OFF);
	struct vuhca_admin *admin = &t->dev->admin;
	unsigned int i;

	mutex_lock(&admin->lock);
	for (i = 1; i <= count; i++)
		VT_EQUAL(t, vt_csr(t, VUHCA_CSR_DEDICATED_LOCK_OFF), i);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_DEDICATED_LOCK_OFF), 0);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_DEDICATED_LOCK_OFF), 0);
	vuhca_write_csr(t->dev, VUHCA_CSR_DEDICATED_LOCK_OFF, 0);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_DEDICATED_LOCK_OFF), 1);
	for (i = 1; i <= count; i++)
		vuhca_write_csr(t->dev, VUHCA_CSR_DEDICATED_LOCK_OFF, i);
	mutex_unlock(&admin->lock);
}

static void vt_first_fault_stays(struct vt *t)
{
	vt_clear_first_fault(t);
	writel(1, t->dev->csr + VUHCA_CSR_IDENTITY_OFF);
	writel(1, t->dev->csr + 0x7ffc);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_FIRST_FAULT_KIND_OFF),
		 VUHCA_FAULT_KIND_REGISTER_READ_ONLY);
	VT_EQUAL(t, vuhca_read_csr64(t->dev, VUHCA_CSR_FIRST_FAULT_ADDRESS_OFF),
		 VUHCA_CSR_IDENTITY_OFF);
	/* Only all ones clears the record. */
	vuhca_write_csr(t->dev, VUHCA_CSR_FIRST_FAULT_KIND_OFF, 1);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_FIRST_FAULT_KIND_OFF),
		 VUHCA_FAULT_KIND_REGISTER_READ_ONLY);
	vt_clear_first_fault(t);
	VT_EQUAL(t, vuhca_read_csr64(t->dev, VUHCA_CSR_FIRST_FAULT_ADDRESS_OFF),
		 0);
}

static void vt_local_time(struct vt *t)
{
	u64 first = vuhca_read_csr64(t->dev, VUHCA_CSR_LOCAL_TIME_OFF);
	u64 second = vuhca_read_csr64(t->dev, VUHCA_CSR_LOCAL_TIME_OFF);
	u64 near_wrap = U64_MAX - 1000000000ULL;

	VT_CHECK(t, second > first, "%llu then %llu", first, second);
	vuhca_write_csr64(t->dev, VUHCA_CSR_LOCAL_TIME_OFF, near_wrap);
	second = vuhca_read_csr64(t->dev, VUHCA_CSR_LOCAL_TIME_OFF);
	VT_CHECK(t, second - near_wrap < 900000000ULL, "%#llx after %#llx",
		 second, near_wrap);
	vuhca_write_csr64(t->dev, VUHCA_CSR_LOCAL_TIME_OFF, first);
}

/* Without a send context PIO writes are dropped and counted. */
static void vt_pio(struct vt *t)
{
	u32 faults = vt_fault_count(t, VUHCA_FAULT_KIND_PIO_UNSUPPORTED);
	void __iomem *pio = ioremap_wc(pci_resource_start(t->dev->pdev,
							  VUHCA_BAR_PIO),
				       PAGE_SIZE);

	VT_REQUIRE(t, pio, "not mapped");
	vt_clear_first_fault(t);
	writeq(0, pio);
	writel(0, pio + 64);
	vt_drain_stores();
	VT_EQUAL(t, vt_fault_count(t, VUHCA_FAULT_KIND_PIO_UNSUPPORTED),
		 faults + 2);
	vt_clear_first_fault(t);
	iounmap(pio);
}

static void vt_query(struct vt *t)
{
	struct vuhca_adapter_attributes adapter;
	struct vuhca_port_attributes port;
	unsigned int i;

	VT_REQUIRE(t, !vuhca_query_adapter(t->dev, &adapter), "no answer");
	VT_EQUAL(t, adapter.port_count, VT_PORTS);
	VT_EQUAL(t, adapter.max_sge, VUHCA_SGE_MAX);
	VT_EQUAL(t, adapter.send_queue_max_log2, VUHCA_SEND_QUEUE_MAX_LOG2);
	VT_CHECK(t, le32_to_cpu(adapter.capabilities) & VUHCA_CAPABILITY_UD,
		 "no datagrams");
	for (i = 1; i <= VT_PORTS; i++) {
		VT_REQUIRE(t, !vuhca_query_port(t->dev, i, &port), "port %u", i);
		VT_EQUAL(t, vuhca_port_attributes_get_state(&port),
			 VUHCA_PORT_STATE_ACTIVE);
		VT_EQUAL(t, le16_to_cpu(port.lid), i);
		VT_EQUAL(t, vt_csr(t, VUHCA_CSR_PORT_STATE_OFF + (i - 1) *
				   VUHCA_CSR_PORT_STATE_STRIDE),
			 VUHCA_PORT_STATE_ACTIVE);
	}
	vt_note(t, "mtu %u bytes, %u VCBs of QoS 0, %u of QoS 1", t->mtu_bytes,
		t->dev->vcbs[0].count, t->dev->vcbs[1].count);
}

static const struct vt_case vt_cases[] = {
	{ "pci", vt_pci_identity },
	{ "registers", vt_register_identity },
	{ "read-write", vt_read_write },
	{ "read-only", vt_read_only },
	{ "reserved", vt_reserved },
	{ "widths", vt_widths },
	{ "write-only", vt_write_only },
	{ "lock", vt_lock },
	{ "first-fault", vt_first_fault_stays },
	{ "local-time", vt_local_time },
	{ "pio", vt_pio },
	{ "query", vt_query },
};
VT_SUITE(identity, vt_cases);
