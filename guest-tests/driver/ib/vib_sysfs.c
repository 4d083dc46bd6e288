// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Files in /sys/class/infiniband/NAME that Debian's tools show (ibstat). */
#include <linux/sysfs.h>

#include "vib.h"

static ssize_t hw_rev_show(struct device *device, struct device_attribute *file,
			   char *text)
{
	struct vib_dev *dev =
		rdma_device_to_drv_device(device, struct vib_dev, ibdev);

	return sysfs_emit(text, "%x\n", dev->hw->pdev->revision);
}
static DEVICE_ATTR_RO(hw_rev);

static ssize_t hca_type_show(struct device *device,
			     struct device_attribute *file, char *text)
{
	struct vib_dev *dev =
		rdma_device_to_drv_device(device, struct vib_dev, ibdev);

	return sysfs_emit(text, "%s %s function\n", VUHCA_NAME,
			  dev->hw->function ? "virtual" : "physical");
}
static DEVICE_ATTR_RO(hca_type);

static ssize_t board_id_show(struct device *device,
			     struct device_attribute *file, char *text)
{
	struct vib_dev *dev =
		rdma_device_to_drv_device(device, struct vib_dev, ibdev);

	return sysfs_emit(text, "%s-%u\n", VUHCA_NAME, dev->hw->function);
}
static DEVICE_ATTR_RO(board_id);

static struct attribute *vib_attributes[] = {
	&dev_attr_hw_rev.attr,
	&dev_attr_hca_type.attr,
	&dev_attr_board_id.attr,
	NULL
};

const struct attribute_group vib_sysfs_group = { .attrs = vib_attributes };
