/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Driver of the vuhca InfiniBand HCA: the calls that the verbs layer and the
 * test module build on. How software drives the adapter is
 * docs/PROGRAMMING.md.
 */
#ifndef VUHCA_H
#define VUHCA_H

#include <linux/interrupt.h>
#include <linux/unaligned.h>

#include "vuhca_objects.h"
#include "vuhca_pio.h"

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

/* vuhca_csr.c */
bool vuhca_check_gone(struct vuhca_dev *dev);
int vuhca_wait_ready(struct vuhca_dev *dev);
int vuhca_soft_reset(struct vuhca_dev *dev);
int vuhca_identify(struct vuhca_dev *dev);
int vuhca_find_dedicated(struct vuhca_dev *dev);
bool vuhca_adapter_disabled(struct vuhca_dev *dev);

/* vuhca_client.c */
int vuhca_register_client(struct vuhca_client *client);
void vuhca_unregister_client(struct vuhca_client *client);
void vuhca_client_add_device(struct vuhca_dev *dev);
void vuhca_client_remove_device(struct vuhca_dev *dev);

/* vuhca_checksum.c */
u32 vuhca_checksum(const void *bytes, size_t length, u32 seed);

/* vuhca_device.c */
int vuhca_start(struct vuhca_dev *dev);
void vuhca_stop(struct vuhca_dev *dev);
int vuhca_resume(struct vuhca_dev *dev);
int vuhca_reset(struct vuhca_dev *dev);
void vuhca_device_error_event(struct vuhca_dev *dev,
			      const struct vuhca_event_entry *entry);

/* vuhca_admin.c */
int vuhca_admin_init(struct vuhca_dev *dev);
void vuhca_admin_cleanup(struct vuhca_dev *dev);
void vuhca_admin_event(struct vuhca_dev *dev,
		       const struct vuhca_event_entry *entry);
void vuhca_admin_abort(struct vuhca_dev *dev);
void vuhca_admin_set_event_queue(struct vuhca_dev *dev, u32 eqn);
size_t vuhca_admin_prepare(struct vuhca_dev *dev,
			   const struct vuhca_command *command, void *bytes);
void vuhca_admin_seal(void *bytes, size_t length);
int vuhca_admin_submit(struct vuhca_dev *dev, const void *bytes, size_t length,
		       struct vuhca_answer *answer);

/* vuhca_command.c */
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

/* vuhca_eq_poll.c */
bool vuhca_set_adaptive(bool on);
int vuhca_modify_eq(struct vuhca_eq *eq, enum vuhca_eq_control controls,
		    u64 delay_ns);
int vuhca_query_eq(struct vuhca_eq *eq, struct vuhca_eq_attributes *attributes);
unsigned int vuhca_eq_serve(struct vuhca_eq *eq);
unsigned int vuhca_poll_eq(struct vuhca_eq *eq);
void vuhca_poller_count_interrupt(struct vuhca_eq *eq);
int vuhca_poller_alloc(struct vuhca_eq *eq);
void vuhca_poller_free(struct vuhca_eq *eq);
void vuhca_poller_describe(struct vuhca_eq *eq,
			   struct vuhca_eq_attributes *attributes);
u16 vuhca_poller_index(struct vuhca_eq *eq);

/* vuhca_eq_dispatch.c */
bool vuhca_eq_has_entry(struct vuhca_eq *eq);
unsigned int vuhca_eq_process(struct vuhca_eq *eq);

/* vuhca_interrupt.c */
bool vuhca_set_deadman(bool on);
irqreturn_t vuhca_eq_interrupt(int irq, void *data);
void vuhca_deadman_init(struct vuhca_dev *dev);
void vuhca_deadman_start(struct vuhca_dev *dev);

/* vuhca_mr.c */
struct vuhca_pd *vuhca_alloc_pd(struct vuhca_dev *dev);
int vuhca_dealloc_pd(struct vuhca_pd *pd);
struct vuhca_mr *vuhca_get_dma_mr(struct vuhca_pd *pd, u32 access);
struct vuhca_mr *vuhca_reg_pages(struct vuhca_pd *pd, u32 access, u64 start,
				 u64 length, dma_addr_t page_list,
				 u32 page_count, u8 page_shift);
