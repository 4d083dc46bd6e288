// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Event queues: number 0 takes asynchronous and management events, the others
 * take completion events, one per CPU as far as there are vectors. Entries are
 * consumed in the interrupt handler. A slow timer looks for events whose
 * interrupt got lost or was held back by the adapter's event timers.
 */
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>

#include "vuhca.h"

#define VUHCA_EQ_ENTRIES_LOG2	10
#define VUHCA_DEADMAN_MS	500

static struct vuhca_event_entry *vuhca_eq_next(struct vuhca_eq *eq)
{
	u32 slot = eq->consumed & (BIT(eq->entries_log2) - 1);
	struct vuhca_event_entry *entry = eq->entries + slot;

	if (le32_to_cpu(READ_ONCE(entry->sequence)) != eq->consumed + 1)
		return NULL;
	/* The body is read after the sequence word that made it valid. */
	dma_rmb();
	return entry;
}

static void vuhca_eq_give_back(struct vuhca_eq *eq)
{
	struct vuhca_eq_consumer word = {};

	vuhca_eq_consumer_set_eqn(&word, eq->eqn);
	word.consumed = cpu_to_le32(eq->consumed);
	vuhca_write_eight(eq->dev->csr + VUHCA_CSR_EQ_CONSUMER_OFF, &word);
}

static void vuhca_cq_event(struct vuhca_dev *dev,
			   const struct vuhca_event_entry *entry)
{
	u32 cqn = vuhca_event_entry_get_object_number(entry);
	struct vuhca_cq *cq = xa_load(&dev->cqs, cqn);

	if (!cq)
		return;
	if (entry->event_type == VUHCA_EVENT_TYPE_COMPLETION) {
		if (cq->completion)
			cq->completion(cq, cq->context);
	} else if (cq->event) {
		cq->event(entry->event_type, entry->fault_kind, cq->context);
	}
}

static void vuhca_qp_event(struct vuhca_dev *dev,
			   const struct vuhca_event_entry *entry)
{
	u32 qpn = vuhca_event_entry_get_object_number(entry);
	struct vuhca_qp *qp = xa_load(&dev->qps, qpn);

	if (qp && qp->event)
		qp->event(entry->event_type, entry->fault_kind, qp->context);
}

static void vuhca_eq_dispatch(struct vuhca_eq *eq,
			      const struct vuhca_event_entry *entry)
{
	struct vuhca_dev *dev = eq->dev;
	u32 object = vuhca_event_entry_get_object_number(entry);

	switch (entry->event_type) {
	case VUHCA_EVENT_TYPE_COMPLETION:
	case VUHCA_EVENT_TYPE_CQ_ERROR:
		vuhca_cq_event(dev, entry);
		break;
	case VUHCA_EVENT_TYPE_MANAGEMENT_COMPLETE:
		vuhca_admin_event(dev, object);
		break;
	case VUHCA_EVENT_TYPE_QP_FATAL:
	case VUHCA_EVENT_TYPE_QP_REQUEST_ERROR:
	case VUHCA_EVENT_TYPE_QP_ACCESS_ERROR:
	case VUHCA_EVENT_TYPE_COMMUNICATION_ESTABLISHED:
	case VUHCA_EVENT_TYPE_SEND_QUEUE_DRAINED:
	case VUHCA_EVENT_TYPE_PATH_MIGRATED:
	case VUHCA_EVENT_TYPE_LAST_WQE_REACHED:
		vuhca_qp_event(dev, entry);
		break;
	case VUHCA_EVENT_TYPE_EQ_ERROR:
	case VUHCA_EVENT_TYPE_DEVICE_FATAL:
		dev_err_ratelimited(&dev->pdev->dev,
				    "event %u, object %u, cause %u\n",
				    entry->event_type, object,
				    entry->fault_kind);
		break;
	default:
		dev_dbg(&dev->pdev->dev, "event %u, port %u\n",
			entry->event_type, entry->port);
	}
}

/*
 * Consumes what is there. Handlers run under eq->lock: taking and dropping
 * that lock after an object left its xarray waits for the last handler.
 */
static unsigned int vuhca_eq_process(struct vuhca_eq *eq)
{
	const struct vuhca_event_entry *entry;
	unsigned int count = 0;

	lockdep_assert_held(&eq->lock);
	while ((entry = vuhca_eq_next(eq))) {
		vuhca_eq_dispatch(eq, entry);
		eq->consumed++;
		count++;
		/* Half a queue at a time, so that a storm cannot overrun it. */
		if (!(count & (BIT(eq->entries_log2 - 1) - 1)))
			vuhca_eq_give_back(eq);
	}
	if (count)
		vuhca_eq_give_back(eq);
	eq->events += count;
	return count;
}

