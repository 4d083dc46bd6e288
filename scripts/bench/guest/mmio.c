// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The cost of register accesses of a vCPU on the adapter and on its C twin, in
 * one guest, without the driver. Reading debugfs vuhca-bench-mmio runs one
 * round and yields its JSON lines (scripts/bench/samples.ts): reads one by one,
 * then posted writes in a batch that a read closes, the devices taking turns;
 * and what an access costs that QEMU itself answers.
 */
#include <linux/debugfs.h>
#include <linux/io.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/seq_file.h>
#include <linux/sort.h>
#include <linux/vmalloc.h>

#include "vuhca_hw.h"

#define TWIN_DEVICE_ID 0x10fe
#define HOST_BRIDGE_ADDRESS 0xcf8
/* Reads before a round, so that both devices are awake. */
#define WARM_UP 50

static unsigned int reads = 1000;
module_param(reads, uint, 0444);
MODULE_PARM_DESC(reads, "Reads of a device in a round");

static unsigned int writes = 4000;
module_param(writes, uint, 0444);
MODULE_PARM_DESC(writes, "Posted writes of a device in a round");

struct bench_device {
	const char *name;
	u16 id;
	struct pci_dev *pdev;
	void __iomem *csr;
	u64 value;
};

static struct bench_device devices[] = {
	{ .name = "adapter", .id = VUHCA_DEVICE_ID_PF },
	{ .name = "twin", .id = TWIN_DEVICE_ID },
};

static struct bench_device trap = { .name = "trap" };
static struct dentry *file;
static u32 *times;
static unsigned int rounds;

static int by_value(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

/* Without a device: the address register of the host bridge. */
static void access_once(struct bench_device *device)
{
	if (device->csr)
		readl(device->csr + VUHCA_CSR_SCRATCH_OFF);
	else
		inl(HOST_BRIDGE_ADDRESS);
}

static void measure_reads(struct seq_file *out, struct bench_device *device)
{
	unsigned long flags;
	unsigned int i;
	u64 start;

	for (i = 0; i < WARM_UP; i++)
		access_once(device);
	for (i = 0; i < reads; i++) {
		/* Timer interrupts of the guest do not belong to the result. */
		local_irq_save(flags);
		start = ktime_get_ns();
		access_once(device);
		times[i] = ktime_get_ns() - start;
		local_irq_restore(flags);
	}
	sort(times, reads, sizeof(*times), by_value, NULL);
	seq_printf(out, "{\"kind\":\"read\",\"device\":\"%s\",\"count\":%u,\"p50Ns\":%u,\"p99Ns\":%u}\n",
		   device->name, reads, times[reads / 2],
		   times[reads * 99ULL / 100]);
}

static void report_writes(struct seq_file *out, const char *kind,
			  struct bench_device *device, u64 start, s64 lost)
{
	seq_printf(out, "{\"kind\":\"%s\",\"device\":\"%s\",\"count\":%u,\"totalNs\":%llu,\"lost\":%lld}\n",
		   kind, device->name, writes, ktime_get_ns() - start, lost);
}

/* Each value is one more than the last, so reading it back shows lost writes. */
static void measure_writes(struct seq_file *out, struct bench_device *device)
{
	void __iomem *at = device->csr + VUHCA_CSR_SCRATCH_OFF;
	unsigned int i;
	u64 start;

	readl(at);
	start = ktime_get_ns();
	for (i = 0; i < writes; i++)
		writeq(++device->value, at);
	report_writes(out, "write", device, start, device->value - readq(at));
}

/* Both devices count doorbells one by one. */
static void measure_doorbells(struct seq_file *out, struct bench_device *device)
{
	void __iomem *counter = device->csr + VUHCA_CSR_DOORBELLS_EXPLICIT_OFF;
	u32 before = readl(counter);
	unsigned int i;
	u64 start;

	start = ktime_get_ns();
	for (i = 0; i < writes; i++)
		writeq(0, device->csr + VUHCA_CSR_SEND_DOORBELL_OFF);
	report_writes(out, "doorbell", device, start,
		      (s64)writes - (u32)(readl(counter) - before));
}

static int bench_show(struct seq_file *out, void *unused)
{
	unsigned int first = rounds % ARRAY_SIZE(devices), turn;

	seq_printf(out, "{\"kind\":\"round\",\"number\":%u}\n", rounds++);
	measure_reads(out, &trap);
	/* The first device alternates, so that drift favours neither. */
	for (turn = 0; turn < ARRAY_SIZE(devices); turn++)
		measure_reads(out, &devices[(first + turn) % ARRAY_SIZE(devices)]);
	for (turn = 0; turn < ARRAY_SIZE(devices); turn++)
		measure_writes(out, &devices[(first + turn) % ARRAY_SIZE(devices)]);
	for (turn = 0; turn < ARRAY_SIZE(devices); turn++)
		measure_doorbells(out, &devices[(first + turn) % ARRAY_SIZE(devices)]);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(bench);

static int bench_map(struct bench_device *device)
{
	int err;

	device->pdev = pci_get_device(VUHCA_VENDOR_ID, device->id, NULL);
	if (!device->pdev) {
		pr_err("vuhca-bench: there is no %s\n", device->name);
		return -ENODEV;
	}
	err = pci_enable_device_mem(device->pdev);
	if (err)
		return err;
	device->csr = pci_ioremap_bar(device->pdev, VUHCA_BAR_REGISTERS);
	if (!device->csr)
		return -ENOMEM;
	if (readl(device->csr + VUHCA_CSR_IDENTITY_OFF) == VUHCA_IDENTITY_MAGIC)
		return 0;
	pr_err("vuhca-bench: the %s does not answer\n", device->name);
	return -ENODEV;
}

static void bench_unmap(struct bench_device *device)
{
	if (device->csr)
		iounmap(device->csr);
	if (device->pdev && pci_is_enabled(device->pdev))
		pci_disable_device(device->pdev);
	pci_dev_put(device->pdev);
}

static void bench_cleanup(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(devices); i++)
		bench_unmap(&devices[i]);
	vfree(times);
}

static int __init bench_init(void)
{
	unsigned int i;
	int err = 0;

	times = vmalloc_array(reads, sizeof(*times));
	if (!times || !reads)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(devices) && !err; i++)
		err = bench_map(&devices[i]);
	if (err) {
		bench_cleanup();
		return err;
	}
	file = debugfs_create_file("vuhca-bench-mmio", 0400, NULL, NULL,
				   &bench_fops);
	return 0;
}
module_init(bench_init);

static void __exit bench_exit(void)
{
	debugfs_remove(file);
	bench_cleanup();
}
module_exit(bench_exit);

MODULE_AUTHOR("The vuhca authors");
MODULE_DESCRIPTION("Cost of register accesses to vuhca and its C twin");
MODULE_LICENSE("Dual BSD/GPL");
