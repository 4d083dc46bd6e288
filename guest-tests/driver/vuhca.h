/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Driver of the vuhca InfiniBand HCA: its objects, and the calls that the
 * verbs layer and the test module build on. How software drives the adapter
 * is docs/PROGRAMMING.md; layouts and numbers are in vuhca_hw.h.
 */
#ifndef VUHCA_H
#define VUHCA_H

#include <linux/completion.h>
#include <linux/idr.h>
#include <linux/io.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/unaligned.h>
#include <linux/xarray.h>

#include "vuhca_hw.h"

#define VUHCA_NAME "vuhca"

/* A DMA MR spans every address the device can be given. */
#define VUHCA_DMA_MR_BYTES (1ULL << 52)

struct dentry;
struct vuhca_cq;
struct vuhca_qp;

enum vuhca_dev_state {
	VUHCA_DEV_DOWN,		/* no commands: not started, or being reset */
	VUHCA_DEV_STARTING,	/* management commands only */
	VUHCA_DEV_UP,
	VUHCA_DEV_GONE,		/* reads return all ones, or a reset failed */
};

/* Management path: one command at a time. */
struct vuhca_admin {
	struct mutex lock;	/* serialises commands, held during a reset */
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

struct vuhca_eq {
	struct vuhca_dev *dev;
	spinlock_t lock;	/* consumer side: interrupt and deadman */
	u32 eqn;
	unsigned int index;
	unsigned int entries_log2;
	struct vuhca_event_entry *entries;
	dma_addr_t entries_dma;
	u32 consumed;
	u32 suspect;		/* consumed + 1 when the deadman last saw work */
	int irq;
	char name[32];
	u64 events;
	u64 interrupts;
	u64 empty_interrupts;
	u64 stranded;
};

/* One collect buffer: a 4 KiB page of the collect BAR. */
struct vuhca_vcb {
	u8 __iomem *page;
	spinlock_t lock;
	unsigned int index;
	u8 qos_level;
};

/* The collect buffers of one QoS level: one per CPU, the rest on request. */
struct vuhca_vcb_set {
	unsigned int first;
	unsigned int count;
	struct vuhca_vcb *cpu_vcbs;
	unsigned int cpu_count;
	struct ida ida;
	u64 busy;
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

	enum vuhca_dev_state state;
	/* Raised by each reset: objects of older generations are gone. */
	u32 generation;

