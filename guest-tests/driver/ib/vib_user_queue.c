// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Queues of user processes: rings in pages of their own, records beside those
 * of other objects. A process may write anything there: the adapter checks each
 * command and accesses only the memory of regions.
 */
#include <rdma/uverbs_ioctl.h>

#include "vib_user.h"

/* Pins a ring and lists its pages. */
static int vib_take_ring(struct ib_device *ibdev, u64 address, size_t bytes,
			 struct ib_umem **umem, struct vib_page_list *pages)
{
	int err;

	if (!PAGE_ALIGNED(address))
		return -EINVAL;
	*umem = vib_pin(ibdev, address, max_t(size_t, bytes, 1),
			IB_ACCESS_LOCAL_WRITE);
	if (IS_ERR(*umem)) {
		err = PTR_ERR(*umem);
		*umem = NULL;
		return err;
	}
	return vib_list_pages(ibdev, *umem, PAGE_SIZE, pages);
}

static int vib_take_record(struct vib_user_queue *queue, u64 address,
			   struct vuhca_user_memory *memory)
{
	struct vib_record_page *page = vib_get_record(queue->context, address);

	if (IS_ERR(page))
		return PTR_ERR(page);
	queue->record = page;
	memory->record = page->at + offset_in_page(address);
	memory->record_dma = page->dma + offset_in_page(address);
	return 0;
}

/* The adapter no longer uses the memory. */
void vib_release_queue(struct vib_user_queue *queue)
{
	unsigned int i;

	if (!queue->context)
		return;
	if (queue->record)
		vib_put_record(queue->context, queue->record);
	for (i = 0; i < ARRAY_SIZE(queue->umems); i++)
		if (queue->umems[i])
			ib_umem_release(queue->umems[i]);
	memset(queue, 0, sizeof(*queue));
}

/*
 * Tells the process of a CQ that the adapter writes no further entry. Entries
 * that it has written before come first.
 */
void vib_tell_dead(struct vib_user_queue *queue)
{
	if (queue->dead)
		smp_store_release(queue->dead, 1);
}

int vib_create_user_cq(struct vib_cq *cq, struct vuhca_cq_init *init,
		       struct ib_udata *udata)
{
	struct ib_device *ibdev = cq->ibcq.device;
	struct vib_user_queue *queue = &cq->user;
	struct vuhca_user_memory memory = {};
	struct vuhca_create_cq_resp answer = {};
	struct vuhca_create_cq request;
	struct vib_page_list pages = {};
	int err;

	err = vib_copy_request(&request, sizeof(request), udata);
	if (err)
		return err;
	if (request.entries_log2 > ilog2(VIB_MAX_CQE))
		return -EINVAL;
	queue->context = vib_context_of(udata);
	err = vib_take_ring(ibdev, request.buffer,
			    sizeof(struct vuhca_completion_entry)
			    << request.entries_log2, &queue->umems[0], &pages);
	if (!err)
		err = vib_take_record(queue, request.record, &memory);
	if (err)
		goto release;
	memory.pages[0] = pages.dma;
	init->entries_log2 = request.entries_log2;
	init->collect = queue->context->collect;
	init->user = &memory;
	cq->hw = vuhca_create_cq(to_vdev(ibdev)->hw, init);
	err = PTR_ERR_OR_ZERO(cq->hw);
	if (err)
		goto release;
	answer.cqn = cq->hw->cqn;
	err = vib_copy_answer(&answer, sizeof(answer), udata);
	if (err)
		vuhca_destroy_cq(cq->hw);
	else
		queue->dead = memory.record + VUHCA_CQ_DEAD_OFFSET;
release:
	vib_free_pages(ibdev, &pages);
	if (err)
		vib_release_queue(queue);
	return err;
}

/* The process does not poll meanwhile, and has published its position. */
int vib_resize_user_cq(struct ib_cq *ibcq, unsigned int entries,
		       struct ib_udata *udata)
{
	struct vib_cq *cq = to_vcq(ibcq);
	struct vib_page_list pages = {};
	struct vuhca_resize_cq request;
	struct ib_umem *umem = NULL;
	int err;

	err = vib_copy_request(&request, sizeof(request), udata);
	if (err)
		return err;
	if (request.entries_log2 > ilog2(VIB_MAX_CQE) ||
	    entries > BIT(request.entries_log2))
		return -EINVAL;
	err = vib_take_ring(ibcq->device, request.buffer,
			    sizeof(struct vuhca_completion_entry)
			    << request.entries_log2, &umem, &pages);
	if (!err)
		err = vuhca_resize_user_cq(cq->hw, pages.dma,
					   request.entries_log2);
	if (!err) {
		swap(umem, cq->user.umems[0]);
		ibcq->cqe = BIT(request.entries_log2);
	}
	vib_free_pages(ibcq->device, &pages);
	/* Without an answer the adapter may still use the new ring. */
	if (umem && err != -ETIMEDOUT)
		ib_umem_release(umem);
	return err;
}

static bool vib_ring_fits(u8 entries_log2, u8 stride_log2)
{
	return entries_log2 <= ilog2(VIB_MAX_QP_WR) &&
	       stride_log2 <= VIB_MAX_STRIDE_LOG2;
}

int vib_create_user_srq(struct vib_srq *srq, struct vuhca_srq_init *init,
			struct ib_udata *udata)
{
	struct ib_device *ibdev = srq->ibsrq.device;
	struct vib_user_queue *queue = &srq->user;
	struct vuhca_create_srq_resp answer = {};
	struct vuhca_user_memory memory = {};
	struct vuhca_create_srq request;
	struct vib_page_list pages = {};
	int err;

