// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Connected QPs for tests: end 0 sends to end 1 unless stated otherwise. All
 * pairs complete on the CQs of the case.
 */
#include <linux/dma-mapping.h>

#include "vt_pair.h"

#define VT_AREA_ROOM	(VT_AREA_BYTES + VT_MARGIN)

bool vt_areas_create(struct vt *t, struct vt_areas *areas)
{
	struct device *dev = &t->dev->pdev->dev;
	unsigned int i;

	memset(areas, 0, sizeof(*areas));
	for (i = 0; i < 2; i++) {
		areas->bytes[i] = dma_alloc_coherent(dev, VT_AREA_ROOM,
						     &areas->dma[i], GFP_KERNEL);
		if (!VT_CHECK(t, areas->bytes[i], "no memory"))
			goto free;
	}
	areas->mr = vuhca_get_dma_mr(t->pd, VUHCA_ACCESS_FLAG_LOCAL_WRITE |
				     VT_ALL_REMOTE);
	if (VT_CHECK(t, !IS_ERR(areas->mr), "%pe", areas->mr))
		return true;
	areas->mr = NULL;
free:
	vt_areas_destroy(t, areas);
	return false;
}

void vt_areas_destroy(struct vt *t, struct vt_areas *areas)
{
	unsigned int i;

	if (areas->mr)
		VT_CHECK(t, !vuhca_dereg_mr(areas->mr), "MR of the areas");
	for (i = 0; i < 2; i++)
		if (areas->bytes[i])
			dma_free_coherent(&t->dev->pdev->dev, VT_AREA_ROOM,
					  areas->bytes[i], areas->dma[i]);
	memset(areas, 0, sizeof(*areas));
}

struct vuhca_buffer vt_area_buffer(struct vt_areas *areas, unsigned int end,
				   size_t offset, u32 length)
{
	return (struct vuhca_buffer) {
		.address = areas->dma[end] + offset,
		.length = length,
		.lkey = areas->mr->lkey,
	};
}

static struct vuhca_connection vt_connection(struct vt_pair *pair,
					     unsigned int end)
{
	const struct vt_pair_options *options = &pair->options;
	u8 port = end ? options->to : options->from;
	u8 peer = end ? options->from : options->to;
	u32 lid = vuhca_read_csr(pair->t->dev, VUHCA_CSR_PORT_LID_OFF +
				 (peer - 1) * VUHCA_CSR_PORT_LID_STRIDE);

	return (struct vuhca_connection) {
		.port = port,
		.dlid = lid,
		.route = options->routes[end],
		.remote_qpn = options->nowhere ?: pair->end[!end].qp->qpn,
		.send_psn = VT_LATE_PSN + end,
		.receive_psn = VT_LATE_PSN + !end,
		.access = options->access,
		.path_mtu = options->path_mtu,
		.max_reads_initiated = 16,
		.max_reads_served = 16,
		.min_rnr_timer = 1,
		.timeout = options->timeout,
		.retry_count = options->retry_count,
		.rnr_retry = options->rnr_retry,
	};
}

bool vt_pair_connect(struct vt_pair *pair)
{
	struct vuhca_connection connection;
	int refusal = pair->options.refusal;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		connection = vt_connection(pair, i);
		if (!VT_EQUAL(pair->t, vuhca_qp_connect(pair->end[i].qp,
							&connection), refusal) ||
		    refusal)
			return false;
	}
	return true;
}

/*
 * Takes both ends through RESET; completions that were not polled are
 * discarded.
 */
bool vt_pair_reconnect(struct vt_pair *pair)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		if (!VT_EQUAL(pair->t, vuhca_qp_to_state(pair->end[i].qp,
							 VUHCA_QP_STATE_RESET),
			      0))
			return false;
	return vt_pair_connect(pair);
}

