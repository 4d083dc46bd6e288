// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* A driver that refuses every device. */
#include <linux/module.h>
#include <linux/pci.h>

static int bad_bind_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	return -ENODEV;
}

static const struct pci_device_id bad_bind_ids[] = {
	{ PCI_DEVICE(0x1af4, 0x10f5) },
	{ }
};
MODULE_DEVICE_TABLE(pci, bad_bind_ids);

static struct pci_driver bad_bind_driver = {
	.name = "bad_bind",
	.id_table = bad_bind_ids,
	.probe = bad_bind_probe,
};
module_pci_driver(bad_bind_driver);

MODULE_DESCRIPTION("Does not bind");
MODULE_LICENSE("Dual BSD/GPL");
