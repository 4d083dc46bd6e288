// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* States and attributes of queue pairs (IBTA 10.3.1). */
#include "vuhca_internal.h"

/* Empties both queues for RESET; counts of software restart at 0. */
static void vuhca_qp_rewind(struct vuhca_qp *qp)
{
	spin_lock_irq(&qp->sq.lock);
	spin_lock(&qp->rq.lock);
	/* Without the mark the adapter ignores the tail. */
	WRITE_ONCE(qp->record->dw1, 0);
	dma_wmb();
	memset(qp->record, 0, sizeof(*qp->record));
	qp->sq.head = 0;
	qp->sq.tail = 0;
	qp->rq.head = 0;
	qp->rq.tail = 0;
	WRITE_ONCE(qp->state, VUHCA_QP_STATE_RESET);
	spin_unlock(&qp->rq.lock);
	spin_unlock_irq(&qp->sq.lock);
}

/**
 * vuhca_modify_qp() - Change the state or the attributes of a QP.
 * @qp: QP.
 * @attributes: Attributes; attribute_mask names those to change.
 *
 * Context: May sleep.
 * Return: 0; -ESTALE: a reset has destroyed the QP; or the error of
 *	vuhca_admin_execute().
 */
int vuhca_modify_qp(struct vuhca_qp *qp,
		    const struct vuhca_qp_attributes *attributes)
{
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_MODIFY_QP,
		.object = qp->qpn,
		.payload = attributes,
		.payload_bytes = sizeof(*attributes),
	};
	u32 mask = le32_to_cpu(attributes->attribute_mask);
	u8 state = vuhca_qp_attributes_get_state(attributes);
	struct vuhca_answer answer;
	int err;

	if (!vuhca_is_current(qp->dev, qp->generation))
		return -ESTALE;
	if (!(mask & VUHCA_QP_MASK_STATE))
		return vuhca_admin_execute(qp->dev, &command, &answer);
	/* The record is zeroed before the command (docs/PROGRAMMING.md). */
	if (state == VUHCA_QP_STATE_RESET)
		vuhca_qp_rewind(qp);
	err = vuhca_admin_execute(qp->dev, &command, &answer);
	if (err)
		return err;
	if (state == VUHCA_QP_STATE_RESET)
		vuhca_clean_cqs(qp);
	WRITE_ONCE(qp->state, state);
	return 0;
}
EXPORT_SYMBOL_GPL(vuhca_modify_qp);

/**
 * vuhca_query_qp() - Query a QP.
 * @qp: QP.
 * @creation: Receives the attributes given at creation.
 * @attributes: Receives the attributes.
 *
 * Context: May sleep.
 * Return: 0; -ESTALE: a reset has destroyed the QP; or the error of
 *	vuhca_admin_execute().
 */
int vuhca_query_qp(struct vuhca_qp *qp, struct vuhca_qp_creation *creation,
		   struct vuhca_qp_attributes *attributes)
{
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_QUERY_QP,
		.object = qp->qpn,
	};
	struct vuhca_answer answer;
	int err;

	if (!vuhca_is_current(qp->dev, qp->generation))
		return -ESTALE;
	err = vuhca_admin_execute(qp->dev, &command, &answer);
	if (err)
		return err;
	memcpy(creation, answer.payload, sizeof(*creation));
	memcpy(attributes, answer.payload + sizeof(*creation),
	       sizeof(*attributes));
	return 0;
}
EXPORT_SYMBOL_GPL(vuhca_query_qp);

/**
 * vuhca_qp_to_init() - Take a UD, SMI or GSI QP from RESET to INIT.
 * @qp: QP.
 * @port: Port of a UD QP; the others keep the port of their creation.
 * @pkey_index: Entry of the port's P_Key table.
 * @qkey: Q_Key.
 *
 * Context: May sleep.
 * Return: 0, or the error of vuhca_modify_qp().
 */
