// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory of queue pairs. The queues and the record of a process are in its own
 * pages; the descriptor, by which the adapter links queues, always belongs to
 * the driver.
 */
#include <linux/dma-mapping.h>
#include <linux/log2.h>
#include <linux/slab.h>

#include "vuhca_internal.h"

#define VUHCA_LINE_BYTES 64

/* Smallest slot that takes the longest command of this QP. */
static unsigned int vuhca_send_stride(const struct vuhca_qp_init *init)
{
	size_t tail = max_t(size_t, init->inline_bytes,
			    init->send_sge > 1 ?
			    init->send_sge * sizeof(struct vuhca_sge) : 0);

	if (init->service_type == VUHCA_SERVICE_TYPE_RC ||
	    init->service_type == VUHCA_SERVICE_TYPE_XRC_INITIATOR)
		tail = max(tail, sizeof(struct vuhca_atomic_operands));
	return order_base_2(sizeof(struct vuhca_send_command) + tail);
}

static int vuhca_wq_init(struct vuhca_wq *wq, unsigned int entries_log2,
			 unsigned int stride_log2)
{
	wq->entries_log2 = entries_log2;
	wq->stride_log2 = stride_log2;
	wq->wr_ids = kvcalloc(BIT(entries_log2), sizeof(*wq->wr_ids),
			      GFP_KERNEL);
	return wq->wr_ids ? 0 : -ENOMEM;
}

static size_t vuhca_wq_bytes(const struct vuhca_wq *wq)
{
	return ALIGN((size_t)1 << (wq->entries_log2 + wq->stride_log2),
		     VUHCA_LINE_BYTES);
}

/* Writes the descriptor of a queue that is in no list and was not stopped. */
static void vuhca_qp_unlink(struct vuhca_qp *qp)
{
	memset(qp->descriptor, 0, sizeof(*qp->descriptor));
	qp->descriptor->dw0 = cpu_to_le32(U32_MAX);
}

static int vuhca_qp_alloc_memory(struct vuhca_qp *qp, size_t bytes)
{
	qp->bytes = bytes;
	qp->memory = dma_alloc_coherent(&qp->dev->pdev->dev, bytes, &qp->dma,
					GFP_KERNEL);
	return qp->memory ? 0 : -ENOMEM;
}

/* The process itself tracks the contents of its queues. */
static int vuhca_qp_user_memory(struct vuhca_qp *qp,
				const struct vuhca_qp_init *init)
{
	const struct vuhca_user_memory *user = init->user;
	int err;

	qp->sq.entries_log2 = init->send_entries_log2;
	qp->sq.stride_log2 = user->stride_log2[0];
	if (vuhca_has_receive_queue(init)) {
		qp->rq.entries_log2 = init->recv_entries_log2;
		qp->rq.stride_log2 = user->stride_log2[1];
	}
	qp->record = user->record;
	err = vuhca_qp_alloc_memory(qp, VUHCA_LINE_BYTES);
	if (err)
		return err;
	qp->descriptor = qp->memory;
	vuhca_qp_unlink(qp);
	return 0;
}

/*
 * Allocates the queues, the software record and the descriptor as one piece.
 */
static int vuhca_qp_own_memory(struct vuhca_qp *qp,
			       const struct vuhca_qp_init *init)
{
	bool receives = vuhca_has_receive_queue(init);
	size_t send, recv = 0;

	if (vuhca_wq_init(&qp->sq, init->send_entries_log2,
			  vuhca_send_stride(init)) ||
	    (receives &&
	     vuhca_wq_init(&qp->rq, init->recv_entries_log2,
			   vuhca_recv_stride(init->recv_sge))))
		return -ENOMEM;
	send = vuhca_wq_bytes(&qp->sq);
	if (receives)
		recv = vuhca_wq_bytes(&qp->rq);
	if (vuhca_qp_alloc_memory(qp, send + recv + 2 * VUHCA_LINE_BYTES))
		return -ENOMEM;
	qp->sq.slots = qp->memory;
	if (receives)
		qp->rq.slots = qp->memory + send;
	qp->record = qp->memory + send + recv;
	qp->descriptor = qp->memory + send + recv + VUHCA_LINE_BYTES;
	vuhca_qp_unlink(qp);
	return 0;
}

/* An XRC target has no queues: record and descriptor stay unused. */
static int vuhca_qp_target_memory(struct vuhca_qp *qp)
{
	int err = vuhca_qp_alloc_memory(qp, 2 * VUHCA_LINE_BYTES);

	if (err)
		return err;
	qp->record = qp->memory;
	qp->descriptor = qp->memory + VUHCA_LINE_BYTES;
	vuhca_qp_unlink(qp);
	return 0;
}

/* Gives a new QP its memory; vuhca_qp_free() follows in any case. */
int vuhca_qp_memory(struct vuhca_qp *qp, const struct vuhca_qp_init *init)
{
	spin_lock_init(&qp->sq.lock);
	spin_lock_init(&qp->rq.lock);
	if (init->xrcd)
		return vuhca_qp_target_memory(qp);
	return init->user ? vuhca_qp_user_memory(qp, init) :
			    vuhca_qp_own_memory(qp, init);
}

void vuhca_qp_free(struct vuhca_qp *qp)
{
	if (qp->memory)
		dma_free_coherent(&qp->dev->pdev->dev, qp->bytes, qp->memory,
				  qp->dma);
	kvfree(qp->sq.wr_ids);
	kvfree(qp->rq.wr_ids);
	kfree(qp);
}

static void vuhca_qp_describe_user(const struct vuhca_user_memory *user,
				   struct vuhca_qp_creation *creation)
{
	vuhca_qp_creation_set_send_paged(creation, 1);
	vuhca_qp_creation_set_send_page_shift(creation, PAGE_SHIFT);
	creation->send_queue_address = cpu_to_le64(user->pages[0]);
	if (user->pages[1]) {
		vuhca_qp_creation_set_receive_paged(creation, 1);
		vuhca_qp_creation_set_receive_page_shift(creation, PAGE_SHIFT);
		creation->receive_queue_address = cpu_to_le64(user->pages[1]);
	}
	creation->record_address = cpu_to_le64(user->record_dma);
}

/* Tells the adapter where the memory is. */
void vuhca_qp_describe_memory(struct vuhca_qp *qp,
			      const struct vuhca_user_memory *user,
			      struct vuhca_qp_creation *creation)
{
	void *base = qp->memory;

	if (qp->xrcd)
		return;
	creation->send_entries_log2 = qp->sq.entries_log2;
	creation->send_stride_log2 = qp->sq.stride_log2;
	creation->receive_entries_log2 = qp->rq.entries_log2;
	creation->receive_stride_log2 = qp->rq.stride_log2;
	creation->descriptor_address =
		cpu_to_le64(qp->dma + ((void *)qp->descriptor - base));
	if (user) {
		vuhca_qp_describe_user(user, creation);
		return;
	}
	creation->send_queue_address = cpu_to_le64(qp->dma);
	if (qp->rq.slots)
		creation->receive_queue_address =
			cpu_to_le64(qp->dma + ((void *)qp->rq.slots - base));
	creation->record_address =
		cpu_to_le64(qp->dma + ((void *)qp->record - base));
}
