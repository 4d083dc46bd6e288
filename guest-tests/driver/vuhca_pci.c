// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The PCI device: its BARs, their mappings, and the DMA mask. */
#include "vuhca_internal.h"

#define VUHCA_BARS (BIT(VUHCA_BAR_REGISTERS) | BIT(VUHCA_BAR_COLLECT) | \
		    BIT(VUHCA_BAR_PIO))

void vuhca_pci_unmap(struct vuhca_dev *dev)
{
	if (dev->pio)
		iounmap(dev->pio);
	if (dev->collect)
		iounmap(dev->collect);
	iounmap(dev->csr);
}

int vuhca_pci_map(struct vuhca_dev *dev)
{
	struct pci_dev *pdev = dev->pdev;

	if (pci_resource_len(pdev, VUHCA_BAR_REGISTERS) <
	    VUHCA_BAR_REGISTERS_BYTES) {
		dev_err(&pdev->dev, "the register BAR is too small\n");
		return -ENODEV;
	}
	dev->csr = pci_ioremap_bar(pdev, VUHCA_BAR_REGISTERS);
	if (!dev->csr)
		return -ENOMEM;
	dev->collect_bytes = pci_resource_len(pdev, VUHCA_BAR_COLLECT);
	dev->collect = pci_ioremap_wc_bar(pdev, VUHCA_BAR_COLLECT);
	dev->pio = pci_ioremap_wc_bar(pdev, VUHCA_BAR_PIO);
	if (dev->collect && dev->pio)
		return 0;
	vuhca_pci_unmap(dev);
	return -ENOMEM;
}

int vuhca_pci_enable(struct pci_dev *pdev)
{
	int err;

	err = pci_enable_device_mem(pdev);
	if (err)
		return err;
	err = pci_request_selected_regions(pdev, VUHCA_BARS, VUHCA_NAME);
	if (err)
		goto disable;
	err = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	if (err)
		goto release;
	return 0;

release:
	pci_release_selected_regions(pdev, VUHCA_BARS);
disable:
	pci_disable_device(pdev);
	return err;
}

void vuhca_pci_disable(struct pci_dev *pdev)
{
	pci_release_selected_regions(pdev, VUHCA_BARS);
	pci_disable_device(pdev);
}
