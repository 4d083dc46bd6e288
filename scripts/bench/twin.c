// SPDX-License-Identifier: Apache-2.0
/*
 * The C twin of the adapter: the same PCI function as far as the benchmark can
 * see (BARs, MSI-X, SCRATCH, a counter of doorbells) on the same libvfio-user,
 * with nothing behind it. It blocks in vfu_run_ctx(), which is the fastest a C
 * device can be without spinning on a CPU. Called by processes.ts:
 * twin SOCKET COLLECT_BAR_BYTES. Serves one client after the other until killed.
 */
#include <errno.h>
#include <libvfio-user.h>
#include <pci_caps/msix.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vuhca_hw.h"

#define TWIN_DEVICE_ID 0x10fe

static uint32_t registers[VUHCA_CSR_SIZE / 4];

static uint32_t read_register(uint32_t offset)
{
	switch (offset) {
	case VUHCA_CSR_IDENTITY_OFF:
		return VUHCA_IDENTITY_MAGIC;
	case VUHCA_CSR_SCRATCH_OFF:
	case VUHCA_CSR_SCRATCH_OFF + 4:
	case VUHCA_CSR_DOORBELLS_EXPLICIT_OFF:
		return registers[offset / 4];
	default:
		return 0;
	}
}

static void write_register(uint32_t offset, uint32_t value)
{
	switch (offset) {
	case VUHCA_CSR_SCRATCH_OFF:
	case VUHCA_CSR_SCRATCH_OFF + 4:
		registers[offset / 4] = value;
		break;
	case VUHCA_CSR_SEND_DOORBELL_OFF:
		registers[VUHCA_CSR_DOORBELLS_EXPLICIT_OFF / 4]++;
		break;
	}
}

static ssize_t access_registers(vfu_ctx_t *ctx, char *buf, size_t count,
				loff_t offset, bool is_write)
{
	size_t done;
	uint32_t value;

	(void)ctx;
	if ((count | offset) % 4 != 0 || offset + count > VUHCA_CSR_SIZE) {
		if (!is_write)
			memset(buf, 0, count);
		return count;
	}
	for (done = 0; done < count; done += 4) {
		if (is_write) {
			memcpy(&value, buf + done, 4);
			write_register(offset + done, value);
		} else {
			value = read_register(offset + done);
			memcpy(buf + done, &value, 4);
		}
	}
	return count;
}

static ssize_t access_nothing(vfu_ctx_t *ctx, char *buf, size_t count,
			      loff_t offset, bool is_write)
{
	(void)ctx;
	(void)offset;
	if (!is_write)
		memset(buf, 0, count);
	return count;
}

static int reset(vfu_ctx_t *ctx, vfu_reset_type_t type)
{
	(void)ctx;
	(void)type;
	memset(registers, 0, sizeof(registers));
	return 0;
}

static void must(int result, const char *what)
{
	if (result >= 0)
		return;
	fprintf(stderr, "twin: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void add_msix(vfu_ctx_t *ctx)
{
	struct msixcap msix = {
		.hdr.id = PCI_CAP_ID_MSIX,
		.mxc.ts = VUHCA_VECTOR_COUNT - 1,
		.mtab.to = VUHCA_MSIX_TABLE_OFFSET / 8,
		.mpba.pbao = VUHCA_MSIX_PBA_OFFSET / 8,
	};

	must(vfu_pci_add_capability(ctx, 0, 0, &msix), "MSI-X");
	must(vfu_setup_device_nr_irqs(ctx, VFU_DEV_MSIX_IRQ, VUHCA_VECTOR_COUNT),
	     "vectors");
}

static void dma_register(vfu_ctx_t *ctx, vfu_dma_info_t *info)
{
	(void)ctx;
	(void)info;
}

static void add_region(vfu_ctx_t *ctx, int index, size_t size,
		       vfu_region_access_cb_t *access)
{
	int flags = VFU_REGION_FLAG_RW | VFU_REGION_FLAG_MEM;

	must(vfu_setup_region(ctx, index, size, access, flags, NULL, 0, -1, 0),
	     "region");
}

static vfu_ctx_t *create(const char *socket, size_t collect_bytes)
{
	vfu_ctx_t *ctx = vfu_create_ctx(VFU_TRANS_SOCK, socket, 0, NULL,
					VFU_DEV_TYPE_PCI);

	must(ctx ? 0 : -1, socket);
	must(vfu_pci_init(ctx, VFU_PCI_TYPE_EXPRESS, PCI_HEADER_TYPE_NORMAL, 0),
	     "PCI");
	vfu_pci_set_id(ctx, VUHCA_VENDOR_ID, TWIN_DEVICE_ID, VUHCA_VENDOR_ID,
		       VUHCA_SUBSYSTEM_ID);
	vfu_pci_set_class(ctx, 0xff, 0, 0);
	add_region(ctx, VUHCA_BAR_REGISTERS, VUHCA_BAR_REGISTERS_BYTES,
		   access_registers);
	add_region(ctx, VUHCA_BAR_COLLECT, collect_bytes, access_nothing);
	add_region(ctx, VUHCA_BAR_PIO, VUHCA_BAR_PIO_BYTES, access_nothing);
	add_msix(ctx);
	must(vfu_setup_device_reset_cb(ctx, reset), "reset");
	must(vfu_setup_device_dma(ctx, dma_register, dma_register), "DMA");
	must(vfu_realize_ctx(ctx), "realize");
	return ctx;
}

int main(int argc, char **argv)
{
	vfu_ctx_t *ctx;

	if (argc != 3) {
		fprintf(stderr, "usage: twin SOCKET COLLECT_BAR_BYTES\n");
		return 2;
	}
	ctx = create(argv[1], strtoul(argv[2], NULL, 0));
	for (;;) {
		must(vfu_attach_ctx(ctx), "attach");
		while (vfu_run_ctx(ctx) >= 0 || errno != ENOTCONN)
			;
	}
}
