/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The InfiniBand device of the kernel's RDMA core (docs/verbs/VERBS.md): each
 * of its objects has a core part, which comes first, and refers to an object of
 * vuhca.ko.
 */
#ifndef VIB_H
#define VIB_H

#include <rdma/ib_mad.h>
#include <rdma/ib_smi.h>
#include <rdma/ib_verbs.h>

#include "vib_compat.h"
#include "vib_process.h"
#include "vuhca.h"

/* Limits that are reported (docs/verbs/VERBS.md); those of the adapter may be wider. */
#define VIB_MAX_CQE		BIT(18)
#define VIB_MAX_QP_WR		16384
#define VIB_MAX_FAST_PAGES	512

#define VIB_PKEY_BLOCKS	(VUHCA_PKEY_TABLE_ENTRIES / VUHCA_PKEY_BLOCK_ENTRIES)
#define VIB_GID_BLOCKS	(VUHCA_GID_TABLE_ENTRIES / VUHCA_GID_BLOCK_ENTRIES)

/**
 * struct vib_events - Pending asynchronous events of an object.
 * @work: Reports them.
 * @pending: Bit of each event type, VUHCA_EVENT_TYPE_*.
 */
struct vib_events {
	struct work_struct work;
	unsigned long pending;
};

/**
 * struct vib_port_tables - P_Key and GID tables of a port, as they were last read.
 * @lock: Protects all but @changes.
 * @changes: Counts the events of the port; the tables may differ after each.
 * @read_at: Value of @changes before the last read, 0 until then.
 * @pkeys: P_Key table.
 * @gids: GID table.
 */
struct vib_port_tables {
	struct mutex lock;	/* the tables */
	atomic_t changes;
	int read_at;
	struct vuhca_pkey_block pkeys[VIB_PKEY_BLOCKS];
	struct vuhca_gid_block gids[VIB_GID_BLOCKS];
};

/**
 * struct vib_dev - An InfiniBand device: a function of the adapter.
 * @ibdev: The device of the core.
 * @hw: The function.
 * @list: Entry in the list of devices.
 * @cq_lock: Protects @cqs.
 * @cqs: All CQs.
 * @port_tables: P_Key and GID tables by port number - 1.
 * @on_demand: On-demand regions by local key.
 * @page_faults: Count of page faults that the adapter raised.
 * @page_invalidations: Count of ranges that the kernel took from processes
 *	while the adapter had pages of them.
 */
struct vib_dev {
	struct ib_device ibdev;
	struct vuhca_dev *hw;
	struct list_head list;
	spinlock_t cq_lock;	/* list of CQs */
	struct list_head cqs;
	struct vib_port_tables port_tables[VUHCA_PORT_MAX];
	struct xarray on_demand;
	atomic64_t page_faults;
	atomic64_t page_invalidations;
};

struct vib_pd {
	struct ib_pd ibpd;
	struct vuhca_pd *hw;
};

struct vib_xrcd {
	struct ib_xrcd ibxrcd;
	struct vuhca_xrcd *hw;
};

struct vib_ah {
	struct ib_ah ibah;
	struct vuhca_ah *hw;
};

/**
 * struct vib_mr - Memory region.
 * @ibmr: The region of the core.
 * @hw: The region of the adapter.
 * @list: Page list of registrations by work request, or NULL.
 * @list_dma: Bus address of @list.
 * @max_pages: Entries of @list.
 * @page_count: Entries in use.
 * @umem: Memory of a process, or NULL.
 * @access: Rights that the process requested.
 * @odp: Pages of an on-demand region, or NULL.
 */
struct vib_mr {
	struct ib_mr ibmr;
	struct vuhca_mr *hw;
	__le64 *list;
	dma_addr_t list_dma;
	u32 max_pages;
	u32 page_count;
	struct ib_umem *umem;
	int access;
	struct vib_odp *odp;
};

/**
 * struct vib_cq - Completion queue.
 * @ibcq: The queue of the core.
 * @hw: The queue of the adapter, NULL once it is destroyed.
 * @shown: Keeps @hw while the core shows the queue.
 * @list: Entry in the list of CQs of the device.
 * @events: Pending events.
 * @lock: Protects @senders and @receivers.
 * @senders: QPs that complete their sends here.
 * @receivers: QPs that complete their receives here.
 * @flush: Calls the completion handler after the function has died.
 * @user: Memory of a process.
 */
struct vib_cq {
	struct ib_cq ibcq;
	struct vuhca_cq *hw;
	struct mutex shown;	/* end of hw */
	struct list_head list;
	struct vib_events events;
	spinlock_t lock;	/* lists of QPs */
	struct list_head senders;
	struct list_head receivers;
	struct work_struct flush;
	struct vib_user_queue user;
};

struct vib_srq {
	struct ib_srq ibsrq;
	struct vuhca_srq *hw;
	struct vib_events events;
	struct vib_user_queue user;
	u32 max_sge;
};

/**
 * struct vib_qp - Queue pair.
 * @ibqp: The queue pair of the core.
 * @hw: The queue pair of the adapter, NULL once it is destroyed.
 * @shown: Keeps @hw while the core shows the queue pair, as it does (`rdma
 *	resource`) until the destruction has returned.
 * @events: Pending events.
 * @sender: Entry in the list of the CQ of sends.
 * @receiver: Entry in the list of the CQ of receives.
 * @cap: Capacities as they were given.
 * @port: Port, 0 before INIT.
 * @user: Memory of a process.
 */
struct vib_qp {
	struct ib_qp ibqp;
	struct vuhca_qp *hw;
	struct mutex shown;	/* end of hw */
	struct vib_events events;
	struct list_head sender;
	struct list_head receiver;
	struct ib_qp_cap cap;
	struct vib_user_queue user;
	u8 port;
};

static inline struct vib_dev *to_vdev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct vib_dev, ibdev);
}

static inline struct vib_pd *to_vpd(struct ib_pd *ibpd)
{
	return container_of(ibpd, struct vib_pd, ibpd);
}

static inline struct vib_xrcd *to_vxrcd(struct ib_xrcd *ibxrcd)
{
	return container_of(ibxrcd, struct vib_xrcd, ibxrcd);
}

static inline struct vib_ah *to_vah(struct ib_ah *ibah)
{
	return container_of(ibah, struct vib_ah, ibah);
}

static inline struct vib_mr *to_vmr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct vib_mr, ibmr);
}

static inline struct vib_cq *to_vcq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct vib_cq, ibcq);
}

static inline struct vib_srq *to_vsrq(struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct vib_srq, ibsrq);
}

static inline struct vib_qp *to_vqp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct vib_qp, ibqp);
}

/* True when a reset or a removal has ended the object of that generation. */
static inline bool vib_is_dead(struct vuhca_dev *dev, u32 generation)
{
	return !vuhca_is_current(dev, generation) ||
	       READ_ONCE(dev->state) == VUHCA_DEV_GONE;
}

#include "vib_calls.h"

#endif /* VIB_H */
