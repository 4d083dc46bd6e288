// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * States and attributes of queue pairs (IBTA 11.2.5). Masks and states have the
 * same numbers in the core and in the adapter, which checks the attributes of
 * each transition.
 */
#include "vib.h"

#define VIB_PORT_HIGH_SHIFT	2

static_assert((int)VUHCA_QP_MASK_STATE == IB_QP_STATE);
static_assert((int)VUHCA_QP_MASK_ADDRESS_VECTOR == IB_QP_AV);
static_assert((int)VUHCA_QP_MASK_MIN_RNR_TIMER == IB_QP_MIN_RNR_TIMER);
static_assert((int)VUHCA_QP_MASK_MAX_READS_SERVED == IB_QP_MAX_DEST_RD_ATOMIC);
static_assert((int)VUHCA_QP_MASK_REMOTE_QPN == IB_QP_DEST_QPN);
static_assert((int)VUHCA_QP_STATE_INIT == IB_QPS_INIT);
static_assert((int)VUHCA_QP_STATE_SQD == IB_QPS_SQD);
static_assert((int)VUHCA_QP_STATE_ERR == IB_QPS_ERR);

/* Attributes that the adapter lacks: alternate paths, resize, rate limits. */
#define VIB_REFUSED	(IB_QP_ALT_PATH | IB_QP_CAP | IB_QP_RATE_LIMIT)

static void vib_put_attributes(struct vib_qp *qp,
			       const struct ib_qp_attr *from,
			       struct vuhca_qp_attributes *to)
{
	vuhca_qp_attributes_set_state(to, from->qp_state);
	vuhca_qp_attributes_set_current_state(to, from->cur_qp_state);
	vuhca_qp_attributes_set_port(to, from->port_num);
	vuhca_qp_attributes_set_port_high(to, from->port_num >>
					      VIB_PORT_HIGH_SHIFT);
	vuhca_qp_attributes_set_path_mtu(to, from->path_mtu);
	vuhca_qp_attributes_set_enable_sqd_notify(to,
						  !!from->en_sqd_async_notify);
	vuhca_qp_attributes_set_pkey_index(to, from->pkey_index);
	to->qkey = cpu_to_le32(from->qkey);
	to->access = cpu_to_le32(vib_access(from->qp_access_flags));
	vuhca_qp_attributes_set_remote_qpn(to, from->dest_qp_num);
	vuhca_qp_attributes_set_retry_count(to, from->retry_cnt);
	vuhca_qp_attributes_set_rnr_retry(to, from->rnr_retry);
	vuhca_qp_attributes_set_send_psn(to, from->sq_psn);
	vuhca_qp_attributes_set_timeout(to, from->timeout);
	vuhca_qp_attributes_set_receive_psn(to, from->rq_psn);
	vuhca_qp_attributes_set_min_rnr_timer(to, from->min_rnr_timer);
	vuhca_qp_attributes_set_max_reads_initiated(to, from->max_rd_atomic);
	vuhca_qp_attributes_set_max_reads_served(to, from->max_dest_rd_atomic);
}

static void vib_put_address(struct vib_qp *qp, const struct ib_qp_attr *from,
			    struct vuhca_qp_attributes *to)
{
	struct vuhca_address_handle *path = (void *)to->address_vector;

	vib_put_path(path, &from->ah_attr);
	if (qp->hw->pd)
		vuhca_address_handle_set_pd(path, qp->hw->pd->pdn);
}

/* Returns whether the adapter did not answer because it is dead. */
static bool vib_has_died(struct vib_qp *qp, int err)
{
	return err == -ENODEV || err == -ESTALE || err == -EIO ||
	       vib_is_dead(qp->hw->dev, qp->hw->generation);
}

static void vib_forget(struct vuhca_wq *wq)
{
	spin_lock_irq(&wq->lock);
	wq->head = wq->tail;
	spin_unlock_irq(&wq->lock);
}

/* A QP of a dead function: it can only be drained. */
static int vib_modify_dead(struct vib_qp *qp, enum ib_qp_state state)
{
	if (state != IB_QPS_ERR && state != IB_QPS_RESET)
		return -EIO;
	if (state == IB_QPS_RESET) {
		vib_forget(&qp->hw->sq);
		vib_forget(&qp->hw->rq);
	}
	WRITE_ONCE(qp->hw->state, (u8)state);
	vib_flush_qp(qp);
	if (qp->ibqp.srq && state == IB_QPS_ERR)
		vib_qp_event(VUHCA_EVENT_TYPE_LAST_WQE_REACHED,
			     VUHCA_FAULT_KIND_NONE, qp);
	return 0;
}

