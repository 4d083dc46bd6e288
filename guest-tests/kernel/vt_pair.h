/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Two connected QPs of one guest, and memory for each. */
#ifndef VT_PAIR_H
#define VT_PAIR_H

#include "vt.h"

/* Longest message of these tests, and memory after it to detect overruns. */
#define VT_AREA_BYTES	(1024 * 1024)
#define VT_MARGIN	64
#define VT_ALL_REMOTE	(VUHCA_ACCESS_FLAG_REMOTE_WRITE | \
			 VUHCA_ACCESS_FLAG_REMOTE_READ | \
			 VUHCA_ACCESS_FLAG_REMOTE_ATOMIC | \
			 VUHCA_ACCESS_FLAG_FLUSH_GLOBAL | \
			 VUHCA_ACCESS_FLAG_FLUSH_PERSISTENT)
/* PSNs wrap within the first messages. */
#define VT_LATE_PSN	0xfffff0
#define VT_MTU_CODES	5
/*
 * 268 ms, so that the adapter of a busy machine does not use up eight attempts.
 */
#define VT_TIMEOUT_CODE	16

/* Memory of a pair: one area for each end. Its MR has all access flags. */
struct vt_areas {
	u8 *bytes[2];
	dma_addr_t dma[2];
	struct vuhca_mr *mr;
};

/* The comments name the value that stands for 0. */
struct vt_pair_options {
	u8 service;		/* RC */
	u8 from;		/* port of end 0: 1 */
	u8 to;			/* port of end 1: 2 */
	u8 path_mtu;		/* code: 5, 4096 bytes */
	u8 timeout;		/* code: VT_TIMEOUT_CODE */
	u8 retry_count;		/* 7 */
	u8 rnr_retry;		/* 7, forever */
	u32 access;		/* VT_ALL_REMOTE */
	u32 nowhere;		/* QPN of the peer: the other end */
	bool no_remote;		/* access 0 */
	struct vuhca_srq *srq;	/* of end 1, or NULL */
	struct vuhca_xrcd *xrcd;	/* an XRC initiator and a target, or NULL */
	int refusal;		/* expected error of connecting end 0 */
	/* GRH of the packets of each end; NULL: none. */
	const struct vuhca_global_route *routes[2];
};

struct vt_pair {
	struct vt *t;
	struct vt_pair_options options;
	struct vt_end end[2];
};

typedef void (*vt_pair_test)(struct vt_pair *pair, struct vt_areas *areas);

bool vt_areas_create(struct vt *t, struct vt_areas *areas);
void vt_areas_destroy(struct vt *t, struct vt_areas *areas);
struct vuhca_buffer vt_area_buffer(struct vt_areas *areas, unsigned int end,
				   size_t offset, u32 length);
bool vt_pair_create(struct vt *t, struct vt_pair *pair,
		    const struct vt_pair_options *options);
bool vt_pair_connect(struct vt_pair *pair);
bool vt_pair_reconnect(struct vt_pair *pair);
void vt_pair_destroy(struct vt_pair *pair);
/* Runs a test on a pair and two areas of its own. */
void vt_on_pair(struct vt *t, const struct vt_pair_options *options,
		vt_pair_test run);
int vt_pair_receive(struct vt_pair *pair, unsigned int end,
		    const struct vuhca_buffer *sge, u64 wr_id);
struct vuhca_send_wr vt_rdma_wr(struct vt_areas *areas, u8 opcode,
				const struct vuhca_buffer *sge,
				size_t remote_offset);
bool vt_post(struct vt_pair *pair, unsigned int end,
	     const struct vuhca_send_wr *wr);
bool vt_completes(struct vt *t, struct vuhca_cq *cq, u8 status,
		  struct vuhca_wc *wc);
bool vt_do(struct vt_pair *pair, const struct vuhca_send_wr *wr, u8 status);
bool vt_pair_works(struct vt_pair *pair, struct vt_areas *areas);
bool vt_pair_transfer(struct vt_pair *pair, struct vt_areas *areas, u8 opcode,
		      u32 length, enum vuhca_post_mode mode);

#endif /* VT_PAIR_H */
