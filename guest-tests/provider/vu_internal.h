/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Functions that the files of the provider share, by file. The lowest layer
 * comes first: each file calls only files before it.
 */
#ifndef VU_INTERNAL_H
#define VU_INTERNAL_H

#include <string.h>

#include "vu.h"

/* Prefix of the provider's messages. */
#define VU_PREFIX "libvuhca: "

/* vu_memory.c */
int vu_alloc(struct vu_memory *memory, size_t bytes, struct vu_pd *parent,
	     uint64_t resource);
void vu_free(struct vu_memory *memory);
void *vu_alloc_record(struct vu_context *context);
void vu_free_record(struct vu_context *context, void *record);
void vu_free_records(struct vu_context *context);

/* vu_page.c */
int vu_map_page(struct vu_context *context, struct vu_page *page,
		unsigned int offset, bool needs_lock);
void vu_unmap_page(struct vu_page *page);
bool vu_page_collect(struct vu_page *page, const void *command, size_t bytes);

/*
 * Stores eight bytes, in the adapter's byte order, at once. The page is
 * write-combining: the store leaves the processor at the flush.
 */
static inline void vu_store(uint8_t *at, const void *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	__atomic_store_n((uint64_t *)at, word, __ATOMIC_RELAXED);
}

/* vu_doorbell.c */
void vu_ring_doorbell(struct vu_page *page, uint32_t qpn, uint16_t sequence);
void vu_request_event(struct vu_page *page, uint32_t cqn, bool solicited_only,
		      uint32_t consumed);

/* vu_domain.c */
struct ibv_pd *vu_alloc_pd(struct ibv_context *context);
int vu_dealloc_pd(struct ibv_pd *pd);
struct ibv_pd *vu_alloc_parent_domain(struct ibv_context *context,
				      struct ibv_parent_domain_init_attr *attr);
struct ibv_td *vu_alloc_td(struct ibv_context *context,
			   struct ibv_td_init_attr *attr);
int vu_dealloc_td(struct ibv_td *td);
struct ibv_pd *vu_import_pd(struct ibv_context *context, uint32_t handle);
void vu_unimport_pd(struct ibv_pd *pd);
void vu_hold_parent(struct vu_pd *pd);
void vu_release_parent(struct vu_pd *pd);

/* vu_key.c */
struct ibv_mr *vu_reg_mr(struct ibv_pd *pd, void *at, size_t length,
			 uint64_t address, int access);
struct ibv_mr *vu_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				size_t length, uint64_t address, int fd,
				int access);
int vu_rereg_mr(struct verbs_mr *mr, int flags, struct ibv_pd *pd, void *at,
		size_t length, int access);
int vu_dereg_mr(struct verbs_mr *mr);
int vu_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice,
		 uint32_t flags, struct ibv_sge *sges, uint32_t count);
struct ibv_mr *vu_import_mr(struct ibv_pd *pd, uint32_t handle);
void vu_unimport_mr(struct ibv_mr *mr);
struct ibv_mw *vu_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int vu_dealloc_mw(struct ibv_mw *mw);

/* vu_dm.c */
struct ibv_dm *vu_alloc_dm(struct ibv_context *context,
			   struct ibv_alloc_dm_attr *attr);
int vu_free_dm(struct ibv_dm *dm);
struct ibv_dm *vu_import_dm(struct ibv_context *context, uint32_t handle);
void vu_unimport_dm(struct ibv_dm *dm);
struct ibv_mr *vu_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm,
			    uint64_t offset, size_t length,
			    unsigned int access);

/* vu_query.c */
int vu_query_device(struct ibv_context *context,
		    const struct ibv_query_device_ex_input *input,
		    struct ibv_device_attr_ex *attr, size_t attr_size);
int vu_query_port(struct ibv_context *context, uint8_t port,
		  struct ibv_port_attr *attr);
int vu_query_values(struct ibv_context *context, struct ibv_values_ex *values);
struct ibv_ah *vu_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
int vu_destroy_ah(struct ibv_ah *ah);

/* vu_wq.c */
int vu_wq_init(struct vu_wq *wq, uint32_t max_wr, uint32_t max_sge,
	       unsigned int entries_log2, unsigned int stride_log2);
void vu_wq_cleanup(struct vu_wq *wq);
size_t vu_wq_bytes(const struct vu_wq *wq);
bool vu_wq_retire(struct vu_wq *wq, uint16_t sequence, uint64_t *wr_id);
unsigned int vu_recv_stride(uint32_t max_sge);
int vu_post_entry(struct vu_wq *rq, const struct ibv_recv_wr *wr);

/* vu_xrc.c */
struct ibv_xrcd *vu_open_xrcd(struct ibv_context *context,
			      struct ibv_xrcd_init_attr *attr);
int vu_close_xrcd(struct ibv_xrcd *xrcd);
void vu_attach_shared(struct vu_cq *cq, struct vu_srq *srq);
void vu_detach_shared(struct vu_srq *srq);
struct vu_srq *vu_find_shared(struct vu_cq *cq, uint32_t srqn);

/* vu_srq.c */
struct ibv_srq *vu_create_srq(struct ibv_pd *pd,
			      struct ibv_srq_init_attr *attr);
