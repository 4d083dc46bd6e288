/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The user-space provider of libibverbs for the vuhca adapter (docs/verbs/VERBS.md,
 * "User space"): its objects. Names begin with vu_; those that begin with
 * vuhca_ belong to the adapter (vuhca_hw.h) or to the kernel module
 * (vuhca-abi.h).
 */
#ifndef VU_H
#define VU_H

#include <endian.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <ccan/array_size.h>
#include <infiniband/driver.h>
#include <util/udma_barrier.h>
#include <util/util.h>

#include "vu_abi.h"
#include "vuhca_hw.h"

#define VU_PAGE_BYTES 4096
/* Length of a record of producer or consumer positions. */
#define VU_RECORD_BYTES 64
/* Object numbers are a generation and an index; the table of QPs is by index. */
#define VU_TABLE_LOG2 8
#define VU_TABLE_SIZE (1 << VU_TABLE_LOG2)

/* Bit 31 of create_flags of ibv_create_qp_ex(): commands of QoS level 1. */
#define VU_QP_CREATE_LEVEL_1 (1U << 31)

/* Ways of posting send requests, as in the environment variable VUHCA_POST. */
enum vu_post {
	VU_POST_AUTO,
	VU_POST_COLLECT,
	VU_POST_DOORBELL,
};

/* A lock that is not taken where the user promises a single thread. */
struct vu_lock {
	pthread_spinlock_t lock;
	bool needed;
};

/*
 * A collect page. Two writers of commands would mix them, so a writer that
 * finds the page in use rings the doorbell, which is a single store.
 */
struct vu_page {
	struct vu_lock lock;
	uint8_t *at;
	/* Another context may write to it: doorbells only. */
	bool shared;
};

/* A thread domain has collect pages of its own. */
struct vu_td {
	struct ibv_td base;
	struct vu_page pages[VUHCA_QOS_LEVELS];
	unsigned int slot;
	unsigned int users;
};

/* A PD, or a parent domain, which has the kernel handle of its PD. */
struct vu_pd {
	struct ibv_pd base;
	struct vu_pd *parent_of;
	struct vu_td *td;
	void *(*alloc)(struct ibv_pd *pd, void *context, size_t size,
		       size_t alignment, uint64_t resource);
	void (*free)(struct ibv_pd *pd, void *context, void *at,
		     uint64_t resource);
	void *context;
	unsigned int users;
};

/* Memory of a queue. */
struct vu_memory {
	void *at;
	size_t bytes;
	/* The parent domain whose allocator provided the memory, or NULL. */
	struct vu_pd *owner;
	uint64_t resource;
};

struct vu_record_page;

struct vu_context {
	struct verbs_context base;
	struct vuhca_alloc_ucontext_resp about;
	struct vu_page pages[VUHCA_QOS_LEVELS];
	const uint8_t *clock;
	enum vu_post post;
	uint8_t qos_level;
	pthread_mutex_t lock;	/* protects all members below */
	struct vu_record_page *records;
	struct vu_qp **qps[VU_TABLE_SIZE];
	uint64_t domains[4];
};

/* Work queue: one direction of a QP, or an SRQ. Numbers are modulo 2^16. */
struct vu_wq {
	struct vu_lock lock;
	uint8_t *slots;
	uint64_t *wr_ids;
	uint16_t mask;
	uint8_t entries_log2;
	uint8_t stride_log2;
	uint16_t max_sge;
	/* Most requests outstanding. */
	uint32_t max_wr;
	/* Oldest request not completed, and next request. */
	uint16_t head;
	uint16_t tail;
};

struct vu_cq {
	struct verbs_cq base;
	struct vu_lock lock;
	struct vuhca_completion_entry *entries;
	struct vuhca_completion_queue_record *record;
	struct vu_memory memory;
	struct vu_pd *parent;
	/* The entry, between start_poll and end_poll. */
	const struct vuhca_completion_entry *current;
	/* A completion that the adapter no longer reports. */
	struct vuhca_completion_entry flushed;
	/* XRC SRQs whose completions go here. */
	struct vu_srq *shared;
	uint32_t cqn;
	uint32_t consumed;
	uint8_t entries_log2;
};

