// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The management path. A command is written to a dedicated collect buffer and
 * answered in memory; the driver has one command at a time. A caller gets an answer
 * or an error within a bounded time: the response is first polled for a short
 * time, then awaited by event where there is an event queue, and read once more
 * when no event came.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/iopoll.h>

#include "vuhca_internal.h"

#define VUHCA_ADMIN_SPIN_US		100
/*
 * After this time without an event the response is read. The deadman finds an
 * event with a lost interrupt earlier.
 */
#define VUHCA_ADMIN_EVENT_MS		5000

int vuhca_admin_init(struct vuhca_dev *dev)
{
	struct vuhca_admin *admin = &dev->admin;

	mutex_init(&admin->lock);
	init_completion(&admin->done);
	admin->response = dma_alloc_coherent(&dev->pdev->dev,
					     sizeof(*admin->response),
					     &admin->response_dma, GFP_KERNEL);
	return admin->response ? 0 : -ENOMEM;
}

void vuhca_admin_cleanup(struct vuhca_dev *dev)
{
	struct vuhca_admin *admin = &dev->admin;

	dma_free_coherent(&dev->pdev->dev, sizeof(*admin->response),
			  admin->response, admin->response_dma);
	mutex_destroy(&admin->lock);
}

/* Event handler: the adapter has written the response of a command. */
void vuhca_admin_event(struct vuhca_dev *dev,
		       const struct vuhca_event_entry *entry)
{
	u16 sequence = vuhca_event_entry_get_object_number(entry);

	if (sequence == READ_ONCE(dev->admin.sequence))
		complete(&dev->admin.done);
}

/*
 * Wakes a command that waits for its answer; it then reads the device's state.
 */
void vuhca_admin_abort(struct vuhca_dev *dev)
{
	complete(&dev->admin.done);
}

/* Sets the event queue that reports later answers; 0: answers are polled. */
void vuhca_admin_set_event_queue(struct vuhca_dev *dev, u32 eqn)
{
	mutex_lock(&dev->admin.lock);
	dev->admin.event_queue = eqn;
	mutex_unlock(&dev->admin.lock);
}

/**
 * vuhca_admin_seal() - Fill in the checksum of a management command.
 * @bytes: Command that is complete but for its checksum.
 * @length: Length of @bytes.
 *
 * Context: Any context.
 */
void vuhca_admin_seal(void *bytes, size_t length)
{
	struct vuhca_management_command *header = bytes;

	header->checksum = 0;
	header->checksum = cpu_to_le32(vuhca_checksum(bytes, length, 0));
}
EXPORT_SYMBOL_GPL(vuhca_admin_seal);

/**
 * vuhca_admin_prepare() - Lay out a management command with the next sequence
 *	number.
 * @dev: Function of the adapter.
 * @command: Command.
 * @bytes: Room of VUHCA_COMMAND_MAX_BYTES.
 *
 * Context: The caller holds dev->admin.lock until the command has been
 *	submitted.
 * Return: Length of the command.
 */
size_t vuhca_admin_prepare(struct vuhca_dev *dev,
			   const struct vuhca_command *command, void *bytes)
{
	struct vuhca_management_command *header = bytes;
	struct vuhca_admin *admin = &dev->admin;
	size_t length = sizeof(*header) + ALIGN(command->payload_bytes, 8);

	lockdep_assert_held(&admin->lock);
	memset(bytes, 0, length);
	WRITE_ONCE(admin->sequence, admin->sequence + 1);
	vuhca_management_command_set_opcode(header, command->opcode);
	vuhca_management_command_set_object_number(header, command->object);
	vuhca_management_command_set_sequence(header, admin->sequence);
	vuhca_management_command_set_collect_length(header, length);
	vuhca_management_command_set_management(header, 1);
	vuhca_management_command_set_notify(header, !!admin->event_queue);
	vuhca_management_command_set_event_queue(header, admin->event_queue);
	header->modifier = cpu_to_le32(command->modifier);
	header->response_address = cpu_to_le64(admin->response_dma);
	header->token = cpu_to_le64(command->token);
	if (command->payload_bytes)
		memcpy(header + 1, command->payload, command->payload_bytes);
	vuhca_admin_seal(bytes, length);
	return length;
}
EXPORT_SYMBOL_GPL(vuhca_admin_prepare);

/* Takes the first free dedicated collect buffer; its number is @buffer, from 1. */
static int vuhca_admin_take(struct vuhca_dev *dev, u32 *buffer)
{
	void __iomem *lock = dev->csr + VUHCA_CSR_DEDICATED_LOCK_OFF;
	u32 taken;

	/*
	 * A function that is gone reads all ones, which differs from a taken
	 * lock.
	 */
	if (readl_poll_timeout(lock, taken, taken, 20,
			       VUHCA_BOUND_MS * USEC_PER_MSEC)) {
		dev_err(&dev->pdev->dev,
			"the dedicated collect buffers stayed locked\n");
		return -EBUSY;
	}
	*buffer = taken;
	if (taken <= VUHCA_DEDICATED_MAX)
		return 0;
	vuhca_check_gone(dev);
	return -ENODEV;
}

