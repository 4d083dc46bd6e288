// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The lines of memory in which the adapter returns credits: the send contexts
 * of a function share them, eight words in each (docs/FEATURES.md, send
 * contexts).
 */
#include <linux/dma-mapping.h>

#include "vuhca_internal.h"

#define VUHCA_PIO_LINE_BYTES	64
#define VUHCA_PIO_LINE_WORDS	8
#define VUHCA_PIO_CREDIT_BYTES	(VUHCA_SEND_CONTEXT_MAX * \
				 sizeof(struct vuhca_credit_return))

/* The credit words of all contexts of the function, which share lines. */
int vuhca_pio_credits_alloc(struct vuhca_dev *dev)
{
	dev->credits = dma_alloc_coherent(&dev->pdev->dev,
					  VUHCA_PIO_CREDIT_BYTES,
					  &dev->credits_dma, GFP_KERNEL);
	return dev->credits ? 0 : -ENOMEM;
}

void vuhca_pio_credits_free(struct vuhca_dev *dev)
{
	dma_free_coherent(&dev->pdev->dev, VUHCA_PIO_CREDIT_BYTES, dev->credits,
			  dev->credits_dma);
}

/* Now that the number is known, the context gets the line with its word. */
int vuhca_pio_set_credit_line(struct vuhca_send_context *sc)
{
	u32 line = sc->number / VUHCA_PIO_LINE_WORDS;
	u64 address = sc->dev->credits_dma + line * VUHCA_PIO_LINE_BYTES;
	struct vuhca_send_context_attributes attributes = {
		.attribute_mask =
			cpu_to_le32(VUHCA_SEND_CONTEXT_MASK_CREDIT_ADDRESS),
		.credit_address = cpu_to_le64(address),
	};
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_MODIFY_SEND_CONTEXT,
		.object = sc->number,
		.payload = &attributes,
		.payload_bytes = sizeof(attributes),
	};
	struct vuhca_answer answer;

	/* Created with the first line, which serves the first eight numbers. */
	return line ? vuhca_admin_execute(sc->dev, &command, &answer) : 0;
}

/* The function has used up its share of the PIO send memory. */
void vuhca_pio_report_share(struct vuhca_dev *dev, unsigned int blocks)
{
	dev_info(&dev->pdev->dev,
		 "no send context of %u blocks: %u of %u contexts and %u of %u blocks are in use\n",
		 blocks, vuhca_read_csr(dev, VUHCA_CSR_SEND_CONTEXTS_IN_USE_OFF),
		 vuhca_read_csr(dev, VUHCA_CSR_SEND_CONTEXTS_OFF),
		 vuhca_read_csr(dev, VUHCA_CSR_SEND_BLOCKS_IN_USE_OFF),
		 vuhca_read_csr(dev, VUHCA_CSR_SEND_BLOCKS_OFF));
}