struct vuhca_mr *vuhca_alloc_fast_mr(struct vuhca_pd *pd, u32 max_pages);
int vuhca_rereg_mr(struct vuhca_mr *mr,
		   const struct vuhca_mr_attributes *attributes);
int vuhca_dereg_mr(struct vuhca_mr *mr);

/* vuhca_mw.c */
struct vuhca_mw *vuhca_alloc_mw(struct vuhca_pd *pd, enum vuhca_mw_kind kind);
int vuhca_query_mw(struct vuhca_mw *mw, struct vuhca_mw_attributes *attributes);
int vuhca_bind_mw(struct vuhca_qp *qp, struct vuhca_mw *mw, u64 wr_id,
		  const struct vuhca_buffer *range, u32 access);
int vuhca_dealloc_mw(struct vuhca_mw *mw);

/* vuhca_ah.c */
int vuhca_ahs_alloc(struct vuhca_dev *dev);
void vuhca_ahs_free(struct vuhca_dev *dev);
void vuhca_ahs_start(struct vuhca_dev *dev);
void vuhca_put_path(struct vuhca_address_handle *path, struct vuhca_pd *pd,
		    u8 port, u16 dlid, u8 service_level,
		    const struct vuhca_global_route *route);
struct vuhca_ah *vuhca_create_ah(struct vuhca_pd *pd, u8 port, u16 dlid,
				 u8 service_level,
				 const struct vuhca_global_route *route);
void vuhca_destroy_ah(struct vuhca_ah *ah);
struct vuhca_address_handle *vuhca_ah_entry(struct vuhca_ah *ah);

/* vuhca_cq.c */
void vuhca_cq_event(struct vuhca_dev *dev,
		    const struct vuhca_event_entry *entry);
struct vuhca_cq *vuhca_create_cq(struct vuhca_dev *dev,
				 const struct vuhca_cq_init *init);
int vuhca_destroy_cq(struct vuhca_cq *cq);
int vuhca_query_cq(struct vuhca_cq *cq, struct vuhca_cq_attributes *attributes);
int vuhca_poll_cq(struct vuhca_cq *cq, unsigned int count, struct vuhca_wc *wc);
void vuhca_arm_cq(struct vuhca_cq *cq, bool solicited_only);
void vuhca_clean_cq(struct vuhca_cq *cq, u32 qpn);

/* vuhca_cq_resize.c */
int vuhca_resize_cq(struct vuhca_cq *cq, unsigned int entries_log2);

/* vuhca_vcb.c */
int vuhca_vcbs_init(struct vuhca_dev *dev);
void vuhca_vcbs_cleanup(struct vuhca_dev *dev);
void vuhca_vcbs_start(struct vuhca_dev *dev);
struct vuhca_vcb *vuhca_alloc_vcb(struct vuhca_dev *dev, u8 qos_level);
void vuhca_free_vcb(struct vuhca_dev *dev, struct vuhca_vcb *vcb);
void vuhca_vcb_write(struct vuhca_vcb *vcb, const void *bytes, size_t length);
void vuhca_vcbs_update(struct vuhca_dev *dev);
bool vuhca_vcb_try_write(struct vuhca_dev *dev, u8 qos_level, const void *bytes,
			 size_t length);
bool vuhca_vcb_write_word(struct vuhca_dev *dev, unsigned int offset,
			  const void *word);
void vuhca_vcb_cancel(struct vuhca_vcb *vcb);

/* vuhca_overflow.c */
int vuhca_overflow_alloc(struct vuhca_dev *dev);
void vuhca_overflow_free(struct vuhca_dev *dev);
void vuhca_overflow_start(struct vuhca_dev *dev);

/* vuhca_shares.c */
void vuhca_shares_init(struct vuhca_dev *dev);
void vuhca_shares_refresh(struct vuhca_dev *dev);
void vuhca_shares_event(struct vuhca_dev *dev,
		       const struct vuhca_event_entry *entry);
int vuhca_request_resources(struct vuhca_dev *dev,
			    const struct vuhca_resource_change *changes,
			    unsigned int count, struct vuhca_answer *answer);
int vuhca_query_resources(struct vuhca_dev *dev, u32 function,
			  struct vuhca_resource_share *share);
int vuhca_query_lane(struct vuhca_dev *dev, u32 lane,
		     struct vuhca_lane_attributes *attributes);