static bool vuhca_admin_answered(struct vuhca_admin *admin)
{
	u32 wanted = VUHCA_RESPONSE_VALID | admin->sequence;

	return le32_to_cpu(READ_ONCE(admin->response->sequence)) == wanted;
}

static bool vuhca_admin_spin(struct vuhca_admin *admin)
{
	ktime_t end = ktime_add_us(ktime_get(), VUHCA_ADMIN_SPIN_US);

	while (!vuhca_admin_answered(admin)) {
		if (ktime_after(ktime_get(), end))
			return false;
		cpu_relax();
	}
	return true;
}

/* Returns 0 when the response is there, -EIO when a reset came meanwhile. */
static int vuhca_admin_wait(struct vuhca_dev *dev)
{
	unsigned long end = jiffies + msecs_to_jiffies(VUHCA_BOUND_MS);
	unsigned long slice = msecs_to_jiffies(VUHCA_ADMIN_EVENT_MS);
	struct vuhca_admin *admin = &dev->admin;
	bool late = false;

	if (vuhca_admin_spin(admin))
		return 0;
	for (;;) {
		bool event = false;

		if (admin->event_queue)
			event = wait_for_completion_timeout(&admin->done, slice);
		else
			usleep_range(50, 200);
		if (vuhca_admin_answered(admin)) {
			if (admin->event_queue && !event)
				admin->missed_events++;
			return 0;
		}
		if (READ_ONCE(dev->state) == VUHCA_DEV_DOWN)
			return -EIO;
		if (vuhca_check_gone(dev))
			return -ENODEV;
		/*
		 * The read in vuhca_check_gone() waits for an adapter that is
		 * stopped at a breakpoint; it then answers within another
		 * slice.
		 */
		if (late)
			return -ETIMEDOUT;
		late = time_after(jiffies, end);
	}
}

static void vuhca_admin_read(struct vuhca_admin *admin,
			     struct vuhca_answer *answer)
{
	const struct vuhca_management_response *response = admin->response;

	/* Read the body after the sequence word that makes it valid. */
	dma_rmb();
	answer->status = vuhca_management_response_get_status(response);
	answer->object = vuhca_management_response_get_object_number(response);
	answer->bad_offset = le16_to_cpu(response->bad_offset);
	answer->limit = le64_to_cpu(response->limit);
	memcpy(answer->payload, response->payload, sizeof(answer->payload));
}

/**
 * vuhca_admin_submit() - Send a prepared command and wait for its answer.
 * @dev: Function of the adapter.
 * @bytes: Command, aligned to 8 bytes.
 * @length: Length of @bytes, a multiple of 8.
 * @answer: Receives the answer.
 *
 * Context: May sleep. The caller holds dev->admin.lock.
 * Return: 0 when there is an answer, of whatever status; -ENODEV: the device is
 *	gone; -EIO: a reset came; -EBUSY: all dedicated buffers stayed locked;
 *	-ETIMEDOUT: no answer.
 */
int vuhca_admin_submit(struct vuhca_dev *dev, const void *bytes, size_t length,
		       struct vuhca_answer *answer)
{
	struct vuhca_admin *admin = &dev->admin;
	enum vuhca_dev_state state = READ_ONCE(dev->state);
	__le64 cancel = cpu_to_le64((u64)VUHCA_CANCEL_VALUE_HIGH << 32);
	u8 __iomem *page;
	u32 buffer;
	int err;

	lockdep_assert_held(&admin->lock);
	if (state != VUHCA_DEV_STARTING && state != VUHCA_DEV_UP)
		return state == VUHCA_DEV_GONE ? -ENODEV : -EIO;
	err = vuhca_admin_take(dev, &buffer);
	if (err)
		return err;
	page = dev->dedicated + (buffer - 1) * VUHCA_PAGE_BYTES;

	reinit_completion(&admin->done);
	WRITE_ONCE(admin->response->sequence, 0);
	/* The cleared word must be visible before the command can execute. */
	wmb();
	__iowrite64_copy(page, bytes, length / 8);
	/* Drain write-combining, or the tail of the command may be delayed. */
	wmb();
	err = vuhca_admin_wait(dev);
	if (err) {
		/*
		 * A half-written command must not become part of the next one.
		 */
		vuhca_write_eight(page + VUHCA_CANCEL_OFFSET, &cancel);
		/* Cancel before the lock is released. */
		wmb();
	}
	vuhca_write_csr(dev, VUHCA_CSR_DEDICATED_LOCK_OFF, buffer);

	admin->commands++;
	if (err == -ETIMEDOUT)
		admin->timeouts++;
	if (!err)
		vuhca_admin_read(admin, answer);
	return err;
}
EXPORT_SYMBOL_GPL(vuhca_admin_submit);
