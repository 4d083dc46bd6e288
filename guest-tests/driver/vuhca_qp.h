/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Queue pairs. */
#ifndef VUHCA_QP_H
#define VUHCA_QP_H

#include "vuhca_eq.h"
#include "vuhca_hw.h"
#include "vuhca_srq.h"

struct vuhca_collect_context;
struct vuhca_cq;
struct vuhca_dev;
struct vuhca_global_route;
struct vuhca_pd;
struct vuhca_recv_wr;
struct vuhca_send_wr;
struct vuhca_user_memory;
struct vuhca_xrcd;

/**
 * enum vuhca_post_mode - Ways of posting send requests.
 * @VUHCA_POST_AUTO: One doorbell for all, or, for a lone request, a collect
 *	buffer if that is cheaper (vuhca_collects_lone()).
 * @VUHCA_POST_COLLECT: Each by collect buffer, by doorbell when that is in use.
 * @VUHCA_POST_DOORBELL: One doorbell for all.
 */
enum vuhca_post_mode {
	VUHCA_POST_AUTO,
	VUHCA_POST_COLLECT,
	VUHCA_POST_DOORBELL,
};

/**
 * struct vuhca_qp_init - Parameters of a new QP.
 * @pd: PD of the QP; NULL of an XRC target.
 * @xrcd: XRC domain of an XRC target, which needs no other object and ignores
 *	everything about queues; else NULL.
 * @send_cq: CQ of sends.
 * @recv_cq: CQ of receives; NULL of an XRC initiator.
 * @srq: SRQ in place of a receive queue, or NULL.
 * @send_entries_log2: log2 of the entries of the send queue.
 * @recv_entries_log2: log2 of the entries of the receive queue; ignored with an
 *	SRQ or without a CQ of receives.
 * @send_sge: Most scatter/gather elements of a send request.
 * @recv_sge: Most scatter/gather elements of a receive request; ignored like
 *	@recv_entries_log2.
 * @inline_bytes: Longest inline payload.
 * @service_type: VUHCA_SERVICE_TYPE_*.
 * @qos_level: QoS level, 0 or 1.
 * @special_port: Port whose QP0 (SMI) or QP1 (GSI) it is; 0 for other services.
 * @signal_all: Every send request is signalled.
 * @checksum_off: Send commands carry no checksum.
 * @block_loopback: No multicast datagram returns to the QP that sent it.
 * @collect: Collect context of the process that posts by its pages, NULL: only
 *	the kernel posts. Then operations that name guest addresses fail.
 * @user: Memory of a process that posts, NULL: the driver allocates it.
 * @event: Event handler, or NULL.
 * @context: Argument of @event.
 */
struct vuhca_qp_init {
	struct vuhca_pd *pd;
	struct vuhca_xrcd *xrcd;
	struct vuhca_cq *send_cq;
	struct vuhca_cq *recv_cq;
	struct vuhca_srq *srq;
	unsigned int send_entries_log2;
	unsigned int recv_entries_log2;
	unsigned int send_sge;
	unsigned int recv_sge;
	unsigned int inline_bytes;
	u8 service_type;
	u8 qos_level;
	u8 special_port;
	bool signal_all;
	bool checksum_off;
	bool block_loopback;
	struct vuhca_collect_context *collect;
	const struct vuhca_user_memory *user;
	vuhca_event_handler event;
	void *context;
};

/* Tells whether the QP has a receive queue of its own. */
static inline bool vuhca_has_receive_queue(const struct vuhca_qp_init *init)
{
	return init->recv_cq && !init->srq;
}

/**
 * struct vuhca_qp - Queue pair.
 * @dev: Function of the QP.
 * @pd: PD of the QP; NULL of an XRC target.
 * @xrcd: XRC domain of an XRC target, or NULL.
 * @send_cq: CQ of sends, NULL: none.
 * @recv_cq: CQ of receives, NULL: none.
 * @srq: SRQ in place of a receive queue, or NULL.
 * @qpn: Number of the QP.
 * @generation: dev->generation at creation.
 * @checksum_key: Seed of the checksums of send commands.
 * @state: VUHCA_QP_STATE_* as software set it last; the adapter's may be ERR or SQE.
 * @service_type: VUHCA_SERVICE_TYPE_*.
 * @qos_level: QoS level.
 * @special_port: Port whose QP0 or QP1 it is, or 0.
 * @checksum_off: Send commands carry no checksum.
 * @signal_all: Every send request is signalled.
 * @block_loopback: No multicast datagram returns to the QP that sent it.
 * @collect: Collect context, or NULL.
 * @sq: Send queue.
 * @rq: Receive queue; without slots with an SRQ and of an XRC initiator.
 * @record: Memory with the counts of entries posted, for the adapter.
 * @descriptor: Memory in which the adapter links waiting send queues.
 * @memory: Both queues, @record and @descriptor; only @descriptor if a process
 *	owns queues and record.
 * @dma: Bus address of @memory.
 * @bytes: Length of @memory.
 * @event: Event handler, or NULL.
 * @context: Argument of @event.
 */