int vuhca_qp_to_init(struct vuhca_qp *qp, u8 port, u16 pkey_index, u32 qkey)
{
	struct vuhca_qp_attributes attributes = {
		.qkey = cpu_to_le32(qkey),
	};
	u32 mask = VUHCA_QP_MASK_STATE | VUHCA_QP_MASK_PKEY_INDEX |
		   VUHCA_QP_MASK_QKEY;

	if (!qp->special_port) {
		mask |= VUHCA_QP_MASK_PORT;
		vuhca_qp_attributes_set_port(&attributes, port);
		vuhca_qp_attributes_set_port_high(&attributes, port >> 2);
	}
	attributes.attribute_mask = cpu_to_le32(mask);
	vuhca_qp_attributes_set_state(&attributes, VUHCA_QP_STATE_INIT);
	vuhca_qp_attributes_set_pkey_index(&attributes, pkey_index);
	return vuhca_modify_qp(qp, &attributes);
}
EXPORT_SYMBOL_GPL(vuhca_qp_to_init);

/**
 * vuhca_qp_to_rtr() - Take a UD QP from INIT to RTR.
 * @qp: QP.
 *
 * Context: May sleep.
 * Return: 0, or the error of vuhca_modify_qp().
 */
int vuhca_qp_to_rtr(struct vuhca_qp *qp)
{
	return vuhca_qp_to_state(qp, VUHCA_QP_STATE_RTR);
}
EXPORT_SYMBOL_GPL(vuhca_qp_to_rtr);

/**
 * vuhca_qp_to_rts() - Take a UD QP from RTR to RTS.
 * @qp: QP.
 * @psn: First PSN sent.
 *
 * Context: May sleep.
 * Return: 0, or the error of vuhca_modify_qp().
 */
int vuhca_qp_to_rts(struct vuhca_qp *qp, u32 psn)
{
	struct vuhca_qp_attributes attributes = {
		.attribute_mask = cpu_to_le32(VUHCA_QP_MASK_STATE |
					      VUHCA_QP_MASK_SEND_PSN),
	};

	vuhca_qp_attributes_set_state(&attributes, VUHCA_QP_STATE_RTS);
	vuhca_qp_attributes_set_send_psn(&attributes, psn);
	return vuhca_modify_qp(qp, &attributes);
}
EXPORT_SYMBOL_GPL(vuhca_qp_to_rts);

/**
 * vuhca_qp_to_state() - Take a QP to a state that needs no further
 *	attributes.
 * @qp: QP.
 * @state: RESET, ERR, RTR of a UD QP, or RTS from SQD or SQE.
 *
 * Context: May sleep.
 * Return: 0, or the error of vuhca_modify_qp().
 */
int vuhca_qp_to_state(struct vuhca_qp *qp, enum vuhca_qp_state state)
{
	struct vuhca_qp_attributes attributes = {
		.attribute_mask = cpu_to_le32(VUHCA_QP_MASK_STATE),
	};

	vuhca_qp_attributes_set_state(&attributes, state);
	return vuhca_modify_qp(qp, &attributes);
}
EXPORT_SYMBOL_GPL(vuhca_qp_to_state);

/**
 * vuhca_qp_drain() - Take a QP from RTS to SQD.
 * @qp: QP.
 *
 * Sends that have begun are finished; the others wait for RTS. One event
 * reports that nothing is left in flight.
 *
 * Context: May sleep.
 * Return: 0, or the error of vuhca_modify_qp().
 */
int vuhca_qp_drain(struct vuhca_qp *qp)
{
	struct vuhca_qp_attributes attributes = {
		.attribute_mask = cpu_to_le32(VUHCA_QP_MASK_STATE |
					      VUHCA_QP_MASK_SQD_NOTIFY),
	};

	vuhca_qp_attributes_set_state(&attributes, VUHCA_QP_STATE_SQD);
	vuhca_qp_attributes_set_enable_sqd_notify(&attributes, 1);
	return vuhca_modify_qp(qp, &attributes);
}
EXPORT_SYMBOL_GPL(vuhca_qp_drain);
