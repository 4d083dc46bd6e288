/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Functions that the files of the driver share and that are not exported. Files
 * are listed lowest layer first, as in Kbuild: each one calls only files before
 * it. README.md describes the files.
 */
#ifndef VUHCA_INTERNAL_H
#define VUHCA_INTERNAL_H

#include <linux/interrupt.h>

#include "vuhca.h"

struct seq_file;

/*
 * Bound of a wait for the adapter. It ends only waits that would never end: a
 * working adapter answers within this time on any machine.
 */
#define VUHCA_BOUND_MS	60000

/* vuhca_pci.c */
int vuhca_pci_enable(struct pci_dev *pdev);
void vuhca_pci_disable(struct pci_dev *pdev);
int vuhca_pci_map(struct vuhca_dev *dev);
void vuhca_pci_unmap(struct vuhca_dev *dev);

/* vuhca_csr.c */
bool vuhca_check_gone(struct vuhca_dev *dev);
int vuhca_wait_ready(struct vuhca_dev *dev);
int vuhca_soft_reset(struct vuhca_dev *dev);
int vuhca_identify(struct vuhca_dev *dev);
int vuhca_find_dedicated(struct vuhca_dev *dev);

/* vuhca_client.c */
void vuhca_client_add_device(struct vuhca_dev *dev);
void vuhca_client_remove_device(struct vuhca_dev *dev);
bool vuhca_clients_try_lock(void);
void vuhca_clients_unlock(void);
void vuhca_clients_prepare(struct vuhca_dev *dev);
void vuhca_clients_resume(struct vuhca_dev *dev);
void vuhca_client_reset_prepare(struct vuhca_dev *dev);
void vuhca_client_reset_done(struct vuhca_dev *dev);
void vuhca_port_events_init(struct vuhca_dev *dev);
void vuhca_port_events_stop(struct vuhca_dev *dev);
void vuhca_port_event(struct vuhca_dev *dev,
		      const struct vuhca_event_entry *entry);

/* vuhca_admin.c */
int vuhca_admin_init(struct vuhca_dev *dev);
void vuhca_admin_cleanup(struct vuhca_dev *dev);
void vuhca_admin_abort(struct vuhca_dev *dev);
void vuhca_admin_set_event_queue(struct vuhca_dev *dev, u32 eqn);
void vuhca_admin_event(struct vuhca_dev *dev,
		       const struct vuhca_event_entry *entry);

/* vuhca_command.c */
int vuhca_admin_destroy(struct vuhca_dev *dev, u8 opcode, u32 object,
			u32 generation);

/* vuhca_eq_dispatch.c */
void vuhca_eq_write_consumed(struct vuhca_eq *eq);
void vuhca_eq_clear_pending(struct vuhca_dev *dev, u32 cqn);
bool vuhca_eq_has_entry(struct vuhca_eq *eq);
unsigned int vuhca_eq_process(struct vuhca_eq *eq);

/* vuhca_eq_bytes.c */
bool vuhca_poll_uses(unsigned int part);
bool vuhca_poller_is_marked(struct vuhca_eq *eq);
unsigned int vuhca_eq_serve(struct vuhca_eq *eq);
unsigned int vuhca_eq_take_marked(struct vuhca_eq *eq);
void vuhca_poller_describe(struct vuhca_eq *eq,
			   struct vuhca_eq_attributes *attributes);
u16 vuhca_poller_attach(struct vuhca_eq *eq, void *object);
void vuhca_poller_detach(struct vuhca_eq *eq, u16 index);
/* vuhca_eq_kept.c */
void vuhca_poller_count(struct vuhca_eq *eq, u32 completions,
			unsigned int entries_log2);
bool vuhca_poller_keeps(struct vuhca_eq *eq);
bool vuhca_poller_keep(struct vuhca_eq *eq, struct vuhca_kept *kept);
void vuhca_poller_drop(struct vuhca_eq *eq, struct vuhca_kept *kept);
void vuhca_poller_poll_kept(struct vuhca_eq *eq);
void vuhca_poller_release_all(struct vuhca_eq *eq);

/* vuhca_eq_poll.c */
bool vuhca_is_adaptive(void);
/* vuhca_eq_worker.c */
int vuhca_poller_alloc(struct vuhca_eq *eq);
void vuhca_poller_free(struct vuhca_eq *eq);
void vuhca_poller_count_interrupt(struct vuhca_eq *eq);

/* vuhca_eq_recover.c */
void vuhca_eqs_recovery_init(struct vuhca_dev *dev);
void vuhca_eqs_failed(struct vuhca_dev *dev);
void vuhca_eqs_check_overruns(struct vuhca_dev *dev);

/* vuhca_interrupt.c */
irqreturn_t vuhca_eq_interrupt(int irq, void *data);
void vuhca_deadman_init(struct vuhca_dev *dev);
void vuhca_deadman_start(struct vuhca_dev *dev);

/* vuhca_eq.c */
int vuhca_eqs_alloc(struct vuhca_dev *dev);
void vuhca_eqs_free(struct vuhca_dev *dev);
int vuhca_eqs_create(struct vuhca_dev *dev);
void vuhca_eqs_destroy(struct vuhca_dev *dev);
void vuhca_eqs_quiesce(struct vuhca_dev *dev);

/* vuhca_mr.c */
struct vuhca_mr *vuhca_create_mr(struct vuhca_pd *pd,
				 struct vuhca_mr_attributes *attributes);

/* vuhca_pages.c */
void vuhca_page_event(struct vuhca_dev *dev,
		      const struct vuhca_event_entry *entry);

