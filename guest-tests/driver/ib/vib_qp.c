// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Queue pairs of kernel users: creation and destruction (IBTA 11.2.5). */
#include "vib_user.h"

/* Returns the service type of the adapter, or a negative error number. */
static int vib_service_type(enum ib_qp_type type)
{
	switch (type) {
	case IB_QPT_RC:
		return VUHCA_SERVICE_TYPE_RC;
	case IB_QPT_UC:
		return VUHCA_SERVICE_TYPE_UC;
	case IB_QPT_UD:
		return VUHCA_SERVICE_TYPE_UD;
	case IB_QPT_SMI:
		return VUHCA_SERVICE_TYPE_SMI;
	case IB_QPT_GSI:
		return VUHCA_SERVICE_TYPE_GSI;
	case IB_QPT_XRC_INI:
		return VUHCA_SERVICE_TYPE_XRC_INITIATOR;
	case IB_QPT_XRC_TGT:
		return VUHCA_SERVICE_TYPE_XRC_TARGET;
	default:
		return -EOPNOTSUPP;
	}
}

static bool vib_is_special(enum ib_qp_type type)
{
	return type == IB_QPT_SMI || type == IB_QPT_GSI;
}

/* The number in packets; QP0 and QP1 have a different one in the adapter. */
static u32 vib_qp_number(const struct vib_qp *qp, enum ib_qp_type type)
{
	if (vib_is_special(type))
		return type == IB_QPT_GSI;
	return qp->hw->qpn;
}

/*
 * Capacities of queues that the QP does not have are ignored: that of receives
 * with an SRQ (IBTA 11.2.5.1) and of an XRC initiator, both of an XRC target.
 */
static bool vib_has_sends(const struct ib_qp_init_attr *init)
{
	return init->qp_type != IB_QPT_XRC_TGT;
}

static bool vib_has_receives(const struct ib_qp_init_attr *init)
{
	return vib_has_sends(init) && init->qp_type != IB_QPT_XRC_INI &&
	       !init->srq;
}

static int vib_qp_check(const struct ib_qp_init_attr *init)
{
	if (init->create_flags & ~IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK)
		return -EOPNOTSUPP;
	if ((vib_has_sends(init) && init->cap.max_send_wr > VIB_MAX_QP_WR) ||
	    (vib_has_receives(init) && init->cap.max_recv_wr > VIB_MAX_QP_WR))
		return -EINVAL;
	return vib_service_type(init->qp_type);
}

/* Reports the capacities that the user gets. */
static void vib_put_cap(const struct vuhca_qp_init *from, struct ib_qp_cap *cap)
{
	bool receives = from->recv_cq && !from->srq;

	cap->max_send_wr = BIT(from->send_entries_log2);
	cap->max_recv_wr = receives ? BIT(from->recv_entries_log2) : 0;
	cap->max_send_sge = from->send_sge;
	cap->max_recv_sge = receives ? from->recv_sge : 0;
	cap->max_inline_data = from->inline_bytes;
}

static int vib_create_hw_qp(struct vib_qp *qp, struct ib_qp_init_attr *init,
			    u8 service_type, struct ib_udata *udata)
{
	struct ib_qp_cap *cap = &init->cap;
	bool receives = init->qp_type != IB_QPT_XRC_INI;
	struct vuhca_qp_init hw_init = {
		.pd = to_vpd(qp->ibqp.pd)->hw,
		.send_cq = to_vcq(init->send_cq)->hw,
		.recv_cq = receives && init->recv_cq ?
			   to_vcq(init->recv_cq)->hw : NULL,
		.srq = receives && init->srq ? to_vsrq(init->srq)->hw : NULL,
		.send_entries_log2 = order_base_2(max(cap->max_send_wr, 1U)),
		.send_sge = max(cap->max_send_sge, 1U),
		.recv_sge = max(cap->max_recv_sge, 1U),
		.inline_bytes = cap->max_inline_data,
		.service_type = service_type,
		.special_port = vib_is_special(init->qp_type) ?
				init->port_num : 0,
		.signal_all = init->sq_sig_type == IB_SIGNAL_ALL_WR,
		.block_loopback = init->create_flags &
				  IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK,
		.event = vib_qp_event,
		.context = qp,
	};
	struct vuhca_qp *hw;

	if (vib_has_receives(init))
		hw_init.recv_entries_log2 = order_base_2(max(cap->max_recv_wr,
							     1U));
	if (udata)
		return vib_create_user_qp(qp, &hw_init, udata);
	hw = vuhca_create_qp(to_vdev(qp->ibqp.device)->hw, &hw_init);
	if (IS_ERR(hw))
		return PTR_ERR(hw);
	qp->hw = hw;
	vib_put_cap(&hw_init, cap);
	return 0;
}

/* An XRC target belongs to its domain, even after its process has gone. */
static int vib_create_target(struct vib_qp *qp, struct ib_qp_init_attr *init,
			     struct ib_udata *udata)
{
	struct vuhca_qp_init hw_init = {
		.xrcd = to_vxrcd(init->xrcd)->hw,
		.service_type = VUHCA_SERVICE_TYPE_XRC_TARGET,
		.event = vib_qp_event,
		.context = qp,
	};
	struct vuhca_create_qp_resp answer = {};
	int err;

	qp->hw = vuhca_create_qp(to_vdev(qp->ibqp.device)->hw, &hw_init);
	err = PTR_ERR_OR_ZERO(qp->hw);
	if (err)
		return err;
	answer.qpn = qp->hw->qpn;
	if (udata)
		err = vib_copy_answer(&answer, sizeof(answer), udata);
	if (err)
		vuhca_destroy_qp(qp->hw);
	memset(&init->cap, 0, sizeof(init->cap));
	return err;
}

int vib_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
		  struct ib_udata *udata)
{
	struct vib_qp *qp = to_vqp(ibqp);
	int err, service_type;

	service_type = vib_qp_check(init);
	if (service_type < 0)
		return service_type;
	if (udata && vib_is_special(init->qp_type))
		return -EOPNOTSUPP;
	mutex_init(&qp->shown);
	vib_qp_events_init(qp);
	if (init->qp_type == IB_QPT_XRC_TGT)
		err = vib_create_target(qp, init, udata);
	else
		err = vib_create_hw_qp(qp, init, service_type, udata);
	if (err)
		return err;
	ibqp->qp_num = vib_qp_number(qp, init->qp_type);
	qp->cap = init->cap;
	qp->port = vib_is_special(init->qp_type) ? init->port_num : 0;
	vib_flush_attach(qp);
	return 0;
}

int vib_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct vib_qp *qp = to_vqp(ibqp);
	int err;

	/* No poll finds the QP while it is destroyed. */
	vib_flush_detach(qp);
	mutex_lock(&qp->shown);
	err = vuhca_destroy_qp(qp->hw);
	if (!err)
		qp->hw = NULL;
	mutex_unlock(&qp->shown);
	if (err) {
		vib_flush_attach(qp);
		return err;
	}
	cancel_work_sync(&qp->events.work);
	vib_release_queue(&qp->user);
	return 0;
}
