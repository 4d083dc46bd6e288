// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * One message without the driver vuhca: enables the function, makes a queue pair by management
 * commands, connects it to itself, posts a receive and a send, rings the doorbell and polls the
 * completion queue. The result is a line of KTAP. docs/PROGRAMMING.md describes each step; `vuhca
 * test --driver guest-tests/example-send` runs it.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <vuhca_hw.h>

#define TRIES 10000

/* Memory that the adapter reads and writes. */
struct raw_send_memory {
	struct vuhca_management_response response;
	struct vuhca_event_entry events[16] __aligned(64);
	struct vuhca_completion_entry completions[16] __aligned(64);
	u8 send_slots[16][64] __aligned(64);
	u8 receive_slots[16][32] __aligned(64);
	struct vuhca_queue_pair_record record __aligned(64);
	struct vuhca_completion_queue_record consumed __aligned(64);
	struct vuhca_send_queue_descriptor descriptor __aligned(64);
};

struct raw_send {
	struct pci_dev *pdev;
	void __iomem *registers;
	void __iomem *collect;
	struct raw_send_memory *memory;
	dma_addr_t dma;
	u32 sequence;
};

/* The bus address of a member of the memory. */
#define AT(my, member) cpu_to_le64((my)->dma + offsetof(struct raw_send_memory, member))

static u32 raw_send_checksum(const __le32 *dwords, size_t count)
{
	u64 sum = 0;

	while (count-- > 0)
		sum += le32_to_cpu(*dwords++);
	sum = (sum & U32_MAX) + (sum >> 32);
	return ~(u32)((sum & U32_MAX) + (sum >> 32));
}

/* Executes a management command. Returns the number of its object, or an error. */
static int raw_send_execute(struct raw_send *my, u32 opcode, u32 object, const void *payload,
			    size_t bytes)
{
	struct vuhca_management_response *response = &my->memory->response;
	u32 lock, sequence = ++my->sequence & 0xffff, tries = 0;
	size_t length = sizeof(struct vuhca_management_command) + bytes;
	u64 words[40] = {};
	struct vuhca_management_command *command = (void *)words;

	vuhca_management_command_set_opcode(command, opcode);
	vuhca_management_command_set_object_number(command, object);
	vuhca_management_command_set_sequence(command, sequence);
	vuhca_management_command_set_collect_length(command, length);
	vuhca_management_command_set_management(command, 1);
	command->response_address = AT(my, response);
	memcpy(command + 1, payload, bytes);
	command->checksum = cpu_to_le32(raw_send_checksum((__le32 *)words, length / 4));

	lock = readl(my->registers + VUHCA_CSR_DEDICATED_LOCK_OFF);
	if (!lock)
		return -EBUSY;
	WRITE_ONCE(response->sequence, 0);
	wmb(); /* The adapter answers after this. */
	__iowrite64_copy(my->collect + readq(my->registers + VUHCA_CSR_DEDICATED_OFFSET_OFF) +
			 (lock - 1) * VUHCA_PAGE_BYTES, words, length / 8);
	while (READ_ONCE(response->sequence) != cpu_to_le32(VUHCA_RESPONSE_VALID | sequence)) {
		if (++tries == TRIES)
			return -ETIMEDOUT;
		usleep_range(100, 1000);
	}
	rmb(); /* The sequence word is written last. */
	writel(lock, my->registers + VUHCA_CSR_DEDICATED_LOCK_OFF);
	if (vuhca_management_response_get_status(response) == VUHCA_MANAGEMENT_STATUS_OK)
		return vuhca_management_response_get_object_number(response);
	dev_err(&my->pdev->dev, "opcode %u: status %u, field at %u\n", opcode,
		vuhca_management_response_get_status(response), le16_to_cpu(response->bad_offset));
	return -EIO;
}