static irqreturn_t vuhca_eq_interrupt(int irq, void *data)
{
	struct vuhca_eq *eq = data;
	unsigned long flags;

	spin_lock_irqsave(&eq->lock, flags);
	eq->interrupts++;
	if (!eq->eqn || !vuhca_eq_process(eq))
		eq->empty_interrupts++;
	spin_unlock_irqrestore(&eq->lock, flags);
	/* MSI-X vectors are never shared, so an empty one is still ours. */
	return IRQ_HANDLED;
}

static void vuhca_eq_check(struct vuhca_eq *eq)
{
	unsigned long flags;

	spin_lock_irqsave(&eq->lock, flags);
	if (!eq->eqn || !vuhca_eq_next(eq)) {
		eq->suspect = 0;
	} else if (eq->suspect == eq->consumed + 1) {
		/* Seen at two ticks: its interrupt is not going to come. */
		eq->stranded++;
		vuhca_eq_process(eq);
		eq->suspect = 0;
	} else {
		eq->suspect = eq->consumed + 1;
	}
	spin_unlock_irqrestore(&eq->lock, flags);
}

void vuhca_deadman(struct timer_list *timer)
{
	struct vuhca_dev *dev = from_timer(dev, timer, deadman);
	unsigned int i;

	if (!vuhca_is_up(dev))
		return;
	for (i = 0; i < dev->eq_count; i++)
		vuhca_eq_check(&dev->eqs[i]);
	mod_timer(timer, jiffies + msecs_to_jiffies(VUHCA_DEADMAN_MS));
}

static int vuhca_eq_alloc(struct vuhca_dev *dev, unsigned int index)
{
	struct vuhca_eq *eq = &dev->eqs[index];
	int err;

	eq->dev = dev;
	eq->index = index;
	eq->entries_log2 = VUHCA_EQ_ENTRIES_LOG2;
	spin_lock_init(&eq->lock);
	eq->entries = dma_alloc_coherent(&dev->pdev->dev,
					 sizeof(*eq->entries) << eq->entries_log2,
					 &eq->entries_dma, GFP_KERNEL);
	if (!eq->entries)
		return -ENOMEM;
	eq->irq = pci_irq_vector(dev->pdev, index);
	snprintf(eq->name, sizeof(eq->name), VUHCA_NAME "-%s-%u",
		 pci_name(dev->pdev), index);
	err = request_irq(eq->irq, vuhca_eq_interrupt, 0, eq->name, eq);
	if (err)
		dma_free_coherent(&dev->pdev->dev,
				  sizeof(*eq->entries) << eq->entries_log2,
				  eq->entries, eq->entries_dma);
	return err;
}

static void vuhca_eq_free(struct vuhca_eq *eq)
{
	free_irq(eq->irq, eq);
	dma_free_coherent(&eq->dev->pdev->dev,
			  sizeof(*eq->entries) << eq->entries_log2,
			  eq->entries, eq->entries_dma);
}

/* Vectors, interrupts and memory, which outlive resets. */
int vuhca_eqs_alloc(struct vuhca_dev *dev)
{
	unsigned int wanted = 1 + num_online_cpus();
	unsigned int i;
	int count, err;

	/* With two vectors at least, event queue 0 need not share its own. */
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
	eq->suspect = 0;
	attributes.queue_address = cpu_to_le64(eq->entries_dma);
	vuhca_eq_attributes_set_entries_log2(&attributes, eq->entries_log2);
	vuhca_eq_attributes_set_asynchronous(&attributes, eq->index == 0);
	attributes.vector = cpu_to_le16(eq->index);
	attributes.controls = VUHCA_EQ_CONTROL_INTERRUPT;
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
	mutex_lock(&dev->admin.lock);
	dev->admin.event_queue = dev->eqs[0].eqn;
	mutex_unlock(&dev->admin.lock);
	return 0;
}

void vuhca_eqs_destroy(struct vuhca_dev *dev)
{
	unsigned int i;

	/* The management events go first: their queue is about to. */
	mutex_lock(&dev->admin.lock);
	dev->admin.event_queue = 0;
	mutex_unlock(&dev->admin.lock);
	for (i = dev->eq_count; i-- > 0;)
		if (vuhca_eq_destroy(&dev->eqs[i]))
			dev_warn(&dev->pdev->dev,
				 "event queue %u was not destroyed\n", i);
}

/* After this, no handler runs until the queues are created anew. */
void vuhca_eqs_quiesce(struct vuhca_dev *dev)
{
	unsigned int i;

	timer_delete_sync(&dev->deadman);
	for (i = 0; i < dev->eq_count; i++) {
		spin_lock_irq(&dev->eqs[i].lock);
		dev->eqs[i].eqn = 0;
		spin_unlock_irq(&dev->eqs[i].lock);
		synchronize_irq(dev->eqs[i].irq);
	}
}
