// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Event queues. Number 0 takes asynchronous and management events. The others
 * take completion events; there is one for each CPU as far as there are
 * vectors.
 */
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>

#include "vuhca_internal.h"

/*
 * log2 of the entries of event queue 0, and of the others, which have room for
 * an event of each CQ.
 */
#define VUHCA_ASYNC_EQ_LOG2		13
#define VUHCA_COMPLETION_EQ_LOG2	14

static int vuhca_eq_alloc(struct vuhca_dev *dev, unsigned int index)
{
	struct vuhca_eq *eq = &dev->eqs[index];
	int err;

	eq->dev = dev;
	eq->index = index;
	eq->entries_log2 = index ? VUHCA_COMPLETION_EQ_LOG2 :
				   VUHCA_ASYNC_EQ_LOG2;
	spin_lock_init(&eq->lock);
	INIT_LIST_HEAD(&eq->seen);
	eq->entries = dma_alloc_coherent(&dev->pdev->dev,
					 sizeof(*eq->entries) << eq->entries_log2,
					 &eq->entries_dma, GFP_KERNEL);
	if (!eq->entries)
		return -ENOMEM;
	err = vuhca_poller_alloc(eq);
	if (err)
		goto free_entries;
	eq->irq = pci_irq_vector(dev->pdev, index);
	snprintf(eq->name, sizeof(eq->name), VUHCA_NAME "-%s-%u",
		 pci_name(dev->pdev), index);
	err = request_irq(eq->irq, vuhca_eq_interrupt, 0, eq->name, eq);
	if (err)
		goto free_summary;
	return 0;

free_summary:
	vuhca_poller_free(eq);
free_entries:
	dma_free_coherent(&dev->pdev->dev,
			  sizeof(*eq->entries) << eq->entries_log2,
			  eq->entries, eq->entries_dma);
	return err;
}

static void vuhca_eq_free(struct vuhca_eq *eq)
{
	free_irq(eq->irq, eq);
	vuhca_poller_free(eq);
	dma_free_coherent(&eq->dev->pdev->dev,
			  sizeof(*eq->entries) << eq->entries_log2,
			  eq->entries, eq->entries_dma);
}

/* Allocates vectors, interrupts and memory, which stay across resets. */
int vuhca_eqs_alloc(struct vuhca_dev *dev)
{
	unsigned int wanted = 1 + num_online_cpus();
	unsigned int i;
	int count, err;

	/* With two vectors or more, event queue 0 has a vector of its own. */
	count = pci_alloc_irq_vectors(dev->pdev, 2, wanted, PCI_IRQ_MSIX);
	if (count < 0) {
		dev_err(&dev->pdev->dev, "no MSI-X vectors: %d\n", count);
		return count;
	}
	dev->eqs = kcalloc(count, sizeof(*dev->eqs), GFP_KERNEL);
	err = dev->eqs ? 0 : -ENOMEM;
	for (i = 0; !err && i < count; i++) {
		err = vuhca_eq_alloc(dev, i);
		dev->eq_count = err ? i : i + 1;
	}
	if (err)
		vuhca_eqs_free(dev);
	return err;
}

void vuhca_eqs_free(struct vuhca_dev *dev)
{
	while (dev->eq_count)
		vuhca_eq_free(&dev->eqs[--dev->eq_count]);
	kfree(dev->eqs);
	dev->eqs = NULL;
	pci_free_irq_vectors(dev->pdev);
}

static int vuhca_eq_create(struct vuhca_eq *eq)
{
	struct vuhca_eq_attributes attributes = {};
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_CREATE_EQ,
		.payload = &attributes,
		.payload_bytes = sizeof(attributes),
	};
	struct vuhca_answer answer;
	int err;

	memset(eq->entries, 0, sizeof(*eq->entries) << eq->entries_log2);
	eq->consumed = 0;
	eq->suspected = false;
	attributes.queue_address = cpu_to_le64(eq->entries_dma);
	vuhca_eq_attributes_set_entries_log2(&attributes, eq->entries_log2);
	vuhca_eq_attributes_set_asynchronous(&attributes, eq->index == 0);
	attributes.vector = cpu_to_le16(eq->index);
	attributes.controls = VUHCA_EQ_CONTROL_INTERRUPT;
	vuhca_poller_describe(eq, &attributes);
	err = vuhca_admin_execute(eq->dev, &command, &answer);
	if (err)
		return err;
	spin_lock_irq(&eq->lock);
	eq->eqn = answer.object;
	spin_unlock_irq(&eq->lock);
	return 0;
}

static int vuhca_eq_destroy(struct vuhca_eq *eq)
{
	u32 eqn = eq->eqn;

	spin_lock_irq(&eq->lock);
	eq->eqn = 0;
	spin_unlock_irq(&eq->lock);
	if (!eqn)
		return 0;
	return vuhca_admin_destroy(eq->dev, VUHCA_MANAGEMENT_OPCODE_DESTROY_EQ,
				   eqn, eq->dev->generation);
}

int vuhca_eqs_create(struct vuhca_dev *dev)
{
	unsigned int i;
	int err;

	for (i = 0; i < dev->eq_count; i++) {
		err = vuhca_eq_create(&dev->eqs[i]);
		if (err) {
			dev_err(&dev->pdev->dev,
				"event queue %u was not created: %d\n", i, err);
			vuhca_eqs_destroy(dev);
			return err;
		}
	}
	vuhca_admin_set_event_queue(dev, dev->eqs[0].eqn);
	return 0;
}

void vuhca_eqs_destroy(struct vuhca_dev *dev)
{
	unsigned int i;

	/*
	 * Stop management events first: their queue is about to be destroyed.
	 */
	vuhca_admin_set_event_queue(dev, 0);
	for (i = dev->eq_count; i-- > 0;)
		if (vuhca_eq_destroy(&dev->eqs[i]))
			dev_warn(&dev->pdev->dev,
				 "event queue %u was not destroyed\n", i);
}

/* After this call no handler runs until the queues are created again. */
void vuhca_eqs_quiesce(struct vuhca_dev *dev)
{
	unsigned int i;

	timer_delete_sync(&dev->deadman);
	cancel_work_sync(&dev->eq_recovery);
	for (i = 0; i < dev->eq_count; i++) {
		spin_lock_irq(&dev->eqs[i].lock);
		dev->eqs[i].eqn = 0;
		spin_unlock_irq(&dev->eqs[i].lock);
		synchronize_irq(dev->eqs[i].irq);
		cancel_work_sync(&dev->eqs[i].poller.work);
	}
}
