// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Asynchronous events (IBTA 11.6.3). Those of objects come in interrupts and
 * are reported by a work item, because the core requires that handlers of QPs
 * are called in process context. Two waiting events of one type become one.
 */
#include "vib.h"

/*
 * Types of the core, which begin at 0, plus 1; 0 means that the core does not
 * know the event.
 */
#define VIB_TYPE(type)	((type) + 1)
#define VIB_NO_EVENT	-1

static const u8 vib_qp_types[VUHCA_EVENT_TYPES] = {
	[VUHCA_EVENT_TYPE_QP_FATAL] = VIB_TYPE(IB_EVENT_QP_FATAL),
	[VUHCA_EVENT_TYPE_QP_REQUEST_ERROR] = VIB_TYPE(IB_EVENT_QP_REQ_ERR),
	[VUHCA_EVENT_TYPE_QP_ACCESS_ERROR] = VIB_TYPE(IB_EVENT_QP_ACCESS_ERR),
	/* The core has no type for a request with a wrong XRCETH. */
	[VUHCA_EVENT_TYPE_XRC_DOMAIN_VIOLATION] = VIB_TYPE(IB_EVENT_QP_ACCESS_ERR),
	[VUHCA_EVENT_TYPE_XRC_INVALID_HEADER] = VIB_TYPE(IB_EVENT_QP_ACCESS_ERR),
	[VUHCA_EVENT_TYPE_COMMUNICATION_ESTABLISHED] = VIB_TYPE(IB_EVENT_COMM_EST),
	[VUHCA_EVENT_TYPE_SEND_QUEUE_DRAINED] = VIB_TYPE(IB_EVENT_SQ_DRAINED),
	[VUHCA_EVENT_TYPE_PATH_MIGRATED] = VIB_TYPE(IB_EVENT_PATH_MIG),
	[VUHCA_EVENT_TYPE_LAST_WQE_REACHED] = VIB_TYPE(IB_EVENT_QP_LAST_WQE_REACHED),
	[VUHCA_EVENT_TYPE_DEVICE_FATAL] = VIB_TYPE(IB_EVENT_QP_FATAL),
};

static const u8 vib_cq_types[VUHCA_EVENT_TYPES] = {
	[VUHCA_EVENT_TYPE_CQ_ERROR] = VIB_TYPE(IB_EVENT_CQ_ERR),
	[VUHCA_EVENT_TYPE_DEVICE_FATAL] = VIB_TYPE(IB_EVENT_CQ_ERR),
};

static const u8 vib_srq_types[VUHCA_EVENT_TYPES] = {
	[VUHCA_EVENT_TYPE_SRQ_LIMIT] = VIB_TYPE(IB_EVENT_SRQ_LIMIT_REACHED),
	[VUHCA_EVENT_TYPE_SRQ_ERROR] = VIB_TYPE(IB_EVENT_SRQ_ERR),
	[VUHCA_EVENT_TYPE_DEVICE_FATAL] = VIB_TYPE(IB_EVENT_SRQ_ERR),
};

static const u8 vib_port_types[VUHCA_EVENT_TYPES] = {
	[VUHCA_EVENT_TYPE_PORT_ACTIVE] = VIB_TYPE(IB_EVENT_PORT_ACTIVE),
	[VUHCA_EVENT_TYPE_PORT_ERROR] = VIB_TYPE(IB_EVENT_PORT_ERR),
	[VUHCA_EVENT_TYPE_LID_CHANGE] = VIB_TYPE(IB_EVENT_LID_CHANGE),
	[VUHCA_EVENT_TYPE_PKEY_CHANGE] = VIB_TYPE(IB_EVENT_PKEY_CHANGE),
	[VUHCA_EVENT_TYPE_GID_CHANGE] = VIB_TYPE(IB_EVENT_GID_CHANGE),
	[VUHCA_EVENT_TYPE_SM_CHANGE] = VIB_TYPE(IB_EVENT_SM_CHANGE),
	[VUHCA_EVENT_TYPE_CLIENT_REREGISTER] = VIB_TYPE(IB_EVENT_CLIENT_REREGISTER),
};