static struct vt_qp_options vt_end_options(const struct vt_pair_options *from,
					   unsigned int end)
{
	struct vt_qp_options to = {
		.connected = true,
		.service_type = from->service,
		.srq = end ? from->srq : NULL,
		.xrcd = end ? from->xrcd : NULL,
	};

	if (from->xrcd)
		to.service_type = end ? VUHCA_SERVICE_TYPE_XRC_TARGET :
					VUHCA_SERVICE_TYPE_XRC_INITIATOR;
	return to;
}

/*
 * Takes both ends to RTS, unless connecting is refused. The caller calls
 * vt_pair_destroy() in any case.
 */
bool vt_pair_create(struct vt *t, struct vt_pair *pair,
		    const struct vt_pair_options *options)
{
	struct vt_qp_options qp_options;
	unsigned int i;

	memset(pair, 0, sizeof(*pair));
	pair->t = t;
	pair->options = *options;
	pair->options.from = options->from ?: 1;
	pair->options.to = options->to ?: 2;
	pair->options.path_mtu = options->path_mtu ?: VT_MTU_CODES;
	pair->options.timeout = options->timeout ?: VT_TIMEOUT_CODE;
	pair->options.retry_count = options->retry_count ?: 7;
	pair->options.rnr_retry = options->rnr_retry ?: 7;
	if (!options->no_remote)
		pair->options.access = options->access ?: VT_ALL_REMOTE;
	for (i = 0; i < 2; i++) {
		qp_options = vt_end_options(options, i);
		if (!vt_create_qp(t, &pair->end[i], &qp_options))
			return false;
	}
	return vt_pair_connect(pair);
}

void vt_pair_destroy(struct vt_pair *pair)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		if (pair->end[i].qp)
			VT_CHECK(pair->t, !vuhca_destroy_qp(pair->end[i].qp),
				 "end %u of a pair", i);
		pair->end[i].qp = NULL;
	}
}

int vt_pair_receive(struct vt_pair *pair, unsigned int end,
		    const struct vuhca_buffer *sge, u64 wr_id)
{
	struct vuhca_recv_wr wr = {
		.wr_id = wr_id,
		.sge = sge,
		.sge_count = sge ? 1 : 0,
	};

	return vuhca_post_recv(pair->end[end].qp, &wr, 1) == 1 ? 0 : -EIO;
}

/* Returns a signalled request on area 1, with one SGE. */
struct vuhca_send_wr vt_rdma_wr(struct vt_areas *areas, u8 opcode,
				const struct vuhca_buffer *sge,
				size_t remote_offset)
{
	return (struct vuhca_send_wr) {
		.opcode = opcode,
		.signaled = true,
		.sge = sge,
		.sge_count = sge ? 1 : 0,
		.remote.address = areas->dma[1] + remote_offset,
		.remote.rkey = areas->mr->rkey,
	};
}

bool vt_post(struct vt_pair *pair, unsigned int end,
	     const struct vuhca_send_wr *wr)
{
	return VT_EQUAL(pair->t, vuhca_post_send(pair->end[end].qp, wr, 1,
						 VUHCA_POST_AUTO), 1);
}

/* Expects the next completion of the CQ to have this status. */
bool vt_completes(struct vt *t, struct vuhca_cq *cq, u8 status,
		  struct vuhca_wc *wc)
{
	memset(wc, 0, sizeof(*wc));
	return VT_EQUAL(t, vt_poll(cq, wc, 1, VT_TIMEOUT_MS), 1) &&
	       VT_EQUAL(t, wc->status, status);
}

/* Posts at end 0 and expects the completion to have this status. */
bool vt_do(struct vt_pair *pair, const struct vuhca_send_wr *wr, u8 status)
{
	struct vuhca_wc wc;

	return vt_post(pair, 0, wr) &&
	       vt_completes(pair->t, pair->t->send_cq.cq, status, &wc);
}

static bool vt_is_send(u8 opcode)
{
	return opcode == VUHCA_SEND_OPCODE_SEND ||
	       opcode == VUHCA_SEND_OPCODE_SEND_IMMEDIATE;
}

