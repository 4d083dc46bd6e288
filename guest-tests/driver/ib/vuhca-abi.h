/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * ABI between the kernel module vuhca_ib.ko and the user-space provider
 * (guest-tests/provider), after the structures of the kernel's own ABI
 * (docs/verbs/VERBS.md, "User space"). Sizes are multiples of 8 and fields are
 * aligned, so that 32-bit programs see the same layout. A change that is not
 * compatible raises VUHCA_ABI_VERSION.
 */
#ifndef VUHCA_ABI_H
#define VUHCA_ABI_H

#include <linux/types.h>

/* uverbs_abi_ver of the device. */
#define VUHCA_ABI_VERSION 1

/*
 * Pages that a process can map, by page offset of mmap(). The first two are
 * collect pages of QoS level 0 and 1. A thread domain maps one of its own: an
 * even offset from VUHCA_MMAP_DOMAIN on has level 0, an odd one level 1. A
 * collect page is the process's own from its first mapping to its last
 * unmapping.
 */
#define VUHCA_MMAP_COLLECT 0
#define VUHCA_MMAP_CLOCK 2
#define VUHCA_MMAP_DOMAIN 16
#define VUHCA_MMAP_END 4096
/* Offsets of device memory, which VUHCA_METHOD_DM_QUERY returns, begin here. */
#define VUHCA_MMAP_DEVICE_MEMORY VUHCA_MMAP_END

/* Bits of vuhca_alloc_ucontext_resp.flags. */
/* Lone requests go to a collect page; without the bit, by doorbell. */
#define VUHCA_UCONTEXT_COLLECTS (1 << 0)
/* VUHCA_MMAP_CLOCK can be mapped. */
#define VUHCA_UCONTEXT_CLOCK (1 << 1)
/*
 * The adapter may watch tails by itself; without the bit every doorbell is
 * rung.
 */
#define VUHCA_UCONTEXT_SHADOW_TAILS (1 << 2)
/* Processors take turns: a poll in vain ends that of this one. */
#define VUHCA_UCONTEXT_POLLS_PAUSE (1 << 3)

/*
 * Attribute of the method UVERBS_METHOD_QUERY_CONTEXT: the answer to
 * alloc_ucontext once more, for a process that imports the context.
 */
#define VUHCA_ATTR_QUERY_CONTEXT 0x1000

/*
 * layout_hash: VUHCA_LAYOUT_HASH of the kernel module.
 * max_sge, max_inline: of a work request.
 * clock_khz: of time stamps.
 */
struct vuhca_alloc_ucontext_resp {
	__aligned_u64 layout_hash;
	__u32 flags;
	__u32 clock_khz;
	__u32 max_inline;
	__u16 max_sge;
	__u8 send_queue_max_log2;
	__u8 receive_queue_max_log2;
	__u8 completion_queue_max_log2;
	__u8 reserved[7];
};

/* Method of the object UVERBS_OBJECT_DM, and its attributes. */
enum vuhca_dm_methods {
	VUHCA_METHOD_DM_QUERY = 0x1000,
};

enum vuhca_dm_query_attributes {
	VUHCA_ATTR_DM_QUERY_HANDLE = 0x1000,
	VUHCA_ATTR_DM_QUERY_RESP,
};

/*
 * length: Bytes that were asked for; the mapping is of whole pages.
 * mmap_page: Page offset of mmap().
 */
struct vuhca_query_dm_resp {
	__aligned_u64 length;
	__u32 mmap_page;
	__u32 reserved;
};

struct vuhca_alloc_pd_resp {
	__u32 pdn;
	__u32 reserved;
};

struct vuhca_create_ah_resp {
	__u32 index;
	__u32 reserved;
};

/*
 * The adapter uses the first 8 bytes of the record of a CQ. After them the
 * kernel module stores a __u32 that is not 0 once the adapter writes no further
 * entry: after a reset, a removal or a loss. The provider then completes
 * outstanding requests as flushed.
 */
#define VUHCA_CQ_DEAD_OFFSET 8

/*
 * buffer: The ring, in pages of user memory that belong to the queue. record:
 * 64 bytes of a page that may hold records of other objects.
 */
struct vuhca_create_cq {
	__aligned_u64 buffer;
	__aligned_u64 record;
	__u8 entries_log2;
	__u8 reserved[7];
};

struct vuhca_create_cq_resp {
	__u32 cqn;
	__u32 reserved;
};

struct vuhca_resize_cq {
	__aligned_u64 buffer;
	__u8 entries_log2;
	__u8 reserved[7];
};

struct vuhca_create_srq {
	__aligned_u64 buffer;
	__aligned_u64 record;
	__u8 entries_log2;
	__u8 stride_log2;
	__u8 reserved[6];
};

struct vuhca_create_srq_resp {
	__u32 srqn;
	__u32 reserved;
};

/* The length of the slots does not change. */
struct vuhca_modify_srq {
	__aligned_u64 buffer;
	__u8 entries_log2;
	__u8 reserved[7];
};

/* Bits of vuhca_create_qp.flags. */
/* No multicast datagram returns to the QP that sent it. */
#define VUHCA_CREATE_QP_BLOCK_LOOPBACK (1 << 0)

/*
 * receive_buffer is 0 with an SRQ and for an XRC initiator. An XRC target has
 * no memory: the kernel module ignores all of it.
 */
struct vuhca_create_qp {
	__aligned_u64 send_buffer;
	__aligned_u64 receive_buffer;
	__aligned_u64 record;
	__u8 send_entries_log2;
	__u8 send_stride_log2;
	__u8 receive_entries_log2;
	__u8 receive_stride_log2;
	__u8 qos_level;
	__u8 flags;
	__u8 reserved[2];
};

struct vuhca_create_qp_resp {
	__u32 qpn;
	__u32 checksum_key;
};

#endif /* VUHCA_ABI_H */
