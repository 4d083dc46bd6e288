/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Functions that the files of the module share, and operations of the device.
 * Files are listed lowest layer first, as in Kbuild. vib.h includes this file.
 */
#ifndef VIB_CALLS_H
#define VIB_CALLS_H

/* vib_port_tables.c */
void vib_port_tables_init(struct vib_dev *dev);
void vib_port_tables_changed(struct vib_dev *dev, u32 port);
int vib_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey);
int vib_query_gid(struct ib_device *ibdev, u32 port, int index,
		  union ib_gid *gid);

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
int vib_alloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata);
int vib_dealloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata);

/* vib_mr.c */
u32 vib_access(int flags);
struct ib_mr *vib_mr_finish(struct vib_mr *mr, struct vuhca_mr *hw);
struct ib_mr *vib_get_dma_mr(struct ib_pd *ibpd, int access);
struct ib_mr *vib_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type,
			   u32 max_pages);
int vib_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int count,
		  unsigned int *offset);
int vib_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);

/* vib_odp_region.c */
int vib_reg_odp(struct vib_mr *mr, struct ib_pd *pd, u64 start, u64 length,
		u64 address, int access, u32 hw_access);
int vib_dereg_odp(struct vib_mr *mr);
int vib_advise_mr(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice,
		  u32 flags, struct ib_sge *sges, u32 count,
		  struct uverbs_attr_bundle *attributes);

/* vib_flush.c */
int vib_flush_cq(struct vib_cq *cq, int count, struct ib_wc *wc);
bool vib_has_flushed(struct vib_cq *cq);
int vib_flush_post(struct vuhca_wq *wq, u64 wr_id);
void vib_schedule_flush(struct vib_cq *cq);
void vib_flush_attach(struct vib_qp *qp);
void vib_flush_detach(struct vib_qp *qp);
void vib_flush_qp(struct vib_qp *qp);
void vib_flush_init(struct vib_cq *cq);
void vib_flush_add(struct vib_cq *cq);
void vib_flush_remove(struct vib_cq *cq);
void vib_flush_all(struct vib_dev *dev);

/* vib_cq.c */
int vib_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *init,
		  struct ib_udata *udata);
int vib_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int vib_modify_cq(struct ib_cq *ibcq, u16 count, u16 period);
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

/* vib_sysfs.c */
extern const struct attribute_group vib_sysfs_group;

/* vib_stats.c */
struct rdma_hw_stats *vib_alloc_port_stats(struct ib_device *ibdev, u32 port);
struct rdma_hw_stats *vib_alloc_device_stats(struct ib_device *ibdev);
int vib_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		     u32 port, int index);

/* vib_resource.c */
int vib_fill_qp(struct sk_buff *message, struct ib_qp *ibqp);
int vib_fill_cq(struct sk_buff *message, struct ib_cq *ibcq);
int vib_fill_mr(struct sk_buff *message, struct ib_mr *ibmr);

#endif /* VIB_CALLS_H */