struct vuhca_qp {
	struct vuhca_dev *dev;
	struct vuhca_pd *pd;
	struct vuhca_xrcd *xrcd;
	struct vuhca_cq *send_cq;
	struct vuhca_cq *recv_cq;
	struct vuhca_srq *srq;
	u32 qpn;
	u32 generation;
	u32 checksum_key;
	u8 state;
	u8 service_type;
	u8 qos_level;
	u8 special_port;
	bool checksum_off;
	bool signal_all;
	bool block_loopback;
	struct vuhca_collect_context *collect;
	struct vuhca_wq sq;
	struct vuhca_wq rq;
	struct vuhca_queue_pair_record *record;
	struct vuhca_send_queue_descriptor *descriptor;
	void *memory;
	dma_addr_t dma;
	size_t bytes;
	vuhca_event_handler event;
	void *context;
};

/**
 * struct vuhca_connection - Peer and path of an RC or UC QP.
 * @port: Port of the QP.
 * @service_level: Service level of packets.
 * @dlid: LID of the peer.
 * @pkey_index: Entry of the port's P_Key table.
 * @route: GRH of packets, NULL: none.
 * @remote_qpn: QPN of the peer.
 * @send_psn: First PSN sent.
 * @receive_psn: First PSN expected.
 * @access: Remote operations served, VUHCA_ACCESS_FLAG_*.
 * @path_mtu: Code of the path MTU, 1 (256 bytes) to 5 (4096 bytes).
 * @max_reads_initiated: RC only: READs and atomics outstanding at the peer.
 * @max_reads_served: RC only: READs and atomics that the peer may have outstanding.
 * @min_rnr_timer: RC only: code of the delay that an RNR NAK requests.
 * @timeout: RC only: code of the local ACK timeout.
 * @retry_count: RC only: retries after a timeout or NAK.
 * @rnr_retry: RC only: retries after an RNR NAK, 7: no limit.
 */
struct vuhca_connection {
	u8 port;
	u8 service_level;
	u16 dlid;
	u16 pkey_index;
	const struct vuhca_global_route *route;
	u32 remote_qpn;
	u32 send_psn;
	u32 receive_psn;
	u32 access;
	u8 path_mtu;
	u8 max_reads_initiated;
	u8 max_reads_served;
	u8 min_rnr_timer;
	u8 timeout;
	u8 retry_count;
	u8 rnr_retry;
};

struct vuhca_qp *vuhca_create_qp(struct vuhca_dev *dev,
				 const struct vuhca_qp_init *init);
int vuhca_destroy_qp(struct vuhca_qp *qp);
int vuhca_stop_qp(struct vuhca_qp *qp);
int vuhca_modify_qp(struct vuhca_qp *qp,
		    const struct vuhca_qp_attributes *attributes);
int vuhca_query_qp(struct vuhca_qp *qp, struct vuhca_qp_creation *creation,
		   struct vuhca_qp_attributes *attributes);
int vuhca_qp_to_init(struct vuhca_qp *qp, u8 port, u16 pkey_index, u32 qkey);
int vuhca_qp_to_rtr(struct vuhca_qp *qp);
int vuhca_qp_to_rts(struct vuhca_qp *qp, u32 psn);
int vuhca_qp_to_state(struct vuhca_qp *qp, enum vuhca_qp_state state);
int vuhca_qp_drain(struct vuhca_qp *qp);
int vuhca_qp_connect_init(struct vuhca_qp *qp,
			  const struct vuhca_connection *connection);
int vuhca_qp_connect_rtr(struct vuhca_qp *qp,
			 const struct vuhca_connection *connection);
int vuhca_qp_connect_rts(struct vuhca_qp *qp,
			 const struct vuhca_connection *connection);
int vuhca_qp_connect(struct vuhca_qp *qp,
		     const struct vuhca_connection *connection);
int vuhca_attach_mcast(struct vuhca_qp *qp, const u8 *mgid, u16 mlid);
int vuhca_detach_mcast(struct vuhca_qp *qp, const u8 *mgid, u16 mlid);

int vuhca_post_send(struct vuhca_qp *qp, const struct vuhca_send_wr *wrs,
		    unsigned int count, enum vuhca_post_mode mode);
int vuhca_post_recv(struct vuhca_qp *qp, const struct vuhca_recv_wr *wrs,
		    unsigned int count);
void *vuhca_build_send_wqe(struct vuhca_qp *qp, const struct vuhca_send_wr *wr,
			   size_t *length, u16 *sequence);
void vuhca_seal_send_wqe(struct vuhca_qp *qp, void *slot);
void vuhca_publish_send_tail(struct vuhca_qp *qp);
void vuhca_ring_doorbell(struct vuhca_qp *qp, u16 sequence);
void vuhca_ring_unwatched(struct vuhca_qp *qp, u16 sequence);

int vuhca_modify_trace(struct vuhca_qp *qp,
		       const struct vuhca_trace_attributes *attributes);
int vuhca_query_trace(struct vuhca_qp *qp,
		      struct vuhca_trace_attributes *attributes);
int vuhca_read_trace(struct vuhca_qp *qp, u64 position, dma_addr_t buffer,
		     u32 length, struct vuhca_trace_attributes *attributes);

#endif /* VUHCA_QP_H */
