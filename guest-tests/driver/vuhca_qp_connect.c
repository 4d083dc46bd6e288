// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Connected QPs from RESET to RTS. Each transition names exactly the attributes
 * that its service takes (IBTA 11.2.5.2); the adapter refuses any other.
 */
#include "vuhca_internal.h"

/**
 * vuhca_qp_connect_init() - Take a connected QP from RESET to INIT; receives
 *	may be posted.
 * @qp: QP.
 * @connection: Peer and path.
 *
 * Context: May sleep.
 * Return: 0, or the error of vuhca_modify_qp().
 */
int vuhca_qp_connect_init(struct vuhca_qp *qp,
			  const struct vuhca_connection *connection)
{
	struct vuhca_qp_attributes attributes = {
		.attribute_mask = cpu_to_le32(VUHCA_QP_MASK_STATE |
					      VUHCA_QP_MASK_PKEY_INDEX |
					      VUHCA_QP_MASK_PORT |
					      VUHCA_QP_MASK_ACCESS),
		.access = cpu_to_le32(connection->access),
	};

	vuhca_qp_attributes_set_state(&attributes, VUHCA_QP_STATE_INIT);
	vuhca_qp_attributes_set_port(&attributes, connection->port);
	vuhca_qp_attributes_set_port_high(&attributes, connection->port >> 2);
	vuhca_qp_attributes_set_pkey_index(&attributes, connection->pkey_index);
	return vuhca_modify_qp(qp, &attributes);
}
EXPORT_SYMBOL_GPL(vuhca_qp_connect_init);

/**
 * vuhca_qp_connect_rtr() - Take a connected QP from INIT to RTR; it receives
 *	from its peer.
 * @qp: QP.
 * @connection: Peer and path.
 *
 * Context: May sleep.
 * Return: 0, or the error of vuhca_modify_qp().
 */
int vuhca_qp_connect_rtr(struct vuhca_qp *qp,
			 const struct vuhca_connection *connection)
{
	struct vuhca_qp_attributes attributes = {};
	struct vuhca_address_handle *path = (void *)attributes.address_vector;
	u32 mask = VUHCA_QP_MASK_STATE | VUHCA_QP_MASK_ADDRESS_VECTOR |
		   VUHCA_QP_MASK_PATH_MTU | VUHCA_QP_MASK_REMOTE_QPN |
		   VUHCA_QP_MASK_RECEIVE_PSN;

	if (qp->service_type == VUHCA_SERVICE_TYPE_RC || qp->xrcd)
		mask |= VUHCA_QP_MASK_MAX_READS_SERVED |
			VUHCA_QP_MASK_MIN_RNR_TIMER;
	attributes.attribute_mask = cpu_to_le32(mask);
	vuhca_qp_attributes_set_state(&attributes, VUHCA_QP_STATE_RTR);
	vuhca_qp_attributes_set_path_mtu(&attributes, connection->path_mtu);
	vuhca_qp_attributes_set_remote_qpn(&attributes, connection->remote_qpn);
	vuhca_qp_attributes_set_receive_psn(&attributes,
					    connection->receive_psn);
	vuhca_qp_attributes_set_max_reads_served(&attributes,
						 connection->max_reads_served);
	vuhca_qp_attributes_set_min_rnr_timer(&attributes,
					      connection->min_rnr_timer);
	vuhca_put_path(path, qp->pd, connection->port, connection->dlid,
		       connection->service_level, connection->route);
	vuhca_address_handle_set_valid(path, 1);
	return vuhca_modify_qp(qp, &attributes);
}
EXPORT_SYMBOL_GPL(vuhca_qp_connect_rtr);

/**
 * vuhca_qp_connect_rts() - Take a connected QP from RTR to RTS; it may send.
 * @qp: QP.
 * @connection: Peer and path.
 *
 * Context: May sleep.
 * Return: 0, or the error of vuhca_modify_qp().
 */
int vuhca_qp_connect_rts(struct vuhca_qp *qp,
			 const struct vuhca_connection *connection)
{
	struct vuhca_qp_attributes attributes = {};
	u32 mask = VUHCA_QP_MASK_STATE | VUHCA_QP_MASK_SEND_PSN;

	if (qp->xrcd)
		mask |= VUHCA_QP_MASK_TIMEOUT;
	else if (qp->service_type != VUHCA_SERVICE_TYPE_UC)
		mask |= VUHCA_QP_MASK_TIMEOUT | VUHCA_QP_MASK_RETRY_COUNT |
			VUHCA_QP_MASK_RNR_RETRY |
			VUHCA_QP_MASK_MAX_READS_INITIATED;
	attributes.attribute_mask = cpu_to_le32(mask);
	vuhca_qp_attributes_set_state(&attributes, VUHCA_QP_STATE_RTS);
	vuhca_qp_attributes_set_send_psn(&attributes, connection->send_psn);
	vuhca_qp_attributes_set_timeout(&attributes, connection->timeout);
	vuhca_qp_attributes_set_retry_count(&attributes,
					    connection->retry_count);
	vuhca_qp_attributes_set_rnr_retry(&attributes, connection->rnr_retry);
	vuhca_qp_attributes_set_max_reads_initiated(&attributes,
						    connection->max_reads_initiated);
	return vuhca_modify_qp(qp, &attributes);
}
EXPORT_SYMBOL_GPL(vuhca_qp_connect_rts);

/**
 * vuhca_qp_connect() - Take a connected QP from RESET to RTS.
 * @qp: QP; stays in the last state it reached when the call fails.
 * @connection: Peer and path.
 *
 * Context: May sleep.
 * Return: 0, or the error of vuhca_modify_qp().
 */
int vuhca_qp_connect(struct vuhca_qp *qp,
		     const struct vuhca_connection *connection)
{
	int err;

	err = vuhca_qp_connect_init(qp, connection);
	if (!err)
		err = vuhca_qp_connect_rtr(qp, connection);
	if (!err)
		err = vuhca_qp_connect_rts(qp, connection);
	return err;
}
EXPORT_SYMBOL_GPL(vuhca_qp_connect);