	struct vuhca_adapter_attributes attributes;
	unsigned int port_count;
	struct vuhca_admin admin;
	struct vuhca_eq *eqs;	/* 0: asynchronous and management events */
	unsigned int eq_count;
	struct timer_list deadman;
	struct xarray cqs;
	struct xarray qps;
	struct vuhca_vcb_set vcbs[VUHCA_QOS_LEVELS];
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
	size_t bytes;
	u32 consumed;
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

struct vuhca_qp_init {
	struct vuhca_pd *pd;
	struct vuhca_cq *send_cq;
	struct vuhca_cq *recv_cq;
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
	u32 immediate;
	const struct vuhca_buffer *sge;
	unsigned int sge_count;
	const void *inline_data;	/* instead of SGEs */
	u32 inline_bytes;
	struct {
		u32 remote_qpn;
		u32 qkey;
		u32 ah;
	} ud;
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
	bool global_route;
	bool solicited;
	u16 sequence;
	u16 source_lid;
	u32 byte_length;
	u32 immediate;
	u32 source_qpn;
	u64 timestamp;
};

enum vuhca_post_mode {
	VUHCA_POST_AUTO,	/* collect a single command, ring for a batch */
	VUHCA_POST_COLLECT,
	VUHCA_POST_DOORBELL,
};

/* Users of the adapter that come and go with it. Callbacks may sleep. */
struct vuhca_client {
	struct list_head list;
	void (*add)(struct vuhca_dev *dev);
	void (*remove)(struct vuhca_dev *dev);
};

static inline u32 vuhca_read_csr(struct vuhca_dev *dev, unsigned int offset)
{
	return readl(dev->csr + offset);
}

static inline u64 vuhca_read_csr64(struct vuhca_dev *dev, unsigned int offset)
{
	return readq(dev->csr + offset);
}

static inline void vuhca_write_csr(struct vuhca_dev *dev, unsigned int offset,
				   u32 value)
{
	writel(value, dev->csr + offset);
}

static inline void vuhca_write_csr64(struct vuhca_dev *dev, unsigned int offset,
				     u64 value)
{
	writeq(value, dev->csr + offset);
}

/* Eight bytes already in the adapter's byte order, as one store. */
static inline void vuhca_write_eight(void __iomem *at, const void *bytes)
{
	writeq(get_unaligned_le64(bytes), at);
}

static inline bool vuhca_is_up(struct vuhca_dev *dev)
{
	return READ_ONCE(dev->state) == VUHCA_DEV_UP;
}

/* False when a reset took the object away; only its memory is left then. */
static inline bool vuhca_is_current(struct vuhca_dev *dev, u32 generation)
{
	return READ_ONCE(dev->generation) == generation;
}

/* vuhca_device.c */
bool vuhca_check_gone(struct vuhca_dev *dev);
int vuhca_identify(struct vuhca_dev *dev);
int vuhca_find_dedicated(struct vuhca_dev *dev);
int vuhca_soft_reset(struct vuhca_dev *dev);
int vuhca_start(struct vuhca_dev *dev);
void vuhca_stop(struct vuhca_dev *dev);
int vuhca_resume(struct vuhca_dev *dev);
int vuhca_reset(struct vuhca_dev *dev);
int vuhca_register_client(struct vuhca_client *client);
void vuhca_unregister_client(struct vuhca_client *client);
void vuhca_announce(struct vuhca_dev *dev);
void vuhca_withdraw(struct vuhca_dev *dev);

/* vuhca_admin.c */
int vuhca_admin_init(struct vuhca_dev *dev);
void vuhca_admin_cleanup(struct vuhca_dev *dev);
void vuhca_admin_event(struct vuhca_dev *dev, u32 sequence);
u32 vuhca_checksum(const void *bytes, size_t length, u32 seed);
size_t vuhca_admin_prepare(struct vuhca_dev *dev,
			   const struct vuhca_command *command, void *bytes);
void vuhca_admin_seal(void *bytes, size_t length);
int vuhca_admin_submit(struct vuhca_dev *dev, const void *bytes, size_t length,
		       struct vuhca_answer *answer);
int vuhca_admin_execute(struct vuhca_dev *dev,
			const struct vuhca_command *command,
			struct vuhca_answer *answer);
int vuhca_admin_destroy(struct vuhca_dev *dev, u8 opcode, u32 object,
			u32 generation);
int vuhca_query_adapter(struct vuhca_dev *dev,
			struct vuhca_adapter_attributes *attributes);
int vuhca_query_port(struct vuhca_dev *dev, u8 port,
		     struct vuhca_port_attributes *attributes);

/* vuhca_eq.c */
int vuhca_eqs_alloc(struct vuhca_dev *dev);
void vuhca_eqs_free(struct vuhca_dev *dev);
int vuhca_eqs_create(struct vuhca_dev *dev);
void vuhca_eqs_destroy(struct vuhca_dev *dev);
void vuhca_eqs_quiesce(struct vuhca_dev *dev);
void vuhca_deadman(struct timer_list *timer);

/* vuhca_mr.c */
struct vuhca_pd *vuhca_alloc_pd(struct vuhca_dev *dev);
int vuhca_dealloc_pd(struct vuhca_pd *pd);
struct vuhca_mr *vuhca_get_dma_mr(struct vuhca_pd *pd, u32 access);
struct vuhca_mr *vuhca_reg_pages(struct vuhca_pd *pd, u32 access, u64 start,
				 u64 length, dma_addr_t page_list,
				 u32 page_count, u8 page_shift);
int vuhca_dereg_mr(struct vuhca_mr *mr);

/* vuhca_ah.c */
int vuhca_ahs_alloc(struct vuhca_dev *dev);
void vuhca_ahs_free(struct vuhca_dev *dev);
void vuhca_ahs_start(struct vuhca_dev *dev);
struct vuhca_ah *vuhca_create_ah(struct vuhca_pd *pd, u8 port, u16 dlid,
				 u8 service_level);
void vuhca_destroy_ah(struct vuhca_ah *ah);
struct vuhca_address_handle *vuhca_ah_entry(struct vuhca_ah *ah);

/* vuhca_cq.c */
struct vuhca_cq *vuhca_create_cq(struct vuhca_dev *dev,
				 const struct vuhca_cq_init *init);
int vuhca_destroy_cq(struct vuhca_cq *cq);
int vuhca_query_cq(struct vuhca_cq *cq, struct vuhca_cq_attributes *attributes);
int vuhca_poll_cq(struct vuhca_cq *cq, unsigned int count, struct vuhca_wc *wc);
void vuhca_arm_cq(struct vuhca_cq *cq, bool solicited_only);
void vuhca_clean_cq(struct vuhca_cq *cq, u32 qpn);

/* vuhca_vcb.c */
int vuhca_vcbs_init(struct vuhca_dev *dev);
void vuhca_vcbs_cleanup(struct vuhca_dev *dev);
void vuhca_vcbs_start(struct vuhca_dev *dev);
struct vuhca_vcb *vuhca_vcb_trylock(struct vuhca_dev *dev, u8 qos_level);
void vuhca_vcb_unlock(struct vuhca_vcb *vcb);
struct vuhca_vcb *vuhca_alloc_vcb(struct vuhca_dev *dev, u8 qos_level);
void vuhca_free_vcb(struct vuhca_dev *dev, struct vuhca_vcb *vcb);
void vuhca_vcb_write(struct vuhca_vcb *vcb, const void *bytes, size_t length);
void vuhca_vcb_cancel(struct vuhca_vcb *vcb);

/* vuhca_qp.c */
struct vuhca_qp *vuhca_create_qp(struct vuhca_dev *dev,
				 const struct vuhca_qp_init *init);
int vuhca_destroy_qp(struct vuhca_qp *qp);
int vuhca_modify_qp(struct vuhca_qp *qp,
		    const struct vuhca_qp_attributes *attributes);
int vuhca_query_qp(struct vuhca_qp *qp, struct vuhca_qp_creation *creation,
		   struct vuhca_qp_attributes *attributes);
int vuhca_qp_to_init(struct vuhca_qp *qp, u8 port, u16 pkey_index, u32 qkey);
int vuhca_qp_to_rtr(struct vuhca_qp *qp);
int vuhca_qp_to_rts(struct vuhca_qp *qp, u32 psn);
int vuhca_qp_to_state(struct vuhca_qp *qp, enum vuhca_qp_state state);

/* vuhca_post.c */
int vuhca_post_send(struct vuhca_qp *qp, const struct vuhca_send_wr *wrs,
		    unsigned int count, enum vuhca_post_mode mode);
int vuhca_post_recv(struct vuhca_qp *qp, const struct vuhca_recv_wr *wrs,
		    unsigned int count);
void *vuhca_fill_send(struct vuhca_qp *qp, const struct vuhca_send_wr *wr,
		      size_t *length, u16 *sequence);
void vuhca_publish_sends(struct vuhca_qp *qp);
void vuhca_seal_send(struct vuhca_qp *qp, void *slot);
void vuhca_ring_doorbell(struct vuhca_qp *qp, u16 sequence);

/* vuhca_debugfs.c */
void vuhca_debugfs_init(void);
void vuhca_debugfs_exit(void);
void vuhca_debugfs_add(struct vuhca_dev *dev);
void vuhca_debugfs_remove(struct vuhca_dev *dev);

#endif /* VUHCA_H */
