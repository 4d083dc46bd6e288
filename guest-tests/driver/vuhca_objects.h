/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What the driver of the vuhca InfiniBand HCA keeps of the adapter and of each
 * of its objects. How work is described to it is in vuhca_work.h, layouts and
 * numbers of the hardware are in vuhca_hw.h.
 */
#ifndef VUHCA_OBJECTS_H
#define VUHCA_OBJECTS_H

#include <linux/completion.h>
#include <linux/idr.h>
#include <linux/io.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "vuhca_hw.h"
#include "vuhca_poll.h"
#include "vuhca_work.h"

#define VUHCA_NAME "vuhca"

/* A DMA MR spans every address the device can be given. */
#define VUHCA_DMA_MR_BYTES (1ULL << 52)

struct dentry;
struct vuhca_cq;
struct vuhca_dev;
struct vuhca_qp;

enum vuhca_dev_state {
	VUHCA_DEV_DOWN,		/* no commands: not started, or being reset */
	VUHCA_DEV_STARTING,	/* management commands only */
	VUHCA_DEV_UP,
	VUHCA_DEV_GONE,		/* reads return all ones, or a reset failed */
};

/* Management path: one command at a time. */
struct vuhca_admin {
	struct mutex lock;	/* serialises commands */
	struct vuhca_management_response *response;
	dma_addr_t response_dma;
	u8 command[VUHCA_COMMAND_MAX_BYTES] __aligned(8);
	u16 sequence;
	u32 event_queue;	/* EQ of the notifications, 0: poll */
	struct completion done;
	u64 commands;
	u64 refusals;
	u64 timeouts;
	u64 missed_events;
};

/* One collect buffer: a 4 KiB page of the collect BAR. */
struct vuhca_vcb {
	u8 __iomem *page;	/* NULL: none at present */
	spinlock_t lock;	/* page, and writing to it */
	unsigned int index;
	u8 qos_level;
};

/* The collect buffers of one QoS level: one per CPU, the rest on request. */
struct vuhca_vcb_set {
	unsigned int first;
	unsigned int count;
	struct vuhca_vcb *cpu_vcbs;
	unsigned int cpu_count;
	atomic64_t busy;
};

/* Doorbells the adapter has no room for, in memory that is its own. */
struct vuhca_overflow {
	void *entries;
	dma_addr_t dma;
	unsigned int entries_log2;
};

/* What the function has of the adapter, and how it asks for more. */
struct vuhca_shares {
	struct work_struct changed;
	struct mutex lock;	/* last_error */
	char last_error[192];
	u64 events;
};

/* Called with the queue's lock held, hard interrupt included: must not sleep. */
typedef void (*vuhca_entry_handler)(struct vuhca_dev *dev,
				    const struct vuhca_event_entry *entry);

#define VUHCA_EVENT_TYPES (VUHCA_EVENT_TYPE_DEVICE_FATAL + 1)

/* How events reach the objects, which lie in layers above the event queues. */
struct vuhca_event_ops {
	vuhca_entry_handler handlers[VUHCA_EVENT_TYPES];
	/* The vector of event queue 0 is that of send credits, too. */
	void (*credit_interrupt)(struct vuhca_dev *dev);
	/* At each tick of the deadman; not called while it is switched off. */
	void (*deadman)(struct vuhca_dev *dev);
};

struct vuhca_ah_table {
	struct vuhca_address_handle *entries;
	dma_addr_t dma;
	unsigned int count;
	struct ida ida;
};

struct vuhca_dev {
	struct pci_dev *pdev;
	void __iomem *csr;
	u8 __iomem *collect;
	resource_size_t collect_bytes;
	u8 __iomem *dedicated;
	u8 __iomem *pio;

	enum vuhca_dev_state state;
	/* Raised by each reset: objects of older generations are gone. */
	u32 generation;

	struct vuhca_adapter_attributes attributes;
	unsigned int port_count;
	u16 function;		/* 0: the physical one */
	struct vuhca_admin admin;
	struct vuhca_eq *eqs;	/* 0: asynchronous and management events */
	unsigned int eq_count;
	const struct vuhca_event_ops *event_ops;
	struct timer_list deadman;
	struct xarray cqs;
	struct xarray qps;
	struct xarray srqs;
	struct xarray send_contexts;
	struct mutex vcb_lock;	/* who has which collect buffer */
	struct ida vcb_ida;
	bool vcbs_split;	/* among the levels by request, not by us */
	struct vuhca_vcb_set vcbs[VUHCA_QOS_LEVELS];
	struct vuhca_overflow overflow;
	struct vuhca_shares shares;
	struct vuhca_ah_table ahs;
	struct list_head list;
	struct dentry *debugfs;
};

