// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Queue pairs: creation and destruction. */
#include <linux/random.h>
#include <linux/slab.h>

#include "vuhca_internal.h"

static void vuhca_qp_describe(struct vuhca_qp *qp,
			      struct vuhca_qp_creation *creation)
{
	vuhca_qp_creation_set_service_type(creation, qp->service_type);
	if (qp->xrcd)
		vuhca_qp_creation_set_xrc_domain(creation, qp->xrcd->number);
	if (qp->pd)
		vuhca_qp_creation_set_pd(creation, qp->pd->pdn);
	if (qp->send_cq)
		vuhca_qp_creation_set_send_cq(creation, qp->send_cq->cqn);
	if (qp->recv_cq)
		vuhca_qp_creation_set_receive_cq(creation, qp->recv_cq->cqn);
	if (qp->srq)
		vuhca_qp_creation_set_srqn(creation, qp->srq->srqn);
	vuhca_qp_creation_set_signal_all(creation, qp->signal_all);
	vuhca_qp_creation_set_checksum_off(creation, qp->checksum_off);
	vuhca_qp_creation_set_qos_level(creation, qp->qos_level);
	vuhca_qp_creation_set_special_port(creation, qp->special_port);
	vuhca_qp_creation_set_special_port_high(creation,
						qp->special_port >> 2);
	vuhca_qp_creation_set_block_multicast_loopback(creation,
						       qp->block_loopback);
	if (qp->collect) {
		vuhca_qp_creation_set_user_queue(creation, 1);
		vuhca_qp_creation_set_collect_context(creation,
						      qp->collect->number);
	}
	creation->checksum_key = cpu_to_le32(qp->checksum_key);
	creation->token = cpu_to_le64((uintptr_t)qp);
	/* Lets the host choose the QPs of a process. */
	creation->process = cpu_to_le32(task_tgid_nr(current));
}

static int vuhca_qp_command(struct vuhca_qp *qp,
			    const struct vuhca_user_memory *user)
{
	struct vuhca_qp_creation creation = {};
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_CREATE_QP,
		.token = (uintptr_t)qp,
		.payload = &creation,
		.payload_bytes = sizeof(creation),
	};
	struct vuhca_answer answer;
	int err;

	vuhca_qp_describe(qp, &creation);
	vuhca_qp_describe_memory(qp, user, &creation);
	err = vuhca_admin_execute(qp->dev, &command, &answer);
	if (!err)
		qp->qpn = answer.object;
	return err;
}

static bool vuhca_qp_fits(struct vuhca_dev *dev,
			  const struct vuhca_qp_init *init)
{
	if (init->xrcd)
		return true;
	if (vuhca_has_receive_queue(init) &&
	    (init->recv_entries_log2 > dev->attributes.receive_queue_max_log2 ||
	     init->recv_sge > dev->attributes.max_sge))
		return false;
	return init->send_entries_log2 <= dev->attributes.send_queue_max_log2 &&
	       init->send_sge <= dev->attributes.max_sge &&
	       init->inline_bytes <= VUHCA_INLINE_MAX_BYTES &&
	       init->special_port <= dev->port_count &&
	       init->qos_level < VUHCA_QOS_LEVELS;
}

/* An XRC target has no PD. */
static u32 vuhca_generation_of(const struct vuhca_qp_init *init)
{
	return init->xrcd ? init->xrcd->generation : init->pd->generation;
}

static struct vuhca_qp *vuhca_qp_alloc(struct vuhca_dev *dev,
				       const struct vuhca_qp_init *init)
{
	struct vuhca_qp *qp = kzalloc(sizeof(*qp), GFP_KERNEL);

	if (!qp)
		return NULL;
	qp->dev = dev;
	qp->pd = init->pd;
	qp->xrcd = init->xrcd;
	qp->send_cq = init->send_cq;
	qp->recv_cq = init->recv_cq;
	qp->srq = init->srq;
	qp->generation = vuhca_generation_of(init);
	qp->service_type = init->service_type;
	qp->qos_level = init->qos_level;
	qp->special_port = init->special_port;
	qp->block_loopback = init->block_loopback;
	qp->collect = init->collect;
	qp->signal_all = init->signal_all;
	qp->checksum_off = init->checksum_off;
	qp->checksum_key = get_random_u32();
	qp->event = init->event;
	qp->context = init->context;
	if (vuhca_qp_memory(qp, init)) {
		vuhca_qp_free(qp);
		return NULL;
	}
	return qp;
}

