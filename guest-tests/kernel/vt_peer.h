/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Two guests that run the same suite at the same time, each on its own adapter.
 * Besides their links they have a slow channel, which the host relays: an
 * exchange of a few words, in which each guest waits for the other. Both guests
 * draw the same numbers from t->random, so they need not exchange keys.
 */
#ifndef VT_PEER_H
#define VT_PEER_H

#include "vt_pair.h"

#define VT_WORDS	5
/* 4.3 s, so that a busy host does not use up eight attempts. */
#define VT_LONG_TIMEOUT	20

/* The comments name the value that stands for 0. */
struct vt_peer_options {
	u8 service;		/* RC; UD uses a QP of t->end[] */
	u8 port;		/* 1 */
	u8 timeout;		/* code: VT_LONG_TIMEOUT */
	u8 retry_count;		/* 7 */
	u8 rnr_retry;		/* 7, forever */
};

/* This guest's end of the connection. */
struct vt_peer {
	struct vt *t;
	struct vt_peer_options options;
	unsigned int side;	/* 0 or 1 */
	u32 epoch;		/* counts the peers, equal on both sides */
	u32 step;
	bool lost;		/* set when the other side did not answer */
	struct vt_end end;
	struct vuhca_qp *qp;
	struct vuhca_mr *mr;	/* every right to all memory */
	u32 qpn;		/* the other side's, like all members below */
	u32 lid;
	u32 psn;
	u32 rkey;
	u64 address;		/* address of its t->memory */
};

/* vt_peer_exchange.c */
void vt_exchange_begin(struct vt_peer *peer);
bool vt_exchange(struct vt_peer *peer, const u64 *mine, u64 *theirs);
bool vt_sync(struct vt_peer *peer);
void vt_ask_host(struct vt *t, const char *request);

/* vt_peer.c */
bool vt_peer_connect(struct vt_peer *peer);
void vt_with_peer(struct vt *t, const struct vt_peer_options *options,
		  void (*run)(struct vt_peer *peer));
struct vuhca_buffer vt_peer_buffer(struct vt_peer *peer, size_t offset,
				   u32 length);
struct vuhca_send_wr vt_peer_wr(struct vt_peer *peer, u8 opcode,
				const struct vuhca_buffer *sge, u64 wr_id);
bool vt_peer_post(struct vt_peer *peer, const struct vuhca_send_wr *wr);
bool vt_peer_receive(struct vt_peer *peer, const struct vuhca_buffer *sge,
		     u64 wr_id);
bool vt_peer_transfer(struct vt_peer *peer, unsigned int asker, u8 opcode,
		      u32 length);

/* vt_peer_traffic.c */
void vt_peer_datagrams(struct vt_peer *peer);
void vt_peer_stream(struct vt_peer *peer, unsigned int total, bool cuts);

/* vt_peer_group.c */
void vt_peer_group(struct vt_peer *peer);

#endif /* VT_PEER_H */
