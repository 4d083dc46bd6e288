// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Shared receive queues of kernel users (IBTA 11.2.4). */
#include "vib_user.h"

int vib_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		   struct ib_udata *udata)
{
	struct vib_srq *srq = to_vsrq(ibsrq);
	/* The limit is ignored at creation (ibv_create_srq(3)). */
	struct vuhca_srq_init hw_init = {
		.entries_log2 = order_base_2(max(init->attr.max_wr, 1U)),
		.sge = max(init->attr.max_sge, 1U),
		.event = vib_srq_event,
		.context = srq,
	};
	int err;

	if (init->srq_type == IB_SRQT_XRC) {
		hw_init.xrcd = to_vxrcd(init->ext.xrc.xrcd)->hw;
		hw_init.cq = to_vcq(init->ext.cq)->hw;
	} else if (init->srq_type != IB_SRQT_BASIC) {
		return -EOPNOTSUPP;
	}
	if (init->attr.max_wr > VIB_MAX_QP_WR)
		return -EINVAL;
	vib_srq_events_init(srq);
	if (udata) {
		err = vib_create_user_srq(srq, &hw_init, udata);
	} else {
		srq->hw = vuhca_create_srq(to_vpd(ibsrq->pd)->hw, &hw_init);
		err = PTR_ERR_OR_ZERO(srq->hw);
	}
	if (err)
		return err;
	if (hw_init.xrcd)
		ibsrq->ext.xrc.srq_num = srq->hw->srqn;
	srq->max_sge = hw_init.sge;
	init->attr.max_wr = BIT(hw_init.entries_log2);
	init->attr.max_sge = hw_init.sge;
	return 0;
}

int vib_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attributes,
		   enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct vuhca_srq *hw = to_vsrq(ibsrq)->hw;
	int err;

	if (mask & IB_SRQ_MAX_WR) {
		if (!attributes->max_wr || attributes->max_wr > VIB_MAX_QP_WR)
			return -EINVAL;
		err = udata ? vib_resize_user_srq(ibsrq, udata) :
			      vuhca_resize_srq(hw,
					       order_base_2(attributes->max_wr));
		if (err)
			return err;
	}
	if (!(mask & IB_SRQ_LIMIT))
		return 0;
	if (attributes->srq_limit > BIT(hw->rq.entries_log2))
		return -EINVAL;
	return vuhca_set_srq_limit(hw, attributes->srq_limit);
}

int vib_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attributes)
{
	struct vib_srq *srq = to_vsrq(ibsrq);
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_QUERY_SRQ,
		.object = srq->hw->srqn,
	};
	const struct vuhca_srq_attributes *found;
	struct vuhca_answer answer;
	int err;

	if (vib_is_dead(srq->hw->dev, srq->hw->generation))
		return -EIO;
	err = vuhca_admin_execute(srq->hw->dev, &command, &answer);
	if (err)
		return err;
	found = (const void *)answer.payload;
	attributes->max_wr = BIT(srq->hw->rq.entries_log2);
	attributes->max_sge = srq->max_sge;
	attributes->srq_limit = le32_to_cpu(found->limit);
	return 0;
}

int vib_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct vib_srq *srq = to_vsrq(ibsrq);
	int err;

	err = vuhca_destroy_srq(srq->hw);
	if (err)
		return err;
	cancel_work_sync(&srq->events.work);
	vib_release_queue(&srq->user);
	return 0;
}