/* vuhca_ah.c */
int vuhca_ahs_alloc(struct vuhca_dev *dev);
void vuhca_ahs_free(struct vuhca_dev *dev);
void vuhca_ahs_start(struct vuhca_dev *dev);
void vuhca_put_path(struct vuhca_address_handle *path, struct vuhca_pd *pd,
		    u8 port, u16 dlid, u8 service_level,
		    const struct vuhca_global_route *route);

/* vuhca_vcb.c */
int vuhca_vcbs_init(struct vuhca_dev *dev);
void vuhca_vcbs_cleanup(struct vuhca_dev *dev);
void vuhca_vcbs_start(struct vuhca_dev *dev);
void vuhca_vcbs_update(struct vuhca_dev *dev);
bool vuhca_vcb_try_write(struct vuhca_dev *dev, u8 qos_level, const void *bytes,
			 size_t length);
bool vuhca_vcb_write_word(struct vuhca_dev *dev, unsigned int offset,
			  const void *word);

/* vuhca_posting.c */
void vuhca_posting_measure(struct vuhca_dev *dev);
void vuhca_tails_start(struct vuhca_dev *dev);
void vuhca_posting_show(struct vuhca_dev *dev, struct seq_file *file);

/* vuhca_overflow.c */
int vuhca_overflow_alloc(struct vuhca_dev *dev);
void vuhca_overflow_free(struct vuhca_dev *dev);

/* vuhca_wqe.c */
unsigned int vuhca_recv_stride(unsigned int sge);
bool vuhca_build_recv_wqe(struct vuhca_wq *rq, const struct vuhca_recv_wr *wr);

/* vuhca_srq.c */
void vuhca_srq_event(struct vuhca_dev *dev,
		     const struct vuhca_event_entry *entry);

/* vuhca_srq_post.c */
bool vuhca_srq_retire(struct vuhca_srq *srq, u16 sequence, u64 *wr_id);

/* vuhca_cq_poll.c */
bool vuhca_cq_has_entry(struct vuhca_cq *cq);
void vuhca_clean_cq(struct vuhca_cq *cq, u32 qpn);
void vuhca_clean_cqs(struct vuhca_qp *qp);

/* vuhca_cq_event.c */
bool vuhca_cq_has_byte(struct vuhca_dev *dev,
		       const struct vuhca_event_entry *entry);
void vuhca_cq_marked(struct vuhca_dev *dev, void *object);
bool vuhca_cq_poll_kept(struct vuhca_kept *kept);
void vuhca_cq_arm_kept(struct vuhca_kept *kept);
void vuhca_cq_event(struct vuhca_dev *dev,
		    const struct vuhca_event_entry *entry);

/* vuhca_qp_post.c */
void vuhca_ring_outstanding(struct vuhca_dev *dev);

/* vuhca_qp_memory.c */
int vuhca_qp_memory(struct vuhca_qp *qp, const struct vuhca_qp_init *init);
void vuhca_qp_free(struct vuhca_qp *qp);
void vuhca_qp_describe_memory(struct vuhca_qp *qp,
			      const struct vuhca_user_memory *user,
			      struct vuhca_qp_creation *creation);

/* vuhca_qp.c */
void vuhca_qp_event(struct vuhca_dev *dev,
		    const struct vuhca_event_entry *entry);

/* vuhca_pio_buffer.c */
void vuhca_pio_write_control(struct vuhca_send_context *sc, u32 bits);
void vuhca_pio_force_credits_locked(struct vuhca_send_context *sc);
void vuhca_pio_flush(struct vuhca_send_context *sc);

/* vuhca_pio_wait.c */
void vuhca_pio_wake(struct vuhca_send_context *sc);
void vuhca_pio_credit_interrupt(struct vuhca_dev *dev);
void vuhca_pio_deadman(struct vuhca_dev *dev);

/* vuhca_pio_credits.c */
void vuhca_pio_report_share(struct vuhca_dev *dev, unsigned int blocks);
int vuhca_pio_credits_alloc(struct vuhca_dev *dev);
void vuhca_pio_credits_free(struct vuhca_dev *dev);
int vuhca_pio_set_credit_line(struct vuhca_send_context *sc);

/* vuhca_pio_context.c */
void vuhca_pio_halt_event(struct vuhca_dev *dev,
			  const struct vuhca_event_entry *entry);
void vuhca_pio_stop(struct vuhca_dev *dev);

/* vuhca_shares.c */
void vuhca_shares_init(struct vuhca_dev *dev);
void vuhca_shares_event(struct vuhca_dev *dev,
			const struct vuhca_event_entry *entry);

/* vuhca_shares_request.c */
int vuhca_shares_request_text(struct vuhca_dev *dev, char *text);

/* vuhca_shares_debugfs.c */
void vuhca_shares_create_files(struct vuhca_dev *dev);

/* vuhca_debugfs.c */
void vuhca_debugfs_init(void);
void vuhca_debugfs_exit(void);
void vuhca_debugfs_add(struct vuhca_dev *dev);
void vuhca_debugfs_remove(struct vuhca_dev *dev);

/* vuhca_service.c */
int vuhca_start(struct vuhca_dev *dev);
void vuhca_stop(struct vuhca_dev *dev);
void vuhca_quiesce(struct vuhca_dev *dev);
int vuhca_restart(struct vuhca_dev *dev);
void vuhca_resume(struct vuhca_dev *dev);
void vuhca_device_error_event(struct vuhca_dev *dev,
			      const struct vuhca_event_entry *entry);

/* vuhca_power.c */
extern const struct dev_pm_ops vuhca_pm_ops;

#endif /* VUHCA_INTERNAL_H */