static bool vt_transfer_received(struct vt_pair *pair, u8 opcode, u32 length,
				 u32 key)
{
	struct vt *t = pair->t;
	struct vuhca_wc wc;

	return vt_completes(t, t->recv_cq.cq, VUHCA_COMPLETION_STATUS_SUCCESS,
			    &wc) &&
	       VT_EQUAL(t, wc.wr_id, key) &&
	       VT_EQUAL(t, wc.byte_length, length) &&
	       VT_EQUAL(t, wc.has_immediate,
			opcode != VUHCA_SEND_OPCODE_SEND) &&
	       VT_EQUAL(t, wc.immediate,
			opcode != VUHCA_SEND_OPCODE_SEND ? ~key : 0) &&
	       VT_EQUAL(t, wc.qp->qpn, pair->end[1].qp->qpn);
}

/*
 * Sends one message between the beginnings of the areas and checks both ends.
 */
bool vt_pair_transfer(struct vt_pair *pair, struct vt_areas *areas, u8 opcode,
		      u32 length, enum vuhca_post_mode mode)
{
	bool read = opcode == VUHCA_SEND_OPCODE_RDMA_READ;
	bool receives = vt_is_send(opcode) ||
			opcode == VUHCA_SEND_OPCODE_RDMA_WRITE_IMMEDIATE;
	struct vuhca_buffer there = vt_area_buffer(areas, 1, 0, length);
	struct vuhca_buffer here = vt_area_buffer(areas, 0, 0, length);
	struct vuhca_send_wr wr = vt_rdma_wr(areas, opcode,
					     length ? &here : NULL, 0);
	u8 *source = areas->bytes[read], *target = areas->bytes[!read];
	struct vt *t = pair->t;
	u32 key = prandom_u32_state(&t->random);
	struct vuhca_wc wc;

	wr.wr_id = key;
	wr.immediate = ~key;
	vt_fill(source, length, key);
	memset(target, VT_POISON, length + VT_MARGIN);
	if (receives && !VT_EQUAL(t, vt_pair_receive(pair, 1,
						     vt_is_send(opcode) && length ?
						     &there : NULL, key), 0))
		return false;
	return VT_EQUAL(t, vuhca_post_send(pair->end[0].qp, &wr, 1, mode), 1) &&
	       vt_completes(t, t->send_cq.cq, VUHCA_COMPLETION_STATUS_SUCCESS,
			    &wc) &&
	       VT_EQUAL(t, wc.wr_id, key) &&
	       (!receives || vt_transfer_received(pair, opcode, length, key)) &&
	       VT_WAIT(t, vt_holds(target, length, key)) &&
	       VT_CHECK(t, vt_is_poison(target + length, VT_MARGIN),
			"opcode %u of %u bytes ran over", opcode, length);
}

/*
 * Checks that after an error a pair works again once it is reset and connected.
 */
bool vt_pair_works(struct vt_pair *pair, struct vt_areas *areas)
{
	struct vt *t = pair->t;

	return VT_CHECK(t, vt_pair_reconnect(pair) &&
			vt_pair_transfer(pair, areas,
					 VUHCA_SEND_OPCODE_SEND_IMMEDIATE, 5000,
					 VUHCA_POST_COLLECT) &&
			vt_pair_transfer(pair, areas,
					 VUHCA_SEND_OPCODE_RDMA_WRITE, 100,
					 VUHCA_POST_DOORBELL),
			"the pair does not work after the reset");
}

void vt_on_pair(struct vt *t, const struct vt_pair_options *options,
		vt_pair_test run)
{
	struct vt_areas areas;
	struct vt_pair pair;

	if (!vt_areas_create(t, &areas))
		return;
	if (vt_pair_create(t, &pair, options))
		run(&pair, &areas);
	vt_pair_destroy(&pair);
	vt_areas_destroy(t, &areas);
}