/* Event handler: an asynchronous event of a QP. */
void vuhca_qp_event(struct vuhca_dev *dev,
		    const struct vuhca_event_entry *entry)
{
	u32 qpn = vuhca_event_entry_get_object_number(entry);
	struct vuhca_qp *qp = xa_load(&dev->qps, qpn);

	if (qp && qp->event)
		qp->event(entry->event_type, entry->fault_kind, qp->context);
}

/**
 * vuhca_create_qp() - Create a queue pair in RESET.
 * @dev: Function of the adapter.
 * @init: Parameters.
 *
 * Context: May sleep.
 * Return: The QP, or ERR_PTR() of -EINVAL (too large), -ESTALE (the PD, the
 *	XRC domain or the collect context is older than the last reset), -ENOMEM or the error of
 *	vuhca_admin_execute().
 */
struct vuhca_qp *vuhca_create_qp(struct vuhca_dev *dev,
				 const struct vuhca_qp_init *init)
{
	struct vuhca_qp *qp;
	int err;

	if (!vuhca_qp_fits(dev, init))
		return ERR_PTR(-EINVAL);
	if (!vuhca_is_current(dev, vuhca_generation_of(init)) ||
	    (init->collect &&
	     !vuhca_is_current(dev, init->collect->generation)))
		return ERR_PTR(-ESTALE);
	qp = vuhca_qp_alloc(dev, init);
	if (!qp)
		return ERR_PTR(-ENOMEM);
	err = vuhca_qp_command(qp, init->user);
	if (err)
		goto free;
	err = xa_err(xa_store_irq(&dev->qps, qp->qpn, qp, GFP_KERNEL));
	if (err)
		goto destroy;
	return qp;

destroy:
	vuhca_admin_destroy(dev, VUHCA_MANAGEMENT_OPCODE_DESTROY_QP, qp->qpn,
			    qp->generation);
free:
	vuhca_qp_free(qp);
	return ERR_PTR(err);
}
EXPORT_SYMBOL_GPL(vuhca_create_qp);

/**
 * vuhca_destroy_qp() - Destroy a queue pair and drop its completions that
 *	have not been polled.
 * @qp: QP; stays when the call fails. No call on it is under way.
 *
 * Context: May sleep.
 * Return: 0, or the error of vuhca_admin_execute().
 */
int vuhca_destroy_qp(struct vuhca_qp *qp)
{
	struct vuhca_dev *dev = qp->dev;
	int err;

	/*
	 * Destroy the QP whatever the result: the command removes it from the
	 * scheduler as well.
	 */
	if (vuhca_stop_qp(qp) == -ETIMEDOUT && !vuhca_adapter_disabled(dev))
		dev_warn_ratelimited(&dev->pdev->dev,
				     "QP %u was not taken off the scheduler\n",
				     qp->qpn);
	err = vuhca_admin_destroy(dev, VUHCA_MANAGEMENT_OPCODE_DESTROY_QP,
				  qp->qpn, qp->generation);
	if (err)
		return err;
	/* After a reset the number may belong to another QP. */
	xa_cmpxchg_irq(&dev->qps, qp->qpn, qp, NULL, 0);
	/* Cleaning takes the CQ locks, so it also waits for pollers. */
	vuhca_clean_cqs(qp);
	spin_lock_irq(&dev->eqs[0].lock);
	spin_unlock_irq(&dev->eqs[0].lock);
	vuhca_qp_free(qp);
	return 0;
}
EXPORT_SYMBOL_GPL(vuhca_destroy_qp);
