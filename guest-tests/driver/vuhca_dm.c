// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Device memory: memory of the adapter, and memory regions of it. */
#include <linux/pci.h>
#include <linux/slab.h>

#include "vuhca_internal.h"

/**
 * vuhca_alloc_dm() - Allocate device memory.
 * @dev: Function of the adapter.
 * @length: Length in bytes.
 * @alignment_log2: log2 of a number of which the offset is a multiple.
 *
 * The memory is zeroed.
 *
 * Context: May sleep.
 * Return: The memory, or ERR_PTR() of -ENOMEM (also: no free range is long
 *	enough) or the error of vuhca_admin_execute().
 */
struct vuhca_dm *vuhca_alloc_dm(struct vuhca_dev *dev, u64 length,
				u8 alignment_log2)
{
	struct vuhca_device_memory_attributes attributes = {
		.length = cpu_to_le64(length),
		.alignment_log2 = alignment_log2,
	};
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_CREATE_DEVICE_MEMORY,
		.payload = &attributes,
		.payload_bytes = sizeof(attributes),
	};
	const struct vuhca_device_memory_attributes *created;
	struct vuhca_dm *dm = kzalloc(sizeof(*dm), GFP_KERNEL);
	struct vuhca_answer answer;
	int err;

	if (!dm)
		return ERR_PTR(-ENOMEM);
	dm->dev = dev;
	dm->generation = READ_ONCE(dev->generation);
	err = vuhca_admin_execute(dev, &command, &answer);
	if (err) {
		kfree(dm);
		return ERR_PTR(err);
	}
	created = (const void *)answer.payload;
	dm->number = answer.object;
	dm->length = length;
	dm->offset = le32_to_cpu(created->offset);
	return dm;
}
EXPORT_SYMBOL_GPL(vuhca_alloc_dm);

/**
 * vuhca_dm_io() - Return where the driver reads and writes device memory.
 * @dm: Device memory.
 *
 * Context: Any context.
 * Return: Address for readq(), writeq() and their like.
 */
void __iomem *vuhca_dm_io(const struct vuhca_dm *dm)
{
	return dm->dev->csr + VUHCA_DEVICE_MEMORY_OFFSET + dm->offset;
}
EXPORT_SYMBOL_GPL(vuhca_dm_io);

/**
 * vuhca_dm_phys() - Return the bus address by which processors reach device
 *	memory.
 * @dm: Device memory.
 *
 * Context: Any context.
 * Return: Address in the register BAR.
 */
phys_addr_t vuhca_dm_phys(const struct vuhca_dm *dm)
{
	return pci_resource_start(dm->dev->pdev, VUHCA_BAR_REGISTERS) +
	       VUHCA_DEVICE_MEMORY_OFFSET + dm->offset;
}
EXPORT_SYMBOL_GPL(vuhca_dm_phys);

/**
 * vuhca_reg_dm() - Create a memory region of device memory.
 * @pd: PD of the region.
 * @access: VUHCA_ACCESS_FLAG_*; with ZERO_BASED addresses begin at 0.
 * @start: First virtual address.
 * @dm: Device memory; it cannot be freed while it has regions.
 * @offset: Offset of the region in @dm.
 * @length: Length of the region in bytes.
 *
 * Context: May sleep.
 * Return: The MR, or an ERR_PTR() as of vuhca_get_dma_mr().
 */
struct vuhca_mr *vuhca_reg_dm(struct vuhca_pd *pd, u32 access, u64 start,
			      const struct vuhca_dm *dm, u32 offset, u64 length)
{
	struct vuhca_mr_attributes attributes = {
		.access = cpu_to_le32(access),
		.start_address = cpu_to_le64(start),
		.length = cpu_to_le64(length),
		.device_memory_offset = cpu_to_le32(offset),
	};

	vuhca_mr_attributes_set_kind(&attributes, VUHCA_MR_KIND_DEVICE);
	vuhca_mr_attributes_set_device_memory(&attributes, dm->number);
	return vuhca_create_mr(pd, &attributes);
}
EXPORT_SYMBOL_GPL(vuhca_reg_dm);

/**
 * vuhca_free_dm() - Free device memory.
 * @dm: Device memory; stays when the call fails.
 *
 * Context: May sleep.
 * Return: 0; -EBUSY while it has memory regions; or the error of
 *	vuhca_admin_execute().
 */
int vuhca_free_dm(struct vuhca_dm *dm)
{
	int err;

	err = vuhca_admin_destroy(dm->dev,
				  VUHCA_MANAGEMENT_OPCODE_DESTROY_DEVICE_MEMORY,
				  dm->number, dm->generation);
	if (!err)
		kfree(dm);
	return err;
}
EXPORT_SYMBOL_GPL(vuhca_free_dm);
