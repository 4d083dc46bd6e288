/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The InfiniBand device of the kernel's RDMA core (docs/VERBS.md): each of its
 * objects has a core part, which comes first, and the object of vuhca.ko that
 * it stands for. Files stand lowest layer first, as in Kbuild.
 */
#ifndef VIB_H
#define VIB_H

#include <rdma/ib_mad.h>
#include <rdma/ib_smi.h>
#include <rdma/ib_verbs.h>

#include "vib_compat.h"
#include "vib_process.h"
#include "vuhca.h"

/* Limits that are reported (docs/VERBS.md); those of the adapter may be wider. */
#define VIB_MAX_CQE		BIT(18)
#define VIB_MAX_QP_WR		16384
#define VIB_MAX_FAST_PAGES	512

/**
 * struct vib_events - Asynchronous events of an object on their way to its user.
 * @work: Reports them.
 * @pending: Bit of each event type, VUHCA_EVENT_TYPE_*.
 */
struct vib_events {
	struct work_struct work;
	unsigned long pending;
};

/**
 * struct vib_dev - An InfiniBand device: a function of the adapter.
 * @ibdev: The device of the core.
 * @hw: The function.
 * @list: Entry in the list of devices.
 */
struct vib_dev {
	struct ib_device ibdev;
	struct vuhca_dev *hw;
	struct list_head list;
};

struct vib_pd {
	struct ib_pd ibpd;
	struct vuhca_pd *hw;
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
 * @access: Rights that the process asked for.
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
};

/**
 * struct vib_cq - Completion queue.
 * @ibcq: The queue of the core.
 * @hw: The queue of the adapter.
 * @events: Events on their way.
 * @lock: Protects @senders and @receivers.
 * @senders: QPs that complete their sends here.
 * @receivers: QPs that complete their receives here.
 * @flush: Calls the completion handler after the function has died.
 * @user: Memory of a process.
 */
struct vib_cq {
	struct ib_cq ibcq;
	struct vuhca_cq *hw;
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
 * @hw: The queue pair of the adapter.
 * @events: Events on their way.
 * @sender: Entry in the list of the CQ of sends.
 * @receiver: Entry in the list of the CQ of receives.
 * @cap: Capacities as they were given.
 * @port: Port, 0 before INIT.
 * @user: Memory of a process.
 */
struct vib_qp {
	struct ib_qp ibqp;
	struct vuhca_qp *hw;
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

/* vib_event.c */
void vib_qp_event(enum vuhca_event_type type, u8 fault, void *context);
void vib_cq_event(enum vuhca_event_type type, u8 fault, void *context);
void vib_srq_event(enum vuhca_event_type type, u8 fault, void *context);
void vib_qp_events_init(struct vib_qp *qp);
void vib_cq_events_init(struct vib_cq *cq);
void vib_srq_events_init(struct vib_srq *srq);
void vib_port_event(struct vib_dev *dev, u8 type, u32 port);

/* vib_mad.c */
int vib_smp_get(struct vib_dev *dev, u32 port, __be16 attribute, u32 modifier,
		struct ib_smp *smp);
int vib_process_mad(struct ib_device *ibdev, int flags, u32 port,
		    const struct ib_wc *wc, const struct ib_grh *grh,
		    const struct ib_mad *in, struct ib_mad *out,
		    size_t *out_size, u16 *out_pkey_index);

/* vib_port.c */
int vib_query_port(struct ib_device *ibdev, u32 port,
		   struct ib_port_attr *attributes);
int vib_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey);
int vib_query_gid(struct ib_device *ibdev, u32 port, int index,
		  union ib_gid *gid);
int vib_modify_port(struct ib_device *ibdev, u32 port, int mask,
		    struct ib_port_modify *changes);
int vib_get_port_immutable(struct ib_device *ibdev, u32 port,
			   struct ib_port_immutable *immutable);
enum rdma_link_layer vib_get_link_layer(struct ib_device *ibdev, u32 port);

/* vib_ah.c */
void vib_put_path(struct vuhca_address_handle *path,
		  const struct rdma_ah_attr *attributes);
void vib_get_path(const struct vuhca_address_handle *path,
		  struct rdma_ah_attr *attributes);
int vib_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
		  struct ib_udata *udata);
int vib_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attributes);
int vib_destroy_ah(struct ib_ah *ibah, u32 flags);

/* vib_pd.c */
int vib_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int vib_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);

/* vib_mr.c */
u32 vib_access(int flags);
struct ib_mr *vib_get_dma_mr(struct ib_pd *ibpd, int access);
struct ib_mr *vib_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type,
			   u32 max_pages);
int vib_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int count,
		  unsigned int *offset);
int vib_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);

/* vib_flush.c */
int vib_flush_cq(struct vib_cq *cq, int count, struct ib_wc *wc);
bool vib_has_flushed(struct vib_cq *cq);
int vib_flush_post(struct vuhca_wq *wq, u64 wr_id);
void vib_schedule_flush(struct vib_cq *cq);
void vib_flush_attach(struct vib_qp *qp);
void vib_flush_detach(struct vib_qp *qp);
void vib_flush_init(struct vib_cq *cq);

/* vib_cq.c */
int vib_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *init,
		  struct ib_udata *udata);
int vib_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int vib_resize_cq(struct ib_cq *ibcq, int entries, struct ib_udata *udata);
int vib_poll_cq(struct ib_cq *ibcq, int count, struct ib_wc *wc);
int vib_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);

/* vib_srq.c */
int vib_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		   struct ib_udata *udata);
int vib_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attributes,
		   enum ib_srq_attr_mask mask, struct ib_udata *udata);
int vib_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attributes);
int vib_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);

/* vib_wr.c */
#define VIB_LOCAL_BYTES	VUHCA_INLINE_MAX_BYTES
/**
 * struct vib_wr - A send request in the form of vuhca.ko.
 * @wr: The request.
 * @range: Its scatter/gather list when it is a registration.
 * @bytes: Its inline payload.
 */
struct vib_wr {
	struct vuhca_send_wr wr;
	struct vuhca_buffer range;
	u8 bytes[VIB_LOCAL_BYTES];
};

int vib_translate(struct vib_qp *qp, const struct ib_send_wr *from,
		  struct vib_wr *to);
void vib_translate_recv(const struct ib_recv_wr *from,
			struct vuhca_recv_wr *to);

/* vib_post.c */
int vib_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad);
int vib_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		  const struct ib_recv_wr **bad);
int vib_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad);

/* vib_qp.c */
int vib_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
		  struct ib_udata *udata);
int vib_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);

/* vib_qp_modify.c */
int vib_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attributes, int mask,
		  struct ib_udata *udata);
int vib_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attributes, int mask,
		 struct ib_qp_init_attr *init);

/* vib_mcast.c */
int vib_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
int vib_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);

/* vib_device.c */
int vib_query_device(struct ib_device *ibdev, struct ib_device_attr *attributes,
		     struct ib_udata *udata);
int vib_modify_device(struct ib_device *ibdev, int mask,
		      struct ib_device_modify *changes);
void vib_get_dev_fw_str(struct ib_device *ibdev, char *text);
int vib_read_description(struct vib_dev *dev);

#endif /* VIB_H */
