// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory for doorbells that do not fit into the adapter. Only the adapter uses
 * it from vuhca_overflow_start() to the next reset. Without it, or when it is
 * full, the adapter searches all send queues instead.
 */
#include <linux/dma-mapping.h>
#include <linux/log2.h>

#include "vuhca_internal.h"

/* Entries in memory for each doorbell that the adapter can hold. */
#define VUHCA_OVERFLOW_FACTOR 4

static size_t vuhca_overflow_bytes(const struct vuhca_overflow *overflow)
{
	return (size_t)VUHCA_OVERFLOW_ENTRY_BYTES << overflow->entries_log2;
}

int vuhca_overflow_alloc(struct vuhca_dev *dev)
{
	u32 held = vuhca_read_csr(dev, VUHCA_CSR_DOORBELL_BUFFER_ENTRIES_OFF);
	struct vuhca_overflow *overflow = &dev->overflow;

	overflow->entries_log2 =
		clamp(order_base_2((u64)held * VUHCA_OVERFLOW_FACTOR),
		      VUHCA_OVERFLOW_MIN_LOG2, VUHCA_OVERFLOW_MAX_LOG2);
	overflow->entries = dma_alloc_coherent(&dev->pdev->dev,
					       vuhca_overflow_bytes(overflow),
					       &overflow->dma, GFP_KERNEL);
	return overflow->entries ? 0 : -ENOMEM;
}

/*
 * Called only after a reset, because the adapter must not write to freed
 * memory.
 */
void vuhca_overflow_free(struct vuhca_dev *dev)
{
	dma_free_coherent(&dev->pdev->dev, vuhca_overflow_bytes(&dev->overflow),
			  dev->overflow.entries, dev->overflow.dma);
}

/**
 * vuhca_overflow_start() - Give the adapter the doorbell overflow buffer.
 * @dev: Function of the adapter.
 *
 * Called before the function is enabled, because doorbells may overflow at
 * once.
 *
 * Context: May sleep.
 */
void vuhca_overflow_start(struct vuhca_dev *dev)
{
	u32 control = VUHCA_CSR_OVERFLOW_CONTROL_ENABLE_MASK |
		      dev->overflow.entries_log2 <<
		      VUHCA_CSR_OVERFLOW_CONTROL_ENTRIES_LOG2_SHIFT;

	vuhca_write_csr64(dev, VUHCA_CSR_OVERFLOW_BASE_OFF, dev->overflow.dma);
	vuhca_write_csr(dev, VUHCA_CSR_OVERFLOW_CONTROL_OFF, control);
	if (vuhca_read_csr(dev, VUHCA_CSR_OVERFLOW_CONTROL_OFF) != control)
		dev_warn(&dev->pdev->dev,
			 "the doorbell overflow buffer at %pad was refused\n",
			 &dev->overflow.dma);
}
EXPORT_SYMBOL_GPL(vuhca_overflow_start);
