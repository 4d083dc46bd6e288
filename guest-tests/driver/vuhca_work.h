/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Work requests and work completions. */
#ifndef VUHCA_WORK_H
#define VUHCA_WORK_H

#include <linux/bits.h>
#include <linux/types.h>

struct vuhca_qp;

/* PSNs have 24 bits (IBTA 9.2); <rdma/ib_verbs.h> has the mask of QPNs. */
#define VUHCA_PSN_MASK GENMASK(23, 0)

/**
 * struct vuhca_buffer - Scatter/gather element.
 * @address: Address in the memory region.
 * @length: Length in bytes.
 * @lkey: Key of the memory region.
 */
struct vuhca_buffer {
	u64 address;
	u32 length;
	u32 lkey;
};

/**
 * struct vuhca_send_wr - Send work request.
 * @wr_id: Repeated in the completion.
 * @opcode: VUHCA_SEND_OPCODE_*.
 * @signaled: The request completes with an entry in the CQ.
 * @solicited: The receiver gets a solicited event.
 * @fence: The request waits for earlier READs and atomics.
 * @immediate: Immediate data, or the key to invalidate.
 * @xrc_srqn: SRQ of the peer, for requests of an XRC initiator.
 * @sge: Scatter/gather list. FAST_REGISTER: the range and the new key.
 *	BIND_WINDOW: the range and the key of the memory region.
 * @sge_count: Elements of @sge.
 * @inline_data: Payload in place of @sge, or NULL.
 * @inline_bytes: Length of @inline_data.
 * @ud: Destination of a datagram.
 * @ud.remote_qpn: QPN of the destination.
 * @ud.qkey: Q_Key.
 * @ud.ah: Index of the address handle.
 * @ud.pkey_index: Entry of the port's P_Key table, for requests of a GSI QP.
 * @remote: Remote memory of RDMA and atomic requests.
 * @remote.address: Address in the remote memory region.
 * @remote.rkey: Key of the remote memory region.
 * @flush: FLUSH; @remote is its range or its region.
 * @flush.bytes: Bytes of the range.
 * @flush.placement_type: VUHCA_PLACEMENT_TYPE_*.
 * @flush.selectivity: VUHCA_FLUSH_SELECTIVITY_*.
 * @atomic: Operands of an atomic request.
 * @atomic.swap_or_add: Value to swap in or to add.
 * @atomic.compare: Value to compare with.
 * @reg: FAST_REGISTER.
 * @reg.page_list: Bus address of the page list.
 * @reg.page_count: Pages in the list.
 * @reg.page_shift: log2 of the page size.
 * @reg.access: VUHCA_ACCESS_FLAG_*.
 * @bind: BIND_WINDOW.
 * @bind.rkey: Present key of the window.
 * @bind.access: VUHCA_ACCESS_FLAG_*.
 * @bind.key_byte: Low byte of the window's next key.
 */
struct vuhca_send_wr {
	u64 wr_id;
	u8 opcode;
	bool signaled;
	bool solicited;
	bool fence;
	u32 immediate;
	u32 xrc_srqn;
	const struct vuhca_buffer *sge;
	unsigned int sge_count;
	const void *inline_data;
	u32 inline_bytes;
	struct {
		u32 remote_qpn;
		u32 qkey;
		u32 ah;
		u16 pkey_index;
	} ud;
	struct {
		u64 address;
		u32 rkey;
	} remote;
	struct {
		u32 bytes;
		u8 placement_type;
		u8 selectivity;
	} flush;
	struct {
		u64 swap_or_add;
		u64 compare;
	} atomic;
	struct {
		dma_addr_t page_list;
		u16 page_count;
		u8 page_shift;
		u32 access;
	} reg;
	struct {
		u32 rkey;
		u32 access;
		u8 key_byte;
	} bind;
};

/**
 * struct vuhca_recv_wr - Receive work request.
 * @wr_id: Repeated in the completion.
 * @sge: Scatter/gather list.
 * @sge_count: Elements of @sge.
 */
struct vuhca_recv_wr {
	u64 wr_id;
	const struct vuhca_buffer *sge;
	unsigned int sge_count;
};

/**
 * struct vuhca_wc - Work completion.
 * @wr_id: As in the work request.
 * @qp: QP of the work request.
 * @status: VUHCA_COMPLETION_STATUS_*.
 * @opcode: VUHCA_COMPLETION_OPCODE_*.
 * @vendor_error: Cause of an error, VUHCA_FAULT_KIND_*.
 * @port: Port that the message came by.
 * @receive: A receive completed, not a send.
 * @has_immediate: @immediate is immediate data.
 * @has_invalidate: @immediate is the key that the message invalidated.
 * @global_route: The message had a GRH.
 * @solicited: The message requested a solicited event.
 * @sequence: Number of the work request in its queue.
 * @source_lid: LID of the sender.
 * @pkey_index: Entry of the port's P_Key table, for a datagram.
 * @service_level: Service level of a datagram.
 * @path_bits: Low bits of the LID that a datagram was sent to.
 * @byte_length: Length of the message; for a datagram including the GRH area.
 * @immediate: Immediate data or key.
 * @source_qpn: QPN of the sender.
 * @timestamp: Local time of the adapter in ns.
 */
struct vuhca_wc {
	u64 wr_id;
	struct vuhca_qp *qp;
	u8 status;
	u8 opcode;
	u8 vendor_error;
	u8 port;
	bool receive;
	bool has_immediate;
	bool has_invalidate;
	bool global_route;
	bool solicited;
	u16 sequence;
	u16 source_lid;
	u16 pkey_index;
	u8 service_level;
	u8 path_bits;
	u32 byte_length;
	u32 immediate;
	u32 source_qpn;
	u64 timestamp;
};

#endif /* VUHCA_WORK_H */
