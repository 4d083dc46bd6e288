// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Management datagrams that the host gives to the agents of the adapter, and
 * services that software of the host offers at a port (IBTA 13.4, 14.2.5.6).
 */
#include <linux/dma-mapping.h>

#include "vuhca_internal.h"

/**
 * vuhca_execute_mad() - Give a management datagram to the agents of a port.
 * @dev: Physical function.
 * @port: Port.
 * @source: Requester, NULL: software of the host.
 * @ignore_mkey: The management key is not checked.
 * @mad: Datagram of VUHCA_MAD_BYTES; receives the response, if there is one.
 * @result: Receives VUHCA_MAD_RESULT_* bits; 0: no agent takes the datagram.
 *
 * Context: May sleep.
 * Return: 0; -ENOMEM; -EPERM: a virtual function; or the error of
 *	vuhca_admin_execute().
 */
int vuhca_execute_mad(struct vuhca_dev *dev, u8 port,
		      const struct vuhca_mad_source *source, bool ignore_mkey,
		      void *mad, u32 *result)
{
	struct vuhca_mad_request request = {};
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_EXECUTE_MAD,
		.modifier = port,
		.payload = &request,
		.payload_bytes = sizeof(request),
	};
	struct vuhca_mad_request *done;
	struct vuhca_answer answer;
	dma_addr_t dma;
	void *buffer;
	int err;

	buffer = dma_alloc_coherent(&dev->pdev->dev, VUHCA_MAD_BYTES, &dma,
				    GFP_KERNEL);
	if (!buffer)
		return -ENOMEM;
	memcpy(buffer, mad, VUHCA_MAD_BYTES);
	request.buffer_address = cpu_to_le64(dma);
	vuhca_mad_request_set_ignore_mkey(&request, ignore_mkey);
	if (source) {
		vuhca_mad_request_set_has_source(&request, 1);
		vuhca_mad_request_set_source_lid(&request, source->lid);
		vuhca_mad_request_set_source_qpn(&request, source->qpn);
		vuhca_mad_request_set_service_level(&request,
						    source->service_level);
	}
	err = vuhca_admin_execute(dev, &command, &answer);
	if (!err) {
		done = (void *)answer.payload;
		*result = le32_to_cpu(done->result);
		memcpy(mad, buffer, VUHCA_MAD_BYTES);
	}
	dma_free_coherent(&dev->pdev->dev, VUHCA_MAD_BYTES, buffer, dma);
	return err;
}
EXPORT_SYMBOL_GPL(vuhca_execute_mad);

/**
 * vuhca_modify_port() - Change the services that software of the host offers at
 *	a port.
 * @dev: Physical function.
 * @port: Port.
 * @set: Bits of the capability mask to set: IsSM, communication, SNMP, device
 *	and vendor management.
 * @clear: Those of the same bits to clear.
 * @reset_qkey_counter: Set the counter of Q_Key violations to 0.
 *
 * The subnet manager gets trap 144.
 *
 * Context: May sleep.
 * Return: 0; -EPERM: a virtual function; or the error of vuhca_admin_execute().
 */
int vuhca_modify_port(struct vuhca_dev *dev, u8 port, u32 set, u32 clear,
		      bool reset_qkey_counter)
{
	struct vuhca_port_changes changes = {
		.capabilities_set = cpu_to_le32(set),
		.capabilities_clear = cpu_to_le32(clear),
	};
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_MODIFY_PORT,
		.modifier = port,
		.payload = &changes,
		.payload_bytes = sizeof(changes),
	};
	struct vuhca_answer answer;

	vuhca_port_changes_set_reset_qkey_counter(&changes, reset_qkey_counter);
	return vuhca_admin_execute(dev, &command, &answer);
}
EXPORT_SYMBOL_GPL(vuhca_modify_port);

/**
 * vuhca_modify_device() - Change the description of the node.
 * @dev: Physical function.
 * @description: Text, cut off at VUHCA_NODE_DESCRIPTION_BYTES.
 *
 * Context: May sleep.
 * Return: 0; -EPERM: a virtual function; or the error of vuhca_admin_execute().
 */
int vuhca_modify_device(struct vuhca_dev *dev, const char *description)
{
	struct vuhca_adapter_changes changes = {};
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_MODIFY_ADAPTER,
		.payload = &changes,
		.payload_bytes = sizeof(changes),
	};
	struct vuhca_answer answer;

	memcpy(changes.node_description, description,
	       strnlen(description, sizeof(changes.node_description)));
	return vuhca_admin_execute(dev, &command, &answer);
}
EXPORT_SYMBOL_GPL(vuhca_modify_device);