/* Makes a queue pair with the queues that it needs. Returns its number, or an error. */
static int raw_send_create(struct raw_send *my)
{
	struct vuhca_eq_attributes eq = { .queue_address = AT(my, events) };
	struct vuhca_cq_attributes cq = {
		.queue_address = AT(my, completions), .record_address = AT(my, consumed),
	};
	struct vuhca_pd_attributes pd = {};
	struct vuhca_qp_creation qp = {
		.send_queue_address = AT(my, send_slots), .receive_queue_address = AT(my, receive_slots),
		.record_address = AT(my, record), .descriptor_address = AT(my, descriptor),
		.send_entries_log2 = 4, .send_stride_log2 = 6,
		.receive_entries_log2 = 4, .receive_stride_log2 = 5,
	};
	int eqn, cqn, pdn;

	vuhca_eq_attributes_set_entries_log2(&eq, 4);
	eqn = raw_send_execute(my, VUHCA_MANAGEMENT_OPCODE_CREATE_EQ, 0, &eq, sizeof(eq));
	if (eqn < 0)
		return eqn;
	vuhca_cq_attributes_set_entries_log2(&cq, 4);
	vuhca_cq_attributes_set_event_queue(&cq, eqn);
	cqn = raw_send_execute(my, VUHCA_MANAGEMENT_OPCODE_CREATE_CQ, 0, &cq, sizeof(cq));
	if (cqn < 0)
		return cqn;
	pdn = raw_send_execute(my, VUHCA_MANAGEMENT_OPCODE_CREATE_PD, 0, &pd, sizeof(pd));
	if (pdn < 0)
		return pdn;
	my->memory->descriptor.dw0 = cpu_to_le32(U32_MAX); /* The queue is in no list. */
	vuhca_qp_creation_set_pd(&qp, pdn);
	vuhca_qp_creation_set_service_type(&qp, VUHCA_SERVICE_TYPE_RC);
	vuhca_qp_creation_set_send_cq(&qp, cqn);
	vuhca_qp_creation_set_receive_cq(&qp, cqn);
	vuhca_qp_creation_set_checksum_off(&qp, 1);
	return raw_send_execute(my, VUHCA_MANAGEMENT_OPCODE_CREATE_QP, 0, &qp, sizeof(qp));
}

static int raw_send_modify(struct raw_send *my, u32 qpn, u32 state, u32 mask,
			   struct vuhca_qp_attributes *qp)
{
	qp->attribute_mask = cpu_to_le32(VUHCA_QP_MASK_STATE | mask);
	vuhca_qp_attributes_set_state(qp, state);
	return raw_send_execute(my, VUHCA_MANAGEMENT_OPCODE_MODIFY_QP, qpn, qp, sizeof(*qp));
}

/* Connects the queue pair to itself: RESET, INIT, RTR, RTS. */
static int raw_send_connect(struct raw_send *my, u32 qpn)
{
	struct vuhca_qp_attributes init = {}, rtr = {}, rts = {};
	struct vuhca_address_handle *path = (void *)rtr.address_vector;
	int err;

	vuhca_qp_attributes_set_port(&init, 1);
	err = raw_send_modify(my, qpn, VUHCA_QP_STATE_INIT,
			    VUHCA_QP_MASK_PORT | VUHCA_QP_MASK_PKEY_INDEX | VUHCA_QP_MASK_ACCESS, &init);
	if (err < 0)
		return err;
	vuhca_address_handle_set_valid(path, 1);
	vuhca_address_handle_set_port(path, 1);
	vuhca_address_handle_set_dlid(path, readl(my->registers + VUHCA_CSR_PORT_LID_OFF));
	vuhca_qp_attributes_set_remote_qpn(&rtr, qpn);
	vuhca_qp_attributes_set_path_mtu(&rtr, 5);
	err = raw_send_modify(my, qpn, VUHCA_QP_STATE_RTR,
			    VUHCA_QP_MASK_ADDRESS_VECTOR | VUHCA_QP_MASK_PATH_MTU | VUHCA_QP_MASK_REMOTE_QPN |
			    VUHCA_QP_MASK_RECEIVE_PSN | VUHCA_QP_MASK_MAX_READS_SERVED |
			    VUHCA_QP_MASK_MIN_RNR_TIMER, &rtr);
	if (err < 0)
		return err;
	vuhca_qp_attributes_set_timeout(&rts, 14);
	vuhca_qp_attributes_set_retry_count(&rts, 7);
	vuhca_qp_attributes_set_rnr_retry(&rts, 7);
	return raw_send_modify(my, qpn, VUHCA_QP_STATE_RTS,
			     VUHCA_QP_MASK_SEND_PSN | VUHCA_QP_MASK_TIMEOUT | VUHCA_QP_MASK_RETRY_COUNT |
			     VUHCA_QP_MASK_RNR_RETRY | VUHCA_QP_MASK_MAX_READS_INITIATED, &rts);
}

/* Posts an empty receive and a SEND with immediate data, and rings the doorbell. */
static void raw_send_post(struct raw_send *my, u32 qpn)
{
	struct vuhca_send_command *send = (void *)my->memory->send_slots[0];
	struct vuhca_doorbell doorbell = {};
	u64 word;

	my->memory->record.receive_tail = cpu_to_le16(1);
	vuhca_send_command_set_opcode(send, VUHCA_SEND_OPCODE_SEND_IMMEDIATE);
	vuhca_send_command_set_qpn(send, qpn);
	vuhca_send_command_set_collect_length(send, sizeof(*send));
	vuhca_send_command_set_signaled(send, 1);
	send->immediate = cpu_to_le32(42);
	wmb(); /* The slots before the tail, */
	my->memory->record.send_tail = cpu_to_le16(1);
	wmb(); /* and the tail before the doorbell. */
	vuhca_doorbell_set_qpn(&doorbell, qpn);
	memcpy(&word, &doorbell, sizeof(word));
	__iowrite64_copy(my->registers + VUHCA_CSR_SEND_DOORBELL_OFF, &word, 1);
}

