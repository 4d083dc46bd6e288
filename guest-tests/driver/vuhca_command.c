// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Management commands as the rest of the driver uses them: executed, with their
 * status turned into an error number.
 */
#include "vuhca_internal.h"

static const int vuhca_status_errno[] = {
	[VUHCA_MANAGEMENT_STATUS_OK]		= 0,
	[VUHCA_MANAGEMENT_STATUS_BAD_OPCODE]	= -EOPNOTSUPP,
	[VUHCA_MANAGEMENT_STATUS_BAD_LENGTH]	= -EMSGSIZE,
	[VUHCA_MANAGEMENT_STATUS_BAD_CHECKSUM]	= -EBADMSG,
	[VUHCA_MANAGEMENT_STATUS_BAD_OBJECT]	= -ENOENT,
	[VUHCA_MANAGEMENT_STATUS_BAD_FIELD]	= -EINVAL,
	[VUHCA_MANAGEMENT_STATUS_BAD_ADDRESS]	= -EFAULT,
	[VUHCA_MANAGEMENT_STATUS_BAD_STATE]	= -EINVAL,
	[VUHCA_MANAGEMENT_STATUS_IN_USE]	= -EBUSY,
	[VUHCA_MANAGEMENT_STATUS_NO_RESOURCES]	= -ENOMEM,
	[VUHCA_MANAGEMENT_STATUS_NOT_PERMITTED]	= -EPERM,
	[VUHCA_MANAGEMENT_STATUS_UNSUPPORTED]	= -EOPNOTSUPP,
	[VUHCA_MANAGEMENT_STATUS_DISABLED]	= -EIO,
	[VUHCA_MANAGEMENT_STATUS_SHARE_EXCEEDED] = -EDQUOT,
	[VUHCA_MANAGEMENT_STATUS_CONVERGING]	= -EAGAIN,
	[VUHCA_MANAGEMENT_STATUS_NO_TRANSLATIONS] = -ENOMEM,
	[VUHCA_MANAGEMENT_STATUS_SHARE_USED_UP]	= -ENOSPC,
};

static int vuhca_admin_result(struct vuhca_dev *dev,
			      const struct vuhca_command *command,
			      const struct vuhca_answer *answer)
{
	if (answer->status == VUHCA_MANAGEMENT_STATUS_OK)
		return 0;
	dev->admin.refusals++;
	dev_dbg(&dev->pdev->dev,
		"command %#x on object %u: status %u, bad offset %u, limit %llu\n",
		command->opcode, command->object, answer->status,
		answer->bad_offset, answer->limit);
	if (answer->status >= ARRAY_SIZE(vuhca_status_errno))
		return -EIO;
	return vuhca_status_errno[answer->status];
}

/**
 * vuhca_admin_execute() - Execute a management command.
 * @dev: Function of the adapter.
 * @command: Command.
 * @answer: Receives the answer, also that of a refused command.
 *
 * Context: May sleep. Takes dev->admin.lock.
 * Return: 0; the error of vuhca_admin_submit() without an answer; else an error
 *	number for the status of the answer.
 */
int vuhca_admin_execute(struct vuhca_dev *dev,
			const struct vuhca_command *command,
			struct vuhca_answer *answer)
{
	struct vuhca_admin *admin = &dev->admin;
	size_t length;
	int err;

	mutex_lock(&admin->lock);
	length = vuhca_admin_prepare(dev, command, admin->command);
	err = vuhca_admin_submit(dev, admin->command, length, answer);
	mutex_unlock(&admin->lock);
	if (err) {
		dev_err_ratelimited(&dev->pdev->dev,
				    "no answer to command %#x on object %u: %d\n",
				    command->opcode, command->object, err);
		return err;
	}
	return vuhca_admin_result(dev, command, answer);
}
EXPORT_SYMBOL_GPL(vuhca_admin_execute);

/* Destroys an object, unless a reset has destroyed it already. */
int vuhca_admin_destroy(struct vuhca_dev *dev, u8 opcode, u32 object,
			u32 generation)
{
	struct vuhca_command command = { .opcode = opcode, .object = object };
	struct vuhca_answer answer;
	int err;

	if (!vuhca_is_current(dev, generation))
		return 0;
	err = vuhca_admin_execute(dev, &command, &answer);
	/*
	 * A reset or a removal during the wait has destroyed the object, too.
	 */
	if (err == -EIO || err == -ENODEV)
		return 0;
	return err;
}

/**
 * vuhca_query_adapter() - Query the limits of the adapter.
 * @dev: Function of the adapter.
 * @attributes: Receives the limits.
 *
 * Context: May sleep.
 * Return: 0, or the error of vuhca_admin_execute().
 */
int vuhca_query_adapter(struct vuhca_dev *dev,
			struct vuhca_adapter_attributes *attributes)
{
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_QUERY_ADAPTER,
	};
	struct vuhca_answer answer;
	int err;

	err = vuhca_admin_execute(dev, &command, &answer);
	if (!err)
		memcpy(attributes, answer.payload, sizeof(*attributes));
	return err;
}
EXPORT_SYMBOL_GPL(vuhca_query_adapter);

/**
 * vuhca_query_port() - Query the attributes of a port.
 * @dev: Function of the adapter.
 * @port: Number of the port, from 1.
 * @attributes: Receives the attributes.
 *
 * Context: May sleep.
 * Return: 0, or the error of vuhca_admin_execute().
 */
int vuhca_query_port(struct vuhca_dev *dev, u8 port,
		     struct vuhca_port_attributes *attributes)
{
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_QUERY_PORT,
		.modifier = port,
	};
	struct vuhca_answer answer;
	int err;

	err = vuhca_admin_execute(dev, &command, &answer);
	if (!err)
		memcpy(attributes, answer.payload, sizeof(*attributes));
	return err;
}
EXPORT_SYMBOL_GPL(vuhca_query_port);