int vib_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attributes, int mask,
		  struct ib_udata *udata)
{
	struct vuhca_qp_attributes to = {};
	struct vib_qp *qp = to_vqp(ibqp);
	int err;

	if (mask & VIB_REFUSED)
		return -EOPNOTSUPP;
	if (mask & IB_QP_PATH_MIG_STATE) {
		if (attributes->path_mig_state != IB_MIG_MIGRATED)
			return -EOPNOTSUPP;
		mask &= ~IB_QP_PATH_MIG_STATE;
	}
	to.attribute_mask = cpu_to_le32(mask);
	vib_put_attributes(qp, attributes, &to);
	if (mask & IB_QP_AV)
		vib_put_address(qp, attributes, &to);
	err = vuhca_modify_qp(qp->hw, &to);
	if (err && mask & IB_QP_STATE && vib_has_died(qp, err))
		return vib_modify_dead(qp, attributes->qp_state);
	if (err)
		return err;
	if (mask & IB_QP_PORT)
		qp->port = attributes->port_num;
	return 0;
}

static bool vib_is_connected(const struct vib_qp *qp)
{
	switch (qp->ibqp.qp_type) {
	case IB_QPT_RC:
	case IB_QPT_UC:
	case IB_QPT_XRC_INI:
	case IB_QPT_XRC_TGT:
		return true;
	default:
		return false;
	}
}

static void vib_get_attributes(struct vib_qp *qp,
			       const struct vuhca_qp_attributes *from,
			       struct ib_qp_attr *to)
{
	to->qp_state = vuhca_qp_attributes_get_state(from);
	to->cur_qp_state = to->qp_state;
	to->port_num = qp->port;
	to->path_mtu = vuhca_qp_attributes_get_path_mtu(from);
	to->path_mig_state = IB_MIG_MIGRATED;
	to->en_sqd_async_notify =
		vuhca_qp_attributes_get_enable_sqd_notify(from);
	to->pkey_index = vuhca_qp_attributes_get_pkey_index(from);
	to->qkey = le32_to_cpu(from->qkey);
	to->qp_access_flags = le32_to_cpu(from->access);
	to->dest_qp_num = vuhca_qp_attributes_get_remote_qpn(from);
	to->retry_cnt = vuhca_qp_attributes_get_retry_count(from);
	to->rnr_retry = vuhca_qp_attributes_get_rnr_retry(from);
	to->sq_psn = vuhca_qp_attributes_get_send_psn(from);
	to->timeout = vuhca_qp_attributes_get_timeout(from);
	to->rq_psn = vuhca_qp_attributes_get_receive_psn(from);
	to->min_rnr_timer = vuhca_qp_attributes_get_min_rnr_timer(from);
	to->max_rd_atomic = vuhca_qp_attributes_get_max_reads_initiated(from);
	to->max_dest_rd_atomic =
		vuhca_qp_attributes_get_max_reads_served(from);
	if (vib_is_connected(qp))
		vib_get_path((const void *)from->address_vector, &to->ah_attr);
}

static int vib_query_hw(struct vib_qp *qp, struct ib_qp_attr *attributes,
			struct ib_qp_init_attr *init)
{
	struct vuhca_qp_creation creation;
	struct vuhca_qp_attributes from;
	int err;

	if (!qp->hw)
		return -ENODEV;
	err = vuhca_query_qp(qp->hw, &creation, &from);
	if (err && !vib_has_died(qp, err))
		return err;
	if (err)
		attributes->qp_state = IB_QPS_ERR;
	else
		vib_get_attributes(qp, &from, attributes);
	init->sq_sig_type = qp->hw->signal_all ? IB_SIGNAL_ALL_WR :
						 IB_SIGNAL_REQ_WR;
	return 0;
}

int vib_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attributes, int mask,
		 struct ib_qp_init_attr *init)
{
	struct vib_qp *qp = to_vqp(ibqp);
	int err;

	memset(attributes, 0, sizeof(*attributes));
	memset(init, 0, sizeof(*init));
	mutex_lock(&qp->shown);
	err = vib_query_hw(qp, attributes, init);
	mutex_unlock(&qp->shown);
	if (err)
		return err;
	attributes->cap = qp->cap;
	init->event_handler = ibqp->event_handler;
	init->qp_context = ibqp->qp_context;
	init->send_cq = ibqp->send_cq;
	init->recv_cq = ibqp->recv_cq;
	init->srq = ibqp->srq;
	init->cap = qp->cap;
	init->qp_type = ibqp->qp_type;
	return 0;
}
