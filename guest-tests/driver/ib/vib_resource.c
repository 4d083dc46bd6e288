// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Details of objects in `rdma resource show -dd`, beyond the core's own. */
#include <net/netlink.h>
#include <rdma/rdma_netlink.h>
#include <rdma/restrack.h>

#include "vib.h"

struct vib_detail {
	const char *name;
	u32 value;
};

static int vib_put_details(struct sk_buff *message,
			   const struct vib_detail *details, unsigned int count)
{
	struct nlattr *table;
	unsigned int i;

	table = nla_nest_start(message, RDMA_NLDEV_ATTR_DRIVER);
	if (!table)
		return -EMSGSIZE;
	for (i = 0; i < count; i++)
		if (rdma_nl_put_driver_u32(message, details[i].name,
					   details[i].value)) {
			nla_nest_cancel(message, table);
			return -EMSGSIZE;
		}
	nla_nest_end(message, table);
	return 0;
}

static int vib_put_qp(struct sk_buff *message, const struct vuhca_qp *hw)
{
	const struct vib_detail details[] = {
		{ "qpn", hw->qpn },
		{ "qos_level", hw->qos_level },
		{ "sq_entries", BIT(hw->sq.entries_log2) },
		{ "sq_head", READ_ONCE(hw->sq.head) },
		{ "sq_tail", READ_ONCE(hw->sq.tail) },
		{ "rq_entries", BIT(hw->rq.entries_log2) },
		{ "rq_head", READ_ONCE(hw->rq.head) },
		{ "rq_tail", READ_ONCE(hw->rq.tail) },
	};

	return vib_put_details(message, details, ARRAY_SIZE(details));
}

int vib_fill_qp(struct sk_buff *message, struct ib_qp *ibqp)
{
	struct vib_qp *qp = to_vqp(ibqp);
	int err;

	mutex_lock(&qp->shown);
	err = qp->hw ? vib_put_qp(message, qp->hw) : 0;
	mutex_unlock(&qp->shown);
	return err;
}

static int vib_put_cq(struct sk_buff *message, const struct vuhca_cq *hw)
{
	const struct vib_detail details[] = {
		{ "cqn", hw->cqn },
		{ "eq", hw->eq->index },
		{ "entries", BIT(hw->entries_log2) },
		{ "consumed", READ_ONCE(hw->consumed) },
		{ "stale_entries", READ_ONCE(hw->stale_entries) },
	};

	return vib_put_details(message, details, ARRAY_SIZE(details));
}

int vib_fill_cq(struct sk_buff *message, struct ib_cq *ibcq)
{
	struct vib_cq *cq = to_vcq(ibcq);
	int err;

	mutex_lock(&cq->shown);
	err = cq->hw ? vib_put_cq(message, cq->hw) : 0;
	mutex_unlock(&cq->shown);
	return err;
}

int vib_fill_mr(struct sk_buff *message, struct ib_mr *ibmr)
{
	const struct vib_mr *mr = to_vmr(ibmr);
	const struct vib_detail details[] = {
		{ "number", mr->hw->number },
		{ "max_pages", mr->max_pages },
		{ "pages", mr->page_count },
	};

	return vib_put_details(message, details, ARRAY_SIZE(details));
}
