// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A complete driver to start from: it binds a function of the adapter, maps its
 * registers, checks its identity, and enables it. Two files in sysfs let
 * test.sh try it: `local_time` reads the clock of the function, `scratch` reads
 * and writes a register that has no other effect. docs/REGISTERS.md describes
 * all registers; `vuhca test guest-tests/example` compiles and tests this.
 */
#include <linux/io.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/module.h>
#include <linux/pci.h>

#include "vuhca_hw.h"

struct skeleton {
	struct pci_dev *pdev;
	void __iomem *registers;
};

static ssize_t local_time_show(struct device *dev, struct device_attribute *attr, char *text)
{
	struct skeleton *skeleton = dev_get_drvdata(dev);

	return sysfs_emit(text, "%llu\n", readq(skeleton->registers + VUHCA_CSR_LOCAL_TIME_OFF));
}
static DEVICE_ATTR_RO(local_time);

static ssize_t scratch_show(struct device *dev, struct device_attribute *attr, char *text)
{
	struct skeleton *skeleton = dev_get_drvdata(dev);

	return sysfs_emit(text, "0x%08x\n", readl(skeleton->registers + VUHCA_CSR_SCRATCH_OFF));
}

static ssize_t scratch_store(struct device *dev, struct device_attribute *attr, const char *text, size_t length)
{
	struct skeleton *skeleton = dev_get_drvdata(dev);
	u32 value;
	int ret = kstrtou32(text, 0, &value);

	if (ret)
		return ret;
	writel(value, skeleton->registers + VUHCA_CSR_SCRATCH_OFF);
	return length;
}
static DEVICE_ATTR_RW(scratch);

static struct attribute *skeleton_attrs[] = {
	&dev_attr_local_time.attr,
	&dev_attr_scratch.attr,
	NULL,
};
ATTRIBUTE_GROUPS(skeleton);

static int skeleton_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct skeleton *skeleton;
	u32 identity;
	int ret;

	skeleton = devm_kzalloc(&pdev->dev, sizeof(*skeleton), GFP_KERNEL);
	if (!skeleton)
		return -ENOMEM;
	skeleton->pdev = pdev;
	ret = pcim_enable_device(pdev);
	if (ret)
		return ret;
	skeleton->registers = pcim_iomap(pdev, VUHCA_BAR_REGISTERS, 0);
	if (!skeleton->registers)
		return -ENODEV;
	identity = readl(skeleton->registers + VUHCA_CSR_IDENTITY_OFF);
	if (identity != VUHCA_IDENTITY_MAGIC)
		return dev_err_probe(&pdev->dev, -ENODEV, "identity 0x%08x is not that of the adapter\n", identity);
	pci_set_drvdata(pdev, skeleton);
	writel(VUHCA_CSR_DEVICE_CONTROL_ENABLE_MASK, skeleton->registers + VUHCA_CSR_DEVICE_CONTROL_OFF);
	dev_info(&pdev->dev, "function %u with %u ports\n",
		 readl(skeleton->registers + VUHCA_CSR_FUNCTION_NUMBER_OFF),
		 readl(skeleton->registers + VUHCA_CSR_PORT_COUNT_OFF));
	return 0;
}

static void skeleton_remove(struct pci_dev *pdev)
{
	struct skeleton *skeleton = pci_get_drvdata(pdev);

	writel(0, skeleton->registers + VUHCA_CSR_DEVICE_CONTROL_OFF);
}

static const struct pci_device_id skeleton_ids[] = {
	{ PCI_DEVICE(VUHCA_VENDOR_ID, VUHCA_DEVICE_ID_PF) },
	{ PCI_DEVICE(VUHCA_VENDOR_ID, VUHCA_DEVICE_ID_VF) },
	{ }
};
MODULE_DEVICE_TABLE(pci, skeleton_ids);

static struct pci_driver skeleton_driver = {
	.name = "skeleton",
	.id_table = skeleton_ids,
	.probe = skeleton_probe,
	.remove = skeleton_remove,
	.dev_groups = skeleton_groups,
};
module_pci_driver(skeleton_driver);

MODULE_DESCRIPTION("A driver of the adapter to start from");
MODULE_LICENSE("Dual BSD/GPL");
