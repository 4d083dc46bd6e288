// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Trace: the adapter keeps command blocks of a QP's messages in a wrapping
 * queue of its own, to be read while it runs. -EOPNOTSUPP from an adapter that
 * keeps none.
 */
#include "vuhca.h"

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

/* Enables, with a size of the queue and a snap length, or disables. */
int vuhca_modify_trace(struct vuhca_qp *qp,
		       const struct vuhca_trace_attributes *attributes)
{
	return vuhca_trace_command(qp, VUHCA_MANAGEMENT_OPCODE_MODIFY_TRACE,
				   attributes, NULL);
}
EXPORT_SYMBOL_GPL(vuhca_modify_trace);

int vuhca_query_trace(struct vuhca_qp *qp,
		      struct vuhca_trace_attributes *attributes)
{
	return vuhca_trace_command(qp, VUHCA_MANAGEMENT_OPCODE_QUERY_TRACE,
				   NULL, attributes);
}
EXPORT_SYMBOL_GPL(vuhca_query_trace);

/*
 * Has command blocks from @position on written to @buffer, each followed by the
 * packets kept of it; attributes->position is the next one to ask for.
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