struct vuhca_pd {
	struct vuhca_dev *dev;
	u32 pdn;
	u32 generation;
};

struct vuhca_mr {
	struct vuhca_dev *dev;
	u32 number;
	u32 generation;
	u32 lkey;
	u32 rkey;
};

struct vuhca_mw {
	struct vuhca_dev *dev;
	u32 number;
	u32 generation;
	u32 rkey;	/* as of the last bind posted by vuhca_bind_mw() */
	u8 kind;
};

struct vuhca_ah {
	struct vuhca_dev *dev;
	u32 index;
	u8 port;
};

/* Called from any context, hard interrupt included: must not sleep. */
typedef void (*vuhca_cq_handler)(struct vuhca_cq *cq, void *context);
typedef void (*vuhca_event_handler)(enum vuhca_event_type type, u8 fault,
				    void *context);

struct vuhca_cq_init {
	unsigned int entries_log2;
	unsigned int eq_index;
	vuhca_cq_handler completion;
	vuhca_event_handler event;
	void *context;
};

struct vuhca_cq {
	struct vuhca_dev *dev;
	struct vuhca_eq *eq;
	spinlock_t lock;	/* consumer side */
	u32 cqn;
	u32 generation;
	unsigned int entries_log2;
	struct vuhca_completion_entry *entries;
	struct vuhca_completion_queue_record *record;
	dma_addr_t dma;
	dma_addr_t record_dma;
	size_t bytes;
	u32 consumed;
	struct mutex resize_lock;	/* what moves or edits entries unread */
	bool resizing;			/* nobody polls */
	vuhca_cq_handler completion;
	vuhca_event_handler event;
	void *context;
	u64 stale_entries;
};

/* One direction of a QP. Numbers run freely modulo 2^16. */
struct vuhca_wq {
	spinlock_t lock;	/* producer side */
	u8 *slots;
	u64 *wr_ids;
	unsigned int entries_log2;
	unsigned int stride_log2;
	u16 head;
	u16 tail;
};

struct vuhca_srq_init {
	unsigned int entries_log2;
	unsigned int sge;
	u32 limit;		/* event when fewer are posted, 0: none */
	vuhca_event_handler event;
	void *context;
};

struct vuhca_srq {
	struct vuhca_dev *dev;
	struct vuhca_pd *pd;
	u32 srqn;
	u32 generation;
	struct vuhca_wq rq;
	unsigned long *completed;	/* slots done ahead of rq.head */
	struct vuhca_srq_record *record;
	dma_addr_t dma;
	size_t bytes;
	vuhca_event_handler event;
	void *context;
};

struct vuhca_qp_init {
	struct vuhca_pd *pd;
	struct vuhca_cq *send_cq;
	struct vuhca_cq *recv_cq;
	struct vuhca_srq *srq;	/* instead of a receive queue, or NULL */
	unsigned int send_entries_log2;
	unsigned int recv_entries_log2;
	unsigned int send_sge;
	unsigned int recv_sge;
	unsigned int inline_bytes;
	u8 service_type;
	u8 qos_level;
	bool signal_all;
	bool checksum_off;
	vuhca_event_handler event;
	void *context;
};

struct vuhca_qp {
	struct vuhca_dev *dev;
	struct vuhca_pd *pd;
	struct vuhca_cq *send_cq;
	struct vuhca_cq *recv_cq;
	struct vuhca_srq *srq;
	u32 qpn;
	u32 generation;
	u32 checksum_key;
	u8 state;		/* as last set by software */
	u8 service_type;
	u8 qos_level;
	bool checksum_off;
	bool signal_all;
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

/* A management command, before it gets its sequence number and checksum. */
struct vuhca_command {
	u8 opcode;
	u32 object;
	u32 modifier;
	u64 token;
	const void *payload;
	size_t payload_bytes;
};

struct vuhca_answer {
	u8 status;
	u32 object;
	u16 bad_offset;
	u64 limit;
	u8 payload[sizeof_field(struct vuhca_management_response, payload)];
};

#endif /* VUHCA_OBJECTS_H */
