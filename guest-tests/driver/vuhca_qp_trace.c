// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Traces: the adapter keeps command blocks of a QP's messages in a wrapping
 * queue of its own, which can be read while it runs (docs/FEATURES.md).
 */
#include "vuhca_internal.h"

static int vuhca_trace_command(struct vuhca_qp *qp, u8 opcode,
			       const struct vuhca_trace_attributes *request,
			       struct vuhca_trace_attributes *attributes)
{
	struct vuhca_command command = {
		.opcode = opcode,
		.object = qp->qpn,
		.payload = request,
		.payload_bytes = request ? sizeof(*request) : 0,
	};
	struct vuhca_answer answer;
	int err;

	if (!vuhca_is_current(qp->dev, qp->generation))
		return -ESTALE;
	err = vuhca_admin_execute(qp->dev, &command, &answer);
	if (!err && attributes)
		memcpy(attributes, answer.payload, sizeof(*attributes));
	return err;
}

/**
 * vuhca_modify_trace() - Enable or disable the trace of a QP.
 * @qp: QP.
 * @attributes: Size of the trace and snap length, or that it is disabled.
 *
 * Context: May sleep.
 * Return: 0; -ESTALE: a reset has destroyed the QP; -EOPNOTSUPP: the adapter
 *	keeps no traces; or the error of vuhca_admin_execute().
 */
int vuhca_modify_trace(struct vuhca_qp *qp,
		       const struct vuhca_trace_attributes *attributes)
{
	return vuhca_trace_command(qp, VUHCA_MANAGEMENT_OPCODE_MODIFY_TRACE,
				   attributes, NULL);
}
EXPORT_SYMBOL_GPL(vuhca_modify_trace);

/**
 * vuhca_query_trace() - Query the trace of a QP.
 * @qp: QP.
 * @attributes: Receives the attributes.
 *
 * Context: May sleep.
 * Return: As of vuhca_modify_trace().
 */
int vuhca_query_trace(struct vuhca_qp *qp,
		      struct vuhca_trace_attributes *attributes)
{
	return vuhca_trace_command(qp, VUHCA_MANAGEMENT_OPCODE_QUERY_TRACE,
				   NULL, attributes);
}
EXPORT_SYMBOL_GPL(vuhca_query_trace);

/**
 * vuhca_read_trace() - Make the adapter write command blocks of a trace to
 *	memory.
 * @qp: QP.
 * @position: First block.
 * @buffer: Bus address of the memory; each block is followed by its packets.
 * @length: Length of the memory.
 * @attributes: Receives the attributes; position is the next block to read.
 *
 * Context: May sleep.
 * Return: As of vuhca_modify_trace().
 */
int vuhca_read_trace(struct vuhca_qp *qp, u64 position, dma_addr_t buffer,
		     u32 length, struct vuhca_trace_attributes *attributes)
{
	struct vuhca_trace_attributes request = {
		.position = cpu_to_le64(position),
		.buffer_address = cpu_to_le64(buffer),
		.buffer_length = cpu_to_le32(length),
	};

	return vuhca_trace_command(qp, VUHCA_MANAGEMENT_OPCODE_READ_TRACE,
				   &request, attributes);
}
EXPORT_SYMBOL_GPL(vuhca_read_trace);