/* Any context. */
static void vib_note(struct vib_events *events, const u8 *types,
		     enum vuhca_event_type type)
{
	if (type >= VUHCA_EVENT_TYPES || !types[type])
		return;
	set_bit(type, &events->pending);
	schedule_work(&events->work);
}

/* Returns the next event type that waits, or VIB_NO_EVENT. */
static int vib_next(struct vib_events *events)
{
	unsigned int type;

	for (type = 0; type < VUHCA_EVENT_TYPES; type++)
		if (test_and_clear_bit(type, &events->pending))
			return type;
	return VIB_NO_EVENT;
}

/* Handlers of vuhca.ko; the context is the object. */
void vib_qp_event(enum vuhca_event_type type, u8 fault, void *context)
{
	struct vib_qp *qp = context;

	vib_note(&qp->events, vib_qp_types, type);
}

void vib_srq_event(enum vuhca_event_type type, u8 fault, void *context)
{
	struct vib_srq *srq = context;

	vib_note(&srq->events, vib_srq_types, type);
}

void vib_cq_event(enum vuhca_event_type type, u8 fault, void *context)
{
	struct vib_cq *cq = context;

	vib_note(&cq->events, vib_cq_types, type);
	/* Outstanding work completes without the adapter. */
	if (type == VUHCA_EVENT_TYPE_DEVICE_FATAL)
		schedule_work(&cq->flush);
}

static void vib_report_qp(struct work_struct *work)
{
	struct vib_qp *qp = container_of(work, struct vib_qp, events.work);
	struct ib_qp *ibqp = &qp->ibqp;
	struct ib_event event = { .device = ibqp->device, .element.qp = ibqp };
	int type;

	while ((type = vib_next(&qp->events)) != VIB_NO_EVENT) {
		event.event = vib_qp_types[type] - VIB_TYPE(0);
		if (ibqp->event_handler)
			ibqp->event_handler(&event, ibqp->qp_context);
	}
}

static void vib_report_cq(struct work_struct *work)
{
	struct vib_cq *cq = container_of(work, struct vib_cq, events.work);
	struct ib_cq *ibcq = &cq->ibcq;
	struct ib_event event = { .device = ibcq->device, .element.cq = ibcq };
	int type;

	while ((type = vib_next(&cq->events)) != VIB_NO_EVENT) {
		event.event = vib_cq_types[type] - VIB_TYPE(0);
		if (ibcq->event_handler)
			ibcq->event_handler(&event, ibcq->cq_context);
	}
}

static void vib_report_srq(struct work_struct *work)
{
	struct vib_srq *srq = container_of(work, struct vib_srq, events.work);
	struct ib_srq *ibsrq = &srq->ibsrq;
	struct ib_event event = {
		.device = ibsrq->device,
		.element.srq = ibsrq,
	};
	int type;

	while ((type = vib_next(&srq->events)) != VIB_NO_EVENT) {
		event.event = vib_srq_types[type] - VIB_TYPE(0);
		if (ibsrq->event_handler)
			ibsrq->event_handler(&event, ibsrq->srq_context);
	}
}

void vib_qp_events_init(struct vib_qp *qp)
{
	BUILD_BUG_ON(VUHCA_EVENT_TYPES > BITS_PER_LONG);
	INIT_WORK(&qp->events.work, vib_report_qp);
}

void vib_cq_events_init(struct vib_cq *cq)
{
	INIT_WORK(&cq->events.work, vib_report_cq);
}

void vib_srq_events_init(struct vib_srq *srq)
{
	INIT_WORK(&srq->events.work, vib_report_srq);
}

/*
 * Passes an event of a port to the core and its users. The device is
 * registered.
 */
void vib_port_event(struct vib_dev *dev, u8 type, u32 port)
{
	struct ib_event event = {
		.device = &dev->ibdev,
		.element.port_num = port,
	};

	if (type >= VUHCA_EVENT_TYPES || !vib_port_types[type])
		return;
	/* Users read the tables when they get the event. */
	vib_port_tables_changed(dev, port);
	event.event = vib_port_types[type] - VIB_TYPE(0);
	ib_dispatch_event(&event);
}