struct vu_srq {
	struct verbs_srq base;
	struct vu_wq rq;
	struct vuhca_srq_record *record;
	/* A bit for each slot that completed while an older one has not. */
	uint64_t *completed;
	struct vu_memory memory;
	struct vu_pd *parent;
	uint32_t srqn;
	/* For an XRC SRQ: its CQ, and the next SRQ of that CQ. */
	struct vu_cq *cq;
	struct vu_srq *next;
};

struct vu_qp {
	struct verbs_qp base;
	struct vu_context *context;
	struct vu_wq sq;
	struct vu_wq rq;
	struct vu_cq *send_cq;
	struct vu_cq *recv_cq;
	struct vu_srq *srq;
	struct vuhca_queue_pair_record *record;
	struct vu_page *page;
	struct vu_pd *parent;
	struct vu_memory memory;
	uint32_t qpn;
	uint32_t checksum_key;
	uint32_t max_inline;
	enum vu_post post;
	uint8_t qos_level;
	bool signal_all;
	/* A request failed: the adapter may have moved the QP to ERR. */
	bool failed;
	/*
	 * For ibv_wr_*: the command that is being built, and the first error.
	 */
	struct vuhca_send_command *command;
	uint16_t first;
	int wr_error;
};

struct vu_ah {
	struct ibv_ah base;
	uint32_t index;
};

struct vu_mw {
	struct ibv_mw base;
	/* The key that the adapter will have after all posted binds. */
	uint32_t key;
};

static inline struct vu_context *to_vu_context(struct ibv_context *context)
{
	return container_of(context, struct vu_context, base.context);
}

static inline struct vu_pd *to_vu_pd(struct ibv_pd *pd)
{
	return container_of(pd, struct vu_pd, base);
}

static inline struct vu_cq *to_vu_cq(struct ibv_cq *cq)
{
	return container_of(cq, struct vu_cq, base.cq);
}

static inline struct vu_cq *to_vu_cq_ex(struct ibv_cq_ex *cq)
{
	return container_of(cq, struct vu_cq, base.cq_ex);
}

static inline struct vu_srq *to_vu_srq(struct ibv_srq *srq)
{
	return container_of(srq, struct vu_srq, base.srq);
}

static inline struct vu_qp *to_vu_qp(struct ibv_qp *qp)
{
	return container_of(qp, struct vu_qp, base.qp);
}

static inline struct vu_qp *to_vu_qp_ex(struct ibv_qp_ex *qp)
{
	return container_of(qp, struct vu_qp, base.qp_ex);
}

static inline void vu_lock(struct vu_lock *lock)
{
	if (lock->needed)
		pthread_spin_lock(&lock->lock);
}

static inline bool vu_try_lock(struct vu_lock *lock)
{
	return !lock->needed || !pthread_spin_trylock(&lock->lock);
}

static inline void vu_unlock(struct vu_lock *lock)
{
	if (lock->needed)
		pthread_spin_unlock(&lock->lock);
}

static inline void vu_lock_init(struct vu_lock *lock, bool needed)
{
	pthread_spin_init(&lock->lock, PTHREAD_PROCESS_PRIVATE);
	lock->needed = needed;
}

/* log2 of the smallest power of two that is at least @value. */
static inline unsigned int vu_log2(size_t value)
{
	unsigned int log2 = 0;

	while ((size_t)1 << log2 < value)
		log2++;
	return log2;
}

static inline void *vu_slot(const struct vu_wq *wq, uint16_t number)
{
	return wq->slots + ((size_t)(number & wq->mask) << wq->stride_log2);
}

#endif /* VU_H */