	err = vib_copy_request(&request, sizeof(request), udata);
	if (err)
		return err;
	if (!vib_ring_fits(request.entries_log2, request.stride_log2))
		return -EINVAL;
	queue->context = vib_context_of(udata);
	err = vib_take_ring(ibdev, request.buffer,
			    BIT(request.entries_log2 + request.stride_log2),
			    &queue->umems[0], &pages);
	if (!err)
		err = vib_take_record(queue, request.record, &memory);
	if (err)
		goto release;
	memory.pages[0] = pages.dma;
	memory.stride_log2[0] = request.stride_log2;
	init->entries_log2 = request.entries_log2;
	init->user = &memory;
	srq->hw = vuhca_create_srq(to_vpd(srq->ibsrq.pd)->hw, init);
	err = PTR_ERR_OR_ZERO(srq->hw);
	if (err)
		goto release;
	answer.srqn = srq->hw->srqn;
	err = vib_copy_answer(&answer, sizeof(answer), udata);
	if (err)
		vuhca_destroy_srq(srq->hw);
release:
	vib_free_pages(ibdev, &pages);
	if (err)
		vib_release_queue(queue);
	return err;
}

/* The process does not post meanwhile. */
int vib_resize_user_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct vib_srq *srq = to_vsrq(ibsrq);
	struct vib_page_list pages = {};
	struct vuhca_modify_srq request;
	struct ib_umem *umem = NULL;
	int err;

	err = vib_copy_request(&request, sizeof(request), udata);
	if (err)
		return err;
	if (request.entries_log2 > ilog2(VIB_MAX_QP_WR))
		return -EINVAL;
	err = vib_take_ring(ibsrq->device, request.buffer,
			    BIT(request.entries_log2 + srq->hw->rq.stride_log2),
			    &umem, &pages);
	if (!err)
		err = vuhca_resize_user_srq(srq->hw, pages.dma,
					    request.entries_log2);
	if (!err)
		swap(umem, srq->user.umems[0]);
	vib_free_pages(ibsrq->device, &pages);
	/* Without an answer the adapter may still use the new ring. */
	if (umem && err != -ETIMEDOUT)
		ib_umem_release(umem);
	return err;
}

static bool vib_qp_fits(const struct vuhca_create_qp *request, bool receives)
{
	return vib_ring_fits(request->send_entries_log2,
			     request->send_stride_log2) &&
	       (!receives || vib_ring_fits(request->receive_entries_log2,
					   request->receive_stride_log2)) &&
	       request->qos_level < VUHCA_QOS_LEVELS &&
	       !(request->flags & ~VUHCA_CREATE_QP_BLOCK_LOOPBACK);
}

/* Pins both rings, or the send ring of a QP without a receive ring. */
static int vib_take_rings(struct vib_qp *qp,
			  const struct vuhca_create_qp *request, bool receives,
			  struct vib_page_list *pages)
{
	struct ib_device *ibdev = qp->ibqp.device;
	int err;

	err = vib_take_ring(ibdev, request->send_buffer,
			    BIT(request->send_entries_log2 +
				request->send_stride_log2),
			    &qp->user.umems[0], &pages[0]);
	if (!err && receives)
		err = vib_take_ring(ibdev, request->receive_buffer,
				    BIT(request->receive_entries_log2 +
					request->receive_stride_log2),
				    &qp->user.umems[1], &pages[1]);
	return err;
}

int vib_create_user_qp(struct vib_qp *qp, struct vuhca_qp_init *init,
		       struct ib_udata *udata)
{
	struct ib_device *ibdev = qp->ibqp.device;
	struct vib_user_queue *queue = &qp->user;
	struct vuhca_create_qp_resp answer = {};
	struct vuhca_user_memory memory = {};
	struct vib_page_list pages[2] = {};
	struct vuhca_create_qp request;
	bool receives = vuhca_has_receive_queue(init);
	int err;

	err = vib_copy_request(&request, sizeof(request), udata);
	if (err || !vib_qp_fits(&request, receives))
		return err ?: -EINVAL;
	queue->context = vib_context_of(udata);
	err = vib_take_rings(qp, &request, receives, pages);
	if (!err)
		err = vib_take_record(queue, request.record, &memory);
	if (err)
		goto release;
	memory.pages[0] = pages[0].dma;
	memory.pages[1] = pages[1].dma;
	memory.stride_log2[0] = request.send_stride_log2;
	memory.stride_log2[1] = request.receive_stride_log2;
	init->send_entries_log2 = request.send_entries_log2;
	init->recv_entries_log2 = request.receive_entries_log2;
	init->qos_level = request.qos_level;
	init->block_loopback |= request.flags & VUHCA_CREATE_QP_BLOCK_LOOPBACK;
	init->collect = queue->context->collect;
	init->user = &memory;
	qp->hw = vuhca_create_qp(to_vdev(ibdev)->hw, init);
	err = PTR_ERR_OR_ZERO(qp->hw);
	if (err)
		goto release;
	answer.qpn = qp->hw->qpn;
	answer.checksum_key = qp->hw->checksum_key;
	err = vib_copy_answer(&answer, sizeof(answer), udata);
	if (err)
		vuhca_destroy_qp(qp->hw);
release:
	vib_free_pages(ibdev, &pages[0]);
	vib_free_pages(ibdev, &pages[1]);
	if (err)
		vib_release_queue(queue);
	return err;
}