/* vuhca_shares_parse.c */
int vuhca_shares_request_text(struct vuhca_dev *dev, char *text);

/* vuhca_shares_debugfs.c */
void vuhca_shares_create_files(struct vuhca_dev *dev);

/* vuhca_srq.c */
void vuhca_srq_event(struct vuhca_dev *dev,
		     const struct vuhca_event_entry *entry);
struct vuhca_srq *vuhca_create_srq(struct vuhca_pd *pd,
				   const struct vuhca_srq_init *init);
int vuhca_destroy_srq(struct vuhca_srq *srq);
int vuhca_set_srq_limit(struct vuhca_srq *srq, u32 limit);
int vuhca_post_srq_recv(struct vuhca_srq *srq, const struct vuhca_recv_wr *wrs,
			unsigned int count);
bool vuhca_srq_retire(struct vuhca_srq *srq, u16 sequence, u64 *wr_id);

/* vuhca_qp.c */
void vuhca_qp_event(struct vuhca_dev *dev,
		    const struct vuhca_event_entry *entry);
struct vuhca_qp *vuhca_create_qp(struct vuhca_dev *dev,
				 const struct vuhca_qp_init *init);
int vuhca_destroy_qp(struct vuhca_qp *qp);

/* vuhca_qp_stop.c */
int vuhca_stop_qp(struct vuhca_qp *qp);

/* vuhca_qp_state.c */
int vuhca_modify_qp(struct vuhca_qp *qp,
		    const struct vuhca_qp_attributes *attributes);
int vuhca_query_qp(struct vuhca_qp *qp, struct vuhca_qp_creation *creation,
		   struct vuhca_qp_attributes *attributes);
int vuhca_qp_to_init(struct vuhca_qp *qp, u8 port, u16 pkey_index, u32 qkey);
int vuhca_qp_to_rtr(struct vuhca_qp *qp);
int vuhca_qp_to_rts(struct vuhca_qp *qp, u32 psn);
int vuhca_qp_to_state(struct vuhca_qp *qp, enum vuhca_qp_state state);
int vuhca_qp_drain(struct vuhca_qp *qp);

/* vuhca_qp_connect.c */
int vuhca_qp_connect_init(struct vuhca_qp *qp,
			  const struct vuhca_connection *connection);
int vuhca_qp_connect_rtr(struct vuhca_qp *qp,
			 const struct vuhca_connection *connection);
int vuhca_qp_connect_rts(struct vuhca_qp *qp,
			 const struct vuhca_connection *connection);
int vuhca_qp_connect(struct vuhca_qp *qp,
		     const struct vuhca_connection *connection);

/* vuhca_wqe.c */
unsigned int vuhca_recv_stride(unsigned int sge);
void *vuhca_build_send_wqe(struct vuhca_qp *qp, const struct vuhca_send_wr *wr,
		      size_t *length, u16 *sequence);
bool vuhca_build_recv_wqe(struct vuhca_wq *rq, const struct vuhca_recv_wr *wr);
void vuhca_seal_send_wqe(struct vuhca_qp *qp, void *slot);

/* vuhca_qp_post.c */
int vuhca_post_send(struct vuhca_qp *qp, const struct vuhca_send_wr *wrs,
		    unsigned int count, enum vuhca_post_mode mode);
int vuhca_post_recv(struct vuhca_qp *qp, const struct vuhca_recv_wr *wrs,
		    unsigned int count);
void vuhca_publish_send_tail(struct vuhca_qp *qp);
void vuhca_ring_doorbell(struct vuhca_qp *qp, u16 sequence);
void vuhca_ring_outstanding(struct vuhca_dev *dev);

/* vuhca_qp_trace.c */
int vuhca_modify_trace(struct vuhca_qp *qp,
		       const struct vuhca_trace_attributes *attributes);
int vuhca_query_trace(struct vuhca_qp *qp,
		      struct vuhca_trace_attributes *attributes);
int vuhca_read_trace(struct vuhca_qp *qp, u64 position, dma_addr_t buffer,
		     u32 length, struct vuhca_trace_attributes *attributes);

/* vuhca_debugfs.c */
void vuhca_debugfs_init(void);
void vuhca_debugfs_exit(void);
void vuhca_debugfs_add(struct vuhca_dev *dev);
void vuhca_debugfs_remove(struct vuhca_dev *dev);

#endif /* VUHCA_H */