/* Waits for the completions of the send and of the receive. */
static bool raw_send_poll(struct raw_send *my)
{
	bool arrived = false;
	u32 done = 0, tries = 0;

	while (done < 2) {
		struct vuhca_completion_entry *entry = &my->memory->completions[done];

		if (READ_ONCE(entry->sequence) != cpu_to_le32(done + 1)) {
			if (++tries == TRIES)
				return false;
			usleep_range(100, 1000);
			continue;
		}
		rmb(); /* The sequence word is written last. */
		if (vuhca_completion_entry_get_status(entry) != VUHCA_COMPLETION_STATUS_SUCCESS)
			return false;
		if (vuhca_completion_entry_get_receive(entry))
			arrived = le32_to_cpu(entry->immediate) == 42;
		my->memory->consumed.consumed = cpu_to_le32(++done);
	}
	return arrived;
}

static bool raw_send_is_up(struct raw_send *my)
{
	u32 tries;

	for (tries = 0; tries < TRIES; tries++) {
		if (readl(my->registers + VUHCA_CSR_PORT_STATE_OFF) == VUHCA_PORT_STATE_ACTIVE)
			return true;
		usleep_range(1000, 2000);
	}
	return false;
}

static int raw_send_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct raw_send *my = devm_kzalloc(&pdev->dev, sizeof(*my), GFP_KERNEL);
	int ret = pcim_enable_device(pdev);

	if (!my || ret)
		return my ? ret : -ENOMEM;
	my->pdev = pdev;
	ret = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	if (ret)
		return ret;
	my->registers = pcim_iomap(pdev, VUHCA_BAR_REGISTERS, 0);
	my->collect = pcim_iomap(pdev, VUHCA_BAR_COLLECT, 0);
	my->memory = dmam_alloc_coherent(&pdev->dev, sizeof(*my->memory), &my->dma, GFP_KERNEL);
	if (!my->registers || !my->collect || !my->memory)
		return -ENOMEM;
	if (readl(my->registers + VUHCA_CSR_IDENTITY_OFF) != VUHCA_IDENTITY_MAGIC ||
	    readq(my->registers + VUHCA_CSR_LAYOUT_HASH_OFF) != VUHCA_LAYOUT_HASH)
		return -ENODEV;
	pci_set_drvdata(pdev, my);
	pci_set_master(pdev);
	writel(VUHCA_CSR_DEVICE_CONTROL_ENABLE_MASK, my->registers + VUHCA_CSR_DEVICE_CONTROL_OFF);
	if (!raw_send_is_up(my))
		return -ETIMEDOUT;
	ret = raw_send_create(my);
	if (ret < 0)
		return ret;
	if (raw_send_connect(my, ret) == ret)
		raw_send_post(my, ret);
	pr_info("KTAP version 1\n1..1\n");
	pr_info("%sok 1 send\n", raw_send_poll(my) ? "" : "not ");
	return 0;
}

/* From now on the adapter does not use the memory. */
static void raw_send_remove(struct pci_dev *pdev)
{
	struct raw_send *my = pci_get_drvdata(pdev);

	writel(VUHCA_CSR_DEVICE_CONTROL_RESET_MASK, my->registers + VUHCA_CSR_DEVICE_CONTROL_OFF);
	while (!(readl(my->registers + VUHCA_CSR_DEVICE_STATUS_OFF) & VUHCA_CSR_DEVICE_STATUS_READY_MASK))
		usleep_range(100, 1000);
	pci_clear_master(pdev);
}

static const struct pci_device_id raw_send_ids[] = {
	{ PCI_DEVICE(VUHCA_VENDOR_ID, VUHCA_DEVICE_ID_PF) },
	{ }
};
MODULE_DEVICE_TABLE(pci, raw_send_ids);

static struct pci_driver raw_send_driver = {
	.name = "raw_send",
	.id_table = raw_send_ids,
	.probe = raw_send_probe,
	.remove = raw_send_remove,
};
module_pci_driver(raw_send_driver);
MODULE_LICENSE("Dual BSD/GPL");
MODULE_DESCRIPTION("Sends a message to itself");