struct ibv_srq *vu_create_srq_ex(struct ibv_context *context,
				 struct ibv_srq_init_attr_ex *attr);
int vu_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask);
int vu_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr);
int vu_get_srq_num(struct ibv_srq *srq, uint32_t *number);
int vu_destroy_srq(struct ibv_srq *srq);

/* vu_srq_post.c */
#define VU_WORD_BITS 64

/* Bits of slots that have completed. */
static inline bool vu_test_and_change(uint64_t *bits, unsigned int index, bool value)
{
	uint64_t bit = 1ULL << (index % VU_WORD_BITS);
	uint64_t *word = bits + index / VU_WORD_BITS;
	bool before = *word & bit;

	*word = value ? *word | bit : *word & ~bit;
	return before;
}

int vu_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
		     struct ibv_recv_wr **bad);
bool vu_srq_retire(struct vu_srq *srq, uint16_t sequence, uint64_t *wr_id);

/* vu_qp_table.c */
int vu_table_add(struct vu_context *context, struct vu_qp *qp);
void vu_table_remove(struct vu_context *context, struct vu_qp *qp);
struct vu_qp *vu_table_find(struct vu_context *context, uint32_t qpn);
struct vu_qp *vu_table_next(struct vu_context *context, uint32_t *index);

/* vu_flush.c */
bool vu_is_dead(const struct vu_cq *cq);
const struct vuhca_completion_entry *vu_flush_next(struct vu_cq *cq,
						   struct vu_qp **qp,
						   uint64_t *wr_id);

/* vu_poll.c */
const struct vuhca_completion_entry *vu_next_entry(struct vu_cq *cq,
						   struct vu_qp **qp,
						   uint64_t *wr_id);
enum ibv_wc_status vu_status(const struct vuhca_completion_entry *entry);
unsigned int vu_wc_flags(const struct vuhca_completion_entry *entry);
__be32 vu_immediate(const struct vuhca_completion_entry *entry);
void vu_publish_consumed(struct vu_cq *cq);
bool vu_peek(const struct vu_cq *cq);
int vu_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc);
void vu_clean_cq(struct vu_cq *cq, struct vu_qp *qp);
void vu_clean_shared(struct vu_srq *srq);

/* vu_poll_ex.c */
void vu_set_poll_ops(struct vu_cq *cq, uint64_t wc_flags);

/* vu_cq.c */
struct ibv_cq *vu_create_cq(struct ibv_context *context, int cqe,
			    struct ibv_comp_channel *channel, int vector);
struct ibv_cq_ex *vu_create_cq_ex(struct ibv_context *context,
				  struct ibv_cq_init_attr_ex *attr);
int vu_resize_cq(struct ibv_cq *cq, int cqe);
int vu_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
int vu_destroy_cq(struct ibv_cq *cq);
int vu_req_notify_cq(struct ibv_cq *cq, int solicited_only);

/* vu_command.c */
struct vuhca_send_command *vu_begin_command(struct vu_qp *qp, uint64_t wr_id,
					    unsigned int opcode,
					    unsigned int flags);
void vu_put_remote(struct vuhca_send_command *command, uint64_t address,
		   uint32_t rkey);
void vu_put_datagram(struct vuhca_send_command *command, struct ibv_ah *ah,
		     uint32_t qpn, uint32_t qkey);
void vu_put_value(struct vuhca_send_command *command, const void *value);
int vu_put_flush(struct vuhca_send_command *command, size_t length,
		 uint8_t type, uint8_t level);
void vu_put_operands(struct vuhca_send_command *command, uint64_t compare,
		     uint64_t swap_or_add);
int vu_put_bind(struct vuhca_send_command *command, struct ibv_mw *mw,
		uint32_t rkey, const struct ibv_mw_bind_info *info);
int vu_put_sges(struct vu_qp *qp, struct vuhca_send_command *command,
		const struct ibv_sge *sges, size_t count);
int vu_put_inline(struct vu_qp *qp, struct vuhca_send_command *command,
		  const struct ibv_data_buf *buffers, size_t count);
void vu_end_command(struct vu_qp *qp, struct vuhca_send_command *command);

/* vu_posting.c */
void vu_read_posting(struct vu_context *context);
void vu_submit(struct vu_qp *qp, uint16_t first);

/* vu_post.c */
int vu_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
		 struct ibv_send_wr **bad);
int vu_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
		 struct ibv_recv_wr **bad);
int vu_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
bool vu_may_send(const struct vu_qp *qp);

/* vu_wr.c */
int vu_set_wr_ops(struct vu_qp *qp, enum ibv_qp_type type, uint64_t send_ops);

/* vu_qp_state.c */
void vu_free_qp(struct vu_qp *qp);
int vu_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
int vu_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		struct ibv_qp_init_attr *init);
int vu_destroy_qp(struct ibv_qp *qp);

/* vu_qp.c */
struct ibv_qp *vu_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
struct ibv_qp *vu_create_qp_ex(struct ibv_context *context,
			       struct ibv_qp_init_attr_ex *attr);
struct ibv_qp *vu_open_qp(struct ibv_context *context,
			  struct ibv_qp_open_attr *attr);

#endif /* VU_INTERNAL_H */
