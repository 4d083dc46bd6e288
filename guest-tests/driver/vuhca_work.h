/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * How work is described to the driver: connections, requests, and what comes
 * back of them.
 */
#ifndef VUHCA_WORK_H
#define VUHCA_WORK_H

#include <linux/types.h>

struct vuhca_qp;

/* What the GRH of packets that leave the subnet, or may, is made of. */
struct vuhca_global_route {
	u8 destination_gid[16];
	u8 source_gid_index;
	u8 hop_limit;
	u8 traffic_class;
	u32 flow_label;
};

/* What an RC or UC QP is told of its peer and of the way to it. */
struct vuhca_connection {
	u8 port;
	u8 service_level;
	u16 dlid;
	u16 pkey_index;
	const struct vuhca_global_route *route;	/* NULL: packets without GRH */
	u32 remote_qpn;
	u32 send_psn;
	u32 receive_psn;
	u32 access;		/* remote operations served */
	u8 path_mtu;		/* code, 1 (256) to 5 (4096) */
	/* RC only. */
	u8 max_reads_initiated;
	u8 max_reads_served;
	u8 min_rnr_timer;
	u8 timeout;
	u8 retry_count;
	u8 rnr_retry;
};

struct vuhca_buffer {
	u64 address;
	u32 length;
	u32 lkey;
};

struct vuhca_send_wr {
	u64 wr_id;
	u8 opcode;
	bool signaled;
	bool solicited;
	bool fence;
	u32 immediate;			/* or the key to invalidate */
	/* FAST_REGISTER: range and new key; BIND_WINDOW: range and key of the MR */
	const struct vuhca_buffer *sge;
	unsigned int sge_count;
	const void *inline_data;	/* instead of SGEs */
	u32 inline_bytes;
	struct {
		u32 remote_qpn;
		u32 qkey;
		u32 ah;
	} ud;
	struct {
		u64 address;
		u32 rkey;
	} remote;			/* RDMA and atomics */
	struct {
		u64 swap_or_add;
		u64 compare;
	} atomic;
	struct {
		dma_addr_t page_list;
		u16 page_count;
		u8 page_shift;
		u8 access;
	} reg;				/* FAST_REGISTER */
	struct {
		u32 rkey;		/* as it is */
		u32 access;
		u8 key_byte;		/* low byte of the key to come */
	} bind;				/* BIND_WINDOW */
};

struct vuhca_recv_wr {
	u64 wr_id;
	const struct vuhca_buffer *sge;
	unsigned int sge_count;
};

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
	u32 byte_length;
	u32 immediate;			/* or the key invalidated */
	u32 source_qpn;
	u64 timestamp;
};

#endif /* VUHCA_WORK_H */
